/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Unit tests of src/poppa/node/jobs_scan.c, with processes that are made up but for one. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/param.h>
#include <sys/wait.h>
#include <unistd.h>

#include "common/units.h"
#include "poppa/hold/proc.h"
#include "unit/poppa/node/jobs_fixture.h"
#include "unit/poppa/waiting_process.h"

#define MAX_FOUND (JOB_CPU_MAX_CLOCKS + 1)
#define CROWD 5000
#define NOBODY 1000000000 /* a pid that no process has */

/* What find_tasks() finds, or the error that it has. */
static struct found_process found[MAX_FOUND];
static int found_count, found_dirs, find_error;
static const char *counted_by; /* the file that counts the job's processor time */
static int freezers_opened;    /* how often somebody tried to open one */
static int open_error, pause_error;
static pid_t moved; /* is in the job's cgroups no more when it is looked at; 0 = none */
static int opened;  /* how often somebody tried to open a counter */
static int64_t open_takes, prepare_takes;
static int64_t idle_ns;
static int asked_for_blocks;

int __wrap_find_tasks(const char *mount, const char *node, uid_t uid, uint32_t job_id,
	const char *name, const struct nodeconf *c, const struct find_tasks_meanwhile *meanwhile,
	struct found_tasks *d);
bool __wrap_find_tasks_holds(const char *dir, pid_t pid);
int __wrap_counter_open(enum counter_backend backend, const struct nodeconf *c, pid_t pid,
	struct counter **out, struct errmsg *err);
int __wrap_counter_refresh(struct counter *c);
void __wrap_counter_prepare(struct counter *c);
struct pause_unit *__wrap_pause_open_process(struct held_file *h, pid_t pid, uint64_t starttime);
struct pause_unit *__wrap_pause_open_freezer(
	struct held_file *h, enum held_kind kind, const char *path);
int64_t __wrap_shutter_idle_ns(struct shutter *s);
struct shutter_plan *__wrap_shutter_take(struct shutter *s);

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
	if (meanwhile)
		meanwhile->call(meanwhile->arg);
	errno = find_error;
	if (find_error)
		return -1;
	*d = (struct found_tasks){.dirs = found_dirs, .processes = found_count};
	d->dir = calloc(found_dirs, sizeof(*d->dir));
	for (int i = 0; i < found_dirs; i++)
		d->dir[i] = (struct found_cgroup){.path = strdup("/nonexistent"),
			.parent = i - 1,
			.in_step = true,
			.users = i,
			.kind = HELD_FREEZER_V2};
	strcpy(d->usage, counted_by);
	d->process = calloc(MAX(found_count, MAX_FOUND), sizeof(*d->process));
	memcpy(d->process, found, sizeof(found));
	for (int i = MAX_FOUND; i < found_count; i++)
		d->process[i] = (struct found_process){.pid = NOBODY + i, .state = 'S'};
	return 0;
}

bool __wrap_find_tasks_holds(const char *dir, pid_t pid)
{
	(void)dir;
	return pid != moved;
}

int __wrap_counter_open(enum counter_backend backend, const struct nodeconf *c, pid_t pid,
	struct counter **out, struct errmsg *err)
{
	(void)backend;
	(void)c;
	(void)pid;
	opened++;
	now += open_takes;
	if (open_error) {
		errno = open_error;
		return errmsg_set(err, "no");
	}
	*out = calloc(1, sizeof(**out));
	(*out)->kind = COUNTER_HEARTBEAT;
	return 0;
}

int __wrap_counter_refresh(struct counter *c)
{
	errno = c->error;
	return c->error ? -1 : 0;
}

void __wrap_counter_prepare(struct counter *c)
{
	(void)c;
	now += prepare_takes;
}

struct pause_unit *__wrap_pause_open_process(struct held_file *h, pid_t pid, uint64_t starttime)
{
	(void)h;
	(void)pid;
	(void)starttime;
	errno = pause_error;
	return NULL;
}

struct pause_unit *__wrap_pause_open_freezer(
	struct held_file *h, enum held_kind kind, const char *path)
{
	(void)h;
	(void)kind;
	(void)path;
	freezers_opened++;
	errno = ESRCH;
	return NULL;
}

int64_t __wrap_shutter_idle_ns(struct shutter *s)
{
	(void)s;
	return idle_ns;
}

struct shutter_plan *__wrap_shutter_take(struct shutter *s)
{
	(void)s;
	asked_for_blocks++;
	return NULL;
}

static int setup(void **state)
{
	memset(found, 0, sizeof(found));
	for (int i = 0; i < MAX_FOUND; i++)
		found[i] = (struct found_process){
			.pid = NOBODY + i, .app = true, .starttime = 7, .state = 'R'};
	found_count = find_error = open_error = opened = freezers_opened = 0;
	found_dirs = 1;
	counted_by = "/nonexistent";
	open_takes = prepare_takes = 0;
	pause_error = ESRCH; /* it has ended since it was found */
	idle_ns = INT64_MAX;
	make_table(state);
	settings.pause = PAUSE_SIGSTOP;
	return 0;
}

#define SCAN_TEST(f) cmocka_unit_test_setup_teardown(f, setup, drop_table)

/* Thousands of processes take long to look at: the shutter does not wait for that. */
static void blocks_are_taken_meanwhile(void **state)
{
	(void)state;
	add_job(1, 0, COUNTER_NONE);
	asked_for_blocks = 0;
	jobs_scan(&js);
	assert_int_equal(asked_for_blocks, 1);
}

static void tasks_come_and_go(void **state)
{
	struct job *j = add_job(1, 0, COUNTER_NONE);

	(void)state;
	jobs_scan(&js);
	assert_int_equal(j->state, JOB_WAITING);
	found_count = 3;
	found[1].app = false; /* a launcher */
	jobs_scan(&js);
	assert_int_equal(j->tasks, 2);
	assert_int_equal(j->task[1].pid, NOBODY + 2);
	assert_int_equal(j->state, JOB_RUNNING);
	assert_true(j->pausable);
	assert_int_equal(opened, 2);
	assert_int_equal(j->tally->backend, COUNTER_HEARTBEAT);
	assert_non_null(strstr(logged, "job 1: 2 tasks, progress from heartbeat"));
	jobs_scan(&js);
	assert_int_equal(opened, 2);
	/* Another process has got the number of the first. */
	found[0].starttime++;
	jobs_scan(&js);
	assert_int_equal(j->tasks, 2);
	assert_int_equal(opened, 3);
	assert_int_equal(counters_closed, 1);
	found_count = 0;
	jobs_scan(&js);
	assert_int_equal(j->tasks, 0);
	assert_int_equal(j->state, JOB_WAITING);
	assert_int_equal(counters_closed, 3);
}

/* The program that has used most processor time: not the launcher, and not one that was there long
 * and used little. */
static void programs_are_named(void **state)
{
	struct job *j = add_job(1, 0, COUNTER_NONE);
	struct ledger_record r;

	(void)state;
	found_count = 3;
	strcpy(found[0].exe, "bash");
	found[0].app = false;
	found[0].own_ticks = 900;
	strcpy(found[1].exe, "setup");
	found[1].own_ticks = 50;
	strcpy(found[2].exe, "lu");
	jobs_scan(&js);
	assert_string_equal(programs_first(&j->tally->programs), "setup");
	found[2].own_ticks = 30;
	jobs_scan(&js);
	assert_string_equal(programs_first(&j->tally->programs), "setup");
	/* It becomes the solver, whose time only what follows is. */
	strcpy(found[1].exe, "cg");
	found[1].own_ticks = 90;
	found[2].own_ticks = 80;
	jobs_scan(&js);
	assert_string_equal(programs_first(&j->tally->programs), "lu");
	jobs_record(&js, j, true, &r);
	assert_string_equal(r.program, "lu");
}

/* While nobody can look, what is known stays; the log says so once. */
static void cannot_be_looked_at(void **state)
{
	struct job *j = add_job(1, 2, COUNTER_PERF);

	(void)state;
	find_error = EMFILE;
	jobs_scan(&js);
	assert_int_equal(j->tasks, 2);
	assert_int_equal(j->state, JOB_RUNNING);
	assert_non_null(strstr(logged, "job 1: its tasks cannot be looked at"));
	logged[0] = '\0';
	jobs_scan(&js);
	assert_string_equal(logged, "");
}

/* Often at first, as a program may publish its heartbeat some time after its start. */
static void tries_a_counter_again(void **state)
{
	(void)state;
	add_job(1, 0, COUNTER_NONE);
	found_count = 1;
	open_error = ENODATA;
	for (int i = 0; i < 40; i++)
		jobs_scan(&js);
	assert_in_range(opened, 5, 20);
	opened = 0;
	now += 60 * NS_PER_S;
	jobs_scan(&js);
	jobs_scan(&js);
	assert_int_equal(opened, 1);
	now += 60 * NS_PER_S;
	settings.counter = COUNTER_NONE;
	jobs_scan(&js);
	assert_int_equal(opened, 1);
}

/* Looks into a user's file, each of them too short to be given up, take a small share of the main
 * thread's time. The job is named. */
static void slow_files_have_a_budget(void **state)
{
	const int64_t minute = 60 * NS_PER_S;
	int64_t taken = 0, end;
	struct job *j = add_job(1, 0, COUNTER_NONE);

	(void)state;
	found_count = MAX_FOUND;
	open_error = ENODATA;
	open_takes = 90 * NS_PER_MS;
	for (int round = 0; round < 2; round++) {
		for (end = now + 5 * minute, opened = 0; now < end; now += NS_PER_S) {
			jobs_scan(&js);
			/* Its user starts its tasks again and again. */
			for (int i = 0; i < MAX_FOUND; i++)
				found[i].starttime++;
		}
		taken = opened * open_takes;
		assert_in_range(taken, minute / 30, (round ? 0 : 6 * NS_PER_S) + 5 * minute / 20);
	}
	assert_non_null(strstr(logged, "job 1 of uid 1001 has had 5 s"));
	assert_null(strstr(strstr(logged, "has had") + 1, "has had"));
	/* What is opened already goes on, and its refresh counts, too. */
	open_error = 0;
	open_takes = 0;
	found_count = 1;
	j->opening_ns = 0;
	jobs_scan(&js);
	assert_non_null(j->task[0].counter);
	prepare_takes = 400 * NS_PER_MS;
	for (end = now + 5 * minute, taken = 0; now < end; now += NS_PER_S) {
		int64_t before = now;

		jobs_refresh(&js);
		taken += now - before;
	}
	assert_in_range(taken, minute / 30, 6 * NS_PER_S + 5 * minute / 20);
}

/* A file system that does not answer, or that a user serves. */
static void unreadable_programs_are_named(void **state)
{
	static const int errors[] = {ETIMEDOUT, EREMOTE};

	(void)state;
	found_count = 2;
	for (int i = 0; i < 2; i++) {
		add_job(1 + i, 0, COUNTER_NONE);
		open_error = errors[i];
		jobs_scan(&js);
	}
	assert_non_null(strstr(logged, "job 1 of uid 1001: its program cannot be looked at: no"));
	assert_non_null(strstr(logged, "job 2 of uid 1002: its program cannot be looked at: no"));
	logged[0] = '\0';
	jobs_scan(&js);
	assert_null(strstr(logged, "cannot be looked at"));
}

static void tasks_that_cannot_be_stopped(void **state)
{
	struct job *j = add_job(1, 0, COUNTER_NONE);

	(void)state;
	found_count = 2;
	pause_error = EACCES;
	jobs_scan(&js);
	assert_false(j->pausable);
	assert_non_null(strstr(logged, "job 1 of uid 1001 cannot be paused"));
	logged[0] = '\0';
	jobs_scan(&js);
	assert_null(strstr(logged, "cannot be paused"));
	pause_error = ESRCH;
	jobs_scan(&js);
	assert_true(j->pausable);
}

/* No cgroup counts its processor time, and it has more processes than there are clocks for. */
static void more_processes_than_clocks(void **state)
{
	struct job *j = add_job(1, 0, COUNTER_NONE);
	int plans;

	(void)state;
	for (int i = 0; i < MAX_FOUND; i++)
		found[i] = (struct found_process){.pid = getpid(), .state = 'S'};
	found_count = MAX_FOUND - 1;
	jobs_scan(&js);
	assert_false(j->unwatched);
	found_count = MAX_FOUND;
	plans = publications;
	jobs_scan(&js);
	assert_true(j->unwatched);
	assert_int_equal(publications, plans + 1);
	assert_non_null(strstr(logged, "job 1 of uid 1001 has more than 512 processes"));
	logged[0] = '\0';
	jobs_scan(&js);
	assert_null(strstr(logged, "processes"));
	found_count = 1;
	jobs_scan(&js);
	assert_false(j->unwatched);
}

/* Signals reach what is known and is called a task. They do where the job's processor time shows
 * who was not stopped, and where a shutter has the time to look for new tasks. */
static void frozen_where_signals_do_not_do(void **state)
{
	(void)state;
	settings.pause = PAUSE_AUTO;
	found_count = 2;
	found[1].app = false; /* a launcher */
	counted_by = "/proc/self/stat";
	add_job(1, 0, COUNTER_NONE);
	jobs_scan(&js);
	assert_int_equal(freezers_opened, 0);
	found_dirs = 300;
	jobs_scan(&js);
	assert_int_equal(freezers_opened, 1);
	found_dirs = 1;
	jobs_scan(&js);
	assert_int_equal(freezers_opened, 1);
	js.first->way.whole = true; /* somebody has resumed what signals had stopped */
	jobs_scan(&js);
	assert_int_equal(freezers_opened, 2);
	js.first->way.whole = false;
	/* A crowd is frozen only then, and only up to what a shutter has the time for. */
	found_count = CROWD / 4;
	jobs_scan(&js);
	assert_int_equal(freezers_opened, 2);
	js.first->way.whole = true;
	jobs_scan(&js);
	assert_int_equal(freezers_opened, 3);
	found_count = CROWD;
	jobs_scan(&js);
	assert_int_equal(freezers_opened, 3);
	found_count = 2;
	js.first->way.whole = false;
	freezers_opened = 2;
	counted_by = "/nonexistent";
	job_cpu_close(js.first->cpu);
	js.first->cpu = NULL;
	jobs_scan(&js);
	assert_int_equal(freezers_opened, 3);
}

/* Each of many threads would wake to be stopped, so a process of them that idles is left alone. */
static void many_idle_threads_are_left_alone(void **state)
{
	struct job *j = add_job(1, 0, COUNTER_NONE);

	(void)state;
	settings.pause = PAUSE_AUTO;
	found_count = 3;
	found[2].app = false; /* a launcher */
	counted_by = "/proc/self/stat";
	found[0].threads = PAUSE_SIGNALLED_THREADS;
	jobs_scan(&js);
	assert_true(j->task[0].single && j->task[1].single);
	found[0].threads++;
	found[0].state = 'S';
	j->task[0].busy_ns = 0;
	jobs_scan(&js);
	assert_false(j->task[0].single);
	assert_true(j->task[1].single);
	/* That it was stopped and resumed is no work. */
	js.blocks += 100;
	found[0].cpu_ticks += 20;
	jobs_scan(&js);
	assert_false(j->task[0].single);
	/* When it works it is stopped, too. */
	js.blocks += 100;
	found[0].cpu_ticks += 50;
	jobs_scan(&js);
	assert_true(j->task[0].single && j->task[1].single);
	assert_int_equal(freezers_opened, 0);
	/* Without a launcher it is frozen, however many threads work. */
	found_count = 2;
	jobs_scan(&js);
	assert_int_equal(freezers_opened, 1);
	found_count = 3;
	freezers_opened = 0;
	/* Somebody has resumed what signals had stopped: some more threads can be frozen. */
	j->way.whole = true;
	jobs_scan(&js);
	assert_int_equal(freezers_opened, 1);
	assert_true(j->held_whole);
	j->way.whole = false;
	found[0].state = 'S';
	jobs_scan(&js);
	assert_false(j->held_whole);
	/* A process of idle threads keeps no traced one from being frozen. */
	found[0].threads = 100000;
	found[1].traced = 1;
	jobs_scan(&js);
	assert_true(j->held_whole);
	assert_int_equal(freezers_opened, 2);
	/* What is just waking from that has not worked. */
	j->task[1].busy_ns = 0;
	found[1].state = 'R';
	jobs_scan(&js);
	assert_int_equal(j->task[1].busy_ns, 0);
}

/* A number that was in the list may be a stranger's by now. */
static void strangers_are_left_alone(void **state)
{
	struct job *j = add_job(1, 0, COUNTER_NONE);

	(void)state;
	found_count = 2;
	moved = found[1].pid;
	jobs_scan(&js);
	assert_int_equal(j->tasks, 1);
	assert_int_equal(j->task[0].pid, found[0].pid);
	/* Who is known is no other process as long as it has the same start time. */
	moved = found[0].pid;
	jobs_scan(&js);
	assert_int_equal(j->tasks, 2);
}

static void stopped_or_traced_in_part(void **state)
{
	struct job *j = add_job(1, 0, COUNTER_NONE);

	(void)state;
	found_count = 2;
	jobs_scan(&js);
	assert_int_equal(js.look_ms, 0);
	found[1].traced = true;
	jobs_scan(&js);
	assert_int_equal(j->state, JOB_PARTLY_STOPPED);
	assert_true(js.look_ms > 0);
	found[1].traced = false;
	jobs_scan(&js);
	assert_int_equal(j->state, JOB_RUNNING);
	found[0].state = found[1].state = 't';
	jobs_scan(&js);
	assert_int_equal(j->state, JOB_STOPPED);
}

/* A program that has ended its signal may bring another one: its counter is opened anew. */
static void a_signal_that_has_ended(void **state)
{
	struct job *j = add_job(1, 3, COUNTER_HEARTBEAT);

	(void)state;
	j->task[0].tries = j->task[1].tries = 99;
	j->task[0].counter->error = ENODATA;
	j->task[1].counter->error = EIO;
	js.changed = false;
	jobs_refresh(&js);
	assert_null(j->task[0].counter);
	assert_int_equal(j->task[0].tries, 0);
	assert_non_null(j->task[1].counter);
	assert_int_equal(j->task[1].tries, 99);
	assert_non_null(j->task[2].counter);
	assert_true(js.changed);
	assert_int_equal(counters_closed, 0); /* the plan still names it */
}

/* To open a uprobe takes long, so that waits for a gap between blocks, though not for ever. */
static void slow_counters_wait_for_a_gap(void **state)
{
	struct job *j = add_job(1, 1, COUNTER_UPROBE);

	(void)state;
	j->task[0].refreshed = now;
	idle_ns = NS_PER_MS;
	now += NS_PER_S;
	jobs_refresh(&js);
	assert_true(j->task[0].refreshed < now);
	idle_ns = NS_PER_S;
	jobs_refresh(&js);
	assert_true(j->task[0].refreshed == now);
	idle_ns = NS_PER_MS;
	now += 60 * NS_PER_S;
	jobs_refresh(&js);
	assert_true(j->task[0].refreshed == now);
}

static void sees_who_runs_again(void **state)
{
	struct job *j = add_job(1, 2, COUNTER_PERF);
	int status;
	pid_t pid = waiting_process();

	(void)state;
	j->task[0].state = 'S';
	j->task[1].pid = pid;
	j->task[1].state = 'T';
	kill(pid, SIGSTOP);
	assert_int_equal(waitpid(pid, &status, WUNTRACED), pid);
	assert_false(jobs_someone_runs_again(&js));
	kill(pid, SIGCONT);
	assert_int_equal(waitpid(pid, &status, WCONTINUED), pid);
	assert_true(jobs_someone_runs_again(&js));
	j->task[1].state = 'S'; /* it ran at the last scan, too */
	assert_false(jobs_someone_runs_again(&js));
	kill(pid, SIGKILL);
	waitpid(pid, NULL, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		SCAN_TEST(blocks_are_taken_meanwhile),
		SCAN_TEST(tasks_come_and_go),
		SCAN_TEST(programs_are_named),
		SCAN_TEST(cannot_be_looked_at),
		SCAN_TEST(tries_a_counter_again),
		SCAN_TEST(slow_files_have_a_budget),
		SCAN_TEST(unreadable_programs_are_named),
		SCAN_TEST(tasks_that_cannot_be_stopped),
		SCAN_TEST(more_processes_than_clocks),
		SCAN_TEST(frozen_where_signals_do_not_do),
		SCAN_TEST(many_idle_threads_are_left_alone),
		SCAN_TEST(strangers_are_left_alone),
		SCAN_TEST(stopped_or_traced_in_part),
		SCAN_TEST(a_signal_that_has_ended),
		SCAN_TEST(slow_counters_wait_for_a_gap),
		SCAN_TEST(sees_who_runs_again),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
