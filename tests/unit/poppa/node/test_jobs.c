/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Unit tests of src/poppa/jobs*.c: made-up cgroups and counters, real processes and shutters. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/timerfd.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "common/fsio.h"
#include "common/log.h"
#include "common/units.h"
#include "common/clock.h"
#include "poppa/node/jobs.h"
#include "poppa/hold/proc.h"
#include "poppa/node/tally.h"
#include "unit/poppa/waiting_process.h"

#define STOP_WAIT_MS 60000
#define JOBS 3

struct counter {
	pid_t pid;
};

static char root[64], jobs_dir[96];
static pid_t task[JOBS];
static struct nodeconf conf;
static struct poppa_settings settings;
static bool long_permitted; /* in a plan that has been used */
static struct cluster_conf cluster = {.cluster = "c", .node = "n1"};
static struct held_file *held;
static int held_fd, notify_fd, open_counters;
static bool slow_open;
static pid_t silent; /* a task that publishes nothing */
static time_t begun;
static struct guard guard;
static struct shutter *shutter;
static struct spool spool;
static struct sender *sender;
static struct shutterlog_writer *log_writer;
static struct jobs *js;

int __wrap_counter_open(enum counter_backend backend, const struct nodeconf *c, pid_t pid,
	struct counter **out, struct errmsg *err);
int __wrap_counter_read(struct counter *c, struct counter_sample *out);
void __wrap_counter_prepare(struct counter *c);
int __wrap_counter_refresh(struct counter *c);
void __wrap_counter_close(struct counter *c);
enum counter_backend __wrap_counter_kind(const struct counter *c);
bool __wrap_counter_has_cycles(const struct counter *c);
bool __wrap_counter_has_misses(const struct counter *c);
void __wrap_counter_region(struct counter *c, int region);
char __wrap_counter_task_state(const struct counter *c);
bool __wrap_counter_interrupts(const struct counter *c);
void __wrap_shutter_done(struct shutter *s);
void __real_shutter_done(struct shutter *s);

int __wrap_counter_open(enum counter_backend backend, const struct nodeconf *c, pid_t pid,
	struct counter **out, struct errmsg *err)
{
	(void)backend;
	(void)c;
	if (pid == silent) {
		errno = ENODATA;
		return errmsg_set(err, "it is silent");
	}
	*out = calloc(1, sizeof(**out));
	(*out)->pid = pid;
	open_counters++;
	/* An opening lasts until a block has ended. */
	if (slow_open)
		poll(&(struct pollfd){.fd = notify_fd, .events = POLLIN}, 1, 10000);
	return 0;
}

/* The first two are twice as fast while the other one of them is stopped; the third costs nobody
 * anything and feels nobody. */
int __wrap_counter_read(struct counter *c, struct counter_sample *out)
{
	static uint64_t progress[JOBS];
	static int64_t last[JOBS];
	int self = c->pid == task[2] ? 2 : c->pid == task[1];
	pid_t other = self == 2 ? 0 : task[1 - self];
	int64_t now = clock_now();
	bool alone = false;

	for (uint32_t i = 0; i < held->high; i++)
		alone |= held->entry[i].armed && held->entry[i].pid == other;
	if (last[self])
		progress[self] += (uint64_t)(now - last[self]) * (alone ? 2 : 1);
	last[self] = now;
	out->progress = progress[self];
	out->cycles = 0;
	return 0;
}

bool __wrap_counter_interrupts(const struct counter *c)
{
	(void)c;
	return true;
}

char __wrap_counter_task_state(const struct counter *c)
{
	struct proc_stat st;

	return proc_stat(c->pid, &st) ? 0 : st.state;
}

void __wrap_counter_prepare(struct counter *c)
{
	(void)c;
}

int __wrap_counter_refresh(struct counter *c)
{
	errno = ENODATA;
	return c->pid == silent ? -1 : 0;
}

void __wrap_counter_close(struct counter *c)
{
	open_counters -= c != NULL;
	free(c);
}

enum counter_backend __wrap_counter_kind(const struct counter *c)
{
	(void)c;
	return COUNTER_HEARTBEAT;
}

void __wrap_counter_region(struct counter *c, int region)
{
	(void)c;
	(void)region;
}

/* Until then the block is not to be overwritten, should the shutter's thread wake up. */
void __wrap_shutter_done(struct shutter *s)
{
	const struct shutter_plan *p = shutter_take(s);

	assert_non_null(p);
	for (int i = 0; i < p->jobs; i++)
		long_permitted |= p->schedule.job[i].long_gap_ns > 0;
	__real_shutter_done(s);
}

bool __wrap_counter_has_cycles(const struct counter *c)
{
	(void)c;
	return false;
}

bool __wrap_counter_has_misses(const struct counter *c)
{
	(void)c;
	return false;
}

static void __attribute__((format(printf, 2, 3))) put(const char *path, const char *fmt, ...)
{
	char full[256], text[256];
	struct errmsg err;
	va_list ap;

	snprintf(full, sizeof(full), "%s/%s", root, path);
	va_start(ap, fmt);
	vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	assert_int_equal(fsio_write(full, text, strlen(text), 0600, 0, &err), 0);
}

static void register_job(int id, int restart, int64_t when)
{
	char name[64];

	snprintf(name, sizeof(name), "jobs/%d.%d", id, restart);
	put(name, "JobId=%d\nRestart=%d\nUid=7\nUser=eve\nCores=%d\nRegistered=%lld\n", id, restart,
		id - 1, (long long)when);
}

static void end_job(int id, int restart)
{
	char from[128], to[160];

	snprintf(from, sizeof(from), "%s/%d.%d", jobs_dir, id, restart);
	snprintf(to, sizeof(to), "%s.ended", from);
	assert_int_equal(rename(from, to), 0);
}

static int setup(void **state)
{
	struct jobs_env env = {.dir = jobs_dir,
		.conf = &conf,
		.settings = &settings,
		.cluster = &cluster,
		.spool = &spool,
		.log = &log_writer};
	char path[256];
	struct errmsg err = {""};

	(void)state;
	strcpy(root, "/tmp/jobs-XXXXXX");
	if (!mkdtemp(root))
		return -1;
	begun = time(NULL);
	snprintf(jobs_dir, sizeof(jobs_dir), "%s/jobs", root);
	fsio_mkdirs(jobs_dir, 0755, &err);
	snprintf(cluster.cgroup_mount, sizeof(cluster.cgroup_mount), "%s/cgroup", root);
	for (int i = 0; i < JOBS; i++) {
		task[i] = waiting_process();
		snprintf(path, sizeof(path), "%s/cgroup/freezer/slurm_n1/uid_7/job_%d/step_0", root,
			i + 1);
		fsio_mkdirs(path, 0755, &err);
		snprintf(path, sizeof(path),
			"cgroup/freezer/slurm_n1/uid_7/job_%d/step_0/cgroup.procs", i + 1);
		put(path, "%d\n", (int)task[i]);
		/* The job's slurmstepd, whatever it is called. */
		snprintf(path, sizeof(path), "cgroup/freezer/slurm_n1/uid_7/job_%d/cgroup.procs",
			i + 1);
		put(path, "%d\n", (int)getpid());
	}
	guard.pid = waiting_process();
	guard.pidfd = syscall(SYS_pidfd_open, guard.pid, 0);
	guard.timerfd = timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC | TFD_NONBLOCK);
	nodeconf_defaults(&conf);
	settings_defaults(&settings);
	settings.period_ns = 10 * NS_PER_MS;
	settings.shutter_ns = 2 * NS_PER_MS;
	settings.overhead_max = 0;
	settings.adaptive = false;
	settings.pause = PAUSE_SIGSTOP; /* a directory made up has no freezer */
	snprintf(path, sizeof(path), "%s/held", root);
	held = held_create(path, &held_fd, &err);
	snprintf(path, sizeof(path), "%s/spool", root);
	if (!held || spool_open(&spool, path, &err))
		return -1;
	shutter = shutter_start(held, &guard, &notify_fd, &err);
	sender = sender_start(&spool, "", &err);
	if (!shutter || !sender)
		return -1;
	env.held = held;
	env.shutter = shutter;
	env.sender = sender;
	js = jobs_new(&env);
	jobs_allow(js, true);
	return js ? 0 : -1;
}

static int teardown(void **state)
{
	char command[128];

	(void)state;
	jobs_free(js);
	assert_null(shutter_stop(shutter));
	guard_stop(&guard);
	sender_stop(sender);
	assert_int_equal(open_counters, 0);
	assert_int_equal(held->high, 0);
	for (int i = 0; i < JOBS; i++) {
		kill(task[i], SIGKILL);
		waitpid(task[i], NULL, 0);
	}
	held_unmap(held);
	close(held_fd);
	snprintf(command, sizeof(command), "rm -rf %s", root);
	return system(command);
}

static void take_blocks(int n)
{
	struct pollfd p = {.fd = notify_fd, .events = POLLIN};

	while (n--) {
		assert_int_equal(poll(&p, 1, 10000), 1);
		jobs_block(js);
	}
}

static double number(int job, const char *key)
{
	json_t *all = jobs_status(js, 0), *one;
	double v = -1;
	size_t i;

	json_array_foreach(all, i, one)
	{
		if (json_integer_value(json_object_get(one, "job")) == job)
			v = json_number_value(json_object_get(one, key));
	}
	json_decref(all);
	return v;
}

static int records(struct ledger_record *r, int max)
{
	struct errmsg err;

	return spool_records(&spool, r, max, &err);
}

static void checkpoint_of(uint32_t job)
{
	struct tally *t = tally_new(job, 0, 7, begun, clock_now(), NULL);
	json_t *json = tally_save(t, "boot", begun);
	struct errmsg err;

	assert_int_equal(spool_checkpoint(&spool, job, 0, json, &err), 0);
	json_decref(json);
	tally_free(t);
}

/* At the first look, checkpoints of jobs that are not here any more are made into records. What
 * cannot be read for now is still there at the next start, and what belongs to a job whose
 * registration cannot; what is no checkpoint is not. */
static void checkpoint_without_a_job(void **state)
{
	char loop[256], junk[256], unread[128];
	struct ledger_record r[4];
	struct stat st;

	(void)state;
	checkpoint_of(5);
	checkpoint_of(6);
	snprintf(unread, sizeof(unread), "%s/6.0", jobs_dir);
	assert_int_equal(symlink("6.0", unread), 0);
	snprintf(loop, sizeof(loop), "%s/spool/state/8.0", root);
	assert_int_equal(symlink("8.0", loop), 0);
	put("spool/state/4.0", "junk");
	jobs_sync(js);
	assert_int_equal(jobs_count(js), 0);
	snprintf(junk, sizeof(junk), "%s/spool/state/4.0", root);
	assert_int_equal(lstat(junk, &st), -1);
	assert_int_equal(lstat(loop, &st), 0);
	unlink(loop);
	assert_int_equal(records(r, 4), 1);
	assert_int_equal(r[0].job_id, 5);
	assert_int_equal(spool_acked(&spool, &r[0]), 0);
	assert_int_equal(lstat(unread, &st), 0);
	unlink(unread);
	snprintf(junk, sizeof(junk), "%s/spool/state/6.0", root);
	assert_int_equal(unlink(junk), 0);
}

static void alone_then_together(void **state)
{
	json_t *all, *totals;

	(void)state;
	register_job(1, 0, time(NULL));
	jobs_sync(js);
	assert_int_equal(jobs_count(js), 1);
	assert_int_equal(number(1, "tasks"), 1);
	assert_int_equal(number(1, "lane"), 0);
	usleep(20000);
	jobs_tick(js);
	assert_true(number(1, "solo_s") > 0.01);
	assert_true(number(1, "co_s") == 0);
	totals = jobs_totals(js, 0);
	assert_false(json_is_true(json_object_get(totals, "active")));
	json_decref(totals);

	register_job(2, 0, time(NULL));
	jobs_sync(js);
	assert_int_equal(jobs_count(js), 2);
	take_blocks(60);
	assert_true(number(1, "co_s") > 0);
	assert_true(number(1, "paused_s") > 0);
	assert_true(number(2, "paused_s") > 0);
	assert_true(number(1, "blocks") + number(2, "blocks") > 40);
	/* As soon as something is known of a job, and not just with the next plan. */
	assert_true(long_permitted);
	/* The tests that follow count usual ones, for which a long one would keep them waiting. */
	settings.long_ns = 0;
	jobs_reconfigured(js);
	/* Users see their own jobs. */
	all = jobs_status(js, 8);
	assert_int_equal(json_array_size(all), 0);
	json_decref(all);
	all = jobs_status(js, 7);
	assert_int_equal(json_array_size(all), 2);
	json_decref(all);
}

/* Whoever asks often does not learn which blocks were shams, and that a sham has caught them. */
static void users_see_no_single_block(void **state)
{
	static const char *const roots[] = {"sham", "shutter_sensing", "ran_while_held"};
	json_t *first = jobs_status(js, 7), *later, *whole, *totals;

	(void)state;
	take_blocks(30);
	later = jobs_status(js, 7);
	whole = jobs_status(js, 0);
	for (size_t i = 0; i < json_array_size(first); i++) {
		const json_t *job = json_array_get(later, i);

		assert_true(json_equal(json_object_get(json_array_get(first, i), "blocks"),
			json_object_get(job, "blocks")));
		assert_non_null(json_object_get(job, "paused_s"));
		for (size_t k = 0; k < 3; k++) {
			assert_null(json_object_get(job, roots[k]));
			assert_non_null(json_object_get(json_array_get(whole, i), roots[k]));
		}
	}
	assert_false(json_equal(json_object_get(json_array_get(first, 0), "blocks"),
			     json_object_get(json_array_get(whole, 0), "blocks")) &&
		     json_equal(json_object_get(json_array_get(first, 1), "blocks"),
			     json_object_get(json_array_get(whole, 1), "blocks")));
	json_decref(first);
	json_decref(later);
	json_decref(whole);
	first = jobs_totals(js, 7);
	take_blocks(10);
	totals = jobs_totals(js, 7);
	assert_null(json_object_get(totals, "shams"));
	assert_true(json_equal(
		json_object_get(first, "shutters"), json_object_get(totals, "shutters")));
	json_decref(first);
	json_decref(totals);
}

static double shutters(void)
{
	json_t *totals = jobs_totals(js, 0);
	double n = json_number_value(json_object_get(totals, "shutters"));

	json_decref(totals);
	return n;
}

/* Counters that take long to open, as probes do, hold up no shutter. */
static void shutters_while_counters_are_opened(void **state)
{
	static const char procs[] = "cgroup/freezer/slurm_n1/uid_7/job_1/step_0/cgroup.procs";
	double before = shutters();
	pid_t more[4];

	(void)state;
	for (int i = 0; i < 4; i++) {
		more[i] = waiting_process();
	}
	put(procs, "%d\n%d\n%d\n%d\n%d\n", (int)task[0], (int)more[0], (int)more[1], (int)more[2],
		(int)more[3]);
	slow_open = true;
	jobs_tick(js);
	slow_open = false;
	assert_int_equal(number(1, "counted_tasks"), 5);
	/* One may have finished before; each of the others had the time of an opening. */
	assert_true(shutters() >= before + 3);
	put(procs, "%d\n", (int)task[0]);
	for (int i = 0; i < 4; i++) {
		kill(more[i], SIGKILL);
		waitpid(more[i], NULL, 0);
	}
	jobs_tick(js);
	assert_int_equal(number(1, "tasks"), 1);
	take_blocks(2);
}

static void not_allowed_is_unmeasured(void **state)
{
	double before = number(1, "unmeasured_s");

	(void)state;
	jobs_allow(js, false);
	usleep(20000);
	assert_true(number(1, "unmeasured_s") > before + 0.01);
	jobs_allow(js, true);
	take_blocks(2);
}

static void stopped_job_is_no_partner(void **state)
{
	struct proc_stat st;
	double solo;

	(void)state;
	/* On a busy machine a stop may not have reached the task when the next shutter ends. */
	for (int ms = 0;; ms++) {
		assert_true(ms < STOP_WAIT_MS);
		if (ms % 100 == 0) {
			shutter_lock(shutter);
			kill(task[1], SIGSTOP);
			shutter_unlock(shutter);
		}
		usleep(1000);
		assert_int_equal(proc_stat(task[1], &st), 0);
		if (st.state == 'T')
			break;
	}
	jobs_tick(js);
	solo = number(1, "solo_s");
	usleep(20000);
	assert_true(number(1, "solo_s") > solo + 0.01);
	assert_int_equal(proc_stat(task[1], &st), 0);
	assert_int_equal(st.state, 'T');
	/* Looked at ever more rarely; that it runs again is seen without waiting for the tick. */
	for (int ms = 20, n = 0; n < 3; ms *= 2, n++) {
		assert_int_equal(jobs_look_ms(js), ms);
		jobs_look(js);
	}
	kill(task[1], SIGCONT);
	jobs_look(js);
	assert_int_equal(jobs_look_ms(js), 0);
	take_blocks(2);
}

/* Whoever stops one of their tasks, as a debugger does, keeps nobody from being measured. */
static void partly_stopped_job_is_a_partner(void **state)
{
	static const char procs[] = "cgroup/freezer/slurm_n1/uid_7/job_2/step_0/cgroup.procs";
	double unmeasured, blocks;
	struct proc_stat st;

	(void)state;
	silent = waiting_process();
	kill(silent, SIGSTOP);
	while (!proc_stat(silent, &st) && st.state != 'T')
		usleep(1000);
	put(procs, "%d\n%d\n", (int)task[1], (int)silent);
	jobs_tick(js);
	assert_int_equal(number(2, "tasks"), 2);
	unmeasured = number(1, "unmeasured_s");
	blocks = number(1, "blocks");
	take_blocks(20);
	assert_float_equal(number(1, "unmeasured_s"), unmeasured, 1e-9);
	assert_true(number(1, "blocks") > blocks);
	assert_int_equal(proc_stat(silent, &st), 0);
	assert_int_equal(st.state, 'T');
	put(procs, "%d\n", (int)task[1]);
	kill(silent, SIGKILL);
	waitpid(silent, NULL, 0);
	silent = 0;
	jobs_tick(js);
	take_blocks(2);
}

/* A signal would stop a traced task for as long as its tracer likes. Where there is no freezer
 * either, nobody is stopped, and what is not measured for it has the job's name. */
static void traced_job_is_named(void **state)
{
	double unmeasured = number(1, "unmeasured_s"), before;
	json_t *saved;
	struct errmsg err;
	struct proc_stat st;
	int status;

	(void)state;
	/* A stop that is under way would find a task that is traced. */
	jobs_allow(js, false);
	assert_int_equal(ptrace(PTRACE_SEIZE, task[1], NULL, NULL), 0);
	jobs_tick(js);
	jobs_allow(js, true);
	before = shutters();
	usleep(50000);
	assert_true(number(1, "unmeasured_s") > unmeasured + 0.04);
	assert_true(shutters() == before);
	assert_int_equal(proc_stat(task[1], &st), 0);
	assert_int_equal(st.state, 'S');
	assert_int_equal(ptrace(PTRACE_INTERRUPT, task[1], NULL, NULL), 0);
	assert_int_equal(waitpid(task[1], &status, 0), task[1]);
	assert_int_equal(ptrace(PTRACE_DETACH, task[1], NULL, NULL), 0);
	/* A checkpoint comes every five seconds. */
	for (bool named = false; !named; usleep(100000)) {
		jobs_tick(js);
		saved = spool_restore(&spool, 1, 0, &err);
		named = json_integer_value(json_object_get(saved, "culprit")) == 2;
		json_decref(saved);
	}
	take_blocks(2);
}

/* Puts a job's own processes, as a shell without a program would be, in place of its task. */
static pid_t only(int job, const char *const *argv)
{
	char procs[128], c;
	int started[2];
	pid_t pid;

	assert_int_equal(pipe2(started, O_CLOEXEC), 0);
	pid = fork();
	if (!pid) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		execvp(argv[0], (char *const *)argv);
		_exit(127);
	}
	close(started[1]);
	assert_int_equal(read(started[0], &c, 1), 0); /* its exec has closed the other end */
	close(started[0]);
	snprintf(procs, sizeof(procs), "cgroup/freezer/slurm_n1/uid_7/job_%d/step_0/cgroup.procs",
		job);
	put(procs, "%d\n", (int)pid);
	usleep(50000);
	jobs_tick(js);
	return pid;
}

static void no_more(pid_t pid)
{
	kill(pid, SIGKILL);
	waitpid(pid, NULL, 0);
}

/* Nobody knows what a job does of which poppad sees no task, nor, if it works, what that does to
 * the other one. Beside one that only waits, that is alone. */
static void shell_without_a_program(void **state)
{
	static const char *const idle[] = {"sleep", "60", NULL},
				 *const loop[] = {"sh", "-c", "while :; do :; done", NULL},
				 *const programs[] = {"sh", "-c",
					 "while :; do seq 20000 >/dev/null; done", NULL};
	double unmeasured = number(2, "unmeasured_s"), solo;
	pid_t pid = only(2, idle);

	(void)state;
	assert_int_equal(number(2, "tasks"), 0);
	solo = number(1, "solo_s");
	usleep(20000);
	assert_true(number(2, "unmeasured_s") > unmeasured + 0.01);
	assert_true(number(1, "solo_s") > solo + 0.01);
	no_more(pid);
	for (int i = 0; i < 2; i++) {
		pid = only(2, i ? programs : loop);
		/* Its time is looked at twice, and a program is seen now and then. */
		for (int ms = 0;; ms += 100) {
			assert_true(ms < STOP_WAIT_MS);
			unmeasured = number(1, "unmeasured_s");
			usleep(100000);
			if (number(1, "unmeasured_s") > unmeasured + 0.05)
				break;
			jobs_tick(js);
		}
		no_more(pid);
	}
	put("cgroup/freezer/slurm_n1/uid_7/job_2/step_0/cgroup.procs", "%d\n", (int)task[1]);
	jobs_tick(js);
	assert_int_equal(number(2, "tasks"), 1);
	take_blocks(2);
}

/* What is known of a job is not to count for all the time in which it publishes nothing more. */
static void counter_is_gone(void **state)
{
	double unmeasured = number(1, "unmeasured_s"), others, co;

	(void)state;
	silent = task[0];
	for (int ms = 0; number(1, "unmeasured_s") < unmeasured + 0.05; ms += 50) {
		assert_true(ms < STOP_WAIT_MS);
		usleep(50000);
		jobs_tick(js);
	}
	assert_int_equal(number(1, "counted_tasks"), 0);
	co = number(1, "co_s");
	others = number(2, "unmeasured_s");
	take_blocks(3); /* the other one's, for which it is held stopped */
	assert_float_equal(number(1, "co_s"), co, 1e-9);
	assert_float_equal(number(2, "unmeasured_s"), others, 1e-9);
	silent = 0;
	for (int ms = 0; number(1, "co_s") < co + 0.01; ms += 50) {
		assert_true(ms < STOP_WAIT_MS);
		usleep(50000);
		jobs_tick(js);
	}
	assert_int_equal(number(1, "counted_tasks"), 1);
}

/* A job runs somewhere in its cgroups while it is held: its blocks count for nobody and name it,
 * the time for which it was held is its own, and that of its co-runner is not measured. */
static void runs_while_held(void **state)
{
	static const char usage[] = "cgroup/cpuacct/slurm_n1/uid_7/job_2/cpuacct.usage";
	double blocks, paused, unmeasured, ran = number(2, "ran_while_held");
	char path[256];
	struct errmsg err;
	pid_t kernel;

	(void)state;
	snprintf(path, sizeof(path), "%s/%s", root, usage);
	*strrchr(path, '/') = '\0';
	assert_int_equal(fsio_mkdirs(path, 0755, &err), 0);
	put(usage, "1000000000000000000\n");
	snprintf(path, sizeof(path), "%s/%s", root, usage);
	jobs_tick(js); /* opens it */
	take_blocks(10);
	/* On a busy machine a stop may reach a task late, once in a while. */
	assert_true(number(2, "ran_while_held") <= ran + 2);
	ran = number(2, "ran_while_held");
	kernel = fork();
	if (!kernel) {
		FILE *f = fopen(path, "r+");

		prctl(PR_SET_PDEATHSIG, SIGKILL);
		for (;;) {
			rewind(f);
			fprintf(f, "1%018lld\n", (long long)clock_now());
			fflush(f);
			usleep(100);
		}
	}
	while (number(2, "ran_while_held") < ran + 5)
		take_blocks(1);
	blocks = number(1, "blocks");
	paused = number(2, "paused_s");
	unmeasured = number(1, "unmeasured_s");
	take_blocks(20);
	assert_true(number(1, "blocks") <= blocks + 1);
	assert_true(number(2, "paused_s") < paused + 0.012);
	assert_true(number(1, "unmeasured_s") > unmeasured);
	no_more(kernel);
	/* It is forgotten, in time. */
	for (int n = 0; number(1, "blocks") < blocks + 10; n++) {
		assert_true(n < 1000);
		take_blocks(1);
	}
	unlink(path);
	jobs_tick(js);
}

static void ends(void **state)
{
	struct ledger_record r[4];
	char path[256];

	(void)state;
	end_job(2, 0);
	jobs_sync(js);
	assert_int_equal(jobs_count(js), 1);
	assert_int_equal(records(r, 4), 1);
	assert_int_equal(r[0].job_id, 2);
	assert_true(r[0].final);
	assert_int_equal(r[0].lane, 1);
	assert_int_equal(r[0].partner_count, 1);
	assert_int_equal(r[0].partner[0], 1);
	assert_true(r[0].co_ns > 0 && r[0].paused_ns > 0 && r[0].blocks > 15);
	assert_string_equal(r[0].backend, "heartbeat");
	snprintf(path, sizeof(path), "%s/2.0.ended", jobs_dir);
	assert_int_equal(access(path, F_OK), -1);
}

/* A run that poppad has never seen has a record that says so. */
static void ended_unseen(void **state)
{
	struct ledger_record r[4];

	(void)state;
	register_job(9, 3, begun - 50);
	end_job(9, 3);
	jobs_sync(js);
	assert_int_equal(jobs_count(js), 1);
	assert_int_equal(records(r, 4), 2);
	assert_int_equal(r[1].job_id, 9);
	assert_int_equal(r[1].restart, 3);
	assert_true(r[1].unmeasured_ns > 0);
	assert_int_equal(r[1].co_ns, 0);
}

static void requeued(void **state)
{
	struct ledger_record r[4];

	(void)state;
	register_job(1, 1, time(NULL));
	jobs_sync(js);
	assert_int_equal(jobs_count(js), 1);
	assert_int_equal(number(1, "restart"), 1);
	assert_int_equal(records(r, 4), 3);
}

static void of_an_earlier_boot(void **state)
{
	(void)state;
	register_job(5, 0, 1000);
	jobs_sync(js);
	assert_int_equal(jobs_count(js), 1);
	jobs_sync(js);
	assert_int_equal(jobs_count(js), 1);
}

/* The wall clock was set after a job came: that is no boot, and no time without a measurement. */
static void clock_was_set(void **state)
{
	static const int64_t wrong[] = {1000, 4000000000};
	char boot[44];
	struct timespec up;

	(void)state;
	proc_boot_id(boot, sizeof(boot));
	clock_gettime(CLOCK_BOOTTIME, &up);
	for (int i = 0; i < 2; i++) {
		put("jobs/6.0", "JobId=6\nUid=7\nRegistered=%lld\nBootId=%s\nUptime=%lld\n",
			(long long)wrong[i], boot, (long long)up.tv_sec);
		jobs_sync(js);
		assert_int_equal(jobs_count(js), 2);
		assert_true(number(6, "unmeasured_s") < 60);
		end_job(6, 0);
		jobs_sync(js);
		assert_int_equal(jobs_count(js), 1);
	}
	put("jobs/7.0", "JobId=7\nUid=7\nRegistered=%lld\nBootId=another\nUptime=1\n",
		(long long)time(NULL));
	jobs_sync(js);
	assert_int_equal(jobs_count(js), 1);
}

/* Final records of job 8 by this user. */
static int records_of(uint32_t uid)
{
	static struct ledger_record r[32];
	int n = records(r, 32), count = 0;

	for (int i = 0; i < n; i++)
		count += r[i].job_id == 8 && r[i].uid == uid && r[i].final;
	return count;
}

/* An id may be given out again while the registration of its last job, which never ended here,
 * still lies there: each job has its own record, whether poppad saw the change or not. */
static void same_id_again(void **state)
{
	char path[256];

	(void)state;
	snprintf(path, sizeof(path), "%s/8.0", jobs_dir);
	for (int unseen = 0; unseen < 2; unseen++) {
		long long when = begun + 10 * unseen;

		register_job(8, 0, when);
		if (!unseen)
			jobs_sync(js);
		end_job(8, 0);
		put("jobs/8.0", "JobId=8\nUid=9\nRegistered=%lld\n", when + 1);
		jobs_sync(js);
		assert_int_equal(jobs_count(js), 2);
		assert_int_equal(number(8, "uid"), 9);
		assert_int_equal(records_of(7), 2 * unseen + 1);
		assert_int_equal(access(path, F_OK), 0);
		/* Nobody has marked this one as ended. */
		put("jobs/8.0", "JobId=8\nUid=7\nRegistered=%lld\n", when + 5);
		jobs_sync(js);
		assert_int_equal(jobs_count(js), 2);
		assert_int_equal(number(8, "uid"), 7);
		assert_int_equal(records_of(9), unseen + 1);
		end_job(8, 0);
		jobs_sync(js);
		assert_int_equal(jobs_count(js), 1);
		assert_int_equal(records_of(7), 2 * unseen + 2);
	}
}

static double share_of(int job, int partner)
{
	json_t *all = jobs_status(js, 0), *one, *share;
	double v = -1;
	size_t i, k;

	json_array_foreach(all, i, one)
	{
		if (json_integer_value(json_object_get(one, "job")) != job)
			continue;
		json_array_foreach(json_object_get(one, "attribution"), k, share)
		{
			if (json_integer_value(json_object_get(share, "job")) == partner)
				v = json_number_value(json_object_get(share, "degradation"));
		}
	}
	json_decref(all);
	return v;
}

/* Of two co-runners one costs half of the speed, the other one nothing. */
static void who_costs_what(void **state)
{
	json_t *totals;
	int tries = 0;

	(void)state;
	register_job(2, 1, time(NULL));
	register_job(3, 0, time(NULL));
	jobs_sync(js);
	assert_int_equal(jobs_count(js), 3);
	/* Five absences of each, which come as the seeds have them. */
	do {
		take_blocks(50);
		jobs_tick(js);
		assert_true(++tries < 20);
	} while (share_of(1, 2) < 0 || share_of(2, 1) < 0);
	assert_true(share_of(1, 2) > 0.3 && share_of(1, 2) < 0.6);
	assert_true(share_of(1, 3) < 0.1);
	assert_true(share_of(2, 1) > 0.3 && share_of(2, 1) < 0.6);
	assert_true(share_of(2, 3) < 0.1);
	assert_true(share_of(3, 1) < 0.1 && share_of(3, 2) < 0.1);
	totals = jobs_totals(js, 0);
	assert_true(json_integer_value(json_object_get(totals, "absences")) >= 10);
	json_decref(totals);
}

/* The log tells what there is too much of, and the fix. */
static void more_tasks_than_can_be_stopped(void **state)
{
	int taken[HELD_ENTRIES], count = 0, was = dup(STDERR_FILENO);
	char path[256], *log;
	struct errmsg err;
	pid_t pid = waiting_process();

	(void)state;
	while (count < HELD_ENTRIES &&
		(taken[count] = held_take(held, HELD_PROCESS, 0, 0, NULL)) >= 0)
		count++;
	snprintf(path, sizeof(path), "%s/cgroup/freezer/slurm_n1/uid_7/job_4/step_0", root);
	assert_int_equal(fsio_mkdirs(path, 0755, &err), 0);
	put("cgroup/freezer/slurm_n1/uid_7/job_4/step_0/cgroup.procs", "%d\n", (int)pid);
	put("cgroup/freezer/slurm_n1/uid_7/job_4/cgroup.procs", "%d\n", (int)getpid());
	snprintf(path, sizeof(path), "%s/log", root);
	assert_non_null(freopen(path, "w", stderr));
	plog_init("test", PLOG_WARN);
	register_job(4, 0, time(NULL));
	jobs_sync(js);
	plog_init("test", PLOG_ERROR);
	fflush(stderr);
	dup2(was, STDERR_FILENO);
	close(was);
	log = fsio_read(path, 65536, NULL, &err);
	assert_non_null(log);
	assert_non_null(strstr(log, "job 4 of uid 7 cannot be paused"));
	assert_non_null(strstr(log, " more than 2048 tasks "));
	assert_non_null(strstr(log, "poppa_pause=freezer"));
	free(log);
	while (count)
		held_free(held, taken[--count]);
	end_job(4, 0);
	jobs_sync(js);
	no_more(pid);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(checkpoint_without_a_job),
		cmocka_unit_test(alone_then_together),
		cmocka_unit_test(users_see_no_single_block),
		cmocka_unit_test(shutters_while_counters_are_opened),
		cmocka_unit_test(not_allowed_is_unmeasured),
		cmocka_unit_test(stopped_job_is_no_partner),
		cmocka_unit_test(partly_stopped_job_is_a_partner),
		cmocka_unit_test(traced_job_is_named),
		cmocka_unit_test(shell_without_a_program),
		cmocka_unit_test(counter_is_gone),
		cmocka_unit_test(runs_while_held),
		cmocka_unit_test(ends),
		cmocka_unit_test(ended_unseen),
		cmocka_unit_test(requeued),
		cmocka_unit_test(of_an_earlier_boot),
		cmocka_unit_test(clock_was_set),
		cmocka_unit_test(same_id_again),
		cmocka_unit_test(who_costs_what),
		cmocka_unit_test(more_tasks_than_can_be_stopped),
	};

	plog_init("test", PLOG_ERROR);
	return cmocka_run_group_tests(tests, setup, teardown);
}
