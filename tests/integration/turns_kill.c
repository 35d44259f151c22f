/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Kills what holds jobs for their turns, again and again, and looks for cgroups that stay frozen.
 */
/*
 * Makes two jobs of its own, each a freezer cgroup with a task, and a process with poppad's own
 * shutter and guard that lets them take turns. The blow falls at a random moment of a slice. Prints
 * one line of key=value facts: longest_ms is from the blow to the thaw; late counts what stayed
 * frozen for more than 50 ms after the end of its slice; suspended: how often a job that was frozen
 * by somebody else in a slice was thawed. Exit status 0: nothing was stuck, 1: something was, 77:
 * cannot run here (says why).
 *
 * With --for nobody is killed: the second job is the given freezer cgroup, of a job of Slurm's, and
 * has its turns with the first one for so long. Then the line has slices=, how often that was held.
 */
#include <argp.h>
#include <errno.h>
#include <error.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "common/clock.h"
#include "common/fsio.h"
#include "common/log.h"
#include "common/units.h"
#include "poppa/hold/freezer.h"
#include "poppa/hold/guardctl.h"
#include "poppa/hold/held_release.h"
#include "poppa/hold/pause.h"
#include "poppa/measure/shutter.h"

#define JOBS 2
#define SKIP 77
#define BOUND (50 * NS_PER_MS)
#define GIVE_UP (3 * NS_PER_S)
#define FREEZER "/sys/fs/cgroup/freezer"

static int kills = 50, seconds;
static int64_t turn_ns = 300 * NS_PER_MS;
static bool both;
static const char *given;
static char dir[64], cgroup[JOBS][256];
static pid_t task[JOBS];

static const struct argp_option options[] = {{"kills", 'n', "N", 0, "how often (default 50)", 0},
	{"both", 'b', NULL, 0, "kill the guard with it, then repair", 0},
	{"turn", 't', "MS", 0, "length of a slice (default 300)", 0},
	{"for", 'f', "SECONDS", 0, "let CGROUP take turns for so long, without a kill", 0}, {0}};

static error_t parse(int key, char *arg, struct argp_state *state)
{
	if (key == 'n')
		kills = atoi(arg);
	else if (key == 'b')
		both = true;
	else if (key == 't')
		turn_ns = atoll(arg) * NS_PER_MS;
	else if (key == 'f')
		seconds = atoi(arg);
	else if (key == ARGP_KEY_ARG && seconds && !given)
		given = arg;
	else if (key == ARGP_KEY_ARG || (key == ARGP_KEY_END && seconds && !given))
		argp_usage(state);
	else
		return ARGP_ERR_UNKNOWN;
	return 0;
}

static void put(const char *where, const char *file, const char *text)
{
	char path[256];
	FILE *f;

	snprintf(path, sizeof(path), "%s/%s", where, file);
	f = fopen(path, "w");
	if (!f || fputs(text, f) < 0 || fclose(f))
		error(1, errno, "%s", path);
}

static bool frozen(int i)
{
	return freezer_frozen(&freezer_v1, cgroup[i]);
}

/* Which job is frozen; -1 = none. */
static int who(void)
{
	for (int i = 0; i < JOBS; i++)
		if (frozen(i))
			return i;
	return -1;
}

static void make(void)
{
	if (given)
		snprintf(cgroup[JOBS - 1], sizeof(cgroup[0]), "%s", given);
	for (int i = 0; i < JOBS - (given != NULL); i++) {
		char pid[32];

		snprintf(
			cgroup[i], sizeof(cgroup[i]), FREEZER "/turnskill-%d-%d", (int)getpid(), i);
		if (mkdir(cgroup[i], 0755))
			error(1, errno, "%s", cgroup[i]);
		task[i] = fork();
		if (!task[i]) {
			prctl(PR_SET_PDEATHSIG, SIGKILL);
			for (;;)
				pause();
		}
		snprintf(pid, sizeof(pid), "%d", (int)task[i]);
		put(cgroup[i], "cgroup.procs", pid);
	}
}

static void held_path(char *path, size_t size)
{
	snprintf(path, size, "%s/held", dir);
}

/* Lets the jobs take turns until it is killed. */
static void __attribute__((noreturn)) hold(void)
{
	struct guard guard = {.pidfd = -1, .timerfd = -1};
	struct errmsg err = {""};
	struct shutter_plan *p = shutter_plan_new(0, JOBS, 4, 0);
	struct held_file *held;
	struct shutter *s;
	char path[128];
	int held_fd, notify_fd;

	prctl(PR_SET_PDEATHSIG, SIGKILL);
	held_path(path, sizeof(path));
	held = held_create(path, &held_fd, &err);
	s = held ? shutter_start(held, &guard, &notify_fd, &err) : NULL;
	if (!p || !s || guard_start(&guard, held, held_fd, &err))
		error(1, 0, "%s", err.text);
	/* No blocks, only slices. */
	p->schedule.period_ns = 3600 * NS_PER_S;
	p->schedule.block_ns = 10 * NS_PER_MS;
	p->schedule.jobs = p->jobs = JOBS;
	p->turn_ns = turn_ns;
	for (int i = 0; i < JOBS; i++) {
		struct pause_unit *u = pause_open_freezer(held, HELD_FREEZER_V1, cgroup[i]);

		if (!u || pause_watch(u))
			error(1, errno, "%s", cgroup[i]);
		p->unit[i] = (struct shutter_unit){.unit = u, .task = -1};
		p->job[i] = (struct shutter_job){.job_id = 1 + i, .first_unit = i, .units = 1};
		p->schedule.job[i] = (struct schedule_job){.measured = true, .seed = {{i, 7}}};
	}
	shutter_publish(s, p);
	for (;;)
		pause();
}

static pid_t guard_pid(void)
{
	struct errmsg err;
	char path[128];
	struct held_file *h;
	pid_t pid = 0;
	FILE *f;

	held_path(path, sizeof(path));
	f = fopen(path, "r+");
	h = f ? held_map(fileno(f), &err) : NULL;
	if (h)
		pid = h->guard_pid;
	held_unmap(h);
	if (f)
		fclose(f);
	return pid;
}

static bool wait_frozen(bool wanted, int64_t ns)
{
	int64_t begun = clock_now();

	while ((who() >= 0) != wanted) {
		if (clock_now() - begun > ns)
			return false;
		usleep(200);
	}
	return true;
}

static struct {
	int stuck, late, suspended, caught;
	int64_t longest;
} facts;

static void end(pid_t pid)
{
	kill(pid, SIGKILL);
	waitpid(pid, NULL, 0);
}

/* One process from start to end. NULL, or what went wrong. */
static const char *blow(int n)
{
	pid_t pid = fork();
	char path[128];
	int64_t struck, left;

	if (!pid)
		hold();
	if (!wait_frozen(true, 10 * GIVE_UP)) {
		end(pid);
		return "no slice";
	}
	usleep((useconds_t)(rand() % (int)(turn_ns / 1000)));
	if (!both && n % 4 == 3 && wait_frozen(true, 10 * GIVE_UP)) {
		/* Somebody else freezes the one that is held: it stays so. */
		int held_job = who();

		if (held_job < 0 || !frozen(held_job))
			held_job = 0;
		put(cgroup[held_job], "freezer.state", "FROZEN");
		usleep(500000);
		facts.suspended += !frozen(held_job);
		put(cgroup[held_job], "freezer.state", "THAWED");
	}
	facts.caught += who() >= 0;
	if (both)
		kill(guard_pid(), SIGKILL);
	struck = clock_now();
	left = turn_ns - clock_wall() % turn_ns;
	end(pid);
	if (both) {
		struct errmsg err = {""};

		held_path(path, sizeof(path));
		if (held_repair(path, &err) < 0)
			return "it cannot be repaired";
		struck = clock_now();
	}
	if (!wait_frozen(false, GIVE_UP))
		facts.stuck++;
	struck = clock_now() - struck;
	facts.longest = struck > facts.longest ? struck : facts.longest;
	facts.late += struck > left + BOUND;
	/* Quiet now; it has to stay so. */
	usleep(20000);
	facts.stuck += who() >= 0;
	return NULL;
}

/* Lets the given cgroup take turns for a while; how often it was held. */
static int watch(void)
{
	int64_t end_ns = clock_now() + seconds * NS_PER_S;
	pid_t pid = fork();
	int slices = 0;
	bool was = false;

	if (!pid)
		hold();
	while (clock_now() < end_ns) {
		bool is = frozen(JOBS - 1);

		slices += is && !was;
		was = is;
		usleep(5000);
	}
	end(pid);
	facts.stuck = !wait_frozen(false, GIVE_UP);
	return slices;
}

static void clean(void)
{
	char command[128];

	for (int i = 0; i < JOBS; i++) {
		freezer_command_in(&freezer_v1, cgroup[i], freezer_v1.thaw);
		if (!task[i])
			continue;
		end(task[i]);
		for (int ms = 0; rmdir(cgroup[i]) && errno == EBUSY && ms < 5000; ms++)
			usleep(1000);
	}
	snprintf(command, sizeof(command), "rm -rf %s", dir);
	if (system(command))
		error(0, 0, "%s", command);
}

int main(int argc, char **argv)
{
	static const struct argp argp = {
		.options = options, .parser = parse, .args_doc = "\n--for SECONDS CGROUP"};
	const char *wrong = NULL;

	argp_parse(&argp, argc, argv, 0, NULL, NULL);
	plog_init("turns_kill", PLOG_ERROR);
	if (geteuid() || access(FREEZER "/cgroup.procs", W_OK)) {
		puts("skipped: needs root and a cgroup v1 freezer at " FREEZER);
		return SKIP;
	}
	/* In memory, as /run is. */
	strcpy(dir, "/dev/shm/turns-kill-XXXXXX");
	if (!mkdtemp(dir))
		error(1, errno, "%s", dir);
	make();
	srand((unsigned)clock_now());
	if (given) {
		printf("slices=%d ", watch());
		kills = 0;
	}
	for (int n = 0; n < kills && !wrong; n++)
		wrong = blow(n);
	printf("times=%d caught=%d stuck=%d late=%d longest_ms=%.3f suspended=%d\n", kills,
		facts.caught, facts.stuck, facts.late, (double)facts.longest / NS_PER_MS,
		facts.suspended);
	if (wrong)
		puts(wrong);
	clean();
	return wrong || facts.stuck || facts.suspended;
}
