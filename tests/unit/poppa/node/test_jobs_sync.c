/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Unit tests of src/poppa/node/jobs_sync.c: jobs that come and leave, with real files. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "common/fsio.h"
#include "common/units.h"
#include "unit/poppa/node/jobs_fixture.h"

static char root[64], dir[96];
static struct spool spool;
static int woken;
static time_t began;

int __wrap_find_tasks(const char *mount, const char *node, uid_t uid, uint32_t job_id,
	const char *name, const struct nodeconf *c, const struct find_tasks_meanwhile *meanwhile,
	struct found_tasks *d);
void __wrap_sender_wake(struct sender *s);
void __wrap_sender_prior(struct sender *s, struct slow_prior *prior);

/* No job has processes here. */
int __wrap_find_tasks(const char *mount, const char *node, uid_t uid, uint32_t job_id,
	const char *name, const struct nodeconf *c, const struct find_tasks_meanwhile *meanwhile,
	struct found_tasks *d)
{
	(void)mount;
	(void)node;
	(void)uid;
	(void)job_id;
	(void)name;
	(void)c;
	(void)meanwhile;
	*d = (struct found_tasks){.dirs = 0};
	return 0;
}

static struct slow_prior in_force;

void __wrap_sender_prior(struct sender *s, struct slow_prior *prior)
{
	(void)s;
	*prior = in_force;
}

void __wrap_sender_wake(struct sender *s)
{
	(void)s;
	woken++;
}

static int setup(void **state)
{
	struct errmsg err = {""};

	strcpy(root, "/tmp/jobs_sync-XXXXXX");
	if (!mkdtemp(root))
		return -1;
	snprintf(dir, sizeof(dir), "%s/jobs", root);
	if (fsio_mkdirs(dir, 0755, &err) || spool_open(&spool, root, &err))
		return -1;
	make_table(state);
	began = time(NULL);
	js.env.dir = dir;
	js.env.spool = &spool;
	strcpy(js.boot, "this");
	js.started_unix = began;
	js.boot_unix = began - 1000;
	woken = 0;
	in_force = slow_prior_default;
	return 0;
}

static int teardown(void **state)
{
	char command[96];

	drop_table(state);
	snprintf(command, sizeof(command), "rm -rf %s", root);
	return system(command);
}

#define SYNC_TEST(f) cmocka_unit_test_setup_teardown(f, setup, teardown)

/* The job came when poppad had run for so many seconds (of this boot, at second 1000). */
static void register_job(uint32_t id, uint32_t restart, int64_t after_s)
{
	struct errmsg err = {""};
	struct registration r;

	registration_init(&r);
	r.job_id = id;
	r.restart = restart;
	r.uid = 7;
	r.lane = 1;
	r.registered = began + after_s;
	strcpy(r.boot_id, "this");
	r.uptime = 1000 + after_s;
	assert_int_equal(registration_write(dir, &r, &err), 0);
}

static int records(struct ledger_record *r)
{
	struct errmsg err = {""};

	return spool_records(&spool, r, 4, &err);
}

static void checkpoint_of(uint32_t id, int64_t start)
{
	struct tally *t = tally_new(id, 0, 7, start, now, NULL);
	struct errmsg err = {""};
	json_t *json;

	tally_unmeasured(t, 5 * NS_PER_S);
	json = tally_save(t, "this", time(NULL));
	assert_int_equal(spool_checkpoint(&spool, id, 0, json, &err), 0);
	json_decref(json);
	tally_free(t);
}

/* A job begins with the prior that is in force then, and keeps it over a restart. */
static void begins_with_the_prior(void **state)
{
	static const struct slow_prior other = {{0.25, 0.5, 0.25}};
	struct errmsg err = {""};
	struct ledger_record r[4];
	json_t *json;

	(void)state;
	js.env.node_type = "a model";
	in_force = other;
	register_job(5, 0, 0);
	jobs_sync(&js);
	in_force = slow_prior_default;
	register_job(6, 0, 0);
	jobs_sync(&js);
	assert_memory_equal(
		estimator_prior(jobs_find(&js, 5, 0)->tally->robust), &other, sizeof(other));
	assert_memory_equal(estimator_prior(jobs_find(&js, 6, 0)->tally->robust),
		&slow_prior_default, sizeof(other));
	json = tally_save(js.first->tally, "this", time(NULL));
	assert_int_equal(spool_checkpoint(&spool, 5, 0, json, &err), 0);
	json_decref(json);
	while (js.first)
		jobs_drop(&js, js.first);
	jobs_sync(&js);
	assert_memory_equal(
		estimator_prior(jobs_find(&js, 5, 0)->tally->robust), &other, sizeof(other));
	assert_int_equal(registration_end(dir, 5, 0, &err), 0);
	jobs_sync(&js);
	assert_int_equal(records(r), 1);
	assert_string_equal(r[0].node_type, "a model");
	assert_false(r[0].slow_known);
}

static void comes_and_leaves(void **state)
{
	struct ledger_record r[4];
	struct errmsg err = {""};
	char path[128];

	(void)state;
	register_job(5, 0, 0);
	jobs_sync(&js);
	assert_int_equal(jobs_count(&js), 1);
	assert_int_equal(js.first->reg.uid, 7);
	assert_int_equal(js.first->tally->lane, 1);
	assert_int_equal(js.first->tally->mode_ns[TALLY_UNMEASURED], 0);
	jobs_sync(&js);
	assert_int_equal(jobs_count(&js), 1);
	assert_int_equal(records(r), 0);
	checkpoint_of(5, began);
	assert_int_equal(registration_end(dir, 5, 0, &err), 0);
	jobs_sync(&js);
	assert_int_equal(jobs_count(&js), 0);
	assert_int_equal(records(r), 1);
	assert_int_equal(r[0].job_id, 5);
	assert_int_equal(r[0].start_unix, began);
	assert_true(r[0].final);
	assert_int_equal(woken, 1);
	/* Nothing else is left of it. */
	assert_null(spool_restore(&spool, 5, 0, &err));
	snprintf(path, sizeof(path), "%s/5.0.ended", dir);
	assert_int_equal(access(path, F_OK), -1);
}

static void time_before_poppad(void **state)
{
	(void)state;
	register_job(5, 0, -40);
	jobs_sync(&js);
	assert_int_equal(js.first->tally->mode_ns[TALLY_UNMEASURED], 40 * NS_PER_S);
}

/* Nothing of the job goes before its record is safe. */
static void spool_takes_nothing(void **state)
{
	struct ledger_record r[4];
	struct errmsg err = {""};
	char away[PATH_MAX + 8], path[128];

	(void)state;
	register_job(5, 0, 0);
	jobs_sync(&js);
	assert_int_equal(registration_end(dir, 5, 0, &err), 0);
	snprintf(away, sizeof(away), "%s.away", spool.record_dir);
	assert_int_equal(rename(spool.record_dir, away), 0);
	jobs_sync(&js);
	assert_int_equal(jobs_count(&js), 1);
	assert_non_null(strstr(logged, "the spool takes no record"));
	logged[0] = '\0';
	jobs_sync(&js);
	assert_string_equal(logged, "");
	snprintf(path, sizeof(path), "%s/5.0.ended", dir);
	assert_int_equal(access(path, F_OK), 0);
	assert_int_equal(woken, 0);
	assert_int_equal(rename(away, spool.record_dir), 0);
	jobs_sync(&js);
	assert_int_equal(jobs_count(&js), 0);
	assert_int_equal(records(r), 1);
	assert_int_equal(access(path, F_OK), -1);
}

/* A checkpoint is that of the run, or of another one with the same number. */
static void goes_on_from_a_checkpoint(void **state)
{
	(void)state;
	register_job(5, 0, 0);
	register_job(6, 0, 0);
	checkpoint_of(5, began);
	checkpoint_of(6, began - 1);
	jobs_sync(&js);
	assert_int_equal(jobs_count(&js), 2);
	assert_int_equal(jobs_find(&js, 5, 0)->tally->mode_ns[TALLY_UNMEASURED], 5 * NS_PER_S);
	assert_int_equal(jobs_find(&js, 6, 0)->tally->mode_ns[TALLY_UNMEASURED], 0);
}

/* At the first look, and then no more. */
static void checkpoint_without_a_job(void **state)
{
	struct ledger_record r[4];

	(void)state;
	checkpoint_of(5, began - 50);
	jobs_sync(&js);
	assert_int_equal(jobs_count(&js), 0);
	assert_int_equal(records(r), 1);
	assert_int_equal(r[0].unmeasured_ns, 5 * NS_PER_S);
	checkpoint_of(6, began - 50);
	jobs_sync(&js);
	assert_int_equal(records(r), 1);
}

static void only_the_last_run_is_here(void **state)
{
	struct ledger_record r[4];

	(void)state;
	register_job(5, 0, 0);
	jobs_sync(&js);
	register_job(5, 1, 1);
	jobs_sync(&js);
	assert_int_equal(jobs_count(&js), 1);
	assert_int_equal(js.first->reg.restart, 1);
	assert_int_equal(records(r), 1);
	assert_int_equal(r[0].restart, 0);
}

/* Its epilog never ran, as the node was switched off. */
static void of_an_earlier_boot(void **state)
{
	struct ledger_record r[4];

	(void)state;
	register_job(5, 0, -10);
	strcpy(js.boot, "next");
	jobs_sync(&js);
	assert_int_equal(jobs_count(&js), 0);
	assert_int_equal(records(r), 1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		SYNC_TEST(begins_with_the_prior),
		SYNC_TEST(comes_and_leaves),
		SYNC_TEST(time_before_poppad),
		SYNC_TEST(spool_takes_nothing),
		SYNC_TEST(goes_on_from_a_checkpoint),
		SYNC_TEST(checkpoint_without_a_job),
		SYNC_TEST(only_the_last_run_is_here),
		SYNC_TEST(of_an_earlier_boot),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
