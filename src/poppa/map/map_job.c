/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Follows the threads of a mapped job, and moves them. */
#include "poppa/map/map_job.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/clock.h"
#include "common/log.h"
#include "common/units.h"
#include "mapper/mapper.h"
#include "poppa/hold/proc.h"
#include "poppa/map/affinity.h"

#define MAP_SYS "/sys"
/* For so long on end counters are opened, and threads are moved: the rest follows in the next
 * interval. */
#define OPEN_NS (5 * NS_PER_MS)
#define MOVES_NS (2 * NS_PER_MS)
/* So much of its time a thread has to run to be placed. What it did in one interval weighs NEWEST:
 * who waits for a moment stays, as mapper_step() forgets applications that it does not get, and
 * some machines account processor time in lumps. */
#define BUSY 0.5
#define NEWEST 0.3

struct thread {
	pid_t tid, pid;
	int stat; /* /proc/PID/task/TID/stat */
	uint64_t ticks;
	int64_t looked_ns;
	double share; /* of its time in which it runs */
	bool kept;
	bool counting;
	struct map_counter counter;
};

/* Why a job is not mapped now. Each is told once a job. */
enum reason {
	MAPPED,
	NO_COUNTERS,
	NO_CPUSET,
	OTHER_CPUSETS,
	NO_LANE,
	ONE_PU,
	BOUND,
	MANY_THREADS,
	FORBIDDEN,
	NO_MEMORY,
	REASONS
};

static const char *const reasons[REASONS] = {
	[MAPPED] = "",
	[NO_COUNTERS] = "its threads cannot be counted",
	[NO_CPUSET] = "no cgroup tells which PUs it may use: set ConstrainCores=yes in cgroup.conf",
	[OTHER_CPUSETS] = "its tasks have several cpusets, as those of steps beside each other",
	[NO_LANE] = "its tasks may use more cores than its lanes have: set ConstrainCores=yes",
	[ONE_PU] = "it has one PU",
	[BOUND] = "it has threads that its user, MPI or OpenMP has bound",
	[MANY_THREADS] = "it has too many threads",
	[FORBIDDEN] = "poppad may not take on its user's id: give it CAP_SETUID, see poppa.conf(5)",
	[NO_MEMORY] = "there is no memory",
};

struct map_job {
	const struct nodeconf *conf;
	const char *mount;
	uint32_t job_id;
	uid_t uid;
	int cores;
	enum reason reason;
	bool told[REASONS];
	struct map_source *source;
	struct mapper *mapper; /* NULL: nothing was looked at yet, or it is not mapped */
	cpu_set_t pus;         /* its cpuset */
	int pu_count;
	int running; /* threads that are ready to be counted, in of[] */
	int threads;
	struct thread thread[MAP_THREADS_MAX];
	/* Of the step under way: what runs, which thread that is, and where it should. */
	struct mapper_sample sample[MAP_THREADS_MAX];
	int of[MAP_THREADS_MAX], to[MAP_THREADS_MAX];
	uint64_t moves;
};

/* The job is not mapped now for this reason, or (MAPPED) it is. */
static void decide(struct map_job *m, enum reason reason, const char *detail)
{
	m->reason = reason;
	if (reason == MAPPED || m->told[reason])
		return;
	m->told[reason] = true;
	plog_info("job %u: its threads are not mapped: %s%s%s", m->job_id, reasons[reason],
		*detail ? ": " : "", detail);
}

/* --- threads --- */

static void forget_thread(struct thread *t)
{
	map_counter_close(&t->counter);
	close(t->stat);
}

/* Closes what has ended, or is not kept. */
static void sweep(struct map_job *m)
{
	int kept = 0;

	for (int i = 0; i < m->threads; i++) {
		if (m->thread[i].kept)
			m->thread[kept++] = m->thread[i];
		else
			forget_thread(&m->thread[i]);
	}
	m->threads = kept;
}

struct listing {
	struct map_job *m;
	pid_t pid;
	enum reason reason;
};

static struct thread *find_thread(struct map_job *m, pid_t pid, pid_t tid)
{
	for (int i = 0; i < m->threads; i++)
		if (m->thread[i].tid == tid && m->thread[i].pid == pid)
			return &m->thread[i];
	return NULL;
}

static int add_thread(struct listing *l, pid_t tid)
{
	struct map_job *m = l->m;
	struct thread *t = &m->thread[m->threads];
	int fd;

	if (m->threads == MAP_THREADS_MAX) {
		l->reason = MANY_THREADS;
		return 1;
	}
	fd = proc_thread_open(l->pid, tid);
	if (fd < 0) {
		if (errno == ESRCH)
			return 0; /* it has ended */
		l->reason = MANY_THREADS;
		return 1;
	}
	*t = (struct thread){.tid = tid, .pid = l->pid, .stat = fd, .kept = true};
	m->threads++;
	return 0;
}

static int list_thread(pid_t tid, void *arg)
{
	struct listing *l = arg;
	struct thread *t = find_thread(l->m, l->pid, tid);
	cpu_set_t mask;

	if (t)
		t->kept = true;
	else if (add_thread(l, tid))
		return 1;
	if (!affinity_get(tid, &mask) && !CPU_EQUAL(&mask, &l->m->pus)) {
		l->reason = BOUND;
		return 1;
	}
	return 0;
}

/* Takes what the job's processes have of threads now. It ends at the first one that tells enough.
 */
static enum reason list_threads(struct map_job *m, const pid_t *process, int count)
{
	struct listing l = {.m = m, .reason = MAPPED};
	struct proc_stat st;

	/* The number of one that has ended may be another one's by now. */
	for (int i = 0; i < m->threads; i++)
		m->thread[i].kept = !proc_stat_read(m->thread[i].stat, &st);
	sweep(m);
	for (int i = 0; i < m->threads; i++)
		m->thread[i].kept = false;
	for (int i = 0; i < count && l.reason == MAPPED; i++) {
		char path[64];
		int fd;

		l.pid = process[i];
		snprintf(path, sizeof(path), "/proc/%d/task", (int)l.pid);
		fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
		if (fd < 0)
			continue;
		proc_each_thread(fd, list_thread, &l);
		close(fd);
	}
	if (l.reason == MAPPED)
		sweep(m);
	return l.reason;
}

static void forget_threads(struct map_job *m)
{
	for (int i = 0; i < m->threads; i++)
		forget_thread(&m->thread[i]);
	m->threads = 0;
}

/* --- its PUs --- */

static enum reason make_mapper(struct map_job *m)
{
	static struct mapper_pu pus[MAPPER_PUS_MAX];
	struct mapper_settings settings = mapper_defaults;
	struct errmsg err;

	m->pu_count = affinity_topology(MAP_SYS, &m->pus, pus);
	if (m->pu_count < 0)
		return NO_CPUSET;
	if (m->pu_count && pus[m->pu_count - 1].core >= m->cores)
		return NO_LANE;
	if (m->pu_count < 2)
		return ONE_PU;
	if (mapper_settings_parse(&settings, m->conf->map_settings, &err))
		return NO_COUNTERS; /* map_conf_check() has refused it */
	m->mapper = mapper_create(&settings, pus, m->pu_count);
	return m->mapper ? MAPPED : NO_MEMORY;
}

static enum reason take_cpuset(struct map_job *m, const pid_t *process, int count)
{
	cpu_set_t first, next;
	int seen = 0;

	for (int i = 0; i < count; i++) {
		if (affinity_cpuset(m->mount, process[i], &next)) {
			if (errno == ESRCH)
				continue;
			return NO_CPUSET;
		}
		if (seen++ && !CPU_EQUAL(&first, &next))
			return OTHER_CPUSETS;
		first = next;
	}
	if (!seen || (m->mapper && CPU_EQUAL(&first, &m->pus)))
		return MAPPED;
	mapper_destroy(m->mapper);
	m->mapper = NULL;
	m->pus = first;
	return make_mapper(m);
}

/* --- what is called --- */

struct map_job *map_job_new(
	const struct nodeconf *conf, const char *mount, uint32_t job_id, uid_t uid, int cores)
{
	struct map_job *m = calloc(1, sizeof(*m));
	struct errmsg err = {""};

	if (!m)
		return NULL;
	m->conf = conf;
	m->mount = mount;
	m->job_id = job_id;
	m->uid = uid;
	m->cores = cores;
	m->source = map_source_new(conf, &err);
	if (!m->source)
		decide(m, NO_COUNTERS, err.text);
	return m;
}

void map_job_free(struct map_job *m)
{
	if (!m)
		return;
	forget_threads(m);
	mapper_destroy(m->mapper);
	map_source_free(m->source);
	free(m);
}

void map_job_look(struct map_job *m, const pid_t *process, int count)
{
	enum reason reason;

	if (!m->source)
		return;
	reason = count > MAP_THREADS_MAX ? MANY_THREADS : take_cpuset(m, process, count);
	if (reason == MAPPED && m->mapper)
		reason = list_threads(m, process, count);
	/* What is not mapped takes no descriptors. */
	if (reason != MAPPED)
		forget_threads(m);
	decide(m, reason, "");
}

bool map_job_active(const struct map_job *m)
{
	return m->reason == MAPPED && m->mapper;
}

/* Whether a PU is one of the job's. */
static bool has_pu(const struct map_job *m, int pu)
{
	return pu >= 0 && pu < CPU_SETSIZE && CPU_ISSET(pu, &m->pus);
}

/* Finds the threads that run. Returns how many, or -1 where their PUs are not all the job's, as for
 * a moment after a change of its cpuset. */
static int find_busy(struct map_job *m)
{
	const double tick_ns = (double)NS_PER_S / (double)sysconf(_SC_CLK_TCK);
	int64_t now = clock_now();
	int n = 0;

	for (int i = 0; i < m->threads; i++) {
		struct thread *t = &m->thread[i];
		struct proc_stat st;

		if (proc_stat_read(t->stat, &st))
			continue;
		if (t->looked_ns && now > t->looked_ns)
			t->share += NEWEST * ((double)(st.own_ticks - t->ticks) * tick_ns /
							     (double)(now - t->looked_ns) -
						     t->share);
		t->ticks = st.own_ticks;
		t->looked_ns = now;
		if (t->share < BUSY) {
			if (!t->counting)
				map_counter_close(&t->counter);
			continue;
		}
		if (!has_pu(m, st.pu))
			return -1;
		m->of[n++] = i;
	}
	return n;
}

void map_job_prepare(struct map_job *m)
{
	int64_t began = clock_now();
	struct errmsg err = {""};
	int n = find_busy(m);

	m->running = 0;
	/* With more than that the kernel shares PUs out better. */
	if (n < 2 || n > m->pu_count)
		return;
	for (int k = 0; k < n; k++) {
		struct thread *t = &m->thread[m->of[k]];

		if (t->counter.open)
			continue;
		if (clock_now() - began > OPEN_NS)
			return;
		if (!map_counter_open(m->source, t->tid, &t->counter, &err))
			continue;
		if (errno != ESRCH) {
			decide(m, NO_COUNTERS, err.text);
			forget_threads(m); /* their descriptors may be what lacks */
		}
		return;
	}
	m->running = n;
}

void map_job_count(struct map_job *m)
{
	for (int k = 0; k < m->running; k++) {
		m->thread[m->of[k]].counting = true;
		map_counter_start(m->source, &m->thread[m->of[k]].counter);
	}
}

/* Stops what counts. Returns how many threads were counted, or 0 where one of them could not be:
 * what is not known of one decides nothing about the others. */
static int take_counts(struct map_job *m)
{
	bool known = true;
	int n = 0;

	for (int i = 0; i < m->threads; i++) {
		struct thread *t = &m->thread[i];
		struct proc_stat st = {.pu = -1};

		if (!t->counting)
			continue;
		t->counting = false;
		m->sample[n] = (struct mapper_sample){.task = t->tid, .app = t->pid};
		known &= map_counter_stop(m->source, &t->counter, &m->sample[n]) == 1;
		known &= !proc_stat_read(t->stat, &st) && has_pu(m, st.pu);
		m->sample[n].pu = st.pu;
		m->of[n++] = i;
	}
	return known ? n : 0;
}

/* Returns whether the rest may be moved, too. */
static bool move(struct map_job *m, const struct thread *t, int to)
{
	cpu_set_t mask;

	if (affinity_get(t->tid, &mask))
		return true; /* it has ended */
	if (!CPU_EQUAL(&mask, &m->pus)) {
		decide(m, BOUND, "");
		return false;
	}
	if (affinity_move(t->tid, m->uid, to)) {
		if (errno == ENOTSUP)
			decide(m, FORBIDDEN, "");
		return errno != ENOTSUP;
	}
	if (!m->moves++)
		plog_info("job %u: its threads are mapped on %d PUs", m->job_id, m->pu_count);
	return true;
}

void map_job_step(struct map_job *m, bool quiet)
{
	int64_t began = clock_now();
	int n = take_counts(m);
	struct errmsg err;

	if (!quiet || !n || !map_job_active(m))
		return;
	map_source_play(m->source, m->sample, n);
	if (mapper_step(m->mapper, m->sample, n, m->to, &err))
		return;
	for (int k = 0; k < n && clock_now() - began <= MOVES_NS; k++)
		if (m->to[k] != m->sample[k].pu && !move(m, &m->thread[m->of[k]], m->to[k]))
			return;
}

uint64_t map_job_moves(const struct map_job *m)
{
	return m->moves;
}

const char *map_job_why(const struct map_job *m)
{
	return reasons[m->reason];
}

int map_conf_check(const struct nodeconf *conf, struct errmsg *err)
{
	struct mapper_settings settings = mapper_defaults;
	struct errmsg why;

	if (mapper_settings_parse(&settings, conf->map_settings, &why))
		return errmsg_set(err, "MapSettings: %s", why.text);
	return 0;
}
