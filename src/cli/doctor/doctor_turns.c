/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Checks of "poppa doctor" on turns, and on the limits that they keep (max-degradation). */
#include <stdio.h>
#include <string.h>

#include "cli/ask/value_text.h"
#include "cli/doctor/doctor.h"
#include "common/text_append.h"
#include "common/units.h"

/* So many slices on end a job is held at most for the limit of another one: of each four it has one
 * (turns_slice_alone() in src/poppa/measure/turns.h). */
#define SLICES_FOR_A_LIMIT 6
/* What a slice that is late adds, ns. */
#define LATE (100 * NS_PER_MS)

/* The settings that poppad goes by, or else slurm.conf's. */
static struct poppa_settings settings_of(const struct doctor *d)
{
	const char *text = json_string_value(json_object_get(d->status, "settings"));
	struct poppa_settings s = d->settings;
	struct errmsg err;

	if (text)
		settings_parse(text, &s, &err); /* leaves s as it is where it fails */
	return s;
}

int64_t doctor_longest_hold(const struct doctor *d)
{
	const struct poppa_settings s = settings_of(d);
	int64_t block = s.long_ns == LONG_AUTO ? LONG_AUTO_NS : s.long_ns, turns = 0;
	/* With n jobs 2n-2 slices on end. */
	int64_t slices = 2 * (int64_t)json_array_size(json_object_get(d->status, "jobs")) - 2;

	/* A poppad that does not answer may go on with turns all the same. */
	if (d->status ? json_is_true(value_at(d->status, "totals.turns.on")) : s.turns != TURNS_NO)
		turns = (slices > SLICES_FOR_A_LIMIT ? slices : SLICES_FOR_A_LIMIT) * s.turn_ns;
	block = s.shutter_ns > block ? s.shutter_ns : block;
	return (turns > block ? turns : block) + LATE;
}

/* Appends the number of a job to a list of numbers. */
static void add(char *list, size_t size, const json_t *job)
{
	text_append(
		list, size, "%s%" JSON_INTEGER_FORMAT, *list ? ", " : "", value_whole(job, "job"));
}

/* Says that a job's limit is not kept here, and why. */
static void say_unkept(struct doctor *d, const json_t *job)
{
	char loose[256] = "", why[512];
	const json_t *other;
	size_t i;

	json_array_foreach(json_object_get(d->status, "jobs"), i, other)
	{
		if (other != job && json_is_false(json_object_get(other, "holdable")))
			add(loose, sizeof(loose), other);
	}
	if (*loose)
		snprintf(why, sizeof(why),
			"what cannot be held for it now: job %s, which poppad cannot freeze as a "
			"whole, or which has just started tasks or runs when it is held",
			loose);
	else
		snprintf(why, sizeof(why),
			"it would have to be alone for too much of the time, or a job that was "
			"here before it has a limit, too (docs/turns.md)");
	doctor_say(d, DOCTOR_WARN, "max-degradation",
		"nothing to do in its first five minutes, in which slurmctld requeues it where it "
		"may; later, scontrol requeue it or a co-runner",
		"job %" JSON_INTEGER_FORMAT " may lose %g %% and loses more: %s",
		value_whole(job, "job"), 100 * value_real(job, "max_degradation"), why);
}

/* Says how many jobs have a limit, and what slices do for one. */
static void say_kept(struct doctor *d, int limited)
{
	const json_t *turns = value_at(d->status, "totals.turns");
	const json_t *favoured = json_object_get(turns, "favoured");
	char count[16] = "no", alone[128] = "";

	if (limited)
		snprintf(count, sizeof(count), "%d", limited);
	if (json_is_integer(favoured))
		snprintf(alone, sizeof(alone),
			"; job %" JSON_INTEGER_FORMAT " runs alone for %.0f %% of the time",
			json_integer_value(favoured), 100 * value_real(turns, "share"));
	doctor_say(d, DOCTOR_OK, "max-degradation", NULL, "%s job%s here ha%s one%s", count,
		limited > 1 ? "s" : "", limited > 1 ? "ve" : "s", alone);
}

static void check_limits(struct doctor *d, const struct poppa_settings *s)
{
	char limited[256] = "";
	int count = 0, unkept = 0;
	const json_t *job;
	size_t i;

	json_array_foreach(json_object_get(d->status, "jobs"), i, job)
	{
		if (!json_is_real(json_object_get(job, "max_degradation")))
			continue;
		count++;
		add(limited, sizeof(limited), job);
		if (s->turns == TURNS_NO || !json_is_true(json_object_get(job, "unkept")))
			continue;
		unkept++;
		say_unkept(d, job);
	}
	if (count && s->turns == TURNS_NO)
		doctor_say(d, DOCTOR_WARN, "max-degradation",
			"set poppa_turns=limits in PrEpParameters, then scontrol reconfigure",
			"poppa_turns=no: a co-runner that costs job %s more than its limit is not "
			"held",
			limited);
	else if (!unkept)
		say_kept(d, count);
}

void doctor_turns(struct doctor *d)
{
	static const char *const uses[] = {[TURNS_NO] = "no turns (poppa_turns=no)",
		[TURNS_LIMITS] = "only for a max-degradation (poppa_turns=limits)",
		[TURNS_YES] = "for bad pairs and for a max-degradation (poppa_turns=yes)"};
	const struct poppa_settings s = settings_of(d);

	if (!d->status)
		return; /* the check of poppad reports that */
	if (s.turns != TURNS_NO && s.pause == PAUSE_SIGSTOP)
		doctor_say(d, DOCTOR_WARN, "turns", "set poppa_pause=auto, or poppa_turns=no",
			"nobody is held for them: poppa_pause=sigstop freezes no job as a whole, so "
			"no max-degradation is kept either");
	else
		doctor_say(d, DOCTOR_OK, "turns", NULL, "%s", uses[s.turns]);
	check_limits(d, &s);
}
