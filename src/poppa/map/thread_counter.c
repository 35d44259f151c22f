/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Counts the events of a thread with two groups of perf events. */
#include "poppa_config.h"

#include "poppa/map/thread_counter.h"

#include <errno.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "common/keyval.h"
#include "poppa/counter/counter_backend.h"
#include "poppa/counter/counter_perf.h"

static const enum thread_event group_of[THREAD_GROUPS][THREAD_GROUP_MOST] = {
	{THREAD_CYCLES, THREAD_INSTRUCTIONS, THREAD_INTER, THREAD_STALLS},
	{THREAD_CYCLES, THREAD_INTRA, THREAD_LOCAL, THREAD_REMOTE},
};

#ifdef HAVE_PFM
static int encode(const char *name, struct perf_event_attr *attr, struct errmsg *err)
{
	if (counter_perf_encode(name, attr, err))
		return -1;
	attr->exclude_kernel = 1;
	attr->read_format =
		PERF_FORMAT_GROUP | PERF_FORMAT_TOTAL_TIME_ENABLED | PERF_FORMAT_TOTAL_TIME_RUNNING;
	return 0;
}
#else
static int encode(const char *name, struct perf_event_attr *attr, struct errmsg *err)
{
	(void)attr;
	return errmsg_set(
		err, "%s: poppad was built without libpfm4, which knows the events", name);
}
#endif

static int one_event(const char *key, const char *value, int line, void *arg, struct errmsg *err)
{
	static const struct {
		const char *key;
		enum thread_event event;
	} rows[] = {
		{"inter", THREAD_INTER},
		{"intra", THREAD_INTRA},
		{"local", THREAD_LOCAL},
		{"remote", THREAD_REMOTE},
		{"stalls", THREAD_STALLS},
	};
	struct thread_events *e = arg;

	(void)line;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		if (strcmp(key, rows[i].key))
			continue;
		if (!value || !*value)
			return errmsg_set(err, "%s: give it the name of an event", key);
		if (e->has[rows[i].event])
			return errmsg_set(err, "%s is given twice", key);
		e->has[rows[i].event] = true;
		return encode(value, &e->attr[rows[i].event], err);
	}
	return keyval_unknown(key, rows, sizeof(rows[0]), sizeof(rows) / sizeof(rows[0]), err);
}

int thread_events_parse(const char *text, struct thread_events *out, struct errmsg *err)
{
	struct thread_events e = {.has = {[THREAD_CYCLES] = true, [THREAD_INSTRUCTIONS] = true}};

	if (keyval_list(text, one_event, &e, err))
		return -1;
	if (!e.has[THREAD_INTER])
		return errmsg_set(err, "inter=EVENT is missing: what counts lines that come from "
				       "another socket's caches");
	if (encode("perf::CYCLES", &e.attr[THREAD_CYCLES], err) ||
		encode("perf::INSTRUCTIONS", &e.attr[THREAD_INSTRUCTIONS], err))
		return -1;
	*out = e;
	return 0;
}

/* Where a group's descriptor of an event is. */
static int *fd_of(struct thread_counter *c, int group, enum thread_event event)
{
	return &c->fd[group && event == THREAD_CYCLES ? THREAD_EVENTS : event];
}

int thread_counter_open(
	const struct thread_events *e, pid_t tid, struct thread_counter *c, struct errmsg *err)
{
	*c = (struct thread_counter){.last = {{0}}};
	for (int i = 0; i <= THREAD_EVENTS; i++)
		c->fd[i] = -1;
	for (int g = 0; g < THREAD_GROUPS; g++)
		for (int k = 0; k < THREAD_GROUP_MOST; k++) {
			enum thread_event event = group_of[g][k];
			struct perf_event_attr attr = e->attr[event];
			int *fd = fd_of(c, g, event), code;

			if (!e->has[event])
				continue;
			/* The others of a group count while its leader does. */
			attr.disabled = !k;
			*fd = counter_sys_perf_open(
				&attr, tid, -1, k ? *fd_of(c, g, THREAD_CYCLES) : -1, 0);
			if (*fd >= 0)
				continue;
			code = errno;
			thread_counter_close(c);
			return counter_perf_open_error(code, "MapEvents", err);
		}
	return 0;
}

/* How the kernel answers a read of a group. */
struct group_read {
	uint64_t nr, enabled, running;
	uint64_t value[THREAD_GROUP_MOST];
};

void thread_counter_start(struct thread_counter *c)
{
	for (int g = 0; g < THREAD_GROUPS; g++)
		ioctl(*fd_of(c, g, THREAD_CYCLES), PERF_EVENT_IOC_ENABLE, 0);
}

int thread_counter_stop(
	const struct thread_events *e, struct thread_counter *c, struct mapper_sample *out)
{
	uint64_t counted[THREAD_GROUPS][THREAD_EVENTS] = {{0}};
	bool ran = false;
	double other;

	for (int g = 0; g < THREAD_GROUPS; g++)
		ioctl(*fd_of(c, g, THREAD_CYCLES), PERF_EVENT_IOC_DISABLE, 0);
	for (int g = 0; g < THREAD_GROUPS; g++) {
		struct group_read r;
		ssize_t n = counter_sys_read(*fd_of(c, g, THREAD_CYCLES), &r, sizeof(r));
		uint64_t at = 0;

		if (n < (ssize_t)offsetof(struct group_read, value) || r.nr > THREAD_GROUP_MOST) {
			errno = n < 0 ? errno : EIO;
			return -1;
		}
		ran |= r.enabled != c->enabled[g];
		c->enabled[g] = r.enabled;
		for (int k = 0; k < THREAD_GROUP_MOST; k++) {
			enum thread_event event = group_of[g][k];

			if (!e->has[event] || at >= r.nr)
				continue;
			counted[g][event] = r.value[at] - c->last[g][at];
			c->last[g][at] = r.value[at];
			at++;
		}
	}
	if (!counted[0][THREAD_CYCLES] || !counted[1][THREAD_CYCLES])
		return ran ? 0 : 1;
	other = (double)counted[0][THREAD_CYCLES] / (double)counted[1][THREAD_CYCLES];
	out->cycles += counted[0][THREAD_CYCLES];
	out->instructions += counted[0][THREAD_INSTRUCTIONS];
	out->inter += counted[0][THREAD_INTER];
	out->stalls += counted[0][THREAD_STALLS];
	out->intra += (uint64_t)((double)counted[1][THREAD_INTRA] * other + 0.5);
	out->local += (uint64_t)((double)counted[1][THREAD_LOCAL] * other + 0.5);
	out->remote += (uint64_t)((double)counted[1][THREAD_REMOTE] * other + 0.5);
	return 1;
}

void thread_counter_close(struct thread_counter *c)
{
	for (int i = THREAD_EVENTS; i >= 0; i--)
		if (c->fd[i] >= 0) {
			close(c->fd[i]);
			c->fd[i] = -1;
		}
}
