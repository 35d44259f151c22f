/* SPDX-License-Identifier: GPL-2.0-or-later */
/* job_submit plugin: validates co-located jobs, and co-locates jobs where the site does so by
 * default; every other job passes untouched. */
#include "plugins/compat/slurm_compat.h"

#include <dlfcn.h>
#include <pthread.h>
#include <stdio.h>
#include <sys/random.h>

#include "job_request.h"
#include "common/settings_kept.h"
#include "partition_offer.h"
#include "site_default.h"
#include "striping/submit/colocate_option.h"
#include "striping/submit/submission.h"

SLURM_WEAK(slurm_conf)

const char plugin_name[] = "Submit policy of co-located jobs";
const char plugin_type[] = "job_submit/colocate";
const uint32_t plugin_version = SLURM_VERSION_NUMBER;

int job_submit(job_desc_msg_t *job_desc, uint32_t submit_uid, char **err_msg);
int job_modify(job_desc_msg_t *job_desc, job_record_t *job_ptr, uint32_t submit_uid);

/*
 * From 23.11 on slurmctld runs these functions in several threads at once: they share nothing but
 * what follows, and each call has a copy of the settings. The lock is held for no longer than it
 * takes to read PrEpParameters; it is taken after Slurm's locks.
 */
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct poppa_settings in_force; /* guarded by lock, as is the text that they are of */
static char *settings_text;            /* NULL: nothing has been read */

/* slurm.conf may change at any reconfigure; a bad text leaves the last good settings in force. */
static void read_settings(struct poppa_settings *copy)
{
	const char *text = slurm_conf.prep_params ? slurm_conf.prep_params : "";
	struct errmsg err = {""};
	int rc = 0;

	pthread_mutex_lock(&lock);
	if (xstrcmp(settings_text, text)) {
		rc = settings_follow(
			text, slurm_conf.state_save_location, !settings_text, &in_force, &err);
		xfree(settings_text);
		settings_text = xstrdup(text);
	}
	*copy = in_force;
	pthread_mutex_unlock(&lock);
	if (rc)
		error("%s: PrEpParameters: %s", plugin_type, err.text);
}

/* The wrapper of select/cons_tres lies in the same directory as this plugin when it is in use. */
static bool striping_loaded(void)
{
	static _Atomic bool loaded;
	char *path, *slash;
	void *handle;
	Dl_info self;

	if (loaded || !dladdr(plugin_type, &self))
		return loaded;
	path = xstrdup(self.dli_fname);
	slash = strrchr(path, '/');
	if (slash) {
		*slash = '\0';
		xstrcat(path, "/select_cons_tres.so");
		handle = dlopen(path, RTLD_LAZY | RTLD_NOLOAD);
		loaded = handle != NULL;
		if (handle)
			dlclose(handle);
	}
	xfree(path);
	return loaded;
}

/* Whether this cluster co-locates anything. */
static int check_cluster(struct errmsg *err)
{
	if (xstrcmp(slurm_conf.select_type, "select/cons_tres"))
		return errmsg_set(err,
			"this cluster has SelectType=%s and lanes need select/cons_tres",
			slurm_conf.select_type ? slurm_conf.select_type : "(none)");
	if (slurm_conf.select_type_param & SELECT_SOCKET)
		return errmsg_set(err,
			"this cluster hands out whole sockets (CR_Socket) and lanes are "
			"made of cores");
	/* Contain includes Alloc. Else a node hears of a job from its first step, whose environment
	 * is the user's: a job that hides there would have its partner's time counted as alone. */
	if (!(slurm_conf.prolog_flags & PROLOG_FLAG_ALLOC))
		return errmsg_set(err,
			"this cluster's nodes are not told for certain which jobs are co-located "
			"(PrologFlags has neither Alloc nor Contain)");
	if (!striping_loaded())
		return errmsg_set(err,
			"striping is not active on this cluster (its select_cons_tres.so "
			"must come first in PluginDir)");
	return 0;
}

/* Takes every entry of this name out of the job's SPANK environment. */
static void drop(job_desc_msg_t *d, const char *name)
{
	const size_t len = strlen(name);
	uint32_t kept = 0;

	for (uint32_t i = 0; i < d->spank_job_env_size; i++) {
		char *entry = d->spank_job_env[i];

		if (xstrncmp(entry, name, len) || (entry[len] != '=' && entry[len] != '\0'))
			d->spank_job_env[kept++] = entry;
		else
			xfree(d->spank_job_env[i]);
	}
	if (kept < d->spank_job_env_size)
		d->spank_job_env[kept] = NULL;
	d->spank_job_env_size = kept;
}

/* Makes an entry of this name the only one. */
static void put(job_desc_msg_t *d, const char *name, const char *value)
{
	drop(d, name);
	xrecalloc(d->spank_job_env, d->spank_job_env_size + 2, sizeof(*d->spank_job_env));
	d->spank_job_env[d->spank_job_env_size++] = xstrdup_printf("%s=%s", name, value);
	d->spank_job_env[d->spank_job_env_size] = NULL;
}

/* Parses what the client sent, whoever the client is, and writes back its canonical form. */
static int read_wish(
	job_desc_msg_t *d, int found, uint32_t at, struct colocate *wish, struct errmsg *err)
{
	char text[COLOCATE_TEXT_MAX];
	const char *value;

	if (found < 0)
		return errmsg_set(err, "the job's environment holds %s twice", COLOCATE_ENV);
	value = strchr(d->spank_job_env[at], '=');
	if (colocate_parse(value ? value + 1 : "", wish, err))
		return -1;
	if (wish->help)
		return errmsg_set(err, "help is for the command line: nothing to submit");
	if (wish->sm_percent == COLOCATE_SM_AUTO)
		return errmsg_set(
			err, "sm:auto is for the command line: give a percentage, such as sm:50");
	put(d, COLOCATE_ENV, colocate_format(wish, text));
	return 0;
}

/* Whoever pays for lanes must not keep others off the rest of the node, where the site says so. */
static int check_alone(
	const struct poppa_settings *settings, const struct colocate *wish, struct errmsg *err)
{
	const char *key = settings->stripe_alone ? NULL : colocate_keeps_off(wish);

	return key ? errmsg_set(err,
			     "%s can keep partners off whole nodes at the price of a lane, which "
			     "this cluster does not allow (stripe_alone=no): leave it out, or ask "
			     "for whole nodes with --exclusive and without --colocate",
			     key)
		   : 0;
}

/* Whether the job can be co-located as it wishes: it then has its whole lanes. */
static int check_submit(job_desc_msg_t *d, const struct poppa_settings *settings,
	const struct colocate *wish, struct errmsg *err)
{
	struct submission_grant grant = {SUBMISSION_UNSET, SUBMISSION_UNSET};
	struct submission r;

	if (check_cluster(err))
		return errmsg_set(err, "%s: submit without the option", err->text);
	if (check_alone(settings, wish, err))
		return -1;
	submission_init(&r);
	r.spread = wish->spread;
	r.shaped = wish->shaped;
	r.shape = wish->shape;
	r.memory_counted = slurm_conf.select_type_param & SELECT_MEMORY;
	job_request_of_desc(d, &r);
	/* Slurm itself will set this for the job. */
	if (r.tasks_per_core == SUBMISSION_UNSET &&
		slurm_conf.select_type_param & SELECT_ONE_TASK_PER_CORE)
		r.tasks_per_core = 1;
	if (partition_offer_check(settings, &r,
		    &(struct partition_offer_where){
			    d->partition, d->req_nodes, d->exc_nodes, d->features},
		    &grant, err))
		return -1;
	if (grant.cpus_per_node > 0)
		d->pn_min_cpus = (uint16_t)grant.cpus_per_node;
	if (grant.memory_mb > 0)
		d->pn_min_memory = (uint64_t)grant.memory_mb;
	return 0;
}

/* Gives the job a new seed in place of any that came with it. Where there is no randomness for one,
 * the nodes still measure the job, but each at other times. */
static void put_seed(job_desc_msg_t *d)
{
	char text[2 * 16 + 1];
	uint64_t seed[2];

	drop(d, COLOCATE_SEED_ENV);
	if (getrandom(seed, sizeof(seed), 0) != sizeof(seed)) {
		error("%s: no random seed: %m", plugin_type);
		return;
	}
	snprintf(text, sizeof(text), "%016" PRIx64 "%016" PRIx64, seed[0], seed[1]);
	put(d, COLOCATE_SEED_ENV, text);
}

/* A job that is to give its nodes to another one becomes a part of that one, which knows best. */
static bool is_to_grow_another(const job_desc_msg_t *d)
{
	return xstrcasestr(d->dependency, "expand:");
}

/* No user hears that the site's default does nothing, so the admins do: once for each reason. Slurm
 * calls job_submit() for one job at a time. */
static void tell_useless_default(const char *why)
{
	static struct errmsg told;

	if (!strcmp(told.text, why))
		return;
	errmsg_set(&told, "%s", why);
	error("%s: stripe_default co-locates no job: %s", plugin_type, why);
}

/* The user has not said a word: the site may want the job co-located. Where it cannot be, it is a
 * job like any other, and its user is not troubled. */
static void follow_site(
	job_desc_msg_t *d, const struct poppa_settings *settings, uint32_t submit_uid)
{
	const struct colocate plain = {.help = false};
	struct errmsg err = {""};

	if (is_to_grow_another(d) || !site_default_wants(settings->stripe_defaults, d))
		return;
	if (check_cluster(&err)) {
		tell_useless_default(err.text);
		return;
	}
	if (check_submit(d, settings, &plain, &err)) {
		debug("%s: a job of uid %u is not co-located by default: %s", plugin_type,
			submit_uid, err.text);
		return;
	}
	put(d, COLOCATE_ENV, "stripe");
	put(d, COLOCATE_BY_ENV, COLOCATE_BY_SITE);
	put_seed(d);
}

int job_submit(job_desc_msg_t *job_desc, uint32_t submit_uid, char **err_msg)
{
	struct poppa_settings settings;
	struct errmsg err = {""};
	struct colocate wish;
	uint32_t at = 0;
	int found;

	read_settings(&settings);
	/* Who wanted it is for this plugin alone to say. Entries move by this, so it comes first.
	 */
	drop(job_desc, COLOCATE_BY_ENV);
	found = colocate_find_env(
		job_desc->spank_job_env, job_desc->spank_job_env_size, COLOCATE_ENV, &at);
	if (!found) {
		follow_site(job_desc, &settings, submit_uid);
		return SLURM_SUCCESS;
	}
	if (!read_wish(job_desc, found, at, &wish, &err)) {
		if (wish.no) {
			drop(job_desc, COLOCATE_ENV);
			return SLURM_SUCCESS;
		}
		if (!check_submit(job_desc, &settings, &wish, &err)) {
			put_seed(job_desc);
			return SLURM_SUCCESS;
		}
	}
	debug("%s: refused a job of uid %u: %s", plugin_type, submit_uid, err.text);
	if (err_msg)
		*err_msg = xstrdup_printf("--colocate: %s", err.text);
	return ESLURM_REQUESTED_NODE_CONFIG_UNAVAILABLE;
}

/* Whether an update changes something that the policy checks. */
static bool changes_resources(const job_desc_msg_t *d)
{
	struct submission r;

	submission_init(&r);
	job_request_of_desc(d, &r);
	return r.sharing != SHARING_DEFAULT || r.overcommit || r.core_spec || r.reboot ||
	       r.memory.per != MEMORY_UNSET || r.tasks >= 0 || r.tasks_per_node >= 0 ||
	       r.tasks_per_socket >= 0 || r.tasks_per_core >= 0 || r.cpus_per_task >= 0 ||
	       r.cpus >= 0 || r.cpus_per_node >= 0 || r.sockets_per_node >= 0 ||
	       r.cores_per_socket >= 0 || r.threads_per_core >= 0 || r.gpus >= 0 ||
	       r.gpus_per_node >= 0 || r.gpus_per_task >= 0 || r.cpus_per_gpu >= 0 ||
	       r.tasks_per_gpu >= 0 || r.mb_per_gpu >= 0 || r.min_nodes >= 0 || r.max_nodes >= 0 ||
	       d->partition || d->req_nodes || d->exc_nodes || d->features;
}

static int check_modify(
	job_desc_msg_t *d, const job_record_t *job, const char *wish_text, struct errmsg *err)
{
	struct submission_grant grant = {SUBMISSION_UNSET, SUBMISSION_UNSET};
	struct poppa_settings settings;
	struct colocate wish;
	struct submission r;

	if (colocate_parse(wish_text, &wish, err))
		return -1;
	submission_init(&r);
	r.spread = wish.spread;
	r.shaped = wish.shaped;
	r.shape = wish.shape;
	r.memory_counted = slurm_conf.select_type_param & SELECT_MEMORY;
	job_request_of_job(job, &r);
	job_request_of_desc(d, &r);
	read_settings(&settings);
	if (partition_offer_check(&settings, &r,
		    &(struct partition_offer_where){
			    d->partition ? d->partition : job->partition,
			    d->req_nodes ? d->req_nodes : job->details->req_nodes,
			    d->exc_nodes ? d->exc_nodes : job->details->exc_nodes,
			    d->features ? d->features : job->details->features,
		    },
		    &grant, err))
		return -1;
	if (grant.cpus_per_node > 0 &&
		(d->pn_min_cpus != NO_VAL16 ||
			grant.cpus_per_node != (int64_t)job->details->orig_pn_min_cpus))
		d->pn_min_cpus = (uint16_t)grant.cpus_per_node;
	return 0;
}

int job_modify(job_desc_msg_t *job_desc, job_record_t *job_ptr, uint32_t submit_uid)
{
	struct errmsg err = {""};
	uint32_t at = 0;
	const char *value;

	if (colocate_find_env(
		    job_ptr->spank_job_env, job_ptr->spank_job_env_size, COLOCATE_ENV, &at) != 1 ||
		!IS_JOB_PENDING(job_ptr) || !job_ptr->details || !changes_resources(job_desc))
		return SLURM_SUCCESS;
	value = strchr(job_ptr->spank_job_env[at], '=');
	if (!check_modify(job_desc, job_ptr, value ? value + 1 : "", &err))
		return SLURM_SUCCESS;
	info("%s: refused a change of JobId=%u by uid %u: %s", plugin_type, job_ptr->job_id,
		submit_uid, err.text);
	return ESLURM_REQUESTED_NODE_CONFIG_UNAVAILABLE;
}

int init(void);
int fini(void);

int init(void)
{
	struct poppa_settings settings;

	/* The first time may read a file, which must not happen under Slurm's locks. */
	read_settings(&settings);
	return SLURM_SUCCESS;
}

int fini(void)
{
	xfree(settings_text);
	return SLURM_SUCCESS;
}
