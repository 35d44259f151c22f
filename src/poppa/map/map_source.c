/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Reads the PMU, or plays a recording. */
#include "poppa/map/map_source.h"

#include <errno.h>
#include <stdlib.h>

#include "common/fsio.h"
#include "mapper/recording.h"

#define RECORDING_MOST (16 << 20) /* bytes: it stays in memory */

struct part {
	int app, task;
};

struct map_source {
	bool plays;
	struct recording recording;
	int at; /* first sample of the next interval */
	struct thread_events events;
};

static int load(struct map_source *s, const char *path, struct errmsg *err)
{
	char *text = fsio_read(path, RECORDING_MOST, NULL, err);
	int rc;

	if (!text)
		return -1;
	rc = recording_read(&s->recording, path, text, err);
	free(text);
	if (!rc && !s->recording.count)
		rc = errmsg_set(err, "%s: it has no interval", path);
	for (int i = 0, n; !rc && i < s->recording.count; i += n) {
		n = recording_interval(&s->recording, i);
		if (n > MAP_THREADS_MAX)
			rc = errmsg_set(err, "%s: interval %lld has more than %d tasks", path,
				(long long)s->recording.interval[i], MAP_THREADS_MAX);
	}
	return rc;
}

struct map_source *map_source_new(const struct nodeconf *conf, struct errmsg *err)
{
	struct map_source *s = calloc(1, sizeof(*s));
	struct errmsg why = {""};
	int rc;

	if (!s) {
		errmsg_set(err, "out of memory");
		return NULL;
	}
	s->plays = *conf->map_replay;
	if (s->plays)
		rc = load(s, conf->map_replay, &why);
	else if (*conf->map_events)
		rc = thread_events_parse(conf->map_events, &s->events, &why);
	else
		rc = errmsg_set(&why, "poppa.conf names no events of this processor");
	if (!rc)
		return s;
	errmsg_set(err, "%s: %s", s->plays ? "MapReplay" : "MapEvents", why.text);
	map_source_free(s);
	return NULL;
}

void map_source_free(struct map_source *s)
{
	if (s)
		recording_free(&s->recording);
	free(s);
}

int map_counter_open(struct map_source *s, pid_t tid, struct map_counter *c, struct errmsg *err)
{
	if (!s->plays && thread_counter_open(&s->events, tid, &c->pmu, err))
		return -1;
	if (s->plays)
		for (int i = 0; i <= THREAD_EVENTS; i++)
			c->pmu.fd[i] = -1;
	c->open = true;
	return 0;
}

void map_counter_start(struct map_source *s, struct map_counter *c)
{
	if (!s->plays)
		thread_counter_start(&c->pmu);
}

int map_counter_stop(struct map_source *s, struct map_counter *c, struct mapper_sample *out)
{
	return s->plays ? 1 : thread_counter_stop(&s->events, &c->pmu, out);
}

void map_counter_close(struct map_counter *c)
{
	if (c->open)
		thread_counter_close(&c->pmu);
	c->open = false;
}

/* Numbers applications in the order in which they are met first, and the tasks of each. Returns how
 * many applications there are. */
static int number_parts(const struct mapper_sample *sample, int count, struct part *part)
{
	int apps = 0;

	for (int i = 0; i < count; i++) {
		part[i] = (struct part){-1, 0};
		for (int k = 0; k < i; k++)
			if (sample[k].app == sample[i].app)
				part[i] = (struct part){part[k].app, part[i].task + 1};
		if (part[i].app < 0)
			part[i].app = apps++;
	}
	return apps;
}

/* The place of a recorded part; tasks are taken in turns where there are fewer. */
static int find_part(const struct part *recorded, int n, int app, int task)
{
	int tasks = 0, last = 0;

	for (int i = 0; i < n; i++)
		tasks += recorded[i].app == app;
	for (int i = 0; i < n; i++)
		if (recorded[i].app == app && recorded[i].task == task % tasks)
			last = i;
	return last;
}

void map_source_play(struct map_source *s, struct mapper_sample *sample, int count)
{
	struct part recorded[MAP_THREADS_MAX], own[MAP_THREADS_MAX];
	const struct mapper_sample *from = s->plays ? &s->recording.samples[s->at] : NULL;
	int n, apps;

	if (!from)
		return;
	n = recording_interval(&s->recording, s->at);
	s->at = (s->at + n) % s->recording.count;
	apps = number_parts(from, n, recorded);
	number_parts(sample, count, own);
	for (int i = 0; i < count; i++) {
		struct mapper_sample playing =
			from[find_part(recorded, n, own[i].app % apps, own[i].task)];

		playing.app = sample[i].app;
		playing.task = sample[i].task;
		playing.pu = sample[i].pu;
		sample[i] = playing;
	}
}
