/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Tests of plugins/job_submit_colocate: many threads at once, and what a long --constraint costs.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <dlfcn.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <time.h>

#include "plugins/compat/slurm_compat.h"

#include "plugins/job_submit_colocate/job_qos.h"

#define NODES 6000
#define THREADS 8
#define SUBMISSIONS 150 /* of a thread */
#define ROUNDS 15

int job_submit(job_desc_msg_t *job_desc, uint32_t submit_uid, char **err_msg);
int job_modify(job_desc_msg_t *job_desc, job_record_t *job_ptr, uint32_t submit_uid);
int init(void);
int fini(void);
void *__wrap_dlopen(const char *path, int flags);
int __wrap_dlclose(void *handle);

struct slurm_conf slurm_conf = {.select_type = (char *)"select/cons_tres",
	.state_save_location = (char *)"/nonexistent",
	.select_type_param = SELECT_MEMORY,
	.prolog_flags = PROLOG_FLAG_ALLOC};
int node_record_count = NODES;

/* Even nodes have 2 sockets of 8 cores, odd ones 2 of 16; each partition has nodes of one kind. */
static node_record_t node[NODES];
static bool even[NODES], odd[NODES];
static bitstr_t even_nodes = {NODES, even}, odd_nodes = {NODES, odd};
static part_record_t part[] = {
	{.name = (char *)"small",
		.max_share = 1,
		.max_nodes = NO_VAL,
		.max_cpus_per_node = NO_VAL,
		.node_bitmap = &even_nodes},
	{.name = (char *)"big",
		.max_share = 1,
		.max_nodes = NO_VAL,
		.max_cpus_per_node = NO_VAL,
		.node_bitmap = &odd_nodes},
};
part_record_t *default_part_loc = &part[0];

/* As Slurm's own lock: submissions read what a reconfiguration writes. */
static pthread_rwlock_t slurm_lock = PTHREAD_RWLOCK_INITIALIZER;
static int lanes; /* what PrEpParameters says */

node_record_t *compat_node(int index)
{
	return &node[index];
}

list_t *list_create(void (*release)(void *entry))
{
	(void)release;
	return calloc(1, sizeof(list_t));
}

void list_append(list_t *list, void *entry)
{
	list->entry = entry;
}

list_itr_t *list_iterator_create(list_t *list)
{
	list_itr_t *iterator = calloc(1, sizeof(*iterator));

	iterator->next = list->entry;
	return iterator;
}

void *list_next(list_itr_t *iterator)
{
	void *entry = iterator->next;

	iterator->next = NULL;
	return entry;
}

void list_iterator_destroy(list_itr_t *iterator)
{
	free(iterator);
}

void list_destroy(list_t *list)
{
	free(list);
}

list_t *compat_part_list(char *names)
{
	list_t *list = list_create(NULL);

	list_append(list, &part[!strcmp(names, "big")]);
	return list;
}

/* Who names no QOS has the one of that name. */
char *job_qos_name(const job_desc_msg_t *d, char *partition)
{
	assert_non_null(partition);
	return strdup(d->qos ? d->qos : "usual");
}

void compat_node_bitmap(char *names, bitstr_t **nodes)
{
	(void)names;
	*nodes = NULL;
}

static int errors;

void error(const char *format, ...)
{
	(void)format;
	errors++;
}

void info(const char *format, ...)
{
	(void)format;
}

void debug(const char *format, ...)
{
	(void)format;
}

char *xstrdup_printf(const char *format, ...)
{
	va_list args;
	char *text;

	va_start(args, format);
	if (vasprintf(&text, format, args) < 0)
		abort();
	va_end(args);
	return text;
}

/* The select plugin is there. */
void *__wrap_dlopen(const char *path, int flags)
{
	(void)flags;
	return strstr(path, "select_cons_tres.so") ? &slurm_lock : NULL;
}

int __wrap_dlclose(void *handle)
{
	(void)handle;
	return 0;
}

/* Two lanes, and then four, and so on. */
static void reconfigure(void)
{
	pthread_rwlock_wrlock(&slurm_lock);
	free(slurm_conf.prep_params);
	lanes = lanes == 2 ? 4 : 2;
	slurm_conf.prep_params = xstrdup_printf("stripe_lanes=%d", lanes);
	pthread_rwlock_unlock(&slurm_lock);
}

static int make_cluster(void **state)
{
	static char *features[] = {(char *)"a,ib", (char *)"b,ib", (char *)"a,b", NULL};
	static config_record_t config;

	(void)state;
	for (int i = 0; i < NODES; i++) {
		even[i] = !(i & 1);
		odd[i] = i & 1;
		node[i] = (node_record_t){.tot_sockets = 2,
			.cores = i & 1 ? 16 : 8,
			.threads = 1,
			.tpc = 1,
			.real_memory = 16000,
			.features = features[i / 2 % 4],
			.config_ptr = &config};
	}
	reconfigure();
	return init();
}

static int end_cluster(void **state)
{
	(void)state;
	free(slurm_conf.prep_params);
	return fini();
}

static job_desc_msg_t description(const char *partition, const char *constraint)
{
	job_desc_msg_t d = {.num_tasks = NO_VAL,
		.min_cpus = NO_VAL,
		.min_nodes = NO_VAL,
		.max_nodes = NO_VAL,
		.ntasks_per_node = NO_VAL16,
		.ntasks_per_socket = NO_VAL16,
		.ntasks_per_core = NO_VAL16,
		.cpus_per_task = NO_VAL16,
		.pn_min_cpus = NO_VAL16,
		.sockets_per_node = NO_VAL16,
		.cores_per_socket = NO_VAL16,
		.threads_per_core = NO_VAL16,
		.ntasks_per_tres = NO_VAL16,
		.shared = NO_VAL16,
		.core_spec = NO_VAL16,
		.reboot = NO_VAL16,
		.overcommit = NO_VAL8,
		.pn_min_memory = NO_VAL64,
		.partition = (char *)partition,
		.features = (char *)constraint};

	d.spank_job_env = calloc(3, sizeof(char *));
	d.spank_job_env[0] = strdup("COLOCATE=stripe");
	d.spank_job_env_size = 1;
	return d;
}

static void clear(job_desc_msg_t *d)
{
	for (uint32_t i = 0; i < d->spank_job_env_size; i++)
		free(d->spank_job_env[i]);
	free(d->spank_job_env);
}

/* Submits a job. Returns the CPUs of the lane that it was given, or -1 where it was refused. */
static int submit(const char *partition, const char *constraint)
{
	job_desc_msg_t d = description(partition, constraint);
	char *why = NULL;
	int rc = job_submit(&d, 1000, &why), cpus = rc ? -1 : d.pn_min_cpus;

	clear(&d);
	free(why);
	return cpus;
}

/* Asks a waiting job for a node of so many sockets and threads of a core. */
static int modify(const char *partition, uint16_t sockets, uint16_t threads)
{
	job_desc_msg_t d = description(NULL, NULL), had = description(NULL, NULL);
	job_details_t details = {.orig_pn_min_memory = NO_VAL64};
	job_record_t job = {.partition = (char *)partition,
		.details = &details,
		.spank_job_env = had.spank_job_env,
		.spank_job_env_size = 1};
	int rc;

	d.sockets_per_node = sockets;
	d.threads_per_core = threads;
	rc = job_modify(&d, &job, 1000);
	clear(&d);
	clear(&had);
	return rc;
}

static atomic_int wrong;
static pthread_barrier_t together;

static void *submitter(void *arg)
{
	int me = (int)(intptr_t)arg;

	pthread_barrier_wait(&together);
	for (int i = 0; i < SUBMISSIONS; i++) {
		bool big = (i + me) & 1;
		int cpus, wanted;

		pthread_rwlock_rdlock(&slurm_lock);
		wanted = (big ? 32 : 16) / lanes;
		cpus = submit(big ? "big" : "small", i % 3 ? "ib" : NULL);
		wrong += cpus != wanted;
		wrong += modify("small", 2, NO_VAL16) != SLURM_SUCCESS;
		pthread_rwlock_unlock(&slurm_lock);
		if (i % 10 == me)
			reconfigure();
	}
	return NULL;
}

/* ThreadSanitizer, where the build has it, fails the program for each race that it sees. */
static void threads_at_once(void **state)
{
	pthread_t thread[THREADS];

	(void)state;
	assert_int_equal(pthread_barrier_init(&together, NULL, THREADS), 0);
	for (int i = 0; i < THREADS; i++)
		assert_int_equal(
			pthread_create(&thread[i], NULL, submitter, (void *)(intptr_t)i), 0);
	for (int i = 0; i < THREADS; i++)
		pthread_join(thread[i], NULL);
	pthread_barrier_destroy(&together);
	assert_int_equal(wrong, 0);
#ifndef __SANITIZE_THREAD__
	print_message("built without ThreadSanitizer: no race was looked for\n");
#endif
}

static int compare(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}

static double seconds_for(const char *constraint)
{
	struct timespec from, to;

	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &from);
	for (int i = 0; i < 4; i++)
		submit("small", constraint);
	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &to);
	return (double)(to.tv_sec - from.tv_sec) + (double)(to.tv_nsec - from.tv_nsec) / 1e9;
}

/* How many times as long as with "a" it takes with another one, by the medians. */
static double cost_of(const char *constraint)
{
	double with_short[ROUNDS], with_it[ROUNDS];

	for (int i = 0; i < ROUNDS; i++) {
		with_short[i] = seconds_for("a");
		with_it[i] = seconds_for(constraint);
	}
	qsort(with_short, ROUNDS, sizeof(double), compare);
	qsort(with_it, ROUNDS, sizeof(double), compare);
	return with_it[ROUNDS / 2] / with_short[ROUNDS / 2];
}

static void long_constraints(void **state)
{
	static char text[120 * 1024 + 1];
	double cost;

	(void)state;
	for (size_t i = 0; i < sizeof(text) - 1; i++)
		text[i] = i & 1 ? '&' : 'a';
	cost = cost_of(text);
	if (cost > 2)
		fail_msg("120 KB cost %.1f times as much as one byte", cost);
	/* The longest one that Slurm takes; all of it is read, but not for each node. */
	text[1023] = '\0';
	cost = cost_of(text);
	if (cost > 2)
		fail_msg("1023 bytes cost %.1f times as much as one", cost);
}

static void updates_are_checked_like_submissions(void **state)
{
	(void)state;
	assert_int_equal(modify("small", 2, NO_VAL16), SLURM_SUCCESS);
	assert_int_not_equal(modify("small", 3, NO_VAL16), SLURM_SUCCESS);
	assert_int_equal(modify("small", NO_VAL16, 1), SLURM_SUCCESS);
	assert_int_not_equal(modify("small", NO_VAL16, 2), SLURM_SUCCESS);
}

/* Submits a job with this value of --colocate; what the user is told goes to why, of 512 bytes. */
static int submit_as(const char *value, char *why)
{
	job_desc_msg_t d = description("small", NULL);
	char *text = NULL;
	int rc;

	free(d.spank_job_env[0]);
	d.spank_job_env[0] = xstrdup_printf("COLOCATE=%s", value);
	rc = job_submit(&d, 1000, &text);
	snprintf(why, 512, "%s", text ? text : "");
	free(text);
	clear(&d);
	return rc;
}

static void nobody_is_kept_off_where_the_site_says_so(void **state)
{
	static const char *const keys[] = {"spread", "with:7", "max-degradation:20"};
	static char set[] = "stripe_alone=no";
	char why[512], *before = slurm_conf.prep_params;

	(void)state;
	for (int i = 0; i < 3; i++)
		assert_int_equal(submit_as(keys[i], why), SLURM_SUCCESS);
	slurm_conf.prep_params = set;
	for (int i = 0; i < 3; i++) {
		assert_int_not_equal(submit_as(keys[i], why), SLURM_SUCCESS);
		assert_non_null(strstr(why, "stripe_alone=no"));
		assert_memory_equal(why + strlen("--colocate: "), keys[i], strcspn(keys[i], ":0"));
	}
	assert_int_equal(submit_as("stripe", why), SLURM_SUCCESS);
	assert_int_equal(submit_as("not:a,class:b", why), SLURM_SUCCESS);
	slurm_conf.prep_params = before;
}

/* Without slurmctld's prolog a node would learn from a step's user what is co-located. */
static void needs_the_prolog_of_slurmctld(void **state)
{
	char why[512];

	(void)state;
	slurm_conf.prolog_flags = 0;
	assert_int_not_equal(submit_as("stripe", why), SLURM_SUCCESS);
	assert_non_null(strstr(why, "PrologFlags has neither Alloc nor Contain"));
	slurm_conf.prolog_flags = PROLOG_FLAG_ALLOC;
	assert_int_equal(submit_as("stripe", why), SLURM_SUCCESS);
}

/* Submits a job of this partition and QOS, with what its client has sent of --colocate (NULL:
 * nothing). Returns its CPUs of a node, -1 where it is refused. is: what the job is then. */
static int submit_by_default(const char *partition, const char *qos, const char *sent, char *is)
{
	job_desc_msg_t d = description(partition, NULL);
	char *text = NULL;
	int rc, cpus;

	d.qos = (char *)qos;
	free(d.spank_job_env[0]);
	d.spank_job_env[0] = strdup(sent ? sent : "COLOCATE_BY=by-site");
	if (!strcmp(partition ? partition : "", "whole"))
		d.partition = (char *)"small", d.shared = JOB_SHARED_NONE;
	if (!strcmp(partition ? partition : "", "grows"))
		d.partition = (char *)"small", d.dependency = (char *)"afterok:1,Expand:2";
	rc = job_submit(&d, 1000, &text);
	cpus = rc ? -1 : d.pn_min_cpus;
	*is = '\0';
	for (uint32_t i = 0; i < d.spank_job_env_size; i++)
		if (strncmp(d.spank_job_env[i], "COLOCATE_SEED=", 14))
			snprintf(is + strlen(is), 128 - strlen(is), "%s ", d.spank_job_env[i]);
		else
			assert_int_equal(strlen(d.spank_job_env[i]), 14 + 32);
	free(text);
	clear(&d);
	return cpus;
}

/* What this plugin alone may say stands before the client's wish. */
static void what_a_client_forges_of_the_site_is_dropped(void **state)
{
	job_desc_msg_t d = description("small", NULL);
	char *text = NULL;

	(void)state;
	free(d.spank_job_env[0]);
	d.spank_job_env[0] = strdup("COLOCATE_BY=by-site");
	d.spank_job_env[1] = strdup("COLOCATE=spread");
	d.spank_job_env_size = 2;
	assert_int_equal(job_submit(&d, 1000, &text), SLURM_SUCCESS);
	assert_int_equal(d.spank_job_env_size, 2);
	assert_string_equal(d.spank_job_env[0], "COLOCATE=spread");
	assert_true(!strncmp(d.spank_job_env[1], "COLOCATE_SEED=", 14));
	free(text);
	clear(&d);
}

/* A lane of the small nodes has 8 CPUs, and one of the big ones 16. */
static void the_site_may_opt_jobs_in(void **state)
{
	static const struct {
		const char *defaults, *partition, *qos, *sent, *is;
		int cpus;
	} table[] = {
		{"stripe_lanes=2", "small", NULL, NULL, "", NO_VAL16},
		{"stripe_default=small", "small", NULL, NULL,
			"COLOCATE=stripe COLOCATE_BY=by-site ", 8},
		/* The cluster's default partition is the small one. */
		{"stripe_default=small", NULL, NULL, NULL, "COLOCATE=stripe COLOCATE_BY=by-site ",
			8},
		{"stripe_default=big:small", "big", NULL, NULL,
			"COLOCATE=stripe COLOCATE_BY=by-site ", 16},
		{"stripe_default=big", "small", NULL, NULL, "", NO_VAL16},
		{"stripe_default=qos:fast", "small", "fast", NULL,
			"COLOCATE=stripe COLOCATE_BY=by-site ", 8},
		{"stripe_default=qos:fast", "small", "slow", NULL, "", NO_VAL16},
		{"stripe_default=qos:fast", "small", NULL, NULL, "", NO_VAL16},
		{"stripe_default=big:qos:usual", "small", NULL, NULL,
			"COLOCATE=stripe COLOCATE_BY=by-site ", 8},
		/* What the user says comes first. */
		{"stripe_default=small", "small", NULL, "COLOCATE=no", "", NO_VAL16},
		{"stripe_lanes=2", "small", NULL, "COLOCATE=no", "", NO_VAL16},
		{"stripe_default=small", "small", NULL, "COLOCATE=class:a", "COLOCATE=class:a ", 8},
		{"stripe_default=small", "small", NULL, "COLOCATE=no,spread", "COLOCATE=no,spread ",
			-1},
		/* What cannot be co-located is like any other job. */
		{"stripe_default=small", "whole", NULL, NULL, "", NO_VAL16},
		{"stripe_default=small", "grows", NULL, NULL, "", NO_VAL16},
		{"stripe_default=small,stripe_partition=big", "small", NULL, NULL, "", NO_VAL16},
	};
	char *before = slurm_conf.prep_params, is[128];

	(void)state;
	for (size_t i = 0; i < sizeof(table) / sizeof(table[0]); i++) {
		slurm_conf.prep_params = (char *)table[i].defaults;
		assert_int_equal(
			submit_by_default(table[i].partition, table[i].qos, table[i].sent, is),
			table[i].cpus);
		assert_string_equal(is, table[i].is);
	}
	slurm_conf.prep_params = before;
}

/* Each of these jobs runs as it is, and the admin reads once that the setting does nothing. */
static void an_idle_default_is_told_once(void **state)
{
	char *before = slurm_conf.prep_params, is[128];

	(void)state;
	slurm_conf.prep_params = (char *)"stripe_default=small";
	errors = 0;
	assert_int_equal(submit_by_default("whole", NULL, NULL, is), NO_VAL16);
	assert_int_equal(errors, 0);
	slurm_conf.prolog_flags = 0;
	for (int i = 0; i < 3; i++) {
		assert_int_equal(submit_by_default("small", NULL, NULL, is), NO_VAL16);
		assert_string_equal(is, "");
	}
	assert_int_equal(errors, 1);
	slurm_conf.prolog_flags = PROLOG_FLAG_ALLOC;
	assert_int_equal(submit_by_default("small", NULL, NULL, is), 8);
	assert_int_equal(errors, 1);
	slurm_conf.prep_params = before;
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(threads_at_once),
		cmocka_unit_test(long_constraints),
		cmocka_unit_test(updates_are_checked_like_submissions),
		cmocka_unit_test(nobody_is_kept_off_where_the_site_says_so),
		cmocka_unit_test(needs_the_prolog_of_slurmctld),
		cmocka_unit_test(the_site_may_opt_jobs_in),
		cmocka_unit_test(an_idle_default_is_told_once),
		cmocka_unit_test(what_a_client_forges_of_the_site_is_dropped),
	};

	return cmocka_run_group_tests_name("job_submit", tests, make_cluster, end_cluster);
}
