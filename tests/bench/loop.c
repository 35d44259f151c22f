/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What one loop of the shutter costs by its parts, beside a straightforward one in the same run. */
/*
 * Two jobs of tasks that spin, one on the even and one on the odd processors, as lanes have them.
 * Loops of poppad's own shutter library and of the straightforward implementation take turns, so
 * both meet the same mood of the machine; medians are compared. Where the machine has no PMU, two
 * of the kernel's software events stand in for instructions and cycles in both: reading them takes
 * the same way through the kernel, to the processor on which the task runs and back.
 *
 * On a node with a processor for each task, nearly every call is about a task that runs on another
 * one. A machine of two processors can show what that takes (--staged): all tasks share one
 * processor, both threads have the other one, and ahead of each call, untimed, its task alone is
 * put on, or, ahead of a resume, none.
 */
#include <argp.h>
#include <errno.h>
#include <error.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>
#include <jansson.h>

#include "common/log.h"
#include "common/units.h"
#include "heartbeat/poppa_heartbeat.h"
#include "poppa/estimate/blockfit.h"
#include "poppa/counter/counter_backend.h"
#include "poppa/hold/freezer.h"
#include "poppa/hold/proc.h"
#include "poppa/measure/shutter.h"
#include "block_timer.h"
#include "cpu_stage.h"
#include "straight.h"

#define JOBS 2
#define MAX_LOOPS 10000
#define SKIP 77
#define FAILURES 3 /* for each loop that is wanted: a freezer may be late on a busy machine */
#define TURN 4000  /* beats: some 10 us */
#define BLOCK_WAIT_MS 20000

enum side { OURS, STRAIGHT, SIDES };

struct options {
	int tasks, loops, windows;
	int64_t shutter_ns;
	enum pause_method pause;
	enum counter_backend counter;
	bool json, staged;
};

static const char *const column_names[] = {"stop", "resume", "read_alone", "read_together", "other",
	"sleep", "calls", "all", "readings"};
static const char *const pause_names[] = {"auto", "sigstop", "freezer"};
static const char *const side_names[SIDES] = {"ours", "straightforward"};

static struct options options = {.tasks = 16,
	.loops = 60,
	.windows = 4,
	.shutter_ns = 3200 * NS_PER_US,
	.pause = PAUSE_SIGSTOP,
	.counter = COUNTER_PERF};

/* --- the events --- */

static bool stand_in; /* no PMU: software events */

int __real_counter_sys_perf_open(
	struct perf_event_attr *attr, pid_t tid, int cpu, int group_fd, unsigned long flags);
int __wrap_counter_sys_perf_open(
	struct perf_event_attr *attr, pid_t tid, int cpu, int group_fd, unsigned long flags);

static void replace_event(struct perf_event_attr *attr, int e)
{
	attr->type = PERF_TYPE_SOFTWARE;
	attr->config = e ? PERF_COUNT_SW_CPU_CLOCK : PERF_COUNT_SW_TASK_CLOCK;
}

int __wrap_counter_sys_perf_open(
	struct perf_event_attr *attr, pid_t tid, int cpu, int group_fd, unsigned long flags)
{
	if (stand_in)
		replace_event(attr, group_fd >= 0);
	return __real_counter_sys_perf_open(attr, tid, cpu, group_fd, flags);
}

/* Instructions and cycles in user mode, or their stand-ins. */
static void choose_events(struct perf_event_attr event[STRAIGHT_EVENTS])
{
	static const uint64_t hardware[STRAIGHT_EVENTS] = {
		PERF_COUNT_HW_INSTRUCTIONS, PERF_COUNT_HW_CPU_CYCLES};
	int fd;

	for (int e = 0; e < STRAIGHT_EVENTS; e++)
		event[e] = (struct perf_event_attr){.size = sizeof(event[e]),
			.type = PERF_TYPE_HARDWARE,
			.config = hardware[e],
			.exclude_kernel = 1,
			.exclude_hv = 1};
	fd = __real_counter_sys_perf_open(&event[0], 0, -1, -1, PERF_FLAG_FD_CLOEXEC);
	stand_in = fd < 0;
	if (fd >= 0)
		close(fd);
	for (int e = 0; stand_in && e < STRAIGHT_EVENTS; e++)
		replace_event(&event[e], e);
}

/* --- tasks and what is needed to stop and count them --- */

static char dir[PATH_MAX], cgroup[JOBS][PATH_MAX];
static enum held_kind freezer;
static pid_t pid[STRAIGHT_MAX_TASKS];
static cpu_set_t processors;
static struct cpu_stage *stage; /* NULL unless --staged */
static struct guard guard = {.pidfd = -1, .timerfd = -1};
static int held_fd = -1;

static int job_of(int task)
{
	return task % JOBS;
}

static int nth_processor(int n)
{
	if (options.staged)
		n = 0;
	n %= CPU_COUNT(&processors);
	for (int c = 0; c < CPU_SETSIZE; c++)
		if (CPU_ISSET(c, &processors) && n-- == 0)
			return c;
	return 0;
}

/* Where the threads that measure run when the tasks are on a stage. */
static int last_processor(void)
{
	for (int c = CPU_SETSIZE - 1; c > 0; c--)
		if (CPU_ISSET(c, &processors))
			return c;
	return 0;
}

static void take_priority(int priority)
{
	struct sched_param fifo = {.sched_priority = priority};

	if (sched_setscheduler(0, SCHED_FIFO, &fifo))
		error(0, errno, "no real-time priority: the figures are not to be relied on");
}

static void pin(int processor)
{
	cpu_set_t one;

	CPU_ZERO(&one);
	CPU_SET(processor, &one);
	sched_setaffinity(0, sizeof(one), &one);
}

static void turn(void)
{
	for (int i = 0; i < TURN; i++)
		poppa_heartbeat_add(1);
}

/* On a processor of its own each task would make progress in every window. Where several share
 * one, they take turns so quickly that each still does. */
static void __attribute__((noreturn)) spin(int task)
{
	bool shared = options.tasks > CPU_COUNT(&processors);

	prctl(PR_SET_PDEATHSIG, SIGKILL);
	pin(nth_processor(task));
	poppa_heartbeat_open();
	if (stage) {
		/* On a busy machine, too, a task that is put on is to come at once. */
		take_priority(1);
		cpu_stage_play(stage, task, turn);
	}
	for (;;) {
		turn();
		if (shared)
			sched_yield();
	}
}

static void clean_up(void)
{
	static const char *const files[] = {"held", "held.new"};
	char path[PATH_MAX + 32];

	for (int t = 0; t < options.tasks; t++) {
		if (pid[t] <= 0)
			continue;
		kill(pid[t], SIGKILL);
		kill(pid[t], SIGCONT);
	}
	for (int j = 0; j < JOBS && *cgroup[j]; j++)
		freezer_command_in(held_freezer(freezer), cgroup[j], held_freezer(freezer)->thaw);
	for (int t = 0; t < options.tasks; t++)
		if (pid[t] > 0)
			waitpid(pid[t], NULL, 0);
	for (int j = 0; j < JOBS && *cgroup[j]; j++)
		rmdir(cgroup[j]);
	pause_finish();
	if (!*dir)
		return;
	for (int i = 0; i < 2; i++) {
		snprintf(path, sizeof(path), "%s/%s", dir, files[i]);
		unlink(path);
	}
	rmdir(dir);
}

/* Nothing that this calls allocates or locks. The guard ends by itself. */
static void on_signal(int sig)
{
	clean_up();
	signal(sig, SIG_DFL);
	raise(sig);
}

static void __attribute__((noreturn)) skip(const char *why)
{
	printf("skipped: %s\n", why);
	exit(SKIP);
}

static void make_cgroups(void)
{
	char node[32];
	bool v1 = !access("/sys/fs/cgroup/freezer/cgroup.procs", W_OK);

	freezer = v1 ? HELD_FREEZER_V1 : HELD_FREEZER_V2;
	snprintf(node, sizeof(node), "bench%d", (int)getpid());
	pause_prepare("/sys/fs/cgroup", node); /* as poppad does */
	for (int j = 0; j < JOBS; j++) {
		snprintf(cgroup[j], sizeof(cgroup[j]), "/sys/fs/cgroup%s/poppa-bench-%d-%d",
			v1 ? "/freezer" : "", (int)getpid(), j);
		if (mkdir(cgroup[j], 0755)) {
			*cgroup[j] = '\0';
			skip("no cgroup with a freezer can be made below /sys/fs/cgroup");
		}
	}
}

static void join_cgroup(int task)
{
	char path[PATH_MAX + 32], text[32];
	int fd, n = snprintf(text, sizeof(text), "%d", (int)pid[task]);

	snprintf(path, sizeof(path), "%s/cgroup.procs", cgroup[job_of(task)]);
	fd = open(path, O_WRONLY | O_CLOEXEC);
	if (fd < 0 || write(fd, text, n) != n)
		error(EXIT_FAILURE, errno, "%s", path);
	close(fd);
}

static void make_tasks(void)
{
	sched_getaffinity(0, sizeof(processors), &processors);
	if (options.staged && CPU_COUNT(&processors) < 2)
		skip("a stage for the tasks and the threads that measure them need two processors");
	if (options.staged && !(stage = cpu_stage_new(options.tasks)))
		error(EXIT_FAILURE, errno, "memory");
	if (options.pause == PAUSE_FREEZER)
		make_cgroups();
	for (int t = 0; t < options.tasks; t++) {
		pid[t] = fork();
		if (pid[t] < 0)
			error(EXIT_FAILURE, errno, "fork");
		if (!pid[t])
			spin(t);
		if (options.pause == PAUSE_FREEZER)
			join_cgroup(t);
	}
}

/* The counter of a task that has only just started may not be there yet. */
static struct counter *open_counter(pid_t task)
{
	struct nodeconf conf;
	struct errmsg err = {""};
	struct counter *c;

	nodeconf_defaults(&conf);
	for (int i = 0; i < 500; i++) {
		if (!counter_open(options.counter, &conf, task, &c, &err))
			return c;
		if (errno != ENODATA || options.counter != COUNTER_HEARTBEAT)
			break;
		usleep(10000);
	}
	error(EXIT_FAILURE, 0, "%s", err.text);
	return NULL;
}

static struct pause_unit *open_unit(struct held_file *held, int task)
{
	struct pause_unit *u = NULL;
	struct proc_stat st;

	if (options.pause == PAUSE_FREEZER)
		u = pause_open_freezer(held, freezer, cgroup[job_of(task)]);
	else if (!proc_stat(pid[task], &st))
		u = pause_open_process(held, pid[task], st.starttime);
	if (!u)
		error(EXIT_FAILURE, errno, "task %d cannot be stopped", task);
	return u;
}

/* What poppad reads to see that a job stands still: one file where there is one. */
static struct job_cpu *open_cpu(int job)
{
	struct found_process process[STRAIGHT_MAX_TASKS];
	struct found_tasks found = {.process = process};
	struct job_cpu *c = job_cpu_open();

	for (int t = 0; t < options.tasks; t++)
		if (job_of(t) == job)
			process[found.processes++] = (struct found_process){.pid = pid[t]};
	if (options.pause == PAUSE_FREEZER &&
		snprintf(found.usage, sizeof(found.usage), "%s/cpu.stat", cgroup[job]) >=
			(int)sizeof(found.usage))
		error(EXIT_FAILURE, ENAMETOOLONG, "%s", cgroup[job]);
	if (!c || job_cpu_know(c, &found))
		error(EXIT_FAILURE, errno, "memory");
	return c;
}

/* As poppad makes it: the shutter runs on the processors of the job that does not run alone. */
static void plan_job(struct shutter_plan *p, struct held_file *held, int job)
{
	struct shutter_job *j = &p->job[p->jobs++];

	j->job_id = (uint32_t)job + 1;
	p->schedule.job[job] =
		(struct schedule_job){.seed = {{(uint64_t)job, 1}}, .measured = true};
	p->schedule.jobs = p->jobs;
	j->first_task = p->tasks;
	j->first_unit = p->units;
	CPU_ZERO(&j->elsewhere);
	if (stage)
		CPU_SET(last_processor(), &j->elsewhere);
	for (int t = 0; t < options.tasks; t++) {
		if (job_of(t) != job) {
			if (!stage)
				CPU_SET(nth_processor(t), &j->elsewhere);
			continue;
		}
		if (options.pause != PAUSE_FREEZER || p->units == j->first_unit)
			p->unit[p->units++] = (struct shutter_unit){.unit = open_unit(held, t),
				.task = options.pause == PAUSE_FREEZER ? -1 : p->tasks,
				.process = options.pause != PAUSE_FREEZER};
		p->task[p->tasks] =
			(struct shutter_task){.counter = open_counter(pid[t]), .pid = pid[t]};
		block_timer_know(p->task[p->tasks++].counter, t);
		block_timer_know(p->unit[p->units - 1].unit, t);
	}
	j->tasks = p->tasks - j->first_task;
	j->units = p->units - j->first_unit;
	j->cpu = open_cpu(job);
}

static struct shutter_plan *make_plan(struct held_file *held)
{
	struct shutter_plan *p = shutter_plan_new(options.tasks, options.tasks, options.windows, 0);

	if (!p)
		error(EXIT_FAILURE, errno, "memory");
	p->schedule.block_ns = SHUTTER_REGIONS * options.shutter_ns;
	p->schedule.period_ns = p->schedule.block_ns + NS_PER_MS / 2; /* no more: it is not timed */
	p->schedule.spread = SCHEDULE_SPREAD;
	p->shutter_ns = options.shutter_ns;
	p->first = blockfit_skip(options.windows);
	p->spared = blockfit_spared(options.windows);
	p->tasks = p->units = 0;
	for (int job = 0; job < JOBS; job++)
		plan_job(p, held, job);
	return p;
}

static void free_plan(struct shutter_plan *p)
{
	if (!p)
		return;
	for (int t = 0; t < p->tasks; t++)
		counter_close(p->task[t].counter);
	for (int u = 0; u < p->units; u++)
		pause_close(p->unit[u].unit);
	for (int i = 0; i < p->jobs; i++)
		job_cpu_close(p->job[i].cpu);
	shutter_plan_free(p);
}

/* --- the runs --- */

/* us; then two sums: of stops, resumes and readings, and of all but sleeping; and how many readings
 * there were. */
enum { CALLS = LOOP_PARTS, ALL, READINGS, COLUMNS };
static double sample[SIDES][COLUMNS][MAX_LOOPS];
static int loops_done, loops_failed;
static enum shutter_outcome last_failure;

static void keep(enum side side, int n, const int64_t part[LOOP_PARTS], int64_t readings)
{
	for (int i = 0; i < LOOP_PARTS; i++)
		sample[side][i][n] = (double)part[i] / NS_PER_US;
	sample[side][CALLS][n] = 0;
	for (int i = 0; i < LOOP_OTHER; i++)
		sample[side][CALLS][n] += sample[side][i][n];
	sample[side][ALL][n] = sample[side][CALLS][n] + sample[side][LOOP_OTHER][n];
	sample[side][READINGS][n] = (double)readings;
}

static struct shutter_plan *next_block(struct shutter *s, int notify_fd)
{
	struct pollfd p = {.fd = notify_fd, .events = POLLIN};

	if (poll(&p, 1, BLOCK_WAIT_MS) != 1)
		error(EXIT_FAILURE, 0, "no shutter within %d s", BLOCK_WAIT_MS / 1000);
	return shutter_take(s);
}

/* Whoever is late stops measuring early: that loop would be a cheap one. */
static bool complete(const struct shutter_plan *p)
{
	for (int r = 0; r < SHUTTER_REGIONS; r++)
		if (p->boundaries[r] != p->windows + 1)
			return false;
	return true;
}

/* Our loop has just ended and the next one waits for shutter_done(): the other one's turn. */
static void one_pair(struct shutter_plan *p, struct straight *straight)
{
	int64_t part[LOOP_PARTS] = {0}, readings = straight->readings;

	if (p->outcome != SHUTTER_OK || !complete(p)) {
		last_failure = p->outcome;
		loops_failed++;
		return;
	}
	if (stage)
		cpu_stage_clear(stage, &(int64_t){0});
	straight->displaced = p->lone; /* the job's first */
	straight_loop(straight, p->lone, options.shutter_ns, options.windows, part);
	if (stage)
		cpu_stage_clear(stage, &(int64_t){0});
	keep(OURS, loops_done, block_timer_parts(), block_timer_readings());
	keep(STRAIGHT, loops_done, part, straight->readings - readings);
	loops_done++;
}

static void run(struct shutter *s, int notify_fd, struct straight *straight)
{
	take_priority(SHUTTER_PRIORITY);
	while (loops_done < options.loops && loops_failed < FAILURES * options.loops) {
		struct shutter_plan *p = next_block(s, notify_fd);

		if (p)
			one_pair(p, straight);
		shutter_done(s);
	}
	if (loops_done < options.loops)
		error(EXIT_FAILURE, 0, "%d of %d loops failed, the last one with %s", loops_failed,
			loops_done + loops_failed, shutter_outcome_name(last_failure));
}

/* --- the result --- */

static int by_size(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}

static double median(double *v, int n)
{
	qsort(v, (size_t)n, sizeof(*v), by_size);
	return (v[n / 2] + v[(n - 1) / 2]) / 2;
}

static void report(void)
{
	json_t *all = json_pack("{s:i,s:i,s:i,s:i,s:f,s:s,s:s,s:s}", "tasks", options.tasks,
		"loops", loops_done, "failed", loops_failed, "windows", options.windows,
		"shutter_ms", (double)options.shutter_ns / NS_PER_MS, "pause",
		pause_names[options.pause], "counter", counter_backend_name(options.counter),
		"events", stand_in ? "software" : "hardware");
	double sum[SIDES][COLUMNS];

	for (int side = 0; side < SIDES; side++) {
		json_t *o = json_object();

		for (int i = 0; i < COLUMNS; i++) {
			sum[side][i] = median(sample[side][i], loops_done);
			json_object_set_new(o, column_names[i], json_real(sum[side][i]));
		}
		json_object_set_new(all, side_names[side], o);
	}
	json_object_set_new(all, "ratio", json_real(sum[OURS][CALLS] / sum[STRAIGHT][CALLS]));
	json_object_set_new(all, "ratio_all", json_real(sum[OURS][ALL] / sum[STRAIGHT][ALL]));
	json_object_set_new(
		all, "ratio_readings", json_real(sum[OURS][READINGS] / sum[STRAIGHT][READINGS]));
	if (options.json) {
		json_dumpf(all, stdout, JSON_REAL_PRECISION(6));
		putchar('\n');
		json_decref(all);
		return;
	}
	printf("%d tasks, %d loops, us (medians)\n%-16s", options.tasks, loops_done, "");
	for (int i = 0; i < COLUMNS; i++)
		printf(" %13s", column_names[i]);
	printf("\n");
	for (int side = 0; side < SIDES; side++) {
		json_t *o = json_object_get(all, side_names[side]), *v;
		const char *key;

		printf("%-16s", side_names[side]);
		json_object_foreach(o, key, v) printf(" %13.1f", json_real_value(v));
		printf("\n");
	}
	printf("ratio %.3f, of all %.3f, of readings %.3f\n",
		json_real_value(json_object_get(all, "ratio")),
		json_real_value(json_object_get(all, "ratio_all")),
		json_real_value(json_object_get(all, "ratio_readings")));
	json_decref(all);
}

/* --- options --- */

enum {
	KEY_TASKS = 't',
	KEY_LOOPS = 'n',
	KEY_WINDOWS = 'k',
	KEY_SHUTTER = 's',
	KEY_PAUSE = 'p',
	KEY_COUNTER = 'c',
	KEY_STAGED = 'S',
	KEY_JSON = 'j'
};

static const struct argp_option option_table[] = {
	{"tasks", KEY_TASKS, "N", 0, "tasks of both jobs together (default 16)", 0},
	{"loops", KEY_LOOPS, "N", 0, "loops of each kind (default 60)", 0},
	{"windows", KEY_WINDOWS, "K", 0, "windows of a region (default 4)", 0},
	{"shutter", KEY_SHUTTER, "TIME", 0, "length of a region (default 3200us)", 0},
	{"pause", KEY_PAUSE, "NAME", 0, "sigstop (default) or freezer, for ours", 0},
	{"counter", KEY_COUNTER, "NAME", 0, "perf (default) or heartbeat, for ours", 0},
	{"staged", KEY_STAGED, NULL, 0,
		"each call meets its task as on a node with a processor for each; needs two", 0},
	{"json", KEY_JSON, NULL, 0, "print the result as JSON", 0},
	{0},
};

static int number(struct argp_state *state, const char *option, const char *text, int min, int max)
{
	struct errmsg err;
	int64_t v = 0;

	if (units_parse_int(text, min, max, &v, &err))
		argp_error(state, "--%s: %s", option, err.text);
	return (int)v;
}

static error_t parse(int key, char *arg, struct argp_state *state)
{
	struct errmsg err;

	switch (key) {
	case KEY_TASKS:
		options.tasks = number(state, "tasks", arg, JOBS, STRAIGHT_MAX_TASKS);
		return 0;
	case KEY_LOOPS:
		options.loops = number(state, "loops", arg, 1, MAX_LOOPS);
		return 0;
	case KEY_WINDOWS:
		options.windows = number(state, "windows", arg, 1, EST_MAX_WINDOWS);
		return 0;
	case KEY_SHUTTER:
		if (units_parse_duration(arg, &options.shutter_ns, &err))
			argp_error(state, "--shutter: %s", err.text);
		if (options.shutter_ns < 100 * NS_PER_US || options.shutter_ns > 100 * NS_PER_MS)
			argp_error(state, "--shutter: 100us to 100ms");
		return 0;
	case KEY_PAUSE:
		if (!strcmp(arg, "freezer"))
			options.pause = PAUSE_FREEZER;
		else if (strcmp(arg, "sigstop"))
			argp_error(state, "--pause: sigstop or freezer");
		return 0;
	case KEY_COUNTER:
		if (!strcmp(arg, "heartbeat"))
			options.counter = COUNTER_HEARTBEAT;
		else if (strcmp(arg, "perf"))
			argp_error(state, "--counter: perf or heartbeat");
		return 0;
	case KEY_STAGED:
		options.staged = true;
		return 0;
	case KEY_JSON:
		options.json = true;
		return 0;
	default:
		return ARGP_ERR_UNKNOWN;
	}
}

int main(int argc, char **argv)
{
	static const struct argp argp = {.options = option_table,
		.parser = parse,
		.doc = "Times the parts of one loop of the shutter, and of a straightforward "
		       "implementation of it, on tasks of its own. Needs root."};
	static struct straight straight;
	struct perf_event_attr event[STRAIGHT_EVENTS];
	struct errmsg err = {""};
	char path[PATH_MAX + 32];
	struct held_file *held;
	struct shutter *s;
	int notify_fd = -1;

	argp_parse(&argp, argc, argv, 0, NULL, NULL);
	if (options.staged && options.pause == PAUSE_FREEZER)
		error(EXIT_FAILURE, 0,
			"--staged is for tasks that are stopped one by one: --pause sigstop");
	if (geteuid())
		skip("only root may have real-time priority and count others' processes");
	plog_init("loop", PLOG_WARN);
	atexit(clean_up);
	signal(SIGINT, on_signal);
	signal(SIGTERM, on_signal);
	choose_events(event);
	make_tasks();
	strcpy(dir, "/tmp/poppa-bench-XXXXXX");
	if (!mkdtemp(dir))
		error(EXIT_FAILURE, errno, "%s", dir);
	straight.tasks = options.tasks;
	for (int t = 0; t < options.tasks; t++)
		straight.task[t] = (struct straight_task){.job = job_of(t), .pid = pid[t]};
	if (straight_open(&straight, event))
		skip("this kernel lets nobody open perf events");
	snprintf(path, sizeof(path), "%s/held", dir);
	held = held_create(path, &held_fd, &err);
	s = held ? shutter_start(held, &guard, &notify_fd, &err) : NULL;
	if (!s || guard_start(&guard, held, held_fd, &err))
		error(EXIT_FAILURE, 0, "%s", err.text);
	if (stage) {
		straight.ahead = block_timer_set_stage;
		pin(last_processor());
	}
	block_timer_start(notify_fd, stage);
	shutter_publish(s, make_plan(held));
	run(s, notify_fd, &straight);
	free_plan(shutter_stop(s));
	guard_stop(&guard);
	straight_close(&straight);
	report();
	held_unmap(held);
	return EXIT_SUCCESS;
}
