/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Remembers how long plain and co-located runs of a name took, and tells the gain from spreading.
 */
#include "striping/history/spread_gain.h"

#include <ctype.h>
#include <errno.h>
#include <inttypes.h>
#include <limits.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "striping/history/aged_mean.h"
#include "striping/history/class_name.h"
#include "striping/history/job_names.h"
#include "striping/history/line_fields.h"
#include "striping/history/user_rows.h"

/* Of a user, so that new names push out nobody else's. */
#define MAX_OF_USER 100
#define MAX_ALL 5000

/* One run tells a time no better than this (standard deviation of its logarithm), however well runs
 * seem to agree. */
#define LEAST_SD 0.02
/* No run takes longer, seconds; and bounds of what a file may have. */
#define MOST_S 1e10
#define MOST_CPU_S 1e20
#define MOST_VARIANCE 1e4
/* Runs that scatter more are not taken to do the same work. compact.c says so where their quartiles
 * are further apart than a quarter of the median; those of a normal distribution are 1.35 standard
 * deviations apart. */
#define APART_SD (0.25 / 1.35)
/*
 * A job of one lane on each of twice as many nodes has twice the cache and the memory bandwidth, so
 * it is at most about twice as fast. And spreading costs what the longer ways between the nodes do;
 * where that were more than the work itself, nobody would use so many nodes. What is beyond was
 * other work, or runs that a user made up. Such a gain moves partner choice no further than the
 * most that a real job can have.
 */
#define GAIN_MIN -0.5
#define GAIN_MAX 1.0
/* Of the classes in the thesis, chapter 2. */
#define HIGH 0.40
#define MEDIUM 0.20

struct row {
	uint32_t uid, cpus;
	/* Of a row in the table they are its own. */
	const char *name, *partition;
	const char
		*class_name; /* of the last co-located run of that user and name, without variant */
	/* The logarithms of CPU seconds. */
	struct aged_mean plain, colocated;
};

struct spread_gains {
	struct user_rows rows;
	/* The latest co-located run: by that, others are old. So nothing is forgotten while nobody
	 * shares nodes. */
	long long present;
};

static int compare(const void *a, const void *b)
{
	const struct row *x = a, *y = b;
	int rc = strcmp(x->name, y->name);

	rc = rc ? rc : (x->cpus > y->cpus) - (x->cpus < y->cpus);
	return rc ? rc : strcmp(x->partition, y->partition);
}

static long long last_of(const void *row)
{
	const struct row *r = row;

	return r->plain.last > r->colocated.last ? r->plain.last : r->colocated.last;
}

static const struct user_rows_kind kind = {sizeof(struct row), MAX_OF_USER, MAX_ALL, compare,
	last_of, 3,
	{offsetof(struct row, name), offsetof(struct row, partition),
		offsetof(struct row, class_name)}};

struct spread_gains *spread_gains_new(void)
{
	struct spread_gains *t = calloc(1, sizeof(*t));

	if (t)
		t->rows.kind = &kind;
	return t;
}

void spread_gains_free(struct spread_gains *t)
{
	if (t)
		user_rows_clear(&t->rows);
	free(t);
}

/* NULL after the last row. */
static struct row *row_at(const struct spread_gains *t, size_t i)
{
	return i < t->rows.count ? user_rows_at(&t->rows, i) : NULL;
}

/* Index of the first row of that user, name and number of CPUs, or where it belongs. */
static size_t first_of(const struct spread_gains *t, uint32_t uid, const char *name, uint32_t cpus)
{
	const struct row key = {.uid = uid, .name = name, .cpus = cpus, .partition = ""};
	bool found;

	return user_rows_find(&t->rows, &key, &found);
}

static bool is_work(const struct row *r, const struct row *key)
{
	return r && r->uid == key->uid && !strcmp(r->name, key->name);
}

static bool is_class_of(const char *class_name, uint32_t uid)
{
	uint32_t owner;

	return class_owner(class_name, &owner) && owner == uid;
}

struct names {
	char name[JOB_NAMES_NAME_MAX], partition[SPREAD_PARTITION_MAX];
};

/* Writes the names of a run, and the key that points to them. 1, 0 where it is too short, or -1. */
static int take_run(const struct spread_run *run, struct names *names, struct row *key)
{
	if (!run->cpus || !(run->seconds > 0 && run->seconds <= MOST_S)) {
		errno = EINVAL;
		return -1;
	}
	class_copy(run->job_name, names->name, sizeof(names->name));
	class_generalize(names->name);
	class_copy(run->partition, names->partition, sizeof(names->partition));
	*key = (struct row){.uid = run->uid,
		.cpus = run->cpus,
		.name = names->name,
		.partition = names->partition,
		.class_name = ""};
	return run->seconds >= SPREAD_LEAST_S;
}

static struct row *row_of(struct spread_gains *t, const struct row *key)
{
	bool found;
	size_t at = user_rows_find(&t->rows, key, &found);

	return found ? row_at(t, at) : user_rows_insert(&t->rows, key);
}

static double log_cpu_s(const struct spread_run *run)
{
	return log(run->seconds) + log(run->cpus);
}

int spread_gains_plain(struct spread_gains *t, const struct spread_run *run, long long now)
{
	char class_name[PAIRS_CLASS_MAX];
	struct names names;
	struct row key, *r;
	int rc = take_run(run, &names, &key);

	if (rc <= 0)
		return rc;
	r = row_at(t, first_of(t, key.uid, key.name, 0));
	if (!is_work(r, &key))
		return 0;
	key.class_name = strcpy(class_name, r->class_name);
	r = row_of(t, &key);
	if (!r)
		return -1;
	aged_mean_add(&r->plain, log_cpu_s(run), now, SPREAD_RUNS);
	return 1;
}

/* All rows of that user and name are of the class from now on. 0, or -1 without memory. */
static int set_class(struct spread_gains *t, const struct row *key)
{
	struct row *r;

	for (size_t i = first_of(t, key->uid, key->name, 0); is_work(r = row_at(t, i), key); i++) {
		char *copy;

		if (!strcmp(r->class_name, key->class_name))
			continue;
		copy = strdup(key->class_name);
		if (!copy)
			return -1;
		free((void *)r->class_name);
		r->class_name = copy;
	}
	return 0;
}

int spread_gains_colocated(
	struct spread_gains *t, const struct spread_run *run, const char *class_name, long long now)
{
	struct names names;
	struct row key, *r;
	char clean[PAIRS_CLASS_MAX];
	int rc = take_run(run, &names, &key);

	if (rc <= 0)
		return rc;
	class_copy(class_name, clean, sizeof(clean));
	clean[class_base(clean)] = '\0';
	if (!is_class_of(clean, run->uid))
		return 0;
	key.class_name = clean;
	r = row_of(t, &key);
	if (!r || set_class(t, &key))
		return -1;
	aged_mean_add(&r->colocated, log_cpu_s(run), now, SPREAD_RUNS);
	if (now > t->present)
		t->present = now;
	return 1;
}

/* Whether the first bytes of the class are this text. */
static bool is_text(const char *text, const char *class_name, size_t length)
{
	return !strncmp(text, class_name, length) && !text[length];
}

/* what: where the class's user ends; end: where its variant begins. */
static bool is_of_class(
	const struct row *r, const char *class_name, const char *what, const char *end)
{
	return is_text(r->class_name, class_name, (size_t)(end - class_name)) ||
	       (*what == '/' && is_text(r->name, what + 1, (size_t)(end - what - 1)));
}

static bool tells(const struct spread_gains *t, const struct aged_mean *m)
{
	return m->runs && !aged_out(m->last, t->present);
}

/* The variance of one run, from two or more. */
static double variance(const struct aged_mean *m)
{
	return fmax(m->variance * m->runs / (m->runs - 1), LEAST_SD * LEAST_SD);
}

static bool are_apart(const struct aged_mean *m)
{
	return m->runs > 1 && variance(m) > APART_SD * APART_SD;
}

/* What the rows say that have runs of both kinds. */
struct sum {
	double weight, gain, square; /* sums by 1 / variance: of log(1 + gain), and of its square */
	int rows, plain, colocated;
};

/* A single run scatters as the others do; 0 of a single plain run. */
static double variance_of_gain(const struct row *r)
{
	double one;

	if (r->plain.runs < 2)
		return 0;
	one = variance(&r->plain);
	return one / r->plain.runs +
	       (r->colocated.runs > 1 ? variance(&r->colocated) / r->colocated.runs : one);
}

static void add_row(struct sum *s, const struct row *r)
{
	double gain = r->plain.mean - r->colocated.mean, of = variance_of_gain(r);
	double weight = of > 0 ? 1 / of : 1;

	s->weight += weight;
	s->gain += weight * gain;
	s->square += weight * gain * gain;
	s->rows++;
	s->plain += r->plain.runs;
	s->colocated += r->colocated.runs;
}

/* Where rows, which have other sizes or names, differ more than their runs do, the error is that.
 */
static double error_of(const struct sum *s)
{
	double mean = s->gain / s->weight, apart = 0;

	if (s->rows > 1)
		apart = (s->square - s->weight * mean * mean) / (s->rows - 1);
	return sqrt(fmax(apart, 1) / s->weight);
}

static bool is_possible(double gain)
{
	return gain >= log1p(GAIN_MIN) && gain <= log1p(GAIN_MAX);
}

static enum spread_doubt doubt_of(const struct row *r)
{
	if (are_apart(&r->plain) || are_apart(&r->colocated) ||
		!is_possible(r->plain.mean - r->colocated.mean))
		return SPREAD_APART;
	return r->plain.runs < 2 ? SPREAD_ONE_RUN : SPREAD_SURE;
}

/* What the rows of a class have. */
struct found {
	struct sum of[SPREAD_ONE_RUN + 1]; /* by doubt */
	int plain, colocated;
	bool elsewhere; /* as many CPUs in another partition, plain the one, co-located the other */
};

/* Whether a plain run of as many CPUs is in the row of another partition. */
static bool is_elsewhere(const struct spread_gains *t, const struct row *r)
{
	const struct row *other;

	for (size_t i = first_of(t, r->uid, r->name, r->cpus);
		is_work(other = row_at(t, i), r) && other->cpus == r->cpus; i++)
		if (tells(t, &other->plain))
			return true;
	return false;
}

static void look_at(const struct spread_gains *t, const struct row *r, struct found *f)
{
	bool plain = tells(t, &r->plain), colocated = tells(t, &r->colocated);

	f->plain += plain ? r->plain.runs : 0;
	f->colocated += colocated ? r->colocated.runs : 0;
	if (plain && colocated)
		add_row(&f->of[doubt_of(r)], r);
	else if (colocated)
		f->elsewhere |= is_elsewhere(t, r);
}

static enum spread_class class_of(double gain)
{
	return gain >= HIGH ? SPREAD_HIGH : gain >= MEDIUM ? SPREAD_MEDIUM : SPREAD_LOW;
}

static void conclude(const struct found *f, struct spread_gain *out)
{
	const struct sum *s;

	out->doubt = f->of[SPREAD_SURE].rows      ? SPREAD_SURE
		     : f->of[SPREAD_APART].rows   ? SPREAD_APART
		     : f->of[SPREAD_ONE_RUN].rows ? SPREAD_ONE_RUN
		     : f->elsewhere               ? SPREAD_PARTITION
		     : f->plain                   ? SPREAD_OTHER_CPUS
						  : SPREAD_NO_RUN;
	out->plain = f->plain;
	out->colocated = f->colocated;
	if (out->doubt > SPREAD_ONE_RUN)
		return;
	s = &f->of[out->doubt];
	out->plain = s->plain;
	out->colocated = s->colocated;
	out->gain = fmin(fmax(expm1(s->gain / s->weight), GAIN_MIN), GAIN_MAX);
	if (out->doubt == SPREAD_SURE) {
		out->error = error_of(s);
		out->class = class_of(out->gain);
	}
}

bool spread_gains_of(const struct spread_gains *t, const char *class_name, struct spread_gain *out)
{
	const char *what, *end = class_name + class_base(class_name);
	struct found found = {.plain = 0};
	const struct row *r;
	uint32_t uid;

	*out = (struct spread_gain){.doubt = SPREAD_NO_RUN, .gain = NAN, .error = NAN};
	what = class_owner(class_name, &uid);
	if (!what)
		return false;
	for (size_t i = first_of(t, uid, "", 0); (r = row_at(t, i)) && r->uid == uid; i++)
		if (is_of_class(r, class_name, what, end))
			look_at(t, r, &found);
	conclude(&found, out);
	return out->doubt == SPREAD_SURE;
}

struct listed {
	uint32_t uid;
	const char *class_name;
};

static int by_class(const void *a, const void *b)
{
	const struct listed *x = a, *y = b;

	return x->uid != y->uid ? (x->uid < y->uid ? -1 : 1) : strcmp(x->class_name, y->class_name);
}

int spread_gains_each(const struct spread_gains *t,
	void (*fn)(const char *class_name, const struct spread_gain *gain, void *arg), void *arg)
{
	const size_t count = t->rows.count;
	struct listed *list = malloc((count + 1) * sizeof(*list));

	if (!list)
		return -1;
	for (size_t i = 0; i < count; i++)
		list[i] = (struct listed){row_at(t, i)->uid, row_at(t, i)->class_name};
	qsort(list, count, sizeof(*list), by_class);
	for (size_t i = 0; i < count; i++) {
		struct spread_gain gain;

		if (i && !by_class(&list[i], &list[i - 1]))
			continue;
		spread_gains_of(t, list[i].class_name, &gain);
		fn(list[i].class_name, &gain, arg);
	}
	free(list);
	return 0;
}

const char *spread_doubt_name(enum spread_doubt doubt)
{
	static const char *const name[SPREAD_DOUBTS] = {
		"", "apart", "one-run", "partition", "other-cpus", "no-run"};

	return name[doubt];
}

const char *spread_class_name(enum spread_class class)
{
	static const char *const name[] = {"unknown", "Low", "Medium", "High"};

	return name[class];
}

void spread_gains_no_later(struct spread_gains *t, long long now)
{
	for (size_t i = 0; i < t->rows.count; i++) {
		aged_no_later(&row_at(t, i)->plain.last, now);
		aged_no_later(&row_at(t, i)->colocated.last, now);
	}
	aged_no_later(&t->present, now);
}

/* A whole number in decimal digits. */
static bool read_whole(const char *text, long long most, long long *out)
{
	char *end;

	errno = 0;
	*out = strtoll(text, &end, 10);
	return isdigit((unsigned char)*text) && !*end && !errno && *out <= most;
}

/* How many runs, the geometric mean of their CPU seconds, the variance of the logarithms, and when
 * the last one was. */
#define FIELDS_OF_MEAN 4
static bool read_mean(char *const field[FIELDS_OF_MEAN], struct aged_mean *m)
{
	long long runs;
	double mean;

	if (!read_whole(field[0], SPREAD_RUNS, &runs) ||
		!line_number(field[1], 0, MOST_CPU_S, &mean) ||
		!line_number(field[2], 0, MOST_VARIANCE, &m->variance) ||
		!read_whole(field[3], LLONG_MAX, &m->last))
		return false;
	m->runs = (int)runs;
	m->mean = runs ? log(mean) : 0;
	return !runs || mean >= SPREAD_LEAST_S / 2; /* it was rounded */
}

/* The fields of a line: user, name, CPUs, partition, class, and the two means. */
#define FIELDS (5 + 2 * FIELDS_OF_MEAN)
static bool read_row(char *const field[FIELDS], struct row *r)
{
	uint32_t uid, cpus;

	if (!line_id(field[0], &uid) || !line_id(field[2], &cpus) || !cpus)
		return false;
	*r = (struct row){.uid = uid,
		.name = field[1],
		.cpus = cpus,
		.partition = field[3],
		.class_name = field[4]};
	return strlen(r->name) < JOB_NAMES_NAME_MAX &&
	       strlen(r->partition) < SPREAD_PARTITION_MAX &&
	       strlen(r->class_name) < PAIRS_CLASS_MAX && is_class_of(r->class_name, r->uid) &&
	       read_mean(field + 5, &r->plain) &&
	       read_mean(field + 5 + FIELDS_OF_MEAN, &r->colocated) &&
	       (r->plain.runs || r->colocated.runs);
}

bool spread_gains_read(struct spread_gains *t, char *line)
{
	char *field[FIELDS];
	struct row key, *r;
	bool found;

	if (line_fields(line + sizeof(SPREAD_GAIN_LINE) - 1, field, FIELDS) != FIELDS ||
		!read_row(field, &key))
		return false;
	user_rows_find(&t->rows, &key, &found);
	r = found ? NULL : user_rows_insert(&t->rows, &key);
	if (!r)
		return false;
	if (r->colocated.last > t->present)
		t->present = r->colocated.last;
	return true;
}

static void write_mean(const struct aged_mean *m, FILE *f)
{
	fprintf(f, "\t%d\t%.6g\t%.6g\t%lld", m->runs, m->runs ? exp(m->mean) : 0, m->variance,
		m->last);
}

void spread_gains_write(const struct spread_gains *t, FILE *f)
{
	for (size_t i = 0; i < t->rows.count; i++) {
		const struct row *r = row_at(t, i);

		fprintf(f, SPREAD_GAIN_LINE "%" PRIu32 "\t%s\t%" PRIu32 "\t%s\t%s", r->uid, r->name,
			r->cpus, r->partition, r->class_name);
		write_mean(&r->plain, f);
		write_mean(&r->colocated, f);
		fputc('\n', f);
	}
}
