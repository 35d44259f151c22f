/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The first and only program of a virtual machine with a PMU: tests the counters on it, in TAP. */
/*
 * The machine runs one instruction a virtual nanosecond and a cycle with each (qemu -icount
 * shift=0), so instructions per cycle are 1 whatever happens, and counts can be foretold. It has
 * one processor.
 */
#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/reboot.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "poppa/counter/counter_backend.h"
#include "poppa/counter/counter_perf.h"
#include "poppa/estimate/estimator.h"

/* What the kernel said of a group at the last reading, as counter_perf.c asks for it. */
struct group {
	uint64_t nr, enabled, running, progress, cycles;
};

static size_t group_reads;
static struct group kernel;
ssize_t __real_counter_sys_read(int fd, void *buf, size_t size);
ssize_t __wrap_counter_sys_read(int fd, void *buf, size_t size);

ssize_t __wrap_counter_sys_read(int fd, void *buf, size_t size)
{
	ssize_t n = __real_counter_sys_read(fd, buf, size);

	group_reads++;
	if (n == sizeof(kernel))
		memcpy(&kernel, buf, sizeof(kernel));
	return n;
}

/* The groups of a counter: a reading takes one system call for each. */
static size_t groups(struct counter *c)
{
	struct counter_sample s;

	group_reads = 0;
	counter_read(c, &s);
	return group_reads;
}

#define MS 1000000L
#define CGROUP "/sys/fs/cgroup/task"
#define PARANOID "/proc/sys/kernel/perf_event_paranoid"
#define CALLS 1000

static int points, failures;

static bool point(bool good, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

static bool point(bool good, const char *fmt, ...)
{
	va_list ap;

	printf("%s %d - ", good ? "ok" : "not ok", ++points);
	va_start(ap, fmt);
	vprintf(fmt, ap);
	va_end(ap);
	printf("\n");
	failures += !good;
	return good;
}

static void sleep_ms(long ms)
{
	struct timespec t = {ms / 1000, ms % 1000 * MS};

	while (nanosleep(&t, &t) && errno == EINTR)
		;
}

static bool write_text(const char *path, const char *text)
{
	int fd = open(path, O_WRONLY);
	bool good = fd >= 0 && write(fd, text, strlen(text)) == (ssize_t)strlen(text);

	if (fd >= 0)
		close(fd);
	return good;
}

/* --- tasks --- */

static volatile unsigned long turns;

static void *spin(void *arg)
{
	for (;;)
		turns++;
	return arg;
}

static void *wait_on(void *arg)
{
	for (;;)
		pause();
	return arg;
}

int probed(int x);
__attribute__((noinline, noclone)) int probed(int x)
{
	turns += (unsigned long)x;
	return x;
}

/* What a task does at each command: 's' spins in a new thread, 'w' waits in one, 'c' calls. */
static void obey(int from, int to)
{
	pthread_t t;
	char c;

	while (read(from, &c, 1) == 1) {
		for (int i = 0; c == 'c' && i < CALLS; i++)
			probed(i);
		if ((c == 's' && pthread_create(&t, NULL, spin, NULL)) ||
			(c == 'w' && pthread_create(&t, NULL, wait_on, NULL)))
			_exit(1);
		if (write(to, &c, 1) != 1)
			break;
	}
	_exit(0);
}

struct task {
	pid_t pid;
	int to, from;
};

static struct task start(const char *commands)
{
	struct task t = {-1, -1, -1};
	int to[2], from[2];
	char c;

	if (pipe(to) || pipe(from))
		return t;
	fflush(stdout);
	t = (struct task){fork(), to[1], from[0]};
	if (!t.pid)
		obey(to[0], from[1]);
	close(to[0]);
	close(from[1]);
	for (; *commands; commands++)
		if (write(t.to, commands, 1) != 1 || read(t.from, &c, 1) != 1)
			break;
	return t;
}

static void tell(const struct task *t, char c)
{
	if (write(t->to, &c, 1) != 1 || read(t->from, &c, 1) != 1)
		point(false, "the task obeys");
}

static void end(const struct task *t)
{
	kill(t->pid, SIGKILL);
	waitpid(t->pid, NULL, 0);
	close(t->to);
	close(t->from);
}

static struct counter *open_counter(
	enum counter_backend kind, const struct nodeconf *conf, const struct task *t)
{
	struct errmsg err = {""};
	struct counter *c = NULL;

	if (counter_open(kind, conf, t->pid, &c, &err))
		point(false, "opens: %s", err.text);
	return c;
}

static struct counter_sample sample(struct counter *c)
{
	struct counter_sample s = {0};

	if (c && counter_read(c, &s))
		point(false, "a reading fails: %s", strerror(errno));
	return s;
}

/* What a task counts in that time. */
static struct counter_sample window(struct counter *c, long ms)
{
	struct counter_sample from = sample(c), to;

	sleep_ms(ms);
	to = sample(c);
	to.progress -= from.progress;
	to.cycles -= from.cycles;
	return to;
}

static bool near(double a, double b, double share)
{
	return fabs(a - b) <= share * fabs(b);
}

static bool one_a_cycle(const struct counter_sample *s)
{
	return s->progress > 0 && near((double)s->progress, (double)s->cycles, 0.01);
}

/* --- the tests --- */

static void encodings(void)
{
	static const struct {
		const char *event;
		uint64_t config;
	} cases[] = {
		{"arm_n1::INST_RETIRED", 0x08},
		{"arm_n1::CPU_CYCLES", 0x11},
		{"arm_n2::INST_RETIRED", 0x08},
		{"arm_v1::CPU_CYCLES", 0x11},
		{"arm_a64fx::CPU_CYCLES", 0x11},
		{"arm_thunderx2::INST_RETIRED", 0x08},
	};
	struct perf_event_attr attr;
	struct errmsg err;

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		bool known = !counter_perf_encode(cases[i].event, &attr, &err);

		point(known && (attr.config & 0xffff) == cases[i].config && attr.exclude_kernel &&
				attr.exclude_hv && !attr.exclude_user,
			"%s is %#llx, user mode only", cases[i].event,
			(unsigned long long)cases[i].config);
	}
}

static void counts(void)
{
	struct task t = start("s");
	struct counter *c = open_counter(COUNTER_AUTO, NULL, &t);
	struct counter_sample s;

	if (!point(c && counter_kind(c) == COUNTER_PERF, "auto finds the PMU and takes perf"))
		return;
	s = window(c, 20);
	point(near((double)s.progress, 20.0 * MS, 0.1),
		"attached by its pid, it counts an instruction a nanosecond: %llu in 20 ms",
		(unsigned long long)s.progress);
	point(one_a_cycle(&s),
		"one read gives instructions and cycles of the same time: %llu, %llu",
		(unsigned long long)s.progress, (unsigned long long)s.cycles);
	kill(t.pid, SIGSTOP);
	waitpid(t.pid, NULL, WUNTRACED);
	s = window(c, 20);
	point(!s.progress && !s.cycles && !s.missing, "a stopped task counts nothing");
	kill(t.pid, SIGCONT);
	s = window(c, 20);
	point(one_a_cycle(&s), "and goes on when it is resumed");
	end(&t);
	point(counter_read(c, &s) && errno == ESRCH, "the end of the task is noticed");
	counter_close(c);
}

static void threads(void)
{
	struct task t = start("w");
	struct counter *c = open_counter(COUNTER_PERF, NULL, &t);
	struct counter_sample s;

	window(c, 10); /* until the thread has come to its wait */
	s = window(c, 10);
	point(!s.progress, "a task that waits makes no progress");
	tell(&t, 's');
	s = window(c, 10);
	point(near((double)s.progress, 10.0 * MS, 0.1),
		"a thread made since counts at once: %llu in 10 ms",
		(unsigned long long)s.progress);
	point(groups(c) == 2 && !counter_refresh(c) && groups(c) == 2,
		"and needs no counters of its own");
	counter_close(c);
	end(&t);
}

/* Events of others that take the PMU's counters; pinned ones are never put off. */
static int take_pmu(const struct task *t, int *fd, int n, bool pinned)
{
	int taken = 0;

	for (int i = 0; i < n; i++) {
		/* Each with an event of its own, none of them the fixed cycle counter's. */
		struct perf_event_attr a = {.size = sizeof(a),
			.type = PERF_TYPE_RAW,
			.config = 0x08,
			.pinned = pinned,
			.exclude_kernel = 1};

		fd[i] = counter_sys_perf_open(&a, t->pid, -1, -1, 0);
		taken += fd[i] >= 0;
	}
	return taken;
}

/*
 * How much of a window's time the counter had the PMU is the kernel's to tell. A count of windows
 * would not do: when others get their turns, and whether the task runs at all in a window, is up
 * to the scheduler.
 */
enum had { NEVER, PARTLY, ALWAYS, SHARES };
#define ENOUGH 10 /* windows of each */
#define MAX_WINDOWS 5000

struct windows {
	int count, seen[SHARES], asleep, wrong;
	uint64_t progress, cycles;
	/* Of those in which a part of the time was counted. */
	uint64_t part_counted, part_scaled, part_ns;
};

/* Whether a reading says what the kernel counted: nothing is no data where others had the PMU. */
static bool says(enum had had, const struct group *k, const struct counter_sample *s)
{
	if (had == NEVER || (had == PARTLY && !k->progress && !k->cycles))
		return s->missing && !s->progress && !s->cycles;
	if (had == ALWAYS)
		return !s->missing && s->progress == k->progress && s->cycles == k->cycles;
	return !s->missing && s->progress >= k->progress && s->cycles >= k->cycles;
}

static void add_window(struct windows *w, struct counter *c)
{
	struct counter_sample from = sample(c), s;
	struct group k = kernel;
	enum had had;

	sleep_ms(2);
	s = sample(c);
	s.progress -= from.progress;
	s.cycles -= from.cycles;
	k.enabled = kernel.enabled - k.enabled;
	k.running = kernel.running - k.running;
	k.progress = kernel.progress - k.progress;
	k.cycles = kernel.cycles - k.cycles;
	/* A task that did not run had nothing to count, so nobody took it away. */
	had = k.running == k.enabled ? ALWAYS : k.running ? PARTLY : NEVER;
	w->count++;
	w->seen[had] += k.enabled > 0;
	w->asleep += !k.enabled;
	w->progress += s.progress;
	w->cycles += s.cycles;
	/* In less than a tenth of it the kernel's own work may be the most. */
	if (had == PARTLY && k.running >= k.enabled / 10) {
		w->part_counted += k.progress;
		w->part_scaled += s.progress;
		w->part_ns += k.enabled;
	}
	if (says(had, &k, &s) || ++w->wrong > 5)
		return;
	printf("# window %d: the PMU counted %llu and %llu in %llu of %llu ns, read as %llu and "
	       "%llu%s\n",
		w->count, (unsigned long long)k.progress, (unsigned long long)k.cycles,
		(unsigned long long)k.running, (unsigned long long)k.enabled,
		(unsigned long long)s.progress, (unsigned long long)s.cycles,
		s.missing ? ", missing" : "");
}

static bool seen_enough(const struct windows *w)
{
	return w->seen[NEVER] >= ENOUGH && w->seen[PARTLY] >= ENOUGH && w->seen[ALWAYS] >= ENOUGH;
}

static void multiplexing(void)
{
	/* No threads: the counters of others are not handed down. */
	struct task t = start("");
	struct windows w = {0};
	struct counter_sample s;
	struct counter *c;
	int fd[16];

	t.pid = fork();
	if (!t.pid)
		spin(NULL);
	c = open_counter(COUNTER_PERF, NULL, &t);
	take_pmu(&t, fd, 16, false);
	while (w.count < MAX_WINDOWS && !seen_enough(&w))
		add_window(&w, c);
	point(seen_enough(&w) && !w.wrong,
		"windows in which others had the PMU are missing, none is zero: %d wrong of %d, in "
		"which others had it always (%d), partly (%d), never (%d); the task slept in %d",
		w.wrong, w.count, w.seen[NEVER], w.seen[PARTLY], w.seen[ALWAYS], w.asleep);
	point(near((double)w.part_scaled, (double)w.part_ns, 0.15),
		"what was counted for a part of a window is scaled up: %llu to %llu in %llu ns",
		(unsigned long long)w.part_counted, (unsigned long long)w.part_scaled,
		(unsigned long long)w.part_ns);
	point(near((double)w.progress, (double)w.cycles, 0.05), "instructions and cycles alike");
	for (int i = 0; i < 16; i++)
		close(fd[i]);
	s = window(c, 10);
	point(one_a_cycle(&s) && !s.missing, "alone on the PMU it counts everything again");
	take_pmu(&t, fd, 16, true);
	sample(c);
	s = window(c, 20);
	point(s.missing && !s.progress, "a PMU that others hold for good gives no data, not zero");
	for (int i = 0; i < 16; i++)
		close(fd[i]);
	counter_close(c);
	end(&t);
}

static void processors(void)
{
	struct task t, stranger;
	struct counter *by_thread, *c;
	struct counter_sample s;
	char text[16];

	/* Implicit controllers such as perf_event's come with the first that is enabled, as systemd
	 * does. */
	if (!point(!mount("none", "/sys/fs/cgroup", "cgroup2", 0, NULL) &&
			    write_text("/sys/fs/cgroup/cgroup.subtree_control", "+cpuset") &&
			    !mkdir(CGROUP, 0755),
		    "there is a cgroup v2"))
		return;
	t = start("wws");
	by_thread = open_counter(COUNTER_PERF, NULL, &t);
	point(groups(by_thread) == 4, "four threads take four groups");
	snprintf(text, sizeof(text), "%d", (int)t.pid);
	point(write_text(CGROUP "/cgroup.procs", text), "the task gets a cgroup of its own");
	c = open_counter(COUNTER_PERF, NULL, &t);
	point(groups(c) == 1, "in which its one processor takes one group");
	s = window(c, 20);
	point(one_a_cycle(&s) && near((double)s.progress, 20.0 * MS, 0.1),
		"that counts its instructions: %llu in 20 ms", (unsigned long long)s.progress);
	stranger = start("s");
	kill(t.pid, SIGSTOP);
	waitpid(t.pid, NULL, WUNTRACED);
	s = window(c, 20);
	point(!s.progress && !s.missing, "and none of a stranger's on the same processor");
	snprintf(text, sizeof(text), "%d", (int)stranger.pid);
	point(write_text(CGROUP "/cgroup.procs", text) && !counter_refresh(c) && groups(c) == 4,
		"a stranger in the cgroup sends it back to threads");
	end(&stranger);
	kill(t.pid, SIGCONT);
	s = window(c, 20);
	point(one_a_cycle(&s), "which count on");
	counter_close(by_thread);
	counter_close(c);
	end(&t);
}

static void events(void)
{
	struct nodeconf *conf = calloc(1, sizeof(*conf));
	struct task t = start("s");
	struct errmsg err = {""};
	struct counter *c;
	struct counter_sample s;

	nodeconf_defaults(conf);
	strcpy(conf->perf_event, "arm_n1::INST_RETIRED");
	c = open_counter(COUNTER_PERF, conf, &t);
	s = window(c, 10);
	point(one_a_cycle(&s), "PerfEvent=arm_n1::INST_RETIRED counts");
	counter_close(c);
	strcpy(conf->perf_event, "arm_n1::NO_SUCH");
	point(counter_open(COUNTER_PERF, conf, t.pid, &c, &err) && strstr(err.text, "PerfEvent"),
		"an unknown PerfEvent is refused: %s", err.text);
	end(&t);
	free(conf);
}

/* In a process of its own: PAPI looks at the machine once. */
static void papi(const char *level)
{
	bool may = atoi(level) < 3;
	int status;
	struct task t = start("s");
	pid_t pid;

	write_text(PARANOID, level);
	fflush(stdout);
	pid = fork();
	if (!pid) {
		struct errmsg err = {""};
		struct counter *c = NULL;
		struct counter_sample s;
		int rc = counter_open(COUNTER_PAPI, NULL, t.pid, &c, &err);

		if (!may)
			_exit(!rc || !strstr(err.text, "kernel.perf_event_paranoid=2"));
		if (rc) {
			printf("# %s\n", err.text);
			fflush(stdout);
			_exit(1);
		}
		s = window(c, 20);
		rc = !one_a_cycle(&s) || !near((double)s.progress, 20.0 * MS, 0.1);
		counter_close(c);
		_exit(rc);
	}
	waitpid(pid, &status, 0);
	point(!status, may ? "papi counts the same"
			   : "papi at perf_event_paranoid 3 fails and names the fix");
	end(&t);
}

static void uprobes(void)
{
	struct nodeconf *conf = calloc(1, sizeof(*conf));
	struct task t = start("");
	struct counter *c;

	nodeconf_defaults(conf);
	conf->uprobe_count = 1;
	strcpy(conf->uprobe[0], "/init:probed");
	c = open_counter(COUNTER_UPROBE, conf, &t);
	tell(&t, 'c');
	point(c && sample(c).progress == CALLS, "uprobe counts %d calls exactly", CALLS);
	counter_close(c);
	end(&t);
	free(conf);
}

static void fill(struct est_window *w, int n, struct counter *c)
{
	for (int k = 0; k < n; k++) {
		struct counter_sample s = window(c, 12);

		w[k] = (struct est_window){.progress = s.missing ? NAN : (double)s.progress,
			.cycles = (double)s.cycles,
			.dur_ns = 12.0 * MS};
	}
}

/* Two tasks take turns on the one processor, which makes a window shorter but no cycle slower. */
static void blocks(void)
{
	struct task lone = start("s"), other = start("s");
	struct estimator *e = estimator_new(ESTIMATE_ROBUST, NULL);
	struct counter *c = open_counter(COUNTER_PERF, NULL, &lone);
	struct est_result r;
	double worst = 0;
	int seen = 0;

	for (int i = 0; i < 6; i++) {
		struct est_block b = {.before_n = 3, .during_n = 3, .after_n = 3};

		b.start_ns = (uint64_t)i * 200 * MS;
		fill(b.before, 3, c);
		kill(other.pid, SIGSTOP);
		fill(b.during, 3, c);
		kill(other.pid, SIGCONT);
		fill(b.after, 3, c);
		estimator_add(e, &b);
		for (int k = 0; k < 9; k++) {
			const struct est_window *w = k < 3   ? &b.before[k]
						     : k < 6 ? &b.during[k - 3]
							     : &b.after[k - 6];

			if (w->progress > 0 && ++seen)
				worst = fmax(worst, fabs(w->progress / w->cycles - 1));
		}
	}
	estimator_result(e, &r);
	point(seen > 18 && worst < 0.01,
		"before, during and after have the same rate, within %.5f in %d windows of 54",
		worst, seen);
	point(fabs(r.degradation) < 0.005, "so the degradation is 0: %.5f", r.degradation);
	estimator_free(e);
	counter_close(c);
	end(&lone);
	end(&other);
}

int main(void)
{
	mkdir("/proc", 0755);
	mkdir("/sys", 0755);
	if (!point(!mount("none", "/proc", "proc", 0, NULL) &&
			    !mount("none", "/sys", "sysfs", 0, NULL),
		    "the machine boots"))
		goto off;
	setvbuf(stdout, NULL, _IOLBF, 0);
	setenv("LIBPFM_ENCODE_INACTIVE", "1", 1);
	encodings();
	counts();
	threads();
	multiplexing();
	processors();
	events();
	papi("3");
	papi("2");
	uprobes();
	blocks();
	printf("1..%d\n", points);
off:
	fflush(stdout);
	sync();
	reboot(RB_POWER_OFF);
	return failures > 0;
}
