/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Takes shutter blocks and the truth of the waiting job in turn, with two progress events at once.
 */
/*
 * Writes a shutter log in which job 1 is the job by its completed communication, and job 2 the same
 * job in the same blocks by what its ranks execute, waiting included. Prints the true degradation:
 * that of the worker's iterations, found by stopping the co-runner for long stretches. Blocks and
 * stretches in which others kept worker or co-runner from its processor are left out, and counted.
 */
#include <errno.h>
#include <signal.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>

#include "contrib/workloads/meter.h"
#include "poppa/counter/counter.h"
#include "poppa/estimate/shutterlog.h"
#include "waiting.h"

#define WINDOWS 4
#define WINDOW_NS 800000
#define PAUSE_NS 7000000 /* between two blocks */
#define STRETCH_NS 40000000
#define EDGE_NS 5000000
#define ROUNDS 40 /* of one true ratio and some blocks */
#define TRIES 120 /* rounds at most, if many are disturbed */
#define LEAST 20  /* blocks and true ratios that say something */
#define BLOCKS 7  /* of a round */

/* Share of the time for which each may wait for its processor: the worker's is the other rank's
 * too, the co-runner's only ours. */
#define WORKER_WAITS 0.5
#define PARTNER_WAITS 0.05
#define TOO_BUSY 77 /* exit status, as of a test that is skipped */

enum { COMPLETED = 1, EXECUTED };

struct reading {
	int64_t when;
	uint64_t completed, work, polls;
};

static struct waiting *w;
static struct counter *counter[2];
static struct shutterlog_writer *csv;
static double per_work, per_poll; /* makes both ranks execute the same when the job is alone */
static pid_t partner;
static struct meter_job contending[2]; /* worker and co-runner */
static struct shutter_row row[2 * SHUTTER_REGIONS * WINDOWS];
static int rows;

static void corun(void)
{
	int64_t start = meter_now_ns();
	uint64_t x = 2;

	prctl(PR_SET_PDEATHSIG, SIGKILL);
	waiting_pin(1);
	waiting_prefer(0);
	while (!waiting_over(w, start))
		x = waiting_contend(w, x, 100000);
	_exit(x == 0);
}

static struct reading look(void)
{
	struct counter_sample s[2];
	struct reading r;

	r.when = meter_now_ns();
	for (int i = 0; i < 2; i++)
		if (counter_read(counter[i], &s[i])) {
			perror("a rank's progress");
			exit(1);
		}
	r.completed = s[0].progress + s[1].progress;
	r.work = __atomic_load_n(&w->work, __ATOMIC_RELAXED);
	r.polls = __atomic_load_n(&w->polls, __ATOMIC_RELAXED);
	return r;
}

static void sleep_until(int64_t when)
{
	struct timespec t = {when / 1000000000, when % 1000000000};

	while (clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &t, NULL) == EINTR)
		;
}

static void note_window(uint64_t block, enum shutter_region region, int k, const struct reading *a,
	const struct reading *b)
{
	struct shutter_row r = {
		.block = block,
		.job = COMPLETED,
		.region = region,
		.k = k,
		.start_ns = (uint64_t)a->when,
		.dur_ns = (uint64_t)(b->when - a->when),
		.progress = b->completed - a->completed,
	};

	row[rows++] = r;
	r.job = EXECUTED;
	r.progress = (uint64_t)((double)(b->work - a->work) * per_work +
				(double)(b->polls - a->polls) * per_poll);
	row[rows++] = r;
}

struct waits {
	double worker, partner;
	int64_t when;
};

static struct waits waits(void)
{
	return (struct waits){
		.worker = meter_waited_ns(&contending[0]),
		.partner = meter_waited_ns(&contending[1]),
		.when = meter_now_ns(),
	};
}

/* Whether others took processor time since. */
static bool disturbed(const struct waits *since)
{
	struct waits now = waits();
	double ns = (double)(now.when - since->when);

	return now.worker - since->worker > WORKER_WAITS * ns ||
	       now.partner - since->partner > PARTNER_WAITS * ns;
}

/* Logs a block; false when it was disturbed. */
static bool block(uint64_t number)
{
	struct waits start = waits();
	struct reading a, b;

	rows = 0;
	for (int region = SHUTTER_BEFORE; region < SHUTTER_REGIONS; region++) {
		if (region == SHUTTER_DURING)
			kill(partner, SIGSTOP);
		else if (region == SHUTTER_AFTER)
			kill(partner, SIGCONT);
		a = look();
		for (int k = 0; k < WINDOWS; k++) {
			sleep_until(a.when + WINDOW_NS);
			b = look();
			note_window(number, region, k, &a, &b);
			a = b;
		}
	}
	if (disturbed(&start))
		return false;
	for (int i = 0; i < rows; i++)
		shutterlog_append(csv, &row[i]);
	return true;
}

static double rate(struct reading *from, struct reading *to)
{
	*from = look();
	sleep_until(from->when + EDGE_NS);
	*from = look();
	sleep_until(from->when + STRETCH_NS);
	*to = look();
	return (double)(to->work - from->work) / (double)(to->when - from->when);
}

/* The ratio of rates with the co-runner, before and after, and alone in between; false when it was
 * disturbed. */
static bool true_ratio(double *ratio)
{
	struct waits start = waits();
	struct reading from, to;
	double before, solo, after;

	before = rate(&from, &to);
	kill(partner, SIGSTOP);
	solo = rate(&from, &to);
	kill(partner, SIGCONT);
	per_work = 1e9 / (double)(to.work - from.work);
	per_poll = 1e9 / (double)(to.polls - from.polls);
	after = rate(&from, &to);
	*ratio = (before + after) / 2 / solo;
	return solo > 0 && !disturbed(&start);
}

static void open_counters(void)
{
	struct errmsg err = {""};

	for (int i = 0; i < 2; i++) {
		for (int try = 0; try < 600 && !__atomic_load_n(&w->pid[i], __ATOMIC_ACQUIRE);
			try++)
			sleep_until(meter_now_ns() + 100000000);
		if (!w->pid[i] ||
			counter_open(COUNTER_HEARTBEAT, NULL, w->pid[i], &counter[i], &err)) {
			fprintf(stderr, "rank %d: %s\n", i, w->pid[i] ? err.text : "never came");
			w->stop = 1;
			exit(1);
		}
	}
}

int main(int argc, char **argv)
{
	struct errmsg err = {""};
	uint64_t number = 0;
	double sum = 0, ratio = 0;
	int rounds = 0, tries = 0, left_out = 0;

	if (argc != 3) {
		fprintf(stderr, "Usage: waiting_meter FILE LOG\n");
		return 2;
	}
	w = waiting_map(argv[1]);
	csv = shutterlog_open(argv[2], &err);
	if (!csv) {
		fprintf(stderr, "%s\n", err.text);
		return 1;
	}
	open_counters();
	partner = fork();
	if (partner < 0) {
		perror("fork");
		return 1;
	}
	if (partner == 0)
		corun();
	waiting_pin(1);
	waiting_prefer(2);
	for (int i = 0; i < 2; i++)
		contending[i] = (struct meter_job){.pid = {i ? partner : w->pid[0]}, .tasks = 1};
	while (!true_ratio(&ratio) && tries < TRIES)
		tries++;
	for (; rounds < ROUNDS && tries < TRIES; tries++) {
		double work = per_work, poll = per_poll;

		if (true_ratio(&ratio)) {
			sum += ratio;
			rounds++;
		}
		/* One scale for all blocks. */
		per_work = work;
		per_poll = poll;
		for (int i = 0; i < BLOCKS; i++) {
			sleep_until(meter_now_ns() + PAUSE_NS);
			left_out += !block(number++);
		}
	}
	w->stop = 1;
	kill(partner, SIGKILL);
	waitpid(partner, NULL, 0);
	shutterlog_close(csv);
	fprintf(stderr, "left out as disturbed: %d of %d stretches, %d of %d blocks\n",
		tries - rounds, tries, left_out, (int)number);
	if (rounds < LEAST || (int)number - left_out < LEAST) {
		fprintf(stderr, "too few are left\n");
		return TOO_BUSY;
	}
	printf("%.4f\n", 1 - sum / rounds);
	return 0;
}
