/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Walks /proc and remembers what it has found there, so that most processes are looked at rarely.
 */
#include "trial/tagged.h"

#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/wait.h>
#include <unistd.h>

#include "common/clock.h"
#include "common/fsio.h"
#include "common/units.h"
#include "poppa/hold/proc.h"

/* An environment of more bytes than this is not read. */
#define ENVIRONMENT_MAX (4 << 20)
/* For how long a process that is none of ours is not looked at again. One that has just begun may
 * still be the daemon that is about to execute one of ours. */
#define OLD_NS (2 * NS_PER_S)
#define YOUNG_NS (50 * NS_PER_MS)
#define YOUNG_AGE_NS (5 * NS_PER_S)
#define NOT_OURS (-1)

struct entry {
	struct tagged_process p;
	pid_t ppid;
	int64_t again; /* of one that is not ours: when it is looked at again, clock_now() */
};

struct table {
	struct entry *v;
	size_t n, room;
};

struct tagged_watch {
	char token[TAGGED_TOKEN_SIZE];
	pid_t other;
	struct table now, before; /* by ascending pid */
	struct tagged_process *ours;
	size_t room;
};

void tagged_token(char token[TAGGED_TOKEN_SIZE])
{
	uint64_t dice = 0;

	if (getrandom(&dice, sizeof(dice), 0) != sizeof(dice))
		dice = (uint64_t)clock_wall();
	snprintf(token, TAGGED_TOKEN_SIZE, "%d-%016llx", (int)getpid(), (unsigned long long)dice);
}

void tagged_mark(const char *token, int slot, char mark[TAGGED_MARK_SIZE])
{
	snprintf(mark, TAGGED_MARK_SIZE, TAGGED_NAME "=%s.%d", token, slot);
}

struct tagged_watch *tagged_watch_new(const char *token, pid_t other)
{
	struct tagged_watch *w = calloc(1, sizeof(*w));

	if (w) {
		snprintf(w->token, sizeof(w->token), "%s", token);
		w->other = other;
	}
	return w;
}

void tagged_watch_free(struct tagged_watch *w)
{
	if (!w)
		return;
	free(w->now.v);
	free(w->before.v);
	free(w->ours);
	free(w);
}

static int by_pid(const void *key, const void *entry)
{
	pid_t a = *(const pid_t *)key, b = ((const struct entry *)entry)->p.pid;

	return a < b ? -1 : a > b;
}

static const struct entry *find(const struct table *t, pid_t pid)
{
	return t->n ? bsearch(&pid, t->v, t->n, sizeof(*t->v), by_pid) : NULL;
}

/* The slot that the process's environment names, or NOT_OURS. */
static int marked_slot(const struct tagged_watch *w, pid_t pid)
{
	char path[64], *text, mark[TAGGED_MARK_SIZE];
	size_t length, prefix;
	struct errmsg err;
	int slot = NOT_OURS;

	snprintf(path, sizeof(path), "/proc/%d/environ", (int)pid);
	text = fsio_read(path, ENVIRONMENT_MAX, &length, &err);
	if (!text)
		return NOT_OURS;
	tagged_mark(w->token, 0, mark);
	prefix = strlen(mark) - 1;
	for (size_t i = 0; i < length && slot == NOT_OURS; i += strlen(text + i) + 1)
		if (!strncmp(text + i, mark, prefix))
			slot = atoi(text + i + prefix);
	free(text);
	return slot >= 0 && slot < TAGGED_SLOTS ? slot : NOT_OURS;
}

static int slot_of(const struct tagged_watch *w, pid_t pid, pid_t ppid)
{
	const struct entry *parent = find(&w->before, ppid);
	int slot = marked_slot(w, pid);

	if (slot != NOT_OURS)
		return slot;
	/* A parent usually has the lower number and has been looked at already. */
	if (find(&w->now, ppid))
		parent = find(&w->now, ppid);
	if (parent && parent->p.slot != NOT_OURS)
		return parent->p.slot;
	return ppid == getpid() && pid != w->other ? TAGGED_UNKNOWN : NOT_OURS;
}

static bool is_young(uint64_t starttime)
{
	int64_t began = (int64_t)(starttime * (uint64_t)(NS_PER_S / sysconf(_SC_CLK_TCK)));

	return clock_boot() - began < YOUNG_AGE_NS;
}

/* Fills in a process that is looked at now. Returns -1 where there is none. */
static int look_at(const struct tagged_watch *w, pid_t pid, const struct entry *known, int64_t now,
	struct entry *e)
{
	struct proc_stat st;

	if (proc_stat(pid, &st))
		return -1;
	*e = (struct entry){.p = {.pid = pid,
				    .starttime = st.starttime,
				    .threads = st.threads,
				    .ticks = st.own_ticks,
				    .state = st.state},
		.ppid = st.ppid};
	if (known && (known->p.starttime != st.starttime || known->p.slot == NOT_OURS))
		known = NULL;
	/* One that nobody knows may show its mark later, when it has executed its program. */
	if (known && (known->p.slot != TAGGED_UNKNOWN || st.state == 'Z'))
		e->p.slot = known->p.slot;
	else
		e->p.slot = st.state == 'Z' ? NOT_OURS : slot_of(w, pid, st.ppid);
	if (known && e->p.slot == NOT_OURS)
		e->p.slot = known->p.slot;
	if (e->p.slot == NOT_OURS)
		e->again = now + (is_young(st.starttime) ? YOUNG_NS : OLD_NS);
	return 0;
}

static int add(struct table *t, const struct entry *e)
{
	if (t->n == t->room) {
		size_t room = t->room ? 2 * t->room : 256;
		struct entry *v = realloc(t->v, room * sizeof(*v));

		if (!v)
			return -1;
		t->v = v;
		t->room = room;
	}
	/* The kernel lists processes by ascending pid; another order would only cost time. */
	t->v[t->n++] = *e;
	return 0;
}

static int walk(struct tagged_watch *w, DIR *dir)
{
	struct table swap = w->before;
	int64_t now = clock_now();
	struct dirent *d;

	w->before = w->now;
	w->now = swap;
	w->now.n = 0;
	while ((d = readdir(dir))) {
		pid_t pid = isdigit((unsigned char)d->d_name[0]) ? atoi(d->d_name) : 0;
		const struct entry *known;
		struct entry e;

		if (pid <= 0 || pid == getpid())
			continue;
		known = find(&w->before, pid);
		if (known && known->p.slot == NOT_OURS && now < known->again)
			e = *known;
		else if (look_at(w, pid, known, now, &e))
			continue;
		if (add(&w->now, &e))
			return -1;
	}
	return 0;
}

/* A child may have a lower number than its parent, when numbers begin anew. */
static bool inherit(struct tagged_watch *w)
{
	bool changed = false;

	for (size_t i = 0; i < w->now.n; i++) {
		struct entry *e = &w->now.v[i];
		const struct entry *parent;

		if (e->p.slot != NOT_OURS || e->p.state == 'Z' || e->ppid < e->p.pid)
			continue;
		parent = find(&w->now, e->ppid);
		if (parent && parent->p.slot != NOT_OURS) {
			e->p.slot = parent->p.slot;
			changed = true;
		}
	}
	return changed;
}

static int list_ours(struct tagged_watch *w)
{
	size_t n = 0;

	if (w->now.n > w->room) {
		struct tagged_process *ours = realloc(w->ours, w->now.n * sizeof(*ours));

		if (!ours)
			return -1;
		w->ours = ours;
		w->room = w->now.n;
	}
	for (size_t i = 0; i < w->now.n; i++)
		if (w->now.v[i].p.slot != NOT_OURS && w->now.v[i].p.state != 'Z')
			w->ours[n++] = w->now.v[i].p;
	return (int)n;
}

int tagged_look(struct tagged_watch *w, const struct tagged_process **list, struct errmsg *err)
{
	DIR *dir = opendir("/proc");
	int n;

	if (!dir)
		return errmsg_set(err, "cannot open /proc: %s", strerror(errno));
	n = walk(w, dir);
	closedir(dir);
	while (!n && inherit(w))
		;
	n = n ? -1 : list_ours(w);
	*list = w->ours;
	return n < 0 ? errmsg_set(err, "out of memory") : n;
}

/* Children that have ended, which a look does not list. */
static void reap(const struct tagged_watch *w)
{
	for (size_t i = 0; i < w->now.n; i++) {
		const struct entry *e = &w->now.v[i];

		if (e->p.state == 'Z' && e->ppid == getpid() && e->p.pid != w->other)
			waitpid(e->p.pid, NULL, WNOHANG);
	}
}

/* The next look looks at every process. */
static void forget_others(struct tagged_watch *w)
{
	for (size_t i = 0; i < w->now.n; i++)
		w->now.v[i].again = 0;
}

int tagged_kill_all(struct tagged_watch *w, int64_t wait_ns, struct errmsg *err)
{
	const struct tagged_process *list;
	int64_t end = clock_now() + wait_ns;
	int n, quiet = 0;

	/* Twice: what a process has started while it was being killed is found the second time. */
	while ((n = tagged_look(w, &list, err)) >= 0 && clock_now() < end) {
		for (int i = 0; i < n; i++) {
			int fd = proc_pidfd(list[i].pid, list[i].starttime);

			if (fd < 0)
				continue;
			proc_signal(fd, SIGKILL);
			close(fd);
		}
		reap(w);
		quiet = n ? 0 : quiet + 1;
		if (quiet == 2)
			break;
		forget_others(w);
		usleep(2000);
	}
	return n;
}
