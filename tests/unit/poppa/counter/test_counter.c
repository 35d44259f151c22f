/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Unit tests of the choice of a counter and of the perf backend, with the kernel's part made up. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "poppa_config.h"

#include <errno.h>
#include <fcntl.h>
#include <dirent.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "common/log.h"
#include "heartbeat/poppa_heartbeat.h"
#include "poppa/counter/background_close.h"
#include "poppa/counter/counter_backend.h"
#include "poppa/counter/counter_cgroup.h"
#include "unit/poppa/counter/closer_end.h"

/* --- a PMU that is made up: link-time stand-ins for the two system calls --- */

#define MAX_EVENTS 1024
#define STEP 1000 /* instructions a thread retires between two reads; cycles are twice that */

static struct fake_event {
	bool used;
	pid_t tid; /* or a cgroup's descriptor */
	int cpu, group_fd;
	unsigned long flags;
	struct perf_event_attr attr;
	uint64_t reads;
	int members; /* of the group that it leads */
} fake[MAX_EVENTS];

static int fail_open_at; /* the n-th open from now fails, 0 = none */
static int fail_open_with;
static int fail_misses;            /* errno of opens of a cache's events, 0 = none */
static int fail_all_opens;         /* errno of every open, 0 = none */
static int fail_read_with;         /* errno of reads, 0 = none, -1 = short */
static uint64_t share_running = 1; /* the group runs every n-th ns */
static bool can_inherit;           /* the kernel follows new threads */
static int reads;

int __wrap_counter_sys_perf_open(
	struct perf_event_attr *attr, pid_t pid, int cpu, int group_fd, unsigned long flags);
ssize_t __wrap_counter_sys_read(int fd, void *buf, size_t size);

int __wrap_counter_sys_perf_open(
	struct perf_event_attr *attr, pid_t pid, int cpu, int group_fd, unsigned long flags)
{
	int fd;

	if (attr->inherit && !can_inherit) {
		errno = EINVAL;
		return -1;
	}

	if (fail_all_opens) {
		errno = fail_all_opens;
		return -1;
	}
	if (fail_open_at && --fail_open_at == 0) {
		errno = fail_open_with;
		return -1;
	}
	if (fail_misses && attr->type == PERF_TYPE_HW_CACHE) {
		errno = fail_misses;
		return -1;
	}
	fd = open("/dev/null", O_RDONLY | O_CLOEXEC); /* a number that close() takes back */
	assert_in_range(fd, 0, MAX_EVENTS - 1);
	fake[fd] = (struct fake_event){true, pid, cpu, group_fd, flags, *attr, 0, 1};
	if (group_fd >= 0)
		fake[group_fd].members++;
	return fd;
}

/* The groups that are open: each reading takes one system call for each. */
static int groups(void)
{
	int n = 0;

	for (int fd = 0; fd < MAX_EVENTS; fd++)
		n += fake[fd].used && fake[fd].group_fd == -1;
	return n;
}

ssize_t __wrap_counter_sys_read(int fd, void *buf, size_t size)
{
	struct fake_event *e = &fake[fd];
	uint64_t *out = buf;

	reads++;
	if (fail_read_with > 0) {
		errno = fail_read_with;
		return -1;
	}
	if (fail_read_with < 0)
		return 8;
	assert_true(e->used);
	assert_int_equal(e->group_fd, -1);
	/* Exactly what the kernel gives. */
	assert_in_range(e->members, 2, 3);
	assert_int_equal(size, (3 + (size_t)e->members) * sizeof(*out));
	e->reads++;
	out[0] = (uint64_t)e->members;
	out[1] = e->reads * 1000000;
	out[2] = e->reads * 1000000 / share_running;
	out[3] = e->reads * STEP / share_running;
	out[4] = e->reads * 2 * STEP / share_running;
	if (e->members > 2)
		out[5] = e->reads * STEP / 10 / share_running;
	return (ssize_t)size;
}

static bool own_cgroup; /* the task has one, of one processor */
int __real_counter_cgroup_open(pid_t pid, struct counter_cgroup *out);
int __wrap_counter_cgroup_open(pid_t pid, struct counter_cgroup *out);
bool __wrap_counter_cgroup_holds(const struct counter_cgroup *c, pid_t pid);

int __wrap_counter_cgroup_open(pid_t pid, struct counter_cgroup *out)
{
	if (!own_cgroup)
		return __real_counter_cgroup_open(pid, out);
	out->fd = open("/dev/null", O_RDONLY | O_CLOEXEC);
	CPU_ZERO(&out->cpus);
	CPU_SET(0, &out->cpus);
	return 0;
}

bool __wrap_counter_cgroup_holds(const struct counter_cgroup *c, pid_t pid)
{
	(void)c;
	(void)pid;
	return own_cgroup;
}

static int open_descriptors(void)
{
	DIR *dir = opendir("/proc/self/fd");
	int n = 0;

	assert_non_null(dir);
	while (readdir(dir))
		n++;
	closedir(dir);
	return n;
}

static int before;

static int setup(void **state)
{
	(void)state;
	memset(fake, 0, sizeof(fake));
	fail_misses = 0;
	own_cgroup = false;
	fail_open_at = fail_open_with = fail_all_opens = fail_read_with = reads = 0;
	share_running = 1;
	can_inherit = false;
	before = open_descriptors();
	return 0;
}

static int no_descriptor_is_left(void **state)
{
	(void)state;
	return open_descriptors() == before ? 0 : -1;
}

#ifdef HAVE_PFM

/* --- threads that come and go --- */

struct idler {
	pthread_t thread;
	pthread_barrier_t started;
	pthread_mutex_t end;
};

static void *idle(void *arg)
{
	struct idler *i = arg;

	pthread_barrier_wait(&i->started);
	pthread_mutex_lock(&i->end);
	return NULL;
}

static void start_thread(struct idler *i)
{
	pthread_barrier_init(&i->started, NULL, 2);
	pthread_mutex_init(&i->end, NULL);
	pthread_mutex_lock(&i->end);
	assert_int_equal(pthread_create(&i->thread, NULL, idle, i), 0);
	pthread_barrier_wait(&i->started);
}

/* The thread has left /proc when this returns. */
static void end_thread(struct idler *i, int threads_left)
{
	char path[] = "/proc/self/task";

	pthread_mutex_unlock(&i->end);
	pthread_join(i->thread, NULL);
	for (;;) {
		DIR *dir = opendir(path);
		struct dirent *e;
		int n = 0;

		assert_non_null(dir);
		while ((e = readdir(dir)))
			n += e->d_name[0] != '.';
		closedir(dir);
		if (n == threads_left)
			break;
		usleep(1000);
	}
}

#include "poppa/counter/counter_perf.h"

static struct counter *open_self(void)
{
	struct counter *c = NULL;
	struct errmsg err = {""};

	if (counter_open(COUNTER_PERF, NULL, getpid(), &c, &err))
		fail_msg("%s", err.text);
	assert_int_equal(counter_kind(c), COUNTER_PERF);
	assert_true(counter_has_cycles(c));
	assert_false(counter_has_misses(c));
	return c;
}

static struct counter_sample sample(struct counter *c)
{
	struct counter_sample s;

	assert_int_equal(counter_read(c, &s), 0);
	return s;
}

static void one_group_a_thread(void **state)
{
	struct idler i;
	struct counter *c;
	int leaders = 0, members = 0;

	(void)state;
	start_thread(&i);
	c = open_self();
	for (int fd = 0; fd < MAX_EVENTS; fd++) {
		struct fake_event *e = &fake[fd];

		if (!e->used)
			continue;
		assert_int_equal(e->attr.type, PERF_TYPE_HARDWARE);
		assert_true(e->attr.exclude_kernel && e->attr.exclude_hv);
		assert_false(e->attr.exclude_user);
		assert_int_equal(e->attr.read_format, PERF_FORMAT_GROUP |
							      PERF_FORMAT_TOTAL_TIME_ENABLED |
							      PERF_FORMAT_TOTAL_TIME_RUNNING);
		if (e->group_fd == -1) {
			leaders++;
			assert_int_equal(e->attr.config, PERF_COUNT_HW_INSTRUCTIONS);
		} else {
			members++;
			assert_int_equal(e->attr.config, PERF_COUNT_HW_CPU_CYCLES);
			assert_int_equal(fake[e->group_fd].tid, e->tid);
		}
	}
	assert_int_equal(leaders, 2);
	assert_int_equal(members, 2);
	assert_int_equal(sample(c).progress, 2 * STEP);
	assert_int_equal(sample(c).cycles, 2 * 2 * 2 * STEP);
	assert_int_equal(reads, 4); /* one call a thread and sample */
	counter_close(c);
	end_thread(&i, 1);
}

static void threads_come_and_go(void **state)
{
	struct idler i;
	struct counter *c = open_self();

	(void)state;
	assert_int_equal(sample(c).progress, STEP);
	start_thread(&i);
	assert_int_equal(sample(c).progress, 2 * STEP);
	assert_int_equal(counter_refresh(c), 0);
	assert_int_equal(sample(c).progress, 4 * STEP);
	end_thread(&i, 1);
	assert_int_equal(sample(c).progress, 6 * STEP);
	assert_int_equal(counter_refresh(c), 0); /* reads the ended one a last time */
	assert_int_equal(sample(c).progress, 8 * STEP);
	assert_int_equal(sample(c).progress, 9 * STEP);
	counter_close(c);
}

#ifdef HAVE_STRUCT_PERF_EVENT_ATTR_INHERIT_THREAD
/* Where the kernel follows threads, one group counts all that are made later, and it stays when the
 * thread that it was opened on ends. */
static void the_kernel_follows_threads(void **state)
{
	struct idler i, j;
	struct counter *c;

	(void)state;
	can_inherit = true;
	start_thread(&i);
	c = open_self();
	assert_int_equal(groups(), 2);
	for (int fd = 0; fd < MAX_EVENTS; fd++) {
		if (!fake[fd].used)
			continue;
		assert_true(fake[fd].attr.inherit && fake[fd].attr.inherit_thread);
		assert_int_equal(fake[fd].cpu, -1);
	}
	start_thread(&j);
	end_thread(&i, 2);
	assert_int_equal(counter_refresh(c), 0);
	assert_int_equal(groups(), 2);
	assert_int_equal(sample(c).progress, 2 * STEP);
	end_thread(&j, 1);
	counter_close(c);
}

#endif

/* A processor's counters stop at nothing but their cgroup: a task without one is never so counted.
 */
static void no_processors_without_a_cgroup(void **state)
{
	struct idler i[64];
	struct counter *c;

	(void)state;
	can_inherit = true;
	for (size_t n = 0; n < sizeof(i) / sizeof(i[0]); n++)
		start_thread(&i[n]);
	c = open_self();
	assert_int_equal(counter_refresh(c), 0);
	for (int fd = 0; fd < MAX_EVENTS; fd++)
		assert_true(!fake[fd].used ||
			    (fake[fd].cpu == -1 && !(fake[fd].flags & PERF_FLAG_PID_CGROUP)));
	for (size_t n = sizeof(i) / sizeof(i[0]); n-- > 0;)
		end_thread(&i[n], (int)n + 1);
	counter_close(c);
}

static void the_event_is_configured(void **state)
{
	struct nodeconf *conf = calloc(1, sizeof(*conf));
	struct errmsg err = {""};
	struct counter *c = NULL;
	int members = 0;

	(void)state;
	assert_non_null(conf);
	nodeconf_defaults(conf);
	strcpy(conf->perf_event, "perf::BRANCHES:u:k");
	assert_int_equal(counter_open(COUNTER_PERF, conf, getpid(), &c, &err), 0);
	for (int fd = 0; fd < MAX_EVENTS; fd++) {
		if (!fake[fd].used)
			continue;
		/* Both in the same mode, or their ratio would mean nothing. */
		assert_false(fake[fd].attr.exclude_kernel);
		if (fake[fd].group_fd == -1)
			assert_int_equal(fake[fd].attr.config, PERF_COUNT_HW_BRANCH_INSTRUCTIONS);
		else
			members += fake[fd].attr.config == PERF_COUNT_HW_CPU_CYCLES;
	}
	assert_int_equal(members, 1);
	assert_true(counter_available(COUNTER_PERF, conf, &err));
	counter_close(c);
	strcpy(conf->perf_event, "perf::FLOPS");
	assert_int_equal(counter_open(COUNTER_PERF, conf, getpid(), &c, &err), -1);
	assert_int_equal(errno, ENODATA);
	assert_non_null(strstr(err.text, "perf::FLOPS"));
	assert_non_null(strstr(err.text, "PerfEvent"));
	assert_false(counter_available(COUNTER_PERF, conf, &err));
	fail_all_opens = ENOENT;
	strcpy(conf->perf_event, "perf::BRANCHES");
	assert_false(counter_available(COUNTER_PERF, conf, &err));
	assert_non_null(strstr(err.text, "perf::BRANCHES"));
	free(conf);
}

static void refresh_failure_keeps_what_counts(void **state)
{
	struct idler i;
	struct counter *c = open_self();

	(void)state;
	start_thread(&i);
	fail_all_opens = EMFILE;
	assert_int_equal(counter_refresh(c), -1);
	assert_int_equal(errno, EMFILE);
	assert_int_equal(sample(c).progress, STEP);
	fail_all_opens = 0;
	assert_int_equal(counter_refresh(c), 0);
	assert_int_equal(sample(c).progress, 3 * STEP);
	end_thread(&i, 1);
	counter_close(c);
}

static void a_thread_may_vanish_while_opening(void **state)
{
	struct idler i;
	struct counter *c;

	(void)state;
	start_thread(&i);
	/* The second thread's leader, in every one of the scans. */
	fail_open_at = 3;
	fail_open_with = ESRCH;
	c = open_self();
	assert_true(sample(c).progress >= STEP);
	counter_close(c);

	fail_all_opens = ESRCH;
	assert_int_equal(counter_open(COUNTER_PERF, NULL, getpid(), &c, NULL), -1);
	assert_int_equal(errno, ESRCH);
	fail_all_opens = 0;
	end_thread(&i, 1);
}

static void errors_name_the_mend(void **state)
{
	static const struct {
		int from_kernel, to_caller;
		const char *text;
	} cases[] = {
		{EACCES, EACCES, "perf_event_paranoid"},
		{EPERM, EPERM, "CAP_PERFMON"},
		{ENOENT, ENODATA, "virtual machine"},
		{ENODEV, ENODATA, "virtual machine"},
		{EOPNOTSUPP, ENODATA, "virtual machine"},
		{EBUSY, EBUSY, "nmi_watchdog"},
		{EMFILE, EMFILE, "LimitNOFILE"},
		{ENOSYS, ENODATA, "no perf events"},
		{EINVAL, EINVAL, "INSTRUCTIONS"},
	};
	struct errmsg err;
	struct counter *c;

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		fail_all_opens = cases[i].from_kernel;
		assert_int_equal(counter_open(COUNTER_PERF, NULL, getpid(), &c, &err), -1);
		assert_int_equal(errno, cases[i].to_caller);
		assert_non_null(strstr(err.text, cases[i].text));
		assert_false(counter_available(COUNTER_PERF, NULL, &err));
		assert_non_null(strstr(err.text, cases[i].text));
		fail_all_opens = 0;
		/* The group's second event: its leader is closed again. */
		fail_open_at = 2;
		fail_open_with = cases[i].from_kernel;
		assert_int_equal(counter_open(COUNTER_PERF, NULL, getpid(), &c, &err), -1);
		assert_int_equal(errno, cases[i].to_caller);
	}
	assert_true(counter_available(COUNTER_PERF, NULL, &err));
}

static int lines;
static char line[1024];

static void take_line(enum plog_level level, const char *text)
{
	(void)level;
	lines++;
	snprintf(line, sizeof(line), "%s", text);
}

/* However many tasks there are. The names of the tests' errors above have not been used before. */
static void reasons_are_logged_once(void **state)
{
	struct nodeconf *conf = calloc(1, sizeof(*conf));
	struct counter *c;

	(void)state;
	assert_non_null(conf);
	nodeconf_defaults(conf);
	plog_set_sink(take_line);
	lines = 0;
	fail_all_opens = EMLINK;
	for (int task = 0; task < 5; task++)
		assert_int_equal(counter_open(COUNTER_PERF, NULL, getpid(), &c, NULL), -1);
	assert_int_equal(lines, 1);
	fail_all_opens = E2BIG;
	for (int task = 0; task < 5; task++)
		assert_int_equal(counter_open(COUNTER_AUTO, conf, getpid(), &c, NULL), -1);
	assert_true(strstr(line, "counter p") == line);
	assert_in_range(lines, 2, 3); /* PAPI may have a reason of its own */
	/* That a task publishes no heartbeat is no fault. */
	lines = 0;
	assert_int_equal(counter_open(COUNTER_HEARTBEAT, NULL, getpid(), &c, NULL), -1);
	assert_int_equal(lines, 0);
	/* That nobody has named a function is one, for who asked for just that. */
	for (int task = 0; task < 5; task++) {
		assert_int_equal(counter_open(COUNTER_UPROBE, conf, getpid(), &c, NULL), -1);
		assert_int_equal(errno, ENODATA);
	}
	assert_int_equal(lines, 1);
	assert_non_null(strstr(line, "no function is configured"));
	assert_false(counter_available(COUNTER_UPROBE, conf, NULL));
	plog_set_sink(NULL);
	free(conf);
}

/* A counter with this event of misses, beside this one of progress. */
static struct counter *open_with(const char *misses, const char *progress)
{
	struct nodeconf *conf = calloc(1, sizeof(*conf));
	struct errmsg err = {""};
	struct counter *c = NULL;

	assert_non_null(conf);
	nodeconf_defaults(conf);
	assert_string_equal(conf->miss_event, "");
	strcpy(conf->miss_event, misses);
	strcpy(conf->perf_event, progress);
	if (counter_open(COUNTER_PERF, conf, getpid(), &c, &err))
		fail_msg("%s", err.text);
	free(conf);
	return c;
}

static void misses_are_counted_beside(void **state)
{
	struct idler i;
	struct counter *c;
	int third = 0;

	(void)state;
	start_thread(&i);
	c = open_with("perf::LLC-LOAD-MISSES", "perf::INSTRUCTIONS:u:k");
	assert_true(counter_has_misses(c));
	for (int fd = 0; fd < MAX_EVENTS; fd++) {
		const struct fake_event *e = &fake[fd];

		if (!e->used || e->attr.type != PERF_TYPE_HW_CACHE)
			continue;
		third++;
		assert_int_equal(fake[e->group_fd].attr.config, PERF_COUNT_HW_INSTRUCTIONS);
		assert_int_equal(fake[e->group_fd].members, 3);
		assert_int_equal(e->tid, fake[e->group_fd].tid);
		assert_false(e->attr.exclude_user || e->attr.exclude_kernel);
	}
	assert_int_equal(third, 2);
	assert_int_equal(sample(c).misses, 2 * STEP / 10);
	assert_int_equal(sample(c).misses, 4 * STEP / 10);
	assert_int_equal(reads, 4); /* still one call a thread and sample */
	counter_close(c);
	share_running = 4;
	c = open_with("perf::LLC-LOAD-MISSES", "");
	assert_int_equal(sample(c).misses, 2 * STEP / 10);
	assert_int_equal(sample(c).progress, 4 * STEP);
	counter_close(c);
	end_thread(&i, 1);
}

/* Without the event all is as without the setting, and the log says why, once. */
static void misses_that_cannot_be_counted(void **state)
{
	static const struct {
		int error;
		const char *event, *progress, *says;
	} cases[] = {
		{ENOENT, "perf::LLC-LOAD-MISSES", "", "virtual machine"},
		{EINVAL, "perf::LLC-LOAD-MISSES", "", "beside instructions"},
		{EBUSY, "perf::LLC-LOAD-MISSES", "", "nmi_watchdog"},
		{EMFILE, "perf::LLC-LOAD-MISSES", "", "LimitNOFILE"},
		{0, "perf::NO-SUCH-MISSES", "", "MissEvent in poppa.conf"},
		{0, "perf::LLC-LOAD-MISSES", "perf::BRANCHES", "PerfEvent=perf::BRANCHES"},
	};

	(void)state;
	plog_set_sink(take_line);
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		lines = 0;
		fail_misses = cases[i].error;
		for (int task = 0; task < 3; task++) {
			struct counter *c = open_with(cases[i].event, cases[i].progress);

			assert_false(counter_has_misses(c));
			assert_int_equal(sample(c).progress, STEP);
			assert_int_equal(sample(c).cycles, 4 * STEP);
			assert_int_equal(sample(c).misses, 0);
			assert_int_equal(counter_refresh(c), 0);
			counter_close(c);
		}
		assert_int_equal(lines, 1);
		assert_non_null(strstr(line, cases[i].says));
		assert_non_null(strstr(line, "cache misses are not counted"));
	}
	/* Nobody asked for them. */
	lines = 0;
	fail_misses = 0;
	counter_close(open_with("", "perf::BRANCHES"));
	assert_int_equal(lines, 0);
	plog_set_sink(NULL);
}

static int pairs_of_cpus(void)
{
	int n = 0;

	for (int fd = 0; fd < MAX_EVENTS; fd++)
		n += fake[fd].used && fake[fd].group_fd == -1 && fake[fd].cpu >= 0 &&
		     fake[fd].members == 2;
	return n;
}

/* Groups of processors have the event, too, and no miss is lost between the two kinds. */
static void misses_by_processor(void **state)
{
	struct idler i, j;
	struct counter *c;

	(void)state;
	start_thread(&i);
	own_cgroup = true;
	c = open_with("perf::LLC-LOAD-MISSES", "");
	assert_int_equal(sample(c).misses, 3 * STEP / 10); /* the last of both threads' groups */
	assert_int_equal(sample(c).misses, 4 * STEP / 10);
	assert_true(counter_has_misses(c));
	own_cgroup = false;
	assert_int_equal(counter_refresh(c), 0); /* reads the group a last time */
	assert_int_equal(sample(c).misses, 7 * STEP / 10);
	assert_int_equal(sample(c).progress, 9 * STEP);
	assert_true(counter_has_misses(c));
	own_cgroup = true;
	fail_misses = EMLINK;
	start_thread(&j);
	assert_int_equal(counter_refresh(c), 0);
	assert_int_equal(pairs_of_cpus(), 1);
	assert_false(counter_has_misses(c));
	counter_close(c);
	end_thread(&j, 2);
	end_thread(&i, 1);
}

/* A task has misses where all of its threads have; and one whose thread is just ending is no task
 * without them. */
static void misses_of_some_threads_only(void **state)
{
	struct idler i, j;
	struct counter *c;

	(void)state;
	start_thread(&i);
	fail_open_at = 6; /* of the second thread, in a scan without inheritance */
	fail_open_with = ESRCH;
	c = open_with("perf::LLC-LOAD-MISSES", "");
	assert_true(counter_has_misses(c));
	start_thread(&j);
	fail_misses = EACCES;
	assert_true(counter_has_misses(c));
	assert_int_equal(counter_refresh(c), 0);
	assert_false(counter_has_misses(c));
	assert_true(sample(c).progress >= 2 * STEP);
	fail_misses = 0;
	assert_int_equal(counter_refresh(c), 0);
	assert_false(counter_has_misses(c));
	counter_close(c);
	end_thread(&j, 2);
	/* The threads' third descriptors are the ones too many. */
	fail_open_at = 4;
	fail_open_with = EMFILE;
	c = open_with("perf::LLC-LOAD-MISSES", "");
	assert_false(counter_has_misses(c));
	assert_int_equal(sample(c).progress, 2 * STEP);
	counter_close(c);
	end_thread(&i, 1);
}

static void read_errors(void **state)
{
	struct counter *c = open_self();
	struct counter_sample s;

	(void)state;
	fail_read_with = -1;
	assert_int_equal(counter_read(c, &s), -1);
	assert_int_equal(errno, EIO);
	fail_read_with = EBADF;
	assert_int_equal(counter_read(c, &s), -1);
	assert_int_equal(errno, EBADF);
	fail_read_with = 0;
	assert_int_equal(sample(c).progress, STEP);
	counter_close(c);
}

static void multiplexed_counts_are_scaled(void **state)
{
	struct counter_sample sum = {0};
	uint64_t last[5] = {0};
	struct counter *c;

	(void)state;
	share_running = 4;
	c = open_self();
	assert_int_equal(sample(c).progress, STEP);
	assert_int_equal(sample(c).progress, 2 * STEP);
	assert_int_equal(sample(c).cycles, 3 * 2 * STEP);
	counter_close(c);

	/* progress, cycles, enabled, running, misses */
	counter_perf_scale((const uint64_t[]){100, 200, 1000, 1000, 30}, last, &sum);
	assert_int_equal(sum.progress, 100);
	assert_false(sum.missing);
	/* Off the PMU: missing, not zero, and the next interval stands for itself only. */
	counter_perf_scale((const uint64_t[]){100, 200, 3000, 1000, 30}, last, &sum);
	assert_int_equal(sum.progress, 100);
	assert_true(sum.missing);
	sum.missing = false;
	/* Likewise when it had the PMU for a moment in which the task ran nothing of its own. */
	counter_perf_scale((const uint64_t[]){100, 200, 4000, 1010, 31}, last, &sum);
	assert_int_equal(sum.progress, 100);
	assert_true(sum.missing);
	sum.missing = false;
	counter_perf_scale((const uint64_t[]){200, 400, 5990, 2005, 41}, last, &sum);
	assert_int_equal(sum.progress, 100 + 200);
	assert_int_equal(sum.cycles, 200 + 400);
	assert_int_equal(sum.misses, 30 + 20);
	/* A stopped task neither runs nor waits: that is zero. */
	counter_perf_scale((const uint64_t[]){200, 400, 5990, 2005, 41}, last, &sum);
	assert_int_equal(sum.progress, 300);
	assert_false(sum.missing);
}

#if defined(__x86_64__)
/* With LIBPFM_ENCODE_INACTIVE any processor's events can be encoded anywhere, as long as it is of
 * the same architecture: tests/pmu has those of arm64. */
static void encodings(void **state)
{
	static const struct {
		const char *event;
		uint32_t type;
		uint64_t config; /* event and umask */
	} cases[] = {
		{"perf::INSTRUCTIONS", PERF_TYPE_HARDWARE, PERF_COUNT_HW_INSTRUCTIONS},
		{"perf::CYCLES", PERF_TYPE_HARDWARE, PERF_COUNT_HW_CPU_CYCLES},
		{"icx::UNHALTED_CORE_CYCLES", PERF_TYPE_RAW, 0x003c},
		{"icx::INST_RETIRED:ANY_P", PERF_TYPE_RAW, 0x00c0},
		{"skx::INST_RETIRED:ANY_P", PERF_TYPE_RAW, 0x00c0},
		{"skl::INST_RETIRED:ANY_P", PERF_TYPE_RAW, 0x00c0},
		{"skx::FP_ARITH:SCALAR_DOUBLE", PERF_TYPE_RAW, 0x01c7},
		{"spr::UNHALTED_CORE_CYCLES", PERF_TYPE_RAW, 0x003c},
		{"amd64_fam19h_zen4::RETIRED_INSTRUCTIONS", PERF_TYPE_RAW, 0x00c0},
		{"amd64_fam19h_zen3::RETIRED_INSTRUCTIONS", PERF_TYPE_RAW, 0x00c0},
		{"amd64_fam17h_zen2::CYCLES_NOT_IN_HALT", PERF_TYPE_RAW, 0x0076},
		{"perf::LLC-LOAD-MISSES", PERF_TYPE_HW_CACHE, PERF_COUNT_HW_CACHE_LL},
		{"skx::LONGEST_LAT_CACHE:MISS", PERF_TYPE_RAW, 0x412e},
	};
	struct perf_event_attr attr;
	struct errmsg err = {""};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		if (counter_perf_encode(cases[i].event, &attr, &err))
			fail_msg("%s", err.text);
		assert_int_equal(attr.type, cases[i].type);
		assert_int_equal(attr.config & 0xffff, cases[i].config);
		assert_int_equal(attr.size, sizeof(attr));
		assert_true(attr.exclude_kernel && attr.exclude_hv && !attr.exclude_user);
	}
	assert_int_equal(counter_perf_encode("icx::NO_SUCH_EVENT", &attr, &err), -1);
	assert_int_equal(errno, ENODATA);
	assert_non_null(strstr(err.text, "icx::NO_SUCH_EVENT"));
}
#endif

static void auto_prefers_the_heartbeat(void **state)
{
	struct nodeconf *conf = calloc(1, sizeof(*conf));
	struct errmsg err;
	struct counter *c;

	(void)state;
	assert_non_null(conf);
	nodeconf_defaults(conf);
	assert_int_equal(poppa_heartbeat_open(), 0);
	assert_int_equal(counter_open(COUNTER_AUTO, conf, getpid(), &c, &err), 0);
	assert_int_equal(counter_kind(c), COUNTER_HEARTBEAT);
	counter_close(c);
	poppa_heartbeat_close();
	assert_int_equal(counter_open(COUNTER_AUTO, conf, getpid(), &c, &err), 0);
	assert_int_equal(counter_kind(c), COUNTER_PERF);
	counter_close(c);
	free(conf);
}

#endif

static void auto_without_any_signal(void **state)
{
	struct nodeconf *conf = calloc(1, sizeof(*conf));
	struct errmsg err = {""};
	struct counter *c = NULL;

	(void)state;
	assert_non_null(conf);
	nodeconf_defaults(conf);
	if (counter_available(COUNTER_PAPI, NULL, &err)) {
		print_message("PAPI counts here, so there is always a signal\n");
		free(conf);
		skip();
	}
	fail_all_opens = ENOENT;
	assert_int_equal(counter_open(COUNTER_AUTO, conf, getpid(), &c, &err), -1);
	assert_int_equal(errno, ENODATA);
	assert_non_null(strstr(err.text, "heartbeat: "));
	assert_non_null(strstr(err.text, "uprobe: "));
#ifdef HAVE_PFM
	assert_non_null(strstr(err.text, "perf: "));
#endif
	assert_null(c);
	free(conf);
}

/* As many as make the queue grow, twice: the thread ends and another one comes. */
static void closes_in_the_background(void **state)
{
	(void)state;
	for (int round = 0; round < 2; round++) {
		int end[2], copy[40];
		char c;

		assert_int_equal(pipe(end), 0);
		for (int i = 0; i < 40; i++)
			copy[i] = dup(end[1]);
		background_close(end[1]);
		for (int i = 0; i < 40; i++)
			background_close(copy[i]);
		wait_for_closer();
		assert_int_equal(read(end[0], &c, 1), 0); /* nobody can write any more */
		close(end[0]);
	}
}

static void none_is_no_signal(void **state)
{
	struct errmsg err = {""};
	struct counter *c = NULL;

	(void)state;
	assert_int_equal(counter_open(COUNTER_NONE, NULL, getpid(), &c, &err), -1);
	assert_int_equal(errno, ENODATA);
	assert_false(counter_available(COUNTER_NONE, NULL, &err));
	assert_true(counter_available(COUNTER_AUTO, NULL, &err));
	assert_true(counter_available(COUNTER_HEARTBEAT, NULL, &err));
	counter_close(NULL);
}

static void a_task_that_is_gone(void **state)
{
	static const enum counter_backend kinds[] = {
		COUNTER_AUTO, COUNTER_PERF, COUNTER_HEARTBEAT, COUNTER_UPROBE};
	struct errmsg err = {""};
	struct counter *c = NULL;
	pid_t pid = fork();

	(void)state;
	if (pid == 0)
		_exit(0);
	waitpid(pid, NULL, 0);
	for (size_t i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++) {
		assert_int_equal(counter_open(kinds[i], NULL, pid, &c, &err), -1);
		assert_int_equal(errno, ESRCH);
		assert_non_null(strstr(err.text, "gone"));
	}
}

#define TEST(fn) cmocka_unit_test_setup_teardown(fn, setup, no_descriptor_is_left)

int main(void)
{
	const struct CMUnitTest tests[] = {
#ifdef HAVE_PFM
		TEST(one_group_a_thread),
		TEST(threads_come_and_go),
#ifdef HAVE_STRUCT_PERF_EVENT_ATTR_INHERIT_THREAD
		TEST(the_kernel_follows_threads),
#endif
		TEST(no_processors_without_a_cgroup),
		TEST(the_event_is_configured),
		TEST(refresh_failure_keeps_what_counts),
		TEST(a_thread_may_vanish_while_opening),
		TEST(errors_name_the_mend),
		TEST(reasons_are_logged_once),
		TEST(misses_are_counted_beside),
		TEST(misses_that_cannot_be_counted),
		TEST(misses_by_processor),
		TEST(misses_of_some_threads_only),
		TEST(read_errors),
		TEST(multiplexed_counts_are_scaled),
#if defined(__x86_64__)
		TEST(encodings),
#endif
		TEST(auto_prefers_the_heartbeat),
#endif
		TEST(auto_without_any_signal),
		TEST(closes_in_the_background),
		TEST(none_is_no_signal),
		TEST(a_task_that_is_gone),
	};

	plog_init("test", PLOG_INFO);
	setenv("LIBPFM_ENCODE_INACTIVE", "1", 1); /* read once, by pfm_initialize() */
#ifndef HAVE_PFM
	print_message("this build has no libpfm4: the perf backend is not tested\n");
#endif
	return cmocka_run_group_tests(tests, NULL, NULL);
}
