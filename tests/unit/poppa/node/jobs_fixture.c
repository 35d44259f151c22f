/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A table of jobs in memory, with counters, a clock and a shutter that are made up. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/log.h"
#include "common/units.h"
#include "unit/poppa/node/jobs_fixture.h"

struct jobs js;
struct poppa_settings settings;
struct nodeconf conf;
int64_t now;
int counters_closed, publications, shutter_locks;
char logged[4096];
struct shutter_plan *published;
struct shutter_turned turned;
static struct shutterlog_writer *no_log;
static struct cluster_conf cluster = {.cluster = "c", .node = "n1"};

int64_t __wrap_clock_now(void);
void __wrap_counter_close(struct counter *c);
enum counter_backend __wrap_counter_kind(const struct counter *c);
struct shutter_plan *__wrap_shutter_publish(struct shutter *s, struct shutter_plan *next);
int64_t __wrap_shutter_cpu_ns(const struct shutter *s);
void __wrap_shutter_lock(struct shutter *s);
void __wrap_shutter_lock_reading(struct shutter *s);
void __wrap_shutter_unlock(struct shutter *s);
void __wrap_shutter_turned(struct shutter *s, struct shutter_turned *out);

int64_t __wrap_clock_now(void)
{
	return now;
}

void __wrap_counter_close(struct counter *c)
{
	counters_closed += c != NULL;
	free(c);
}

enum counter_backend __wrap_counter_kind(const struct counter *c)
{
	return c->kind;
}

struct shutter_plan *__wrap_shutter_publish(struct shutter *s, struct shutter_plan *next)
{
	struct shutter_plan *old = published;

	(void)s;
	published = next;
	publications++;
	return old;
}

int64_t __wrap_shutter_cpu_ns(const struct shutter *s)
{
	(void)s;
	return 2 * NS_PER_S;
}

void __wrap_shutter_lock(struct shutter *s)
{
	(void)s;
	shutter_locks++;
}

void __wrap_shutter_lock_reading(struct shutter *s)
{
	(void)s;
	shutter_locks++;
}

void __wrap_shutter_unlock(struct shutter *s)
{
	(void)s;
	shutter_locks--;
}

void __wrap_shutter_turned(struct shutter *s, struct shutter_turned *out)
{
	(void)s;
	*out = turned;
	turned = (struct shutter_turned){.jobs = 0};
}

static void keep_line(enum plog_level level, const char *line)
{
	(void)level;
	strncat(logged, line, sizeof(logged) - strlen(logged) - 2);
	strcat(logged, "\n");
}

int make_table(void **state)
{
	(void)state;
	plog_init("test", PLOG_INFO);
	plog_set_sink(keep_line);
	settings_defaults(&settings);
	nodeconf_defaults(&conf);
	js = (struct jobs){
		.env = {.settings = &settings, .conf = &conf, .cluster = &cluster, .log = &no_log},
		.allowed = true};
	overhead_limit_init(&js.limit);
	now = 100 * NS_PER_S;
	counters_closed = publications = shutter_locks = 0;
	logged[0] = '\0';
	return 0;
}

int drop_table(void **state)
{
	(void)state;
	assert_int_equal(shutter_locks, 0);
	while (js.first)
		jobs_drop(&js, js.first);
	jobs_empty_garbage(&js);
	json_decref(js.shown);
	shutter_plan_free(published);
	published = NULL;
	return 0;
}

struct job *add_job(uint32_t id, int tasks, enum counter_backend kind)
{
	struct job *j = calloc(1, sizeof(*j));

	assert_non_null(j);
	j->task = calloc(tasks + 1, sizeof(*j->task));
	j->tally = tally_new(id, 0, 1000 + id, 1700000000, now, NULL);
	assert_true(j->task && j->tally);
	j->tasks = tasks;
	for (int i = 0; i < tasks; i++) {
		j->task[i].pid = 1000000000 + i; /* of nobody */
		if (kind == COUNTER_NONE)
			continue;
		j->task[i].counter = calloc(1, sizeof(struct counter));
		assert_non_null(j->task[i].counter);
		j->task[i].counter->kind = kind;
	}
	j->reg.job_id = id;
	j->reg.uid = 1000 + id;
	j->tally->backend = kind;
	j->seen = j->pausable = true;
	j->state = JOB_RUNNING;
	jobs_add(&js, j);
	return j;
}
