/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Answers requests at poppad's socket: to tell its state, or to hold shutters off for a while. */
#include "poppa/daemon/poppad.h"

#include <string.h>
#include <unistd.h>

#include "common/log.h"
#include "common/units.h"
#include "common/clock.h"
#include "poppa_config.h"

#define HOLD_MAX_S 86400

static void on_hold_over(evutil_socket_t fd, short what, void *arg)
{
	struct poppad *d = arg;

	(void)fd;
	(void)what;
	d->held_off = false;
	evtimer_del(d->hold_event);
	plog_info("shutters are on again");
	poppad_allow(d);
}

static json_t *error_reply(const char *text)
{
	return json_pack("{s:s}", "error", text);
}

static json_t *set_hold(struct poppad *d, const json_t *request, bool hold)
{
	double seconds = json_number_value(json_object_get(request, "seconds"));
	struct timeval t;

	if (hold && !(seconds > 0 && seconds <= HOLD_MAX_S))
		return error_reply("\"seconds\" must be a number above 0 and at most 86400");
	if (hold) {
		t.tv_sec = (time_t)seconds;
		t.tv_usec = (suseconds_t)((seconds - (double)t.tv_sec) * 1e6);
		evtimer_add(d->hold_event, &t);
		d->hold_until = clock_now() + (int64_t)(seconds * NS_PER_S);
		if (!d->held_off)
			plog_info("no shutters for %.6g s, as root asked", seconds);
		d->held_off = true;
		poppad_allow(d);
	} else if (d->held_off) {
		on_hold_over(-1, 0, d);
	}
	return json_pack("{s:b}", "ok", 1);
}

static json_t *describe(struct poppad *d, uid_t uid)
{
	char text[SETTINGS_MAX_TEXT];
	struct slow_prior prior;
	struct spool_counts n;
	json_t *s, *refill;

	sender_prior(d->sender, &prior);
	refill = slow_prior_to_json(&prior);
	json_object_set_new(refill, "node_type", json_string(d->node_type));
	spool_count(&d->spool, &n);
	s = json_pack("{s:s, s:s, s:s, s:i, s:i, s:b, s:s, s:s?, s:f, s:{s:i, s:i, s:i}}",
		"version", POPPA_VERSION, "node", d->node, "cluster", d->cluster.cluster, "pid",
		(int)getpid(), "guard_pid", d->guarded ? (int)d->guard.pid : 0,
		"waiting_for_slurmd", !d->have_cluster, "settings",
		settings_format(&d->settings, text, sizeof(text)), "bad_settings",
		*d->bad_settings ? d->bad_settings : NULL, "hold_s",
		d->held_off ? (double)(d->hold_until - clock_now()) / NS_PER_S : 0.0, "spool",
		"records", n.records, "refused", n.refused, "bad", n.bad);
	json_object_set_new(s, "slow_prior", refill);
	json_object_set_new(s, "jobs", d->jobs ? jobs_status(d->jobs, uid) : json_array());
	if (d->jobs)
		json_object_set_new(s, "totals", jobs_totals(d->jobs, uid));
	return s;
}

json_t *poppad_answer(const json_t *request, uid_t uid, void *arg)
{
	const char *op = json_string_value(json_object_get(request, "op"));
	struct poppad *d = arg;

	if (op && !strcmp(op, "status"))
		return describe(d, uid);
	if (op && (!strcmp(op, "hold") || !strcmp(op, "release"))) {
		if (uid)
			return error_reply("only root may do this");
		return set_hold(d, request, !strcmp(op, "hold"));
	}
	return error_reply("\"op\" must be status, hold or release");
}

void poppad_requests_events(struct poppad *d)
{
	d->hold_event = evtimer_new(d->base, on_hold_over, d);
}
