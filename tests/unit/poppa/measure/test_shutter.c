/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Unit tests of src/poppa/measure/shutter.c and shutter_block.c: real processes are stopped,
 * counters are made up. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <errno.h>
#include <math.h>
#include <poll.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "common/fsio.h"
#include "common/units.h"
#include "common/clock.h"
#include "poppa/hold/held_release.h"
#include "poppa/hold/proc.h"
#include "poppa/measure/shutter.h"
#include "poppa/measure/shutter_block.h"
#include "unit/poppa/measure/shutter_fixture.h"

#define JOBS 3
#define BEYOND 4 /* windows of a long block: 15 shutters of 2 ms */

/* A made-up counter: progress is time, whatever its process does. */
struct counter {
	int error;  /* errno of the next reads */
	bool still; /* no progress */
	bool interrupts;
	int reads;
};

static struct counter fake[JOBS];
static pid_t child[JOBS];

int __real_clock_gettime(clockid_t clock, struct timespec *t);
int __wrap_clock_gettime(clockid_t clock, struct timespec *t);
int __wrap_counter_read(struct counter *c, struct counter_sample *out);
bool __wrap_counter_has_cycles(const struct counter *c);
char __wrap_counter_task_state(const struct counter *c);
bool __wrap_counter_interrupts(const struct counter *c);
void __wrap_counter_region(struct counter *c, int region);

/* A wall clock that can be set. */
static atomic_int_fast64_t wall_offset_s;
/* Whether the processor time of what is held is the true one. */
static atomic_bool look_at_held;
/* Whether the guard sees a deadline pass at each look at the clock. */
static atomic_bool pass_deadlines;

int __wrap_clock_gettime(clockid_t clock, struct timespec *t)
{
	int rc = __real_clock_gettime(clock, t);

	if (clock == CLOCK_REALTIME)
		t->tv_sec += wall_offset_s;
	if (pass_deadlines)
		held->passed++;
	/* On a busy host even a signal takes time, which must not spoil other tests. */
	if (clock < 0 && !look_at_held)
		*t = (struct timespec){0};
	return rc;
}

int __wrap_counter_read(struct counter *c, struct counter_sample *out)
{
	c->reads++;
	if (c->error) {
		errno = c->error;
		return -1;
	}
	out->progress = c->still ? 7 : (uint64_t)clock_now();
	out->cycles = 0;
	return 0;
}

void __wrap_counter_region(struct counter *c, int region)
{
	(void)c;
	(void)region;
}

/* To stop the first of a block takes as long as the guard waits. */
static atomic_bool slow_to_stop;

int __real_proc_signal_own(int pidfd, int sig);
int __wrap_proc_signal_own(int pidfd, int sig);

int __wrap_proc_signal_own(int pidfd, int sig)
{
	int rc = __real_proc_signal_own(pidfd, sig);

	if (!slow_to_stop)
		return rc;
	for (int64_t until = clock_own() + 5 * NS_PER_MS; clock_own() < until;)
		;
	held->passed++;
	slow_to_stop = false;
	return rc;
}

char __wrap_counter_task_state(const struct counter *c)
{
	struct proc_stat st;

	return proc_stat(child[c - fake], &st) ? 0 : st.state;
}

bool __wrap_counter_interrupts(const struct counter *c)
{
	return c->interrupts;
}

bool __wrap_counter_has_cycles(const struct counter *c)
{
	(void)c;
	return false;
}

static void start_child(int i, bool busy)
{
	child[i] = fork();
	if (child[i])
		return;
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	for (;;)
		if (!busy)
			pause();
}

static void replace_child(int i, bool busy)
{
	kill(child[i], SIGKILL);
	waitpid(child[i], NULL, 0);
	start_child(i, busy);
}

static int setup(void **state)
{
	(void)state;
	memset(fake, 0, sizeof(fake));
	for (int i = 0; i < JOBS; i++) {
		fake[i].interrupts = true;
		start_child(i, false);
	}
	return shutter_setup();
}

static int teardown(void **state)
{
	(void)state;
	return shutter_teardown(child, JOBS);
}

static struct shutter_plan *plan(void)
{
	struct shutter_plan *p = shutter_new_plan(child, JOBS, BEYOND);

	p->schedule.period_ns = 10 * NS_PER_MS;
	for (int i = 0; i < JOBS; i++)
		p->task[i].counter = &fake[i];
	return p;
}

static void put_away(void)
{
	struct shutter_plan *p = shutter_publish(shutter, NULL);

	for (int i = 0; i < JOBS; i++)
		pause_close(p->unit[i].unit);
	shutter_plan_free(p);
}

static struct shutter_plan *next_block(void)
{
	struct pollfd p = {.fd = notify_fd, .events = POLLIN};
	struct shutter_plan *plan_with_block;

	/* A plan that was taken away may have left word of a block of its own. */
	do {
		assert_int_equal(poll(&p, 1, 10000), 1);
		plan_with_block = shutter_take(shutter);
	} while (!plan_with_block);
	return plan_with_block;
}

static void nobody_stopped(void)
{
	assert_int_equal(held_release(held, NULL, false, NULL), 0);
	for (int i = 0; i < JOBS; i++) {
		struct proc_stat st;

		assert_int_equal(proc_stat(child[i], &st), 0);
		assert_int_not_equal(st.state, 'T');
	}
}

static void turns(void **state)
{
	struct shutter_plan *p;
	int turn[JOBS] = {0};

	(void)state;
	shutter_publish(shutter, plan());
	for (int n = 0; n < 4 * JOBS; n++) {
		struct est_block b;

		p = next_block();
		assert_int_equal(p->outcome, SHUTTER_OK);
		assert_int_equal(p->kind, SHUTTER_LONE);
		assert_int_equal(p->block, n);
		turn[p->lone]++;
		assert_true(p->stop_ns >= p->shutter_ns / 2);
		for (int i = 0; i < JOBS; i++) {
			assert_true((p->paused_ns[i] > 0) == (i != p->lone));
			assert_true(p->paused_ns[i] <= p->stop_ns);
		}
		shutter_plan_block(p, &b);
		assert_int_equal(b.before_n, 4);
		assert_true(b.during_n >= 1 && b.during_n <= 4);
		assert_int_equal(b.after_n, 4);
		for (int k = 0; k < 4; k++) {
			/* Progress is time here: the rate of each window is 1. */
			assert_true(b.before[k].dur_ns > 0);
			assert_true(b.before[k].progress > 0.5 * b.before[k].dur_ns);
			assert_true(b.before[k].progress < 2 * b.before[k].dur_ns + 1e6);
			assert_true(b.before[k].cycles == 0);
		}
		nobody_stopped();
		shutter_done(shutter);
	}
	/* One turn a round; the first and the last round may be incomplete, and a slot that comes
	 * before the last block is taken goes by. */
	for (int i = 0; i < JOBS; i++)
		assert_true(turn[i] >= 1);
	put_away();
}

/* All is read as in any block, nobody is stopped, and no log says that one ran alone. */
static void shams(void **state)
{
	char path[128], line[256];
	struct shutter_plan *p = plan();
	struct shutterlog_writer *w;
	struct errmsg err;
	struct est_block b;
	FILE *f;

	(void)state;
	snprintf(path, sizeof(path), "%s/sham.csv", dir);
	w = shutterlog_open(path, &err);
	assert_non_null(w);
	p->schedule.sham_every = 1;
	shutter_publish(shutter, p);
	for (int n = 0; n < JOBS; n++) {
		p = next_block();
		assert_int_equal(p->outcome, SHUTTER_OK);
		assert_int_equal(p->kind, SHUTTER_SHAM);
		assert_int_equal(p->stop_ns, 0);
		for (int i = 0; i < JOBS; i++)
			assert_int_equal(p->paused_ns[i], 0);
		shutter_plan_block(p, &b);
		assert_int_equal(b.before_n, 4);
		assert_true(b.during_n >= 1);
		assert_int_equal(b.after_n, 4);
		shutter_plan_log(p, w);
		nobody_stopped();
		shutter_done(shutter);
	}
	shutterlog_close(w);
	put_away();
	f = fopen(path, "r");
	assert_non_null(f);
	while (fgets(line, sizeof(line), f))
		assert_null(strstr(line, "during,"));
	fclose(f);
}

/* Long blocks hold for as long as is told, then nobody is measured for three times as long; a sham
 * that is long takes the same time and holds nobody. */
static void long_blocks(void **state)
{
	struct shutter_plan *p = plan();
	int64_t beyond = shutter_plan_beyond_ns(p, BEYOND), ended = 0;
	int seen[SHUTTER_KINDS] = {0};

	(void)state;
	assert_int_equal(beyond, 15 * p->shutter_ns);
	/* One round of two. */
	for (int i = 0; i < JOBS; i++) {
		p->job[i].beyond = BEYOND;
		p->schedule.job[i].long_gap_ns =
			2 * JOBS * (p->schedule.period_ns + p->schedule.block_ns);
	}
	p->schedule.sham_every = 1000;
	shutter_publish(shutter, p);
	for (int n = 0; n < 200 && (!seen[SHUTTER_LONE] || !seen[SHUTTER_SHAM]); n++) {
		struct est_block b;

		p = next_block();
		assert_int_equal(p->outcome, SHUTTER_OK);
		shutter_plan_block(p, &b);
		assert_true(b.during_n >= 1);
		if (ended)
			assert_true((int64_t)b.start_ns - ended >= 3 * beyond);
		ended = 0;
		if (p->long_windows) {
			assert_in_range(b.beyond_n, 3, BEYOND);
			assert_int_equal(b.after_n, 0);
			for (int k = 0; k < b.beyond_n; k++)
				assert_true(b.beyond[k].progress > 0.5 * b.beyond[k].dur_ns);
			assert_true(
				p->kind == SHUTTER_SHAM ? p->stop_ns == 0 : p->stop_ns >= beyond);
			ended = shutter_plan_when(p, SHUTTER_BEYOND, b.beyond_n)[p->lone];
			seen[p->kind]++;
		} else {
			assert_int_equal(b.beyond_n, 0);
			assert_int_equal(b.after_n, 4);
		}
		nobody_stopped();
		shutter_done(shutter);
	}
	assert_true(seen[SHUTTER_LONE] && seen[SHUTTER_SHAM]);
	put_away();
}

/* One job alone is stopped, all others are read throughout, and no log says that one ran alone. */
static void absences(void **state)
{
	char path[128], line[256];
	struct shutter_plan *p = plan();
	struct shutterlog_writer *w;
	struct errmsg err;
	FILE *f;

	(void)state;
	snprintf(path, sizeof(path), "%s/absent.csv", dir);
	w = shutterlog_open(path, &err);
	assert_non_null(w);
	p->schedule.absent_every = 1;
	p->whole = true;
	shutter_publish(shutter, p);
	for (int n = 0; n < 2 * JOBS; n++) {
		p = next_block();
		assert_int_equal(p->outcome, SHUTTER_OK);
		assert_int_equal(p->kind, SHUTTER_ABSENT);
		assert_true(p->stop_ns >= p->shutter_ns / 2);
		for (int i = 0; i < JOBS; i++) {
			struct est_block b;

			assert_true((p->paused_ns[i] > 0) == (i == p->lone));
			if (i == p->lone)
				continue;
			shutter_plan_block_of(p, i, &b);
			assert_int_equal(b.before_n, 4);
			assert_true(b.during_n >= 1 && b.during_n <= 4);
			assert_int_equal(b.after_n, 4);
			for (int k = 0; k < b.during_n; k++)
				assert_true(b.during[k].progress > 0.5 * b.during[k].dur_ns);
		}
		shutter_plan_log(p, w);
		nobody_stopped();
		shutter_done(shutter);
	}
	shutterlog_close(w);
	put_away();
	f = fopen(path, "r");
	assert_non_null(f);
	while (fgets(line, sizeof(line), f))
		assert_null(strstr(line, "during,"));
	fclose(f);
}

/* A job without a signal is stopped for the others, but gets no turn itself. */
static void unmeasured_job(void **state)
{
	struct shutter_plan *p = plan();

	(void)state;
	p->schedule.job[1].measured = false;
	p->job[1].tasks = 0;
	p->unit[1].task = -1;
	fake[1].reads = 0;
	shutter_publish(shutter, p);
	for (int n = 0; n < 4; n++) {
		p = next_block();
		assert_int_equal(p->outcome, SHUTTER_OK);
		assert_int_not_equal(p->lone, 1);
		assert_true(p->paused_ns[1] > 0);
		shutter_done(shutter);
	}
	assert_int_equal(fake[1].reads, 0);
	put_away();
}

static void expect(enum shutter_outcome outcome)
{
	struct shutter_plan *p = next_block();

	assert_int_equal(p->outcome, outcome);
	shutter_done(shutter);
}

/* The block of one job comes to this; those of the others are not hurt by it. */
static void expect_of(int job, enum shutter_outcome outcome)
{
	int seen = 0;

	for (int n = 0; n < 200 && !seen; n++) {
		struct shutter_plan *p = next_block();

		seen += p->lone == job;
		assert_int_equal(p->outcome, p->lone == job ? outcome : SHUTTER_OK);
		shutter_done(shutter);
	}
	assert_true(seen);
}

static void task_ends(void **state)
{
	(void)state;
	fake[2].error = ESRCH;
	shutter_publish(shutter, plan());
	expect_of(2, SHUTTER_GONE);
	nobody_stopped();
	fake[2].error = 0;
	put_away();
}

/* Whoever has short processes does not decide which blocks count. */
static void some_tasks_of_a_co_runner_end(void **state)
{
	struct shutter_plan *p = plan();
	int beside[2] = {0};

	(void)state;
	p->jobs = p->schedule.jobs = 2;
	p->job[1].tasks = p->job[1].units = 2;
	p->schedule.job[1].measured = false;
	for (int ended = 1; ended <= 2; ended++) {
		kill(child[ended], SIGKILL);
		waitpid(child[ended], NULL, 0);
		fake[ended].error = ESRCH;
		for (int interrupts = 0; interrupts < 2; interrupts++) {
			fake[1].interrupts = fake[2].interrupts = interrupts;
			shutter_publish(shutter, p);
			p = next_block();
			assert_int_equal(p->outcome, ended == 1 ? SHUTTER_OK : SHUTTER_GONE);
			assert_true(p->changed);
			assert_int_equal(p->by, ended == 1 ? -1 : 1);
			beside[ended - 1] += p->paused_ns[1] > 0;
			assert_ptr_equal(shutter_publish(shutter, NULL), p);
			p->finished = false;
		}
	}
	assert_int_equal(beside[0], 2);
	assert_int_equal(beside[1], 0);
	for (int i = 1; i <= 2; i++) {
		fake[i].error = 0;
		fake[i].interrupts = false;
		start_child(i, false);
	}
	shutter_publish(shutter, p);
	put_away();
}

static void stop_process(pid_t pid)
{
	struct proc_stat st;
	int ms = 0;

	kill(pid, SIGSTOP);
	do {
		usleep(1000);
		assert_int_equal(proc_stat(pid, &st), 0);
	} while (st.state != 'T' && ++ms < 5000);
}

/* Of a job that is frozen, with short tasks: it goes on as long as another process of it is left,
 * which nobody has stopped. */
static void all_tasks_of_a_co_runner_end(void **state)
{
	struct shutter_plan *p = plan();
	struct proc_stat st;

	(void)state;
	assert_int_equal(proc_stat(child[2], &st), 0);
	p->jobs = p->schedule.jobs = 2;
	p->schedule.job[1].measured = false;
	fake[1].interrupts = true; /* so its state is read */
	kill(child[1], SIGKILL);
	waitpid(child[1], NULL, 0);
	for (int i = 0; i < 4; i++) {
		p->job[1].witness = i > 0 ? child[2] : 0;
		p->job[1].witness_since = st.starttime + (i == 1);
		if (i == 3)
			stop_process(child[2]);
		shutter_publish(shutter, p);
		p = next_block();
		assert_int_equal(p->outcome, i == 2 ? SHUTTER_OK : SHUTTER_GONE);
		assert_true(p->changed);
		assert_ptr_equal(shutter_publish(shutter, NULL), p);
		p->finished = false;
	}
	kill(child[2], SIGCONT);
	fake[1].interrupts = false;
	start_child(1, false);
	shutter_publish(shutter, p);
	put_away();
}

/* A shutter log would have a row of a task that has none. */
static void logs_no_task_that_has_ended(void **state)
{
	struct shutter_plan *p = plan();

	(void)state;
	p->jobs = p->schedule.jobs = 2;
	p->job[1].tasks = p->job[1].units = 2;
	p->schedule.job[1].measured = false;
	p->whole = true;
	fake[1].interrupts = true; /* so its state is read */
	kill(child[1], SIGKILL);
	waitpid(child[1], NULL, 0);
	shutter_publish(shutter, p);
	expect(SHUTTER_GONE);
	put_away();
	fake[1].interrupts = false;
	start_child(1, false);
}

static void counter_fails(void **state)
{
	(void)state;
	fake[0].error = EIO;
	shutter_publish(shutter, plan());
	expect_of(0, SHUTTER_COUNTER);
	nobody_stopped();
	fake[0].error = 0;
	put_away();
}

/* Whoever stops one of their tasks keeps nobody from being measured, and the task stays stopped. */
static void one_task_stopped_by_its_user(void **state)
{
	struct shutter_plan *p = plan();
	struct proc_stat st;

	(void)state;
	/* Two jobs, of which the second has two tasks. */
	p->jobs = p->schedule.jobs = 2;
	p->job[1].tasks = p->job[1].units = 2;
	stop_process(child[1]);
	shutter_publish(shutter, p);
	for (int n = 0; n < 8; n++) {
		p = next_block();
		assert_int_equal(p->outcome, SHUTTER_OK);
		assert_int_equal(p->paused_ns[1] > 0, p->lone == 0);
		assert_int_equal(proc_stat(child[1], &st), 0);
		assert_int_equal(st.state, 'T');
		assert_int_equal(proc_stat(child[2], &st), 0);
		assert_int_not_equal(st.state, 'T');
		shutter_done(shutter);
	}
	put_away();
	kill(child[1], SIGCONT);
}

static void stopped_by_its_user(void **state)
{
	struct proc_stat st;

	(void)state;
	stop_process(child[1]);
	fake[1].still = true;
	fake[1].interrupts = false;
	shutter_publish(shutter, plan());
	for (int n = 0; n < 4; n++) {
		struct shutter_plan *p = next_block();

		/* Alone among the others it is the one that runs, as far as that goes. */
		assert_true(p->outcome == SHUTTER_STOPPED || p->lone == 1);
		shutter_done(shutter);
	}
	assert_int_equal(proc_stat(child[1], &st), 0);
	assert_int_equal(st.state, 'T');
	put_away();
	kill(child[1], SIGCONT);
	fake[1].still = false;
	fake[1].interrupts = true;
}

/* Likewise one that is paused with its cgroup, whose freezer knows nothing of it; and beside one
 * that has ended, but not for who started it, nobody is measured. */
static void stands_still(bool frozen)
{
	struct shutter_plan *p = plan();

	if (frozen)
		p->job[1].units = 0;
	stop_process(child[1]);
	shutter_publish(shutter, p);
	for (int n = 0; n < 8; n++) {
		if (n == 4)
			kill(child[1], SIGKILL);
		p = next_block();
		/* The one in which it is killed may come to either. */
		if (p->lone != 1 && n != 4)
			assert_int_equal(p->outcome, n < 4 ? SHUTTER_STOPPED : SHUTTER_GONE);
		shutter_done(shutter);
	}
	put_away();
	replace_child(1, false);
}

static void process_stands_still(void **state)
{
	(void)state;
	stands_still(false);
}

static void frozen_one_stands_still(void **state)
{
	(void)state;
	stands_still(true);
}

/* What tells whether a job stands still that has these processes. */
static struct job_cpu *cpu_of(const pid_t *pid, int count)
{
	struct found_process p[JOBS];
	struct found_tasks d = {.processes = count, .process = p};
	struct job_cpu *c = job_cpu_open();

	for (int i = 0; i < count; i++) {
		struct proc_stat st;

		assert_int_equal(proc_stat(pid[i], &st), 0);
		p[i] = (struct found_process){.pid = pid[i], .starttime = st.starttime};
	}
	assert_non_null(c);
	assert_int_equal(job_cpu_know(c, &d), 0);
	return c;
}

/* Something of a job runs of which the shutter knows nothing that could be stopped: beside its
 * tasks, or in place of any. Only the jobs beside it are measured to no use. */
static void hides(bool beside)
{
	pid_t pid[] = {child[1], fork()};
	struct shutter_plan *p;
	struct job_cpu *cpu;
	int ran = 0;

	if (!pid[1]) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		for (;;)
			;
	}
	look_at_held = true;
	p = plan();
	cpu = cpu_of(pid, 2);
	if (beside) {
		p->job[1].cpu = cpu;
	} else {
		p->jobs = p->schedule.jobs = 2;
		p->watched = 1;
		p->job[2] = (struct shutter_job){.job_id = 99, .cpu = cpu};
	}
	shutter_publish(shutter, p);
	for (int n = 0; n < 300 && ran < 3; n++) {
		p = next_block();
		if (p->outcome == SHUTTER_RAN) {
			assert_true(!beside || p->lone != 1);
			assert_int_equal(p->by, beside ? 1 : 2);
			assert_true(shutter_plan_ran(p, p->by));
			assert_false(shutter_plan_ran(p, 0));
			ran++;
		}
		shutter_done(shutter);
	}
	assert_int_equal(ran, 3);
	put_away();
	job_cpu_close(cpu);
	kill(pid[1], SIGKILL);
	waitpid(pid[1], NULL, 0);
	nobody_stopped();
	look_at_held = false;
}

static void hides_beside_its_tasks(void **state)
{
	(void)state;
	hides(true);
}

static void hides_without_a_task(void **state)
{
	(void)state;
	hides(false);
}

/* How many of some blocks were of no use as job 1's owner ran somewhere while job 1 was held.
 * owner: of the other jobs; job 1's is 1. */
static int ran_of_owner(const char *file, uint32_t owner)
{
	struct found_tasks d = {.processes = 0};
	struct job_cpu *cpu = job_cpu_open();
	struct shutter_plan *p = plan();
	int ran = 0;

	assert_non_null(cpu);
	snprintf(d.usage, sizeof(d.usage), "/dev/null");
	snprintf(d.user_usage, sizeof(d.user_usage), "%s", file);
	assert_int_equal(job_cpu_know(cpu, &d), 0);
	for (int i = 0; i < p->jobs; i++)
		p->job[i].owner = i == 1 ? 1 : owner;
	p->job[1].cpu = cpu;
	shutter_publish(shutter, p);
	for (int n = 0; n < 40; n++) {
		p = next_block();
		if (p->outcome == SHUTTER_RAN) {
			assert_int_not_equal(p->lone, 1);
			assert_int_equal(p->by, 1);
			ran++;
		}
		shutter_done(shutter);
	}
	put_away();
	job_cpu_close(cpu);
	return ran;
}

/* What its owner has moved out of a job counts for it, but where another job of the owner's is to
 * run. */
static void runs_outside_its_job(void **state)
{
	char file[] = "/tmp/test_shutter-XXXXXX";
	int fd = mkstemp(file);
	pid_t kernel;

	(void)state;
	assert_true(fd >= 0);
	look_at_held = true;
	assert_int_equal(dprintf(fd, "1%018lld\n", (long long)clock_now()), 20);
	kernel = fork();
	while (!kernel) {
		lseek(fd, 0, SEEK_SET);
		dprintf(fd, "1%018lld\n", (long long)clock_now());
		usleep(100);
	}
	assert_true(ran_of_owner(file, 2) > 0);
	assert_int_equal(ran_of_owner(file, 1), 0);
	kill(kernel, SIGKILL);
	waitpid(kernel, NULL, 0);
	close(fd);
	unlink(file);
	nobody_stopped();
	look_at_held = false;
}

/* Somebody resumes a co-runner while it is held: nobody was alone then. */
static void resumed_by_its_user(void **state)
{
	struct shutter_plan *first;
	struct job_cpu *cpu;
	int ran = 0, well = 0;
	pid_t resumer;

	(void)state;
	look_at_held = true;
	replace_child(1, true);
	cpu = cpu_of(&child[1], 1);
	resumer = fork();
	if (!resumer) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		for (;;) {
			kill(child[1], SIGCONT);
			usleep(50);
		}
	}
	first = plan();
	first->job[1].cpu = cpu;
	shutter_publish(shutter, first);
	/* On a busy machine it may not get a processor in each of them. */
	for (int n = 0; n < 200 && ran < 3; n++) {
		struct shutter_plan *p = next_block();

		if (p->outcome == SHUTTER_RAN) {
			assert_int_not_equal(p->lone, 1);
			assert_int_equal(p->by, 1);
			ran++;
		}
		shutter_done(shutter);
	}
	assert_int_equal(ran, 3);
	kill(resumer, SIGKILL);
	waitpid(resumer, NULL, 0);
	/* One that is left alone stands still. */
	for (int n = 0; n < 200 && well < 3; n++) {
		struct shutter_plan *p = next_block();

		well += p->outcome == SHUTTER_OK && p->lone != 1;
		shutter_done(shutter);
	}
	assert_int_equal(well, 3);
	put_away();
	job_cpu_close(cpu);
	nobody_stopped();
	look_at_held = false;
	replace_child(1, false);
}

static void write_text(const char *name, const char *text)
{
	char path[128];
	struct errmsg err;

	snprintf(path, sizeof(path), "%s/%s", dir, name);
	assert_int_equal(fsio_write(path, text, strlen(text), 0600, 0, &err), 0);
}

/* A task that waits for a dead file server is not frozen in time, and runs no more than one that
 * is: where the kernel tells that, its co-runners are measured. */
static void waits_for_a_dead_server(void **state)
{
	struct found_tasks d = {.dirs = 0};

	(void)state;
	write_text("cgroup.freeze", "0");
	write_text("cgroup.events", "populated 1\nfrozen 0\n");
	write_text("cpu.stat", "usage_usec 1000\n");
	snprintf(d.usage, sizeof(d.usage), "%s/cpu.stat", dir);
	for (int known = 0; known < 2; known++) {
		struct shutter_plan *p = plan();
		struct job_cpu *cpu = job_cpu_open();

		assert_non_null(cpu);
		if (known)
			assert_int_equal(job_cpu_know(cpu, &d), 0);
		p->job[1].cpu = cpu;
		pause_close(p->unit[1].unit);
		p->unit[1] = (struct shutter_unit){
			.task = -1, .unit = pause_open_freezer(held, HELD_FREEZER_V2, dir)};
		assert_non_null(p->unit[1].unit);
		shutter_publish(shutter, p);
		for (int n = 0; n < 8; n++) {
			p = next_block();
			if (p->lone != 1)
				assert_int_equal(
					p->outcome, known ? SHUTTER_OK : SHUTTER_NOT_FROZEN);
			shutter_done(shutter);
		}
		put_away();
		job_cpu_close(cpu);
	}
}

/* The daemon hung between setting the deadline and its first stop: nobody is stopped any more. */
static void deadline_passes_first(void **state)
{
	struct shutter_plan *p;

	(void)state;
	pass_deadlines = true;
	shutter_publish(shutter, plan());
	p = next_block();
	assert_int_equal(p->outcome, SHUTTER_OVERDUE);
	for (int i = 0; i < JOBS; i++)
		assert_int_equal(p->paused_ns[i], 0);
	pass_deadlines = false;
	nobody_stopped();
	put_away();
}

/* The last job cannot be stopped in time, since the one before it was slow: that one is named. Who
 * was not stopped has no time off, whatever of it had its signal. */
static void who_is_slow_to_stop_is_named(void **state)
{
	struct shutter_plan *p;

	(void)state;
	slow_to_stop = true;
	shutter_publish(shutter, plan());
	p = next_block();
	assert_int_equal(p->outcome, SHUTTER_OVERDUE);
	assert_int_equal(p->by, p->lone == 0 ? 1 : 0);
	assert_true(p->paused_ns[p->by] > 4 * NS_PER_MS);
	assert_int_equal(p->paused_ns[p->lone == JOBS - 1 ? JOBS - 2 : JOBS - 1], 0);
	nobody_stopped();
	put_away();
}

static void no_guard(void **state)
{
	struct guard was = guard;

	(void)state;
	shutter_lock(shutter);
	guard.pidfd = -1;
	shutter_unlock(shutter);
	shutter_publish(shutter, plan());
	expect(SHUTTER_NO_GUARD);
	nobody_stopped();
	put_away();
	guard = was;
}

/* Whatever is done to the wall clock, blocks come, and not too close together. */
static void clock_is_set(void **state)
{
	static const int by[] = {3600, -7200, 1, 86400, -1, -86400 * 300, 2, -3};
	int64_t last = 0;

	(void)state;
	shutter_publish(shutter, plan());
	for (int n = 0; n < 40; n++) {
		struct shutter_plan *p = next_block();
		int64_t start = p->when[p->lone], gap = schedule_min_gap(&p->schedule) / 2;

		assert_int_equal(p->outcome, SHUTTER_OK);
		if (last) {
			assert_true(start - last >= p->shutter_ns + gap);
			assert_true(start - last < 5 * NS_PER_S);
		}
		last = start;
		shutter_done(shutter);
		/* While it waits for the next slot, and while it is looked up. */
		if (n % 3)
			usleep(2000);
		wall_offset_s += by[n % 8];
	}
	wall_offset_s = 0;
	put_away();
}

/* When there is time for something slow. */
static void time_until_next(void **state)
{
	struct shutter_plan *p = plan();

	(void)state;
	assert_true(shutter_idle_ns(shutter) == INT64_MAX);
	p->schedule.period_ns = 20 * NS_PER_S;
	shutter_publish(shutter, p);
	/* Two slots at most, and three quarters of another. */
	assert_true(shutter_idle_ns(shutter) < 45 * NS_PER_S);
	put_away();
	p = plan();
	shutter_publish(shutter, p);
	next_block();
	assert_true(shutter_idle_ns(shutter) == INT64_MAX);
	put_away();
}

/* For what is to be far from blocks, and does not wait for them. */
static void quiet_is_far_from_blocks(void **state)
{
	struct shutter_plan *p = plan();

	(void)state;
	/* Without a plan it is quiet. */
	assert_true(shutter_lock_quiet(shutter, NS_PER_S));
	shutter_unlock(shutter);
	/* Two slots at most, and three quarters of another; one in thousands is within a second. */
	p->schedule.period_ns = 4000 * NS_PER_S;
	shutter_publish(shutter, p);
	while (!shutter_idle_ns(shutter))
		usleep(1000);
	assert_true(shutter_lock_quiet(shutter, NS_PER_S));
	shutter_unlock(shutter);
	assert_false(shutter_lock_quiet(shutter, 12000 * NS_PER_S));
	put_away();
	/* A block that nobody has taken is followed by the next one. */
	p = plan();
	shutter_publish(shutter, p);
	next_block();
	assert_false(shutter_lock_quiet(shutter, 0));
	put_away();
}

static void idle(void **state)
{
	struct shutter_plan *p = plan();
	struct pollfd pfd = {.fd = notify_fd, .events = POLLIN};

	(void)state;
	p->schedule.period_ns = 0;
	shutter_publish(shutter, p);
	assert_int_equal(poll(&pfd, 1, 60), 0);
	put_away();
	p = plan();
	p->schedule.jobs = p->jobs = 1;
	shutter_publish(shutter, p);
	assert_int_equal(poll(&pfd, 1, 60), 0);
	put_away();
}

static void log_rows(void **state)
{
	char path[128], line[256];
	struct shutterlog_writer *w;
	struct shutter_plan *p;
	struct errmsg err;
	int rows = 0, lone = -1, during = 0;
	FILE *f;

	(void)state;
	snprintf(path, sizeof(path), "%s/log.csv", dir);
	w = shutterlog_open(path, &err);
	assert_non_null(w);
	p = plan();
	p->whole = true;
	shutter_publish(shutter, p);
	p = next_block();
	assert_int_equal(p->outcome, SHUTTER_OK);
	lone = 10 + p->lone;
	shutter_plan_log(p, w);
	shutter_done(shutter);
	shutterlog_close(w);
	put_away();
	f = fopen(path, "r");
	assert_non_null(f);
	while (fgets(line, sizeof(line), f)) {
		unsigned long long block, job;

		if (sscanf(line, "%llu,%llu", &block, &job) != 2)
			continue;
		rows++;
		if (strstr(line, "during")) {
			during++;
			assert_int_equal(job, lone);
		}
	}
	fclose(f);
	assert_true(during >= 1 && during <= 4);
	assert_int_equal(rows - during, 2 * 4 * JOBS);
}

/* Co-runners are not read at all, or, where that is for nothing, around the last window before the
 * stop. */
static void reads_of_co_runners(bool interrupts, int reads)
{
	struct shutter_plan *p;

	for (int i = 0; i < JOBS; i++) {
		fake[i].reads = 0;
		fake[i].interrupts = interrupts;
	}
	shutter_publish(shutter, plan());
	p = next_block();
	assert_int_equal(p->outcome, SHUTTER_OK);
	for (int i = 0; i < JOBS; i++) {
		if (i == p->lone)
			assert_in_range(fake[i].reads, 12, 15);
		else
			assert_int_equal(fake[i].reads, reads);
	}
	shutter_done(shutter);
	put_away();
}

static void spares_co_runners(void **state)
{
	(void)state;
	reads_of_co_runners(false, 2);
	reads_of_co_runners(true, 0);
}

/* A window that no estimate is made of is not read: it has no progress, and its length. A boundary
 * that none needs makes one window of two. */
static void spares_what_no_fit_needs(void **state)
{
	struct shutter_plan *p = plan();
	struct est_block b;

	(void)state;
	p->first = 1;
	p->spared = 1;
	for (int i = 0; i < JOBS; i++)
		fake[i].reads = 0;
	shutter_publish(shutter, p);
	p = next_block();
	assert_int_equal(p->outcome, SHUTTER_OK);
	assert_in_range(fake[p->lone].reads, 10, 13);
	shutter_plan_block(p, &b);
	assert_int_equal(b.before_n, 4);
	assert_true(isnan(b.before[0].progress));
	assert_true(b.before[0].dur_ns > 0);
	for (int k = 1; k < 4; k++)
		assert_true(b.before[k].progress > 0.5 * b.before[k].dur_ns);
	assert_int_equal(b.after_n, 3);
	assert_true(b.after[0].dur_ns > 1.5 * NS_PER_MS / 2);
	for (int k = 0; k < 3; k++)
		assert_true(b.after[k].progress > 0.5 * b.after[k].dur_ns);
	shutter_done(shutter);
	put_away();
}

static void deadlines(void **state)
{
	(void)state;
	/* Nothing stays stopped for more than 50 ms with any usual shutter, and the guard has some
	 * of them to wake up in. */
	for (int64_t s = NS_PER_MS / 10; s <= 15 * NS_PER_MS; s += NS_PER_MS / 10) {
		assert_true(shutter_deadline_ns(s) <= 45 * NS_PER_MS);
		assert_true(shutter_deadline_ns(s) > 2 * s);
	}
	assert_true(shutter_deadline_ns(100 * NS_PER_MS) > 200 * NS_PER_MS);
}

/* One that is stopped would resume nobody. */
static void stopped_guard(void **state)
{
	struct shutter_plan *p;
	int ms = 0;

	(void)state;
	assert_true(guard_alive(&guard));
	stop_process(guard.pid);
	assert_false(guard_alive(&guard));
	shutter_publish(shutter, plan());
	expect(SHUTTER_NO_GUARD);
	nobody_stopped();
	kill(guard.pid, SIGCONT);
	do {
		p = next_block();
		ms += p->outcome != SHUTTER_OK;
		shutter_done(shutter);
	} while (p->outcome != SHUTTER_OK && ms < 5000);
	assert_int_equal(p->outcome, SHUTTER_OK);
	put_away();
}

/* Of a co-runner that starts many short tasks, one that is not counted has just ended. */
static void uncounted_task_ends(void **state)
{
	struct shutter_plan *p = plan();
	struct proc_stat st;
	pid_t pid = fork();
	int seen = 0;

	(void)state;
	if (!pid) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		for (;;)
			pause();
	}
	assert_int_equal(proc_stat(pid, &st), 0);
	pause_close(p->unit[1].unit);
	p->unit[1] = (struct shutter_unit){
		.unit = pause_open_process(held, pid, st.starttime), .task = -1, .process = true};
	assert_non_null(p->unit[1].unit);
	p->schedule.job[1].measured = false;
	p->job[1].tasks = 0;
	kill(pid, SIGKILL);
	waitpid(pid, NULL, 0);
	shutter_publish(shutter, p);
	for (int n = 0; n < 4; n++) {
		p = next_block();
		assert_int_equal(p->outcome, SHUTTER_OK);
		seen += p->changed;
		shutter_done(shutter);
	}
	assert_int_equal(seen, 4);
	nobody_stopped();
	put_away();
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(turns),
		cmocka_unit_test(long_blocks),
		cmocka_unit_test(absences),
		cmocka_unit_test(shams),
		cmocka_unit_test(unmeasured_job),
		cmocka_unit_test(counter_fails),
		cmocka_unit_test(one_task_stopped_by_its_user),
		cmocka_unit_test(stopped_by_its_user),
		cmocka_unit_test(process_stands_still),
		cmocka_unit_test(frozen_one_stands_still),
		cmocka_unit_test(waits_for_a_dead_server),
		cmocka_unit_test(resumed_by_its_user),
		cmocka_unit_test(hides_beside_its_tasks),
		cmocka_unit_test(hides_without_a_task),
		cmocka_unit_test(runs_outside_its_job),
		cmocka_unit_test(deadline_passes_first),
		cmocka_unit_test(who_is_slow_to_stop_is_named),
		cmocka_unit_test(no_guard),
		cmocka_unit_test(stopped_guard),
		cmocka_unit_test(uncounted_task_ends),
		cmocka_unit_test(some_tasks_of_a_co_runner_end),
		cmocka_unit_test(all_tasks_of_a_co_runner_end),
		cmocka_unit_test(logs_no_task_that_has_ended),
		cmocka_unit_test(clock_is_set),
		cmocka_unit_test(time_until_next),
		cmocka_unit_test(quiet_is_far_from_blocks),
		cmocka_unit_test(idle),
		cmocka_unit_test(log_rows),
		cmocka_unit_test(spares_co_runners),
		cmocka_unit_test(spares_what_no_fit_needs),
		cmocka_unit_test(task_ends),
		cmocka_unit_test(deadlines),
	};

	return cmocka_run_group_tests(tests, setup, teardown);
}
