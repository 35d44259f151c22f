/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Remembers what nodes have told of the cost of a miss, and tells it of a class. */
#include "striping/history/miss_cost.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "striping/history/aged_mean.h"
#include "striping/history/class_name.h"
#include "striping/history/line_fields.h"
#include "striping/history/user_rows.h"

/* Of a user as many as the history has classes of them. */
#define MAX_OF_USER 50
#define MAX_ALL 5000

/* One run tells either number no better than this (standard deviation of its logarithm), however
 * well runs seem to agree: of 30 blocks with r^2 = 0.9 the slope is off by 0.06. */
#define LEAST_SD 0.05
/* Runs that scatter more, by a factor of 1.5, are not of one program: its input, or the nodes,
 * decide what a miss costs, and their mean is true of none. */
#define APART_SD 0.405
/* More than logarithms within the bounds can have. */
#define MOST_VARIANCE 100.0

struct row {
	uint32_t uid;
	const char *class_name; /* without variant; of a row in the table its own */
	/* Logarithms of cycles. Both have the same runs. */
	struct aged_mean base, miss;
};

struct miss_costs {
	struct user_rows rows;
	/* The latest run: by that, others are old. So nothing is forgotten while nobody shares
	 * nodes. */
	long long present;
};

static int compare(const void *a, const void *b)
{
	const struct row *x = a, *y = b;

	return strcmp(x->class_name, y->class_name);
}

static long long last_of(const void *row)
{
	const struct row *r = row;

	return r->miss.last;
}

static const struct user_rows_kind kind = {sizeof(struct row), MAX_OF_USER, MAX_ALL, compare,
	last_of, 1, {offsetof(struct row, class_name)}};

struct miss_costs *miss_costs_new(void)
{
	struct miss_costs *t = calloc(1, sizeof(*t));

	if (t)
		t->rows.kind = &kind;
	return t;
}

void miss_costs_free(struct miss_costs *t)
{
	if (t)
		user_rows_clear(&t->rows);
	free(t);
}

/* The row of a class, whatever its variant; false: it is everybody's. buf has PAIRS_CLASS_MAX
 * bytes, and the key needs it. */
static bool make_key(const char *class_name, char *buf, struct row *key)
{
	class_copy(class_name, buf, PAIRS_CLASS_MAX);
	buf[class_base(buf)] = '\0';
	*key = (struct row){.class_name = buf};
	return class_owner(buf, &key->uid);
}

static bool is_between(double value, double least, double most)
{
	return value >= least && value <= most;
}

int miss_costs_learn(struct miss_costs *t, const struct miss_run *run, long long now)
{
	char buf[PAIRS_CLASS_MAX];
	struct row key, *r;
	bool found;
	size_t at;

	if (!make_key(run->class_name, buf, &key) || key.uid != run->uid ||
		!is_between(run->base_cycles, MISS_COST_BASE_MIN, MISS_COST_BASE_MAX) ||
		!is_between(run->miss_cycles, MISS_COST_CYCLES_MIN, MISS_COST_CYCLES_MAX))
		return 0;
	at = user_rows_find(&t->rows, &key, &found);
	r = found ? user_rows_at(&t->rows, at) : user_rows_insert(&t->rows, &key);
	if (!r)
		return -1;
	aged_mean_add(&r->base, log(run->base_cycles), now, MISS_COST_RUNS);
	aged_mean_add(&r->miss, log(run->miss_cycles), now, MISS_COST_RUNS);
	if (now > t->present)
		t->present = now;
	return 1;
}

/* The standard deviation of one run, from two or more. */
static double deviation(const struct aged_mean *m)
{
	return fmax(sqrt(m->variance * m->runs / (m->runs - 1)), LEAST_SD);
}

static void tell(const struct row *r, struct miss_cost *out)
{
	const int runs = r->miss.runs;

	out->runs = runs;
	out->base_cycles = exp(r->base.mean);
	out->miss_cycles = exp(r->miss.mean);
	out->doubt = MISS_ONE_RUN;
	if (runs < MISS_COST_LEAST_RUNS)
		return;
	out->base_error = deviation(&r->base) / sqrt(runs);
	out->miss_error = deviation(&r->miss) / sqrt(runs);
	out->doubt = deviation(&r->base) > APART_SD || deviation(&r->miss) > APART_SD ? MISS_APART
										      : MISS_SURE;
}

static void tell_unless_old(const struct miss_costs *t, const struct row *r, struct miss_cost *out)
{
	*out = (struct miss_cost){.doubt = MISS_NO_RUN,
		.base_cycles = NAN,
		.miss_cycles = NAN,
		.base_error = NAN,
		.miss_error = NAN};
	if (r && !aged_out(r->miss.last, t->present))
		tell(r, out);
}

bool miss_costs_of(const struct miss_costs *t, const char *class_name, struct miss_cost *out)
{
	char buf[PAIRS_CLASS_MAX];
	struct row key;
	bool found = false;
	size_t at = 0;

	if (make_key(class_name, buf, &key))
		at = user_rows_find(&t->rows, &key, &found);
	tell_unless_old(t, found ? user_rows_at(&t->rows, at) : NULL, out);
	return out->doubt == MISS_SURE;
}

void miss_costs_each(const struct miss_costs *t,
	void (*fn)(const char *class_name, const struct miss_cost *cost, void *arg), void *arg)
{
	for (size_t i = 0; i < t->rows.count; i++) {
		const struct row *r = user_rows_at(&t->rows, i);
		struct miss_cost cost;

		tell_unless_old(t, r, &cost);
		fn(r->class_name, &cost, arg);
	}
}

const char *miss_doubt_name(enum miss_doubt doubt)
{
	static const char *const name[MISS_DOUBTS] = {"", "apart", "one-run", "no-run"};

	return name[doubt];
}

void miss_costs_no_later(struct miss_costs *t, long long now)
{
	for (size_t i = 0; i < t->rows.count; i++) {
		struct row *r = user_rows_at(&t->rows, i);

		aged_no_later(&r->base.last, now);
		aged_no_later(&r->miss.last, now);
	}
	aged_no_later(&t->present, now);
}

/* A geometric mean, and the variance of the logarithms. */
static bool read_mean(char *const field[2], double least, double most, struct aged_mean *m)
{
	double mean;

	if (!line_number(field[0], least, most, &mean) ||
		!line_number(field[1], 0, MOST_VARIANCE, &m->variance))
		return false;
	m->mean = log(mean);
	return true;
}

/* The fields of a line: class, runs, the two means, and when the last run was. */
#define FIELDS 7
static bool read_row(char *const field[FIELDS], struct row *r)
{
	double runs;
	long long last;

	*r = (struct row){.class_name = field[0]};
	if (strlen(field[0]) >= PAIRS_CLASS_MAX || field[0][class_base(field[0])] ||
		!class_owner(field[0], &r->uid) ||
		!line_number(field[1], 1, MISS_COST_RUNS, &runs) || runs != floor(runs) ||
		!read_mean(field + 2, MISS_COST_BASE_MIN, MISS_COST_BASE_MAX, &r->base) ||
		!read_mean(field + 4, MISS_COST_CYCLES_MIN, MISS_COST_CYCLES_MAX, &r->miss) ||
		!line_time(field[6], &last))
		return false;
	r->base.runs = r->miss.runs = (int)runs;
	r->base.last = r->miss.last = last;
	return true;
}

bool miss_costs_read(struct miss_costs *t, char *line)
{
	char *field[FIELDS];
	struct row key;
	bool found;

	if (line_fields(line + sizeof(MISS_COST_LINE) - 1, field, FIELDS) != FIELDS ||
		!read_row(field, &key))
		return false;
	user_rows_find(&t->rows, &key, &found);
	if (found || !user_rows_insert(&t->rows, &key))
		return false;
	if (key.miss.last > t->present)
		t->present = key.miss.last;
	return true;
}

void miss_costs_write(const struct miss_costs *t, FILE *f)
{
	for (size_t i = 0; i < t->rows.count; i++) {
		const struct row *r = user_rows_at(&t->rows, i);

		fprintf(f, MISS_COST_LINE "%s\t%d\t%.6g\t%.6g\t%.6g\t%.6g\t%lld\n", r->class_name,
			r->miss.runs, exp(r->base.mean), r->base.variance, exp(r->miss.mean),
			r->miss.variance, r->miss.last);
	}
}
