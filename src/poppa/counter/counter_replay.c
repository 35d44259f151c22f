/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Plays a shutter log back as if its jobs ran here: for tests and demonstrations. */
/*
 * Each job here plays the next of the recorded jobs, and the first one again after the last. Each
 * task plays the sum of its job: a factor does not change a rate. One reading plays one recorded
 * window with its recorded counts, whatever time has really passed. Where the recording has no
 * cycles, its nanoseconds stand for them, so that the rate is the recorded one. At its end the
 * recording starts again.
 */
#include "poppa/counter/counter_backend.h"

#include <ctype.h>
#include <errno.h>
#include <math.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "common/fsio.h"
#include "poppa/estimate/shutterlog.h"

#define MAX_BLOCKS 20000 /* some 24 MB */
#define MAX_PLAYED 1024  /* jobs of this node that have been given a role */

struct role {
	uint32_t job;
	size_t count, room;
	struct est_block *block;
};

/* One file, read once, for all counters that play it. */
struct recording {
	char path[PATH_MAX];
	struct timespec changed;
	unsigned int users;
	size_t roles, blocks;
	struct role *role;                /* by job */
	unsigned long played[MAX_PLAYED]; /* the jobs here that play its roles */
	size_t players;
	struct recording *next;
};

struct replay {
	struct recording *from;
	const struct role *role;
	size_t block;
	const struct est_window *window;
	int windows, at;
	bool first; /* the next reading is the first of the region and plays no window */
	struct counter_sample sum;
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct recording *recordings;

static struct role *role_of(struct recording *r, uint32_t job)
{
	size_t i = 0;
	struct role *grown;

	while (i < r->roles && r->role[i].job < job)
		i++;
	if (i < r->roles && r->role[i].job == job)
		return &r->role[i];
	grown = realloc(r->role, (r->roles + 1) * sizeof(*grown));
	if (!grown)
		return NULL;
	r->role = grown;
	memmove(&grown[i + 1], &grown[i], (r->roles - i) * sizeof(*grown));
	grown[i] = (struct role){.job = job};
	r->roles++;
	return &grown[i];
}

static int take_block(uint32_t job, uint64_t number, const struct est_block *b, void *arg)
{
	struct recording *r = arg;
	struct role *role = role_of(r, job);

	(void)number;
	if (!role || r->blocks++ == MAX_BLOCKS)
		return role ? EFBIG : ENOMEM;
	if (role->count == role->room) {
		size_t room = role->room ? 2 * role->room : 64;
		struct est_block *bigger = realloc(role->block, room * sizeof(*bigger));

		if (!bigger)
			return ENOMEM;
		role->block = bigger;
		role->room = room;
	}
	role->block[role->count++] = *b;
	return 0;
}

static void skip_row(uint64_t line, const char *why, void *arg)
{
	(void)line;
	(void)why;
	(void)arg;
}

static void forget(struct recording *r)
{
	struct recording **at = &recordings;

	if (r->users)
		return;
	while (*at && *at != r)
		at = &(*at)->next;
	if (*at)
		*at = r->next;
	for (size_t i = 0; i < r->roles; i++)
		free(r->role[i].block);
	free(r->role);
	free(r);
}

static int load(struct recording *r, struct errmsg *err)
{
	struct shutterlog_count count;
	struct errmsg why = {""};
	FILE *in = fopen(r->path, "re");
	int rc;

	if (!in)
		return counter_fail(
			ENODATA, err, "replay: ReplayLog=%s: %s", r->path, strerror(errno));
	rc = shutterlog_read(in, "it", take_block, NULL, skip_row, r, &count, &why);
	fclose(in);
	if (rc)
		return counter_fail(ENODATA, err, "replay: ReplayLog=%s: %s", r->path,
			rc == EFBIG ? "it holds more than 20000 blocks"
			: rc > 0    ? strerror(rc)
				    : why.text);
	if (!r->blocks)
		return counter_fail(ENODATA, err,
			"replay: ReplayLog=%s: it has no block in which a job ran alone", r->path);
	return 0;
}

/* Under lock. The recording as its file is now, read where it has changed. NULL with errno. */
static struct recording *get_recording(const char *path, struct errmsg *err)
{
	struct recording *r = recordings;
	struct stat st;

	if (stat(path, &st)) {
		counter_fail(ENODATA, err, "replay: ReplayLog=%s: %s", path, strerror(errno));
		return NULL;
	}
	while (r && (strcmp(r->path, path) || r->changed.tv_sec != st.st_mtim.tv_sec ||
			    r->changed.tv_nsec != st.st_mtim.tv_nsec))
		r = r->next;
	if (r)
		return r;
	r = calloc(1, sizeof(*r));
	if (!r) {
		counter_fail(ENOMEM, err, "out of memory");
		return NULL;
	}
	snprintf(r->path, sizeof(r->path), "%s", path);
	r->changed = st.st_mtim;
	if (load(r, err)) {
		int code = errno;

		forget(r);
		errno = code;
		return NULL;
	}
	r->next = recordings;
	recordings = r;
	return r;
}

/* The Slurm job that a process belongs to, by its environment; else the pid stands for it. */
static unsigned long job_of(pid_t pid)
{
	static const char name[] = "SLURM_JOB_ID=";
	unsigned long job = (unsigned long)pid;
	char path[64], *text;
	size_t len = 0;

	snprintf(path, sizeof(path), "/proc/%d/environ", (int)pid);
	text = fsio_read(path, 1 << 20, &len, &(struct errmsg){""});
	for (size_t i = 0; text && i < len; i += strlen(text + i) + 1)
		if (!strncmp(text + i, name, sizeof(name) - 1) &&
			isdigit((unsigned char)text[i + sizeof(name) - 1]))
			job = strtoul(text + i + sizeof(name) - 1, NULL, 10);
	free(text);
	return job;
}

static const struct role *cast(struct recording *r, unsigned long job)
{
	size_t i = 0;

	while (i < r->players && r->played[i] != job)
		i++;
	if (i == r->players && i < MAX_PLAYED)
		r->played[r->players++] = job;
	return &r->role[i % r->roles];
}

static void enter(struct replay *p, const struct est_window *window, int windows)
{
	p->window = window;
	p->windows = windows;
	p->at = 0;
	p->first = true;
}

static int replay_open(const struct nodeconf *conf, pid_t pid, void **state, struct errmsg *err)
{
	struct replay *p = calloc(1, sizeof(*p));
	unsigned long job = job_of(pid);
	int code;

	if (!p)
		return counter_fail(ENOMEM, err, "out of memory");
	pthread_mutex_lock(&lock);
	if (!conf || !*conf->replay_log)
		counter_fail(ENODATA, err,
			"replay: no recording is named; add ReplayLog=FILE to poppa.conf");
	else
		p->from = get_recording(conf->replay_log, err);
	code = errno;
	if (p->from) {
		p->from->users++;
		p->role = cast(p->from, job);
		p->block = p->role->count - 1; /* the first block is the next one */
		enter(p, p->role->block[0].before, p->role->block[0].before_n);
	}
	pthread_mutex_unlock(&lock);
	if (p->from) {
		*state = p;
		return 0;
	}
	free(p);
	errno = code;
	return -1;
}

static void replay_region(void *state, int region)
{
	struct replay *p = state;
	const struct est_block *b;

	if (region == SHUTTER_BEFORE)
		p->block = (p->block + 1) % p->role->count;
	b = &p->role->block[p->block];
	if (region == SHUTTER_BEFORE)
		enter(p, b->before, b->before_n);
	else if (region == SHUTTER_DURING)
		enter(p, b->during, b->during_n);
	else if (region == SHUTTER_BEYOND)
		enter(p, b->beyond, b->beyond_n);
	else
		enter(p, b->after, b->after_n);
	/* Its first window begins where "during" ended, which is not read again. */
	if (region == SHUTTER_BEYOND)
		p->first = false;
}

static int replay_read(void *state, struct counter_sample *out)
{
	struct replay *p = state;
	const struct est_window *w = p->window + p->at;

	if (p->first) {
		p->first = false;
		*out = p->sum;
		return 0;
	}
	/* A block that was not long here has no such windows, and a long one none after the stop.
	 */
	if (!p->windows || isnan(w->progress)) {
		*out = p->sum;
		out->missing = true;
	} else {
		p->sum.progress += (uint64_t)w->progress;
		p->sum.cycles += (uint64_t)(w->cycles > 0 ? w->cycles : w->dur_ns);
		*out = p->sum;
	}
	/* Where this region is longer than the recorded one, its windows are played again. */
	p->at = p->windows ? (p->at + 1) % p->windows : 0;
	return 0;
}

static int replay_refresh(void *state)
{
	(void)state;
	return 0;
}

static void replay_close(void *state)
{
	struct replay *p = state;

	pthread_mutex_lock(&lock);
	p->from->users--;
	forget(p->from);
	pthread_mutex_unlock(&lock);
	free(p);
}

static bool replay_available(const struct nodeconf *conf, struct errmsg *err)
{
	struct recording *r;

	if (!conf || !*conf->replay_log)
		return true;
	pthread_mutex_lock(&lock);
	r = get_recording(conf->replay_log, err);
	if (r)
		forget(r);
	pthread_mutex_unlock(&lock);
	return r != NULL;
}

const struct counter_ops counter_replay_ops = {
	.kind = COUNTER_REPLAY,
	.has_cycles = true,
	.available = replay_available,
	.open = replay_open,
	.read = replay_read,
	.refresh = replay_refresh,
	.close = replay_close,
	.region = replay_region,
};
