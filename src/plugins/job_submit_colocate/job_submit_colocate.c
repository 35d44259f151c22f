/* SPDX-License-Identifier: GPL-2.0-or-later */
/* job_submit plugin: validates co-located jobs; every other job passes untouched. */
#include "plugins/compat/slurm_compat.h"

#include <dlfcn.h>
#include <sys/random.h>

#include "common/settings.h"
#include "common/settings_kept.h"
#include "striping/colocate.h"
#include "striping/lanes.h"
#include "striping/request.h"

SLURM_WEAK(default_part_loc)
SLURM_WEAK(node_record_count)
SLURM_WEAK(node_record_table_ptr)
SLURM_WEAK(slurm_conf)

const char plugin_name[] = "Submit policy of co-located jobs";
const char plugin_type[] = "job_submit/colocate";
const uint32_t plugin_version = SLURM_VERSION_NUMBER;

int job_submit(job_desc_msg_t *job_desc, uint32_t submit_uid, char **err_msg);
int job_modify(job_desc_msg_t *job_desc, job_record_t *job_ptr, uint32_t submit_uid);

/* slurmctld calls one plugin function at a time, so these need no lock. */
static struct poppa_settings settings;
static char *settings_text;
static int settings_read; /* how often */
static int lanes_known;   /* for the settings of which reading */

/* slurm.conf may change at any reconfigure; a bad text leaves the last good settings in force. */
static void read_settings(void)
{
	struct errmsg err = {""};
	const char *text = slurm_conf.prep_params ? slurm_conf.prep_params : "";

	if (settings_text && !strcmp(settings_text, text))
		return;
	if (settings_follow(text, slurm_conf.state_save_location, !settings_text, &settings, &err))
		error("%s: PrEpParameters: %s", plugin_type, err.text);
	xfree(settings_text);
	settings_text = xstrdup(text);
	settings_read++;
}

/* The wrapper of select/cons_tres lies in the same directory as this plugin when it is in use. */
static bool striping_loaded(void)
{
	static bool loaded;
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

static int check_cluster(struct errmsg *err)
{
	if (xstrcmp(slurm_conf.select_type, "select/cons_tres"))
		return errmsg_set(err,
			"this cluster has SelectType=%s and lanes need select/cons_tres: submit "
			"without the option",
			slurm_conf.select_type ? slurm_conf.select_type : "(none)");
	if (slurm_conf.select_type_param & SELECT_SOCKET)
		return errmsg_set(err,
			"this cluster hands out whole sockets (CR_Socket) and lanes are "
			"made of cores: submit without the option");
	if (!striping_loaded())
		return errmsg_set(err,
			"striping is not active on this cluster (its select_cons_tres.so "
			"must come first in PluginDir): submit without the option");
	return 0;
}

/* The value of COLOCATE; -1 where it is there more than once. */
static int find_env(char **env, uint32_t size, uint32_t *at)
{
	const size_t len = strlen(COLOCATE_ENV);
	int found = 0;

	for (uint32_t i = 0; i < size; i++) {
		if (!env[i] || strncmp(env[i], COLOCATE_ENV, len) ||
			(env[i][len] != '=' && env[i][len] != '\0'))
			continue;
		if (found++)
			return -1;
		*at = i;
	}
	return found;
}

static int64_t number(uint64_t value, uint64_t no_val)
{
	return value == 0 || value >= no_val ? REQUEST_UNSET : (int64_t)value;
}

static int64_t number16(uint16_t value)
{
	return number(value, NO_VAL16);
}

static int64_t number32(uint32_t value)
{
	return number(value, NO_VAL);
}

static struct request_memory memory(uint64_t value)
{
	struct request_memory m = {MEMORY_UNSET, 0};

	if (value < NO_VAL64) {
		m.per = value & MEM_PER_CPU ? MEMORY_PER_CPU : MEMORY_PER_NODE;
		m.mb = (int64_t)(value & ~MEM_PER_CPU);
	}
	return m;
}

static struct request_memory limit(uint64_t partition, uint64_t cluster)
{
	struct request_memory m = memory(partition);

	if (m.per == MEMORY_UNSET || m.mb == 0)
		m = memory(cluster);
	return m;
}

static enum request_sharing sharing(uint16_t shared)
{
	switch (shared) {
	case JOB_SHARED_NONE:
		return SHARING_NONE;
	case JOB_SHARED_OK:
		return SHARING_CORES;
	case JOB_SHARED_USER:
		return SHARING_USER;
	case JOB_SHARED_MCS:
		return SHARING_MCS;
	case JOB_SHARED_TOPO:
		return SHARING_TOPO;
	default:
		return SHARING_DEFAULT;
	}
}

/* Adds what a descriptor states to what is already known of the job. */
static void read_desc(const job_desc_msg_t *d, struct request *r)
{
	const struct {
		int64_t *field;
		int64_t value;
	} numbers[] = {
		{&r->tasks, number32(d->num_tasks)},
		{&r->tasks_per_node, number16(d->ntasks_per_node)},
		{&r->tasks_per_socket, number16(d->ntasks_per_socket)},
		{&r->tasks_per_core, number16(d->ntasks_per_core)},
		{&r->cpus_per_task, number16(d->cpus_per_task)},
		{&r->cpus, number32(d->min_cpus)},
		{&r->cpus_per_node, number16(d->pn_min_cpus)},
		{&r->cores_per_socket, number16(d->cores_per_socket)},
		{&r->threads_per_core, number16(d->threads_per_core)},
		{&r->gpus, request_gpus(d->tres_per_job)},
		{&r->gpus_per_node, request_gpus(d->tres_per_node)},
		{&r->gpus_per_task, request_gpus(d->tres_per_task)},
		{&r->cpus_per_gpu, request_gpus(d->cpus_per_tres)},
		{&r->tasks_per_gpu, number16(d->ntasks_per_tres)},
		{&r->min_nodes, number32(d->min_nodes)},
		{&r->max_nodes, number32(d->max_nodes)},
	};

	for (size_t i = 0; i < sizeof(numbers) / sizeof(numbers[0]); i++)
		if (numbers[i].value != REQUEST_UNSET)
			*numbers[i].field = numbers[i].value;
	if (request_gpus(d->tres_per_socket) > 0 && number16(d->sockets_per_node) > 0)
		r->gpus_per_node = request_gpus(d->tres_per_socket) * d->sockets_per_node;
	if (d->pn_min_memory != NO_VAL64)
		r->memory = memory(d->pn_min_memory);
	if (d->shared != NO_VAL16)
		r->sharing = sharing(d->shared);
	r->core_spec = d->core_spec != NO_VAL16 && d->core_spec != INFINITE16;
	r->reboot = d->reboot != NO_VAL16 && d->reboot;
	r->overcommit = d->overcommit != NO_VAL8 && d->overcommit;
}

/* What a pending job asks for. Its CPUs per node are what the submission granted: not a wish. */
static void read_job(const job_record_t *job, struct request *r)
{
	const job_details_t *d = job->details;

	r->tasks = number32(d->num_tasks);
	r->tasks_per_node = number16(d->ntasks_per_node);
	r->cpus_per_task = number16(d->cpus_per_task);
	r->cpus = number32(d->orig_min_cpus);
	r->min_nodes = number32(d->min_nodes);
	r->max_nodes = number32(d->max_nodes);
	r->memory = memory(d->orig_pn_min_memory);
	r->gpus = request_gpus(job->tres_per_job);
	r->gpus_per_node = request_gpus(job->tres_per_node);
	r->gpus_per_task = request_gpus(job->tres_per_task);
	r->cpus_per_gpu = request_gpus(job->cpus_per_tres);
	r->tasks_per_gpu = number16(d->ntasks_per_tres);
	if (d->mc_ptr) {
		r->tasks_per_socket = number16(d->mc_ptr->ntasks_per_socket);
		r->tasks_per_core = number16(d->mc_ptr->ntasks_per_core);
		r->cores_per_socket = number16(d->mc_ptr->cores_per_socket);
		r->threads_per_core = number16(d->mc_ptr->threads_per_core);
	}
}

/* The lanes of a node as striping/lanes.h shares its cores out. */
static void share_out(const node_record_t *node, struct node_shape *shape)
{
	static struct node_shape last; /* a partition's nodes are mostly alike */
	int cores = shape->sockets * shape->cores_per_socket, *lane_of;
	bool *spare;

	if (!node->node_spec_bitmap && last.sockets == shape->sockets &&
		last.cores_per_socket == shape->cores_per_socket && lanes_known == settings_read) {
		shape->lanes = last.lanes;
		shape->lane_cores = last.lane_cores;
		shape->lane_socket_cores = last.lane_socket_cores;
		return;
	}
	lane_of = xcalloc(cores, sizeof(int));
	spare = xcalloc(cores, sizeof(bool));

	for (int c = 0; c < cores; c++) {
		spare[c] = node->node_spec_bitmap && !bit_test(node->node_spec_bitmap, c);
		shape->reserved |= spare[c];
	}
	shape->lanes = lanes_count(&settings, shape->sockets, shape->cores_per_socket);
	shape->lane_cores = lanes_of_node(shape->sockets, shape->cores_per_socket, spare,
		shape->lanes, lane_of, &shape->lane_socket_cores);
	if (shape->lane_cores < 0)
		shape->lane_cores = 0;
	if (!node->node_spec_bitmap) {
		last = *shape;
		lanes_known = settings_read;
	}
	xfree(spare);
	xfree(lane_of);
}

/* The nodes that a job may and must use. */
struct node_choice {
	bitstr_t *required; /* NULL where it names none */
	bitstr_t *excluded;
};

static bool has_node(bitstr_t *nodes, int index)
{
	return nodes && index < bit_size(nodes) && bit_test(nodes, index);
}

static void add_shape(
	const struct node_shape *shape, struct request_partition *p, struct node_shape **shapes)
{
	for (int i = 0; i < p->shape_count; i++) {
		struct node_shape *s = &(*shapes)[i];

		if (s->sockets == shape->sockets &&
			s->cores_per_socket == shape->cores_per_socket &&
			s->cpus_per_core == shape->cpus_per_core &&
			s->lane_cores == shape->lane_cores &&
			s->lane_socket_cores == shape->lane_socket_cores &&
			s->mem_mb == shape->mem_mb) {
			s->count += shape->count;
			s->required += shape->required;
			return;
		}
	}
	xrealloc(*shapes, (p->shape_count + 1) * sizeof(**shapes));
	(*shapes)[p->shape_count++] = *shape;
	p->shape = *shapes;
}

static int check_partition(const struct request *r, const part_record_t *part,
	const struct node_choice *choice, struct request_grant *grant, struct errmsg *err)
{
	struct request_partition p = {
		.name = part->name,
		.exclusive = part->max_share == 0,
		.exclusive_topo = part->flags & PART_FLAG_EXCLUSIVE_TOPO,
		.default_memory = limit(part->def_mem_per_cpu, slurm_conf.def_mem_per_cpu),
		.max_memory = limit(part->max_mem_per_cpu, slurm_conf.max_mem_per_cpu),
		.max_cpus_per_node = number32(part->max_cpus_per_node),
	};
	struct node_shape *shapes = NULL;
	int rc;

	for (int i = 0; i < node_record_count; i++) {
		const node_record_t *node = compat_node(i);
		struct node_shape shape;

		if (!node || !node->tot_sockets || !node->cores ||
			!has_node(part->node_bitmap, i) || has_node(choice->excluded, i))
			continue;
		shape = (struct node_shape){
			.sockets = node->tot_sockets,
			.cores_per_socket = node->cores,
			.cpus_per_core = node->tpc ? node->tpc : 1,
			.mem_mb = node->real_memory > node->mem_spec_limit
					  ? (int64_t)(node->real_memory - node->mem_spec_limit)
					  : 0,
			.gpus = MAX(request_gpus(node->config_ptr->gres), 0),
			.count = 1,
			.required = has_node(choice->required, i),
		};
		share_out(node, &shape);
		add_shape(&shape, &p, &shapes);
	}
	rc = request_check(r, &p, grant, err);
	xfree(shapes);
	return rc;
}

/*
 * Checks a job against every partition it names. One that can take it is enough; the grant is the
 * smallest over those that can, and the message that of the first that cannot.
 */
static int check_partitions(const struct request *r, char *names, const struct node_choice *choice,
	struct request_grant *grant, struct errmsg *err)
{
	struct request_grant g;
	struct errmsg why, *first = err;
	int rc = -1;
	list_t *parts;
	list_itr_t *iter;
	part_record_t *part;

	parts = names ? compat_part_list(names) : NULL;
	if (!parts && !names && default_part_loc) {
		parts = list_create(NULL);
		list_append(parts, default_part_loc);
	}
	if (!parts) /* Slurm itself refuses the job for this, in its own words. */
		return 0;
	read_settings();
	iter = list_iterator_create(parts);
	while ((part = list_next(iter))) {
		if (request_check_open(part->name, settings.stripe_partitions, err)) {
			rc = -1;
			break;
		}
		if (check_partition(r, part, choice, &g, first)) {
			first = &why;
			continue;
		}
		if (rc || g.cpus_per_node < grant->cpus_per_node)
			grant->cpus_per_node = g.cpus_per_node;
		if (g.memory_mb >= 0 && (grant->memory_mb < 0 || g.memory_mb < grant->memory_mb))
			grant->memory_mb = g.memory_mb;
		rc = 0;
	}
	list_iterator_destroy(iter);
	list_destroy(parts);
	return rc;
}

static int check_nodes(const struct request *r, char *partitions, char *required, char *excluded,
	struct request_grant *grant, struct errmsg *err)
{
	struct node_choice choice = {NULL, NULL};
	int rc;

	/* Unknown names are for Slurm to refuse. */
	if (required && *required)
		compat_node_bitmap(required, &choice.required);
	if (excluded && *excluded)
		compat_node_bitmap(excluded, &choice.excluded);
	rc = check_partitions(r, partitions, &choice, grant, err);
	FREE_NULL_BITMAP(choice.required);
	FREE_NULL_BITMAP(choice.excluded);
	return rc;
}

static void apply(const struct request_grant *grant, job_desc_msg_t *d)
{
	if (grant->cpus_per_node > 0)
		d->pn_min_cpus = (uint16_t)grant->cpus_per_node;
	/* --mem-per-gpu is an amount, too. */
	if (grant->memory_mb > 0 && !d->mem_per_tres)
		d->pn_min_memory = (uint64_t)grant->memory_mb;
}

/* Parses what the client sent, whoever the client is, and writes back its canonical form. */
static int read_wish(job_desc_msg_t *d, uint32_t at, struct colocate *wish, struct errmsg *err)
{
	const char *value = strchr(d->spank_job_env[at], '=');
	char text[COLOCATE_TEXT_MAX];

	if (colocate_parse(value ? value + 1 : "", wish, err))
		return -1;
	if (wish->help)
		return errmsg_set(err, "help is for the command line: nothing to submit");
	colocate_format(wish, text);
	xfree(d->spank_job_env[at]);
	d->spank_job_env[at] = xstrdup_printf("%s=%s", COLOCATE_ENV, text);
	return 0;
}

static int check_submit(job_desc_msg_t *d, int found, uint32_t at, struct errmsg *err)
{
	struct request_grant grant = {REQUEST_UNSET, REQUEST_UNSET};
	struct colocate wish;
	struct request r;

	if (found < 0)
		return errmsg_set(err, "the job's environment holds %s twice", COLOCATE_ENV);
	if (read_wish(d, at, &wish, err) || check_cluster(err))
		return -1;
	request_init(&r);
	r.spread = wish.spread;
	r.memory_counted = slurm_conf.select_type_param & SELECT_MEMORY;
	read_desc(d, &r);
	/* Slurm itself will say so of the job. */
	if (r.tasks_per_core == REQUEST_UNSET &&
		slurm_conf.select_type_param & SELECT_ONE_TASK_PER_CORE)
		r.tasks_per_core = 1;
	if (check_nodes(&r, d->partition, d->req_nodes, d->exc_nodes, &grant, err))
		return -1;
	apply(&grant, d);
	return 0;
}

/* Gives the job a new seed in place of any that came with it. Without one the nodes measure it all
 * the same, each at times of its own. */
static void put_seed(job_desc_msg_t *d)
{
	static const char key[] = COLOCATE_SEED_ENV "=";
	uint64_t seed[2];
	uint32_t kept = 0;

	for (uint32_t i = 0; i < d->spank_job_env_size; i++) {
		if (xstrncmp(d->spank_job_env[i], key, strlen(key)))
			d->spank_job_env[kept++] = d->spank_job_env[i];
		else
			xfree(d->spank_job_env[i]);
	}
	d->spank_job_env_size = kept;
	if (getrandom(seed, sizeof(seed), 0) != sizeof(seed)) {
		error("%s: no random seed: %m", plugin_type);
		return;
	}
	xrecalloc(d->spank_job_env, kept + 2, sizeof(*d->spank_job_env));
	d->spank_job_env[kept] =
		xstrdup_printf("%s%016" PRIx64 "%016" PRIx64, key, seed[0], seed[1]);
	d->spank_job_env[kept + 1] = NULL;
	d->spank_job_env_size = kept + 1;
}

int job_submit(job_desc_msg_t *job_desc, uint32_t submit_uid, char **err_msg)
{
	struct errmsg err = {""};
	uint32_t at = 0;
	int found = find_env(job_desc->spank_job_env, job_desc->spank_job_env_size, &at);

	if (!found)
		return SLURM_SUCCESS;
	if (!check_submit(job_desc, found, at, &err)) {
		put_seed(job_desc);
		return SLURM_SUCCESS;
	}
	debug("%s: refused a job of uid %u: %s", plugin_type, submit_uid, err.text);
	if (err_msg)
		*err_msg = xstrdup_printf("--colocate: %s", err.text);
	return ESLURM_REQUESTED_NODE_CONFIG_UNAVAILABLE;
}

/* Whether an update touches what the policy rests on. */
static bool changes_resources(const job_desc_msg_t *d)
{
	struct request r;

	request_init(&r);
	read_desc(d, &r);
	return r.sharing != SHARING_DEFAULT || r.overcommit || r.core_spec || r.reboot ||
	       r.memory.per != MEMORY_UNSET || r.tasks >= 0 || r.tasks_per_node >= 0 ||
	       r.tasks_per_socket >= 0 || r.tasks_per_core >= 0 || r.cpus_per_task >= 0 ||
	       r.cpus >= 0 || r.cpus_per_node >= 0 || r.cores_per_socket >= 0 ||
	       r.threads_per_core >= 0 || r.gpus >= 0 || r.gpus_per_node >= 0 ||
	       r.gpus_per_task >= 0 || r.cpus_per_gpu >= 0 || r.tasks_per_gpu >= 0 ||
	       r.min_nodes >= 0 || r.max_nodes >= 0 || d->partition || d->req_nodes || d->exc_nodes;
}

static int check_modify(
	job_desc_msg_t *d, const job_record_t *job, const char *wish_text, struct errmsg *err)
{
	struct request_grant grant = {REQUEST_UNSET, REQUEST_UNSET};
	struct colocate wish;
	struct request r;

	if (colocate_parse(wish_text, &wish, err))
		return -1;
	request_init(&r);
	r.spread = wish.spread;
	r.memory_counted = slurm_conf.select_type_param & SELECT_MEMORY;
	read_job(job, &r);
	read_desc(d, &r);
	if (check_nodes(&r, d->partition ? d->partition : job->partition,
		    d->req_nodes ? d->req_nodes : job->details->req_nodes,
		    d->exc_nodes ? d->exc_nodes : job->details->exc_nodes, &grant, err))
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

	if (find_env(job_ptr->spank_job_env, job_ptr->spank_job_env_size, &at) != 1 ||
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
	return SLURM_SUCCESS;
}

int fini(void)
{
	xfree(settings_text);
	return SLURM_SUCCESS;
}
