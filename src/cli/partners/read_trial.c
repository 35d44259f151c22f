/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Reads what poppa trial --json prints: of two programs what each loses, of more what pairs lose.
 */
#include "cli/partners/read_trial.h"

#include <inttypes.h>
#include <jansson.h>
#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/fnv1a.h"
#include "common/printable.h"

/* By what was measured, however it was written; not by what follows from that. */
static int make_id(const json_t *programs, const json_t *pairs, char *id, struct errmsg *err)
{
	json_t *both = json_pack("{s:O, s:O*}", "programs", programs, "pairs", pairs);
	char *text = both ? json_dumps(both, JSON_COMPACT | JSON_SORT_KEYS) : NULL;

	json_decref(both);
	if (!text)
		return errmsg_set(err, "out of memory");
	snprintf(id, TRIAL_ID_MAX, "%016" PRIx64, fnv1a(FNV1A_START, text, strlen(text)));
	free(text);
	return 0;
}

/* null is NAN. */
static int read_number(
	const json_t *value, const char *where, const char *name, double *out, struct errmsg *err)
{
	*out = NAN;
	if (json_is_null(value))
		return 0;
	if (!json_is_number(value))
		return errmsg_set(err, "%s: %s is no number, and not null", where, name);
	*out = json_number_value(value);
	return 0;
}

static double in_range(double d)
{
	return fmin(fmax(d, -1), 1);
}

/* Adds a loss. An interval may go beyond what a degradation can be. */
static int add_loss(struct trial *t, const char *where, const struct trial_loss *of,
	const json_t *values[3], struct errmsg *err)
{
	static const char *const name[] = {"degradation", "lo", "hi"};
	struct trial_loss l = *of;
	double *const number[] = {&l.degradation, &l.low, &l.high};

	for (int i = 0; i < 3; i++)
		if (read_number(values[i], where, name[i], number[i], err))
			return -1;
	if (!isnan(l.degradation) && (l.degradation < -1 || l.degradation > 1))
		return errmsg_set(
			err, "%s: degradation %g is not from -1 to 1", where, l.degradation);
	if (!isnan(l.degradation) && !isnan(l.low) && !isnan(l.high)) {
		l.low = in_range(l.low);
		l.high = in_range(l.high);
		if (l.low > l.degradation || l.degradation > l.high)
			return errmsg_set(err, "%s: degradation %g is not from lo, %g, to hi, %g",
				where, l.degradation, l.low, l.high);
	}
	t->loss[t->losses++] = l;
	return 0;
}

static int read_programs(struct trial *t, const json_t *programs, struct errmsg *err)
{
	const size_t count = json_array_size(programs);
	const json_t *program;
	size_t i;

	if (count < 2 || count > TRIAL_PROGRAMS_MAX)
		return errmsg_set(err,
			"\"programs\" has %zu; a trial of 2 to %d programs says what they lose "
			"beside each other",
			count, TRIAL_PROGRAMS_MAX);
	json_array_foreach(programs, i, program)
	{
		const char *command = json_string_value(json_object_get(program, "command"));

		if (!json_is_object(program))
			return errmsg_set(err, "programs[%zu] is no object", i);
		snprintf(t->command[i], TRIAL_COMMAND_MAX, "%s", command ? command : "?");
		plain_text(t->command[i]);
	}
	t->programs = (int)count;
	return 0;
}

/* Of two programs each was beside the other one all the time. */
static int read_two(struct trial *t, const json_t *programs, struct errmsg *err)
{
	for (int i = 0; i < 2; i++) {
		const json_t *program = json_array_get(programs, (size_t)i);
		const json_t *values[] = {json_object_get(program, "degradation"),
			json_object_get(program, "lo"), json_object_get(program, "hi")};
		const struct trial_loss loss = {.job = i, .partner = 1 - i};
		char where[32];

		snprintf(where, sizeof(where), "programs[%d]", i);
		if (add_loss(t, where, &loss, values, err))
			return -1;
	}
	return 0;
}

/* Whether the two have been read before. */
static bool is_there(const struct trial *t, int one, int other)
{
	for (int i = 0; i < t->losses; i++)
		if (t->loss[i].job == one && t->loss[i].partner == other)
			return true;
	return false;
}

static int read_pair(struct trial *t, const json_t *pair, size_t number, struct errmsg *err)
{
	const json_t *of = json_object_get(pair, "programs");
	const json_t *values[] = {json_object_get(pair, "degradation"), json_object_get(pair, "lo"),
		json_object_get(pair, "hi")};
	json_int_t index[2];
	char where[48];

	snprintf(where, sizeof(where), "pairs[%zu]", number);
	for (size_t i = 0; i < 2; i++) {
		const json_t *value = json_array_get(of, i);

		index[i] = json_is_integer(value) ? json_integer_value(value) : -1;
		if (json_array_size(of) != 2 || index[i] < 0 || index[i] >= t->programs)
			return errmsg_set(err,
				"%s: \"programs\" is not the numbers of two programs, from 0 to %d",
				where, t->programs - 1);
	}
	if (index[0] == index[1] || is_there(t, (int)index[0], (int)index[1]))
		return errmsg_set(
			err, "%s: these are no two programs, or they were there before", where);
	for (size_t i = 0; i < 2; i++) {
		const struct trial_loss loss = {.job = (int)index[i], .partner = (int)index[1 - i]};
		const json_t *one[3];

		for (int k = 0; k < 3; k++) {
			if (!json_is_null(values[k]) && json_array_size(values[k]) != 2)
				return errmsg_set(err,
					"%s: \"degradation\", \"lo\" and \"hi\" are not arrays of "
					"two",
					where);
			one[k] = json_is_null(values[k]) ? values[k] : json_array_get(values[k], i);
		}
		if (add_loss(t, where, &loss, one, err))
			return -1;
	}
	return 0;
}

static int read_pairs(struct trial *t, const json_t *pairs, struct errmsg *err)
{
	const json_t *pair;
	size_t i;

	if (!json_array_size(pairs))
		return errmsg_set(err,
			"%d programs, and no \"pairs\": what they lose all together is no "
			"measurement of two",
			t->programs);
	json_array_foreach(pairs, i, pair)
	{
		if (read_pair(t, pair, i, err))
			return -1;
	}
	return 0;
}

static int read_root(struct trial *t, const json_t *root, struct errmsg *err)
{
	const json_t *programs = json_object_get(root, "programs");
	const json_t *pairs = json_object_get(root, "pairs");

	if (!json_is_array(programs))
		return errmsg_set(err, "there is no array \"programs\"");
	if (read_programs(t, programs, err))
		return -1;
	if (t->programs == 2 ? read_two(t, programs, err) : read_pairs(t, pairs, err))
		return -1;
	return make_id(programs, t->programs == 2 ? NULL : pairs, t->id, err);
}

int read_trial(const char *text, size_t length, struct trial *t, struct errmsg *err)
{
	json_error_t why;
	json_t *root = json_loadb(text, length, JSON_REJECT_DUPLICATES, &why);
	int rc;

	*t = (struct trial){.programs = 0};
	if (!root) {
		plain_text(why.text);
		return errmsg_set(err, "line %d: %s", why.line, why.text);
	}
	rc = read_root(t, root, err);
	json_decref(root);
	return rc;
}
