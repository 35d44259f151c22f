/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Learns and recalls how much classes of jobs slow each other down. */
#include "striping/history/pairs.h"

#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "common/fsio.h"
#include "common/journal.h"
#include "striping/history/aged_mean.h"
#include "striping/history/imported_trial.h"
#include "striping/history/job_names.h"
#include "striping/history/line_fields.h"
#include "striping/history/miss_cost.h"
#include "striping/history/pair_evidence.h"
#include "striping/history/pair_told.h"
#include "striping/history/spread_gain.h"

#define HEADER "#job\tpartner\tdegradation\tseconds\tcount\tlast\truns\taverage\tvariance\n"
/* More than all rows, names and runs can take. */
#define MAX_FILE (32 << 20)
#define MAX_ROWS 20000
/* Of a user, so that new names of jobs push out nobody else's history. */
#define MAX_CLASSES 50
/* Of a class, besides itself: sizes and types of nodes are few, but a user may choose them. */
#define MAX_VARIANTS 12
/* Begins the line of a run that is kept aside, which follows the line of its pair. */
#define ODD "#odd\t"
/* And of when its last run of a minute or more was. */
#define RUN "#run\t"

/* The user to whom classes belong that are everybody's. */
#define EVERYBODY UINT64_MAX

struct row {
	char *job, *partner;
	uint64_t of_job, of_partner; /* the users of both classes */
	uint64_t number;             /* of the row, for what runs have told of it */
	struct pair_evidence known;
	int trials;           /* that are in it */
	double trial_seconds; /* the weight of these as of known.last */
};

/* A user, and how many rows have a class of theirs. */
struct owner {
	uint64_t uid;
	size_t rows;
};

struct pairs {
	struct row *row; /* sorted by job, then partner */
	size_t count, room;
	struct owner *owner; /* sorted by uid; none without a row */
	size_t owners, owner_room;
	double sum;        /* of all rows' means */
	long long present; /* the latest observation of all: by that, others are old */
	struct job_names *names;
	struct spread_gains *spread;
	struct miss_costs *misses;
	struct pair_told_table *told;
	uint64_t numbers; /* given to rows */
	bool with_trials; /* so it is not to be saved */
};

struct pairs *pairs_new(void)
{
	struct pairs *p = calloc(1, sizeof(*p));

	if (!p)
		return NULL;
	p->names = job_names_new();
	p->spread = spread_gains_new();
	p->misses = miss_costs_new();
	p->told = pair_told_new();
	if (p->names && p->spread && p->misses && p->told)
		return p;
	pairs_free(p);
	return NULL;
}

static void free_row(struct row *row)
{
	free(row->job);
	free(row->partner);
}

void pairs_free(struct pairs *p)
{
	if (!p)
		return;
	for (size_t i = 0; i < p->count; i++)
		free_row(&p->row[i]);
	free(p->row);
	free(p->owner);
	job_names_free(p->names);
	spread_gains_free(p->spread);
	miss_costs_free(p->misses);
	pair_told_free(p->told);
	free(p);
}

/* Index of the pair, or of the place where it belongs. */
static size_t find_row(const struct pairs *p, const char *job, const char *partner, bool *found)
{
	size_t low = 0, high = p->count;

	while (low < high) {
		size_t mid = low + (high - low) / 2;
		int c = strcmp(p->row[mid].job, job);

		if (!c)
			c = strcmp(p->row[mid].partner, partner);
		if (!c) {
			*found = true;
			return mid;
		}
		if (c < 0)
			low = mid + 1;
		else
			high = mid;
	}
	*found = false;
	return low;
}

const struct job_names *pairs_names(const struct pairs *p)
{
	return p->names;
}

int pairs_ran(struct pairs *p, unsigned int uid, const char *job_name, const struct job_ran *ran,
	long long now)
{
	return job_names_ran(p->names, uid, job_name, ran, now);
}

const struct spread_gains *pairs_spread(const struct pairs *p)
{
	return p->spread;
}

bool pairs_spread_gain(const struct pairs *p, const char *class_name, struct spread_gain *out)
{
	return spread_gains_of(p->spread, class_name, out);
}

bool pairs_spread_hint(void *arg, const char *class_name, double *z, int *runs)
{
	struct spread_gain gain;

	if (!pairs_spread_gain(arg, class_name, &gain))
		return false;
	*z = log1p(gain.gain);
	*runs = gain.plain < gain.colocated ? gain.plain : gain.colocated;
	return true;
}

const struct miss_costs *pairs_misses(const struct pairs *p)
{
	return p->misses;
}

bool pairs_miss_cost(const struct pairs *p, const char *class_name, struct miss_cost *out)
{
	return miss_costs_of(p->misses, class_name, out);
}

bool pairs_miss_hint(void *arg, const char *class_name, double *base_cycles, double *miss_cycles)
{
	struct miss_cost cost;

	if (!pairs_miss_cost(arg, class_name, &cost))
		return false;
	*base_cycles = cost.base_cycles;
	*miss_cycles = cost.miss_cycles;
	return true;
}

static uint64_t owner_of(const char *class)
{
	return class_user(class) ? strtoull(class, NULL, 10) : EVERYBODY;
}

/* Index of the user, or of the place where they belong. */
static size_t find_owner(const struct pairs *p, uint64_t uid)
{
	size_t low = 0, high = p->owners;

	while (low < high) {
		size_t mid = low + (high - low) / 2;

		if (p->owner[mid].uid < uid)
			low = mid + 1;
		else
			high = mid;
	}
	return low;
}

/* One row more: 0, or -1 without memory. */
static int count_row(struct pairs *p, uint64_t uid)
{
	size_t at = find_owner(p, uid);

	if (at < p->owners && p->owner[at].uid == uid) {
		p->owner[at].rows++;
		return 0;
	}
	if (p->owners == p->owner_room) {
		size_t room = p->owner_room ? p->owner_room * 2 : 64;
		struct owner *owner = realloc(p->owner, room * sizeof(*owner));

		if (!owner)
			return -1;
		p->owner = owner;
		p->owner_room = room;
	}
	memmove(&p->owner[at + 1], &p->owner[at], (p->owners - at) * sizeof(*p->owner));
	p->owner[at] = (struct owner){uid, 1};
	p->owners++;
	return 0;
}

static void uncount_row(struct pairs *p, uint64_t uid)
{
	size_t at = find_owner(p, uid);

	if (--p->owner[at].rows)
		return;
	p->owners--;
	memmove(&p->owner[at], &p->owner[at + 1], (p->owners - at) * sizeof(*p->owner));
}

/* A row between two classes of one user counts once. */
static int count_owners(struct pairs *p, const struct row *row)
{
	if (count_row(p, row->of_job))
		return -1;
	if (row->of_partner == row->of_job || !count_row(p, row->of_partner))
		return 0;
	uncount_row(p, row->of_job);
	return -1;
}

static void uncount_owners(struct pairs *p, const struct row *row)
{
	uncount_row(p, row->of_job);
	if (row->of_partner != row->of_job)
		uncount_row(p, row->of_partner);
}

static void drop(struct pairs *p, size_t at)
{
	p->sum -= p->row[at].known.degradation;
	pair_told_drop_pair(p->told, p->row[at].number);
	uncount_owners(p, &p->row[at]);
	free_row(&p->row[at]);
	memmove(&p->row[at], &p->row[at + 1], (p->count - at - 1) * sizeof(*p->row));
	p->count--;
}

/* Whether the row has a class of this user. *other: the user of the other class. */
static bool is_of(const struct row *row, uint64_t uid, uint64_t *other)
{
	*other = row->of_job == uid ? row->of_partner : row->of_job;
	return row->of_job == uid || row->of_partner == uid;
}

/*
 * Drops the oldest of the rows between the two users with the most. The one of them has the most
 * rows of all, which is no less than a fair share (MAX_ROWS by the number of users), and the other
 * one the most of these. So whoever fills the history loses what they have put in: a user with few
 * rows loses none, and one with many loses none with a third because of somebody's flood. 0, or -1
 * without memory.
 */
static int drop_oldest(struct pairs *p)
{
	size_t *with = calloc(p->owners, sizeof(*with)), most = 0, oldest = p->count;
	uint64_t uid, partner, other;

	if (!with)
		return -1;
	for (size_t i = 1; i < p->owners; i++)
		if (p->owner[i].rows > p->owner[most].rows)
			most = i;
	uid = p->owner[most].uid;
	for (size_t i = 0; i < p->count; i++)
		if (is_of(&p->row[i], uid, &other))
			with[find_owner(p, other)]++;
	most = 0;
	for (size_t i = 1; i < p->owners; i++)
		if (with[i] > with[most])
			most = i;
	partner = p->owner[most].uid;
	free(with);
	for (size_t i = 0; i < p->count; i++)
		if (is_of(&p->row[i], uid, &other) && other == partner &&
			(oldest == p->count || p->row[i].known.last < p->row[oldest].known.last))
			oldest = i;
	drop(p, oldest);
	return 0;
}

/* A class, or a variant of one, and when it was seen last. */
struct seen {
	const char *class;
	size_t length; /* of what tells it from others */
	long long last;
};

static int compare_length(const struct seen *x, const struct seen *y)
{
	int c = memcmp(x->class, y->class, x->length < y->length ? x->length : y->length);

	return c ? c : (x->length > y->length) - (x->length < y->length);
}

static int compare_seen(const void *a, const void *b)
{
	const struct seen *x = a, *y = b;
	int c = compare_length(x, y);

	return c ? c : (x->last < y->last) - (x->last > y->last);
}

/* The one that was seen longest ago, where they are `most` or more; else NULL. seen[] has each time
 * that one of them is in a row. */
static const struct seen *oldest_of(struct seen *seen, size_t count, size_t most)
{
	const struct seen *oldest = NULL;
	size_t different = 0;

	qsort(seen, count, sizeof(*seen), compare_seen);
	for (size_t i = 0; i < count; i++) {
		/* The latest time comes first. */
		if (i && !compare_length(&seen[i], &seen[i - 1]))
			continue;
		different++;
		if (!oldest || seen[i].last < oldest->last)
			oldest = &seen[i];
	}
	return different >= most ? oldest : NULL;
}

/* Whether the name is that of the class, or of a variant of it. */
static bool belongs(const char *name, const char *class, size_t length)
{
	return !strncmp(name, class, length) && (!name[length] || class_base(name) == length);
}

/* Drops all rows of a class with its variants, or of a variant. */
static void drop_class(struct pairs *p, const char *class)
{
	const size_t length = strlen(class);

	for (size_t i = p->count; i-- > 0;)
		if (belongs(p->row[i].job, class, length) ||
			belongs(p->row[i].partner, class, length))
			drop(p, i);
}

/* What there is of the owner of a class that may be new. */
struct there {
	struct seen *seen;
	size_t count;
	bool known;       /* the class itself is there */
	bool known_class; /* it is a variant, and its class or another variant of that is there */
};

static void look_for(const struct pairs *p, const char *class, uint64_t uid, struct there *t)
{
	const size_t base = class_base(class);

	for (size_t i = 0; i < 2 * p->count && !t->known; i++) {
		const struct row *row = &p->row[i / 2];
		const char *name = i % 2 ? row->partner : row->job;

		if ((i % 2 ? row->of_partner : row->of_job) != uid)
			continue;
		t->known = !strcmp(name, class);
		t->seen[t->count++] = (struct seen){name, class_base(name), row->known.last};
		t->known_class |=
			t->seen[t->count - 1].length == base && !memcmp(name, class, base);
	}
}

/* Leaves the variants of the class, by their whole names. */
static void only_variants(struct there *t, const char *class)
{
	const size_t base = class_base(class);
	size_t kept = 0;

	for (size_t i = 0; i < t->count; i++) {
		struct seen *s = &t->seen[i];

		if (s->length != base || memcmp(s->class, class, base) || !s->class[base])
			continue;
		t->seen[kept] = *s;
		t->seen[kept++].length = strlen(s->class);
	}
	t->count = kept;
}

/* Makes room for a class, or a variant of one, that may be new: 0, or -1 without memory. */
static int make_room(struct pairs *p, const char *class)
{
	const uint64_t uid = owner_of(class);
	const bool variant = class[class_base(class)];
	const struct seen *oldest = NULL;
	struct there t = {.count = 0};
	char gone[PAIRS_CLASS_MAX];
	bool found;
	size_t at = find_row(p, class, "", &found);

	if ((uid == EVERYBODY && !variant) || (at < p->count && !strcmp(p->row[at].job, class)))
		return 0;
	t.seen = malloc((2 * p->count + 1) * sizeof(*t.seen));
	if (!t.seen)
		return -1;
	look_for(p, class, uid, &t);
	if (!t.known && !t.known_class && uid != EVERYBODY) {
		oldest = oldest_of(t.seen, t.count, MAX_CLASSES);
	} else if (!t.known && variant) {
		only_variants(&t, class);
		oldest = oldest_of(t.seen, t.count, MAX_VARIANTS);
	}
	if (oldest)
		snprintf(gone, sizeof(gone), "%.*s", (int)oldest->length, oldest->class);
	free(t.seen);
	if (oldest)
		drop_class(p, gone);
	return 0;
}

/* A new row, if need be in place of an old one. NULL without memory. */
static struct row *insert_row(struct pairs *p, const char *job, const char *partner)
{
	struct row new = {
		.of_job = owner_of(job), .of_partner = owner_of(partner), .number = ++p->numbers};
	bool found;
	size_t at;

	if (p->count == MAX_ROWS && drop_oldest(p))
		return NULL;
	if (p->count == p->room) {
		size_t room = p->room ? p->room * 2 : 64;
		struct row *row = realloc(p->row, room * sizeof(*row));

		if (!row)
			return NULL;
		p->row = row;
		p->room = room;
	}
	new.job = strdup(job);
	new.partner = strdup(partner);
	if (!new.job || !new.partner || count_owners(p, &new)) {
		free_row(&new);
		errno = ENOMEM;
		return NULL;
	}
	at = find_row(p, job, partner, &found);
	memmove(&p->row[at + 1], &p->row[at], (p->count - at) * sizeof(*p->row));
	p->row[at] = new;
	p->count++;
	return &p->row[at];
}

static bool good(const struct pairs_shared *with)
{
	if (class_valid(with->job) && class_valid(with->partner) && with->degradation >= -1 &&
		with->degradation <= 1 && with->seconds > 0 && !isinf(with->seconds))
		return true;
	errno = EINVAL;
	return false;
}

static struct pair_told_key key_of(const struct pairs_shared *with, uint64_t pair)
{
	return (struct pair_told_key){pair, with->uid, with->job_id, with->start, with->partner_id};
}

/* The pair's row, for its evidence to be set next: a new one is not valid before. NULL without
 * memory. */
static struct row *row_for(struct pairs *p, const struct pairs_shared *with)
{
	bool found;
	size_t at = find_row(p, with->job, with->partner, &found);

	if (found)
		return &p->row[at];
	if (make_room(p, with->job) || make_room(p, with->partner))
		return NULL;
	return insert_row(p, with->job, with->partner);
}

static void set_known(
	struct pairs *p, struct row *row, const struct pair_evidence *known, long long now)
{
	p->sum += known->degradation - row->known.degradation;
	row->known = *known;
	if (now > p->present)
		p->present = now;
}

int pairs_learn_run(struct pairs *p, const struct pairs_shared *with, long long now)
{
	struct pair_evidence known;
	struct pair_told_key key;
	struct pair_told told;
	struct row *row = good(with) ? row_for(p, with) : NULL;

	if (!row)
		return -1;
	key = key_of(with, row->number);
	told = pair_told_of(p->told, &key);
	known = row->known;
	pair_evidence_learn_rest(&known, with->degradation, with->seconds, &told, now);
	set_known(p, row, &known, now);
	return 0;
}

int pairs_learn(struct pairs *p, const char *job, const char *partner, double degradation,
	double seconds, long long now)
{
	const struct pairs_shared with = {
		.job = job, .partner = partner, .degradation = degradation, .seconds = seconds};

	return pairs_learn_run(p, &with, now);
}

bool pairs_is_segment(const struct pairs *p, const struct pairs_shared *with)
{
	return pair_evidence_is_segment(with->seconds,
		pair_told_seconds(p->told, with->job_id, with->start, with->partner_id));
}

int pairs_learn_segment(struct pairs *p, const struct pairs_shared *with, long long now)
{
	const struct pair_told all = {with->seconds, with->degradation * with->seconds};
	struct pair_evidence known = {.runs = 0};
	struct pair_told_key key;
	struct pair_told told;
	struct row *row;
	bool found;
	size_t at;
	int rc;

	if (!good(with))
		return -1;
	at = find_row(p, with->job, with->partner, &found);
	key = key_of(with, found ? p->row[at].number : 0);
	told = pair_told_of(p->told, &key);
	if (found)
		known = p->row[at].known;
	if (!pair_evidence_segment(&known, with->degradation, with->seconds, &told, now))
		return 0;
	rc = pair_told_reserve(p->told, &key, now);
	if (rc < 1)
		return rc;
	row = row_for(p, with);
	if (!row)
		return -1;
	key.pair = row->number;
	pair_told_set(p->told, &key, &all, now);
	set_known(p, row, &known, now);
	return 1;
}

bool pairs_end_run(struct pairs *p, unsigned int job_id, long long start)
{
	return pair_told_end(p->told, job_id, start);
}

int pairs_add_loss(
	struct pairs *p, const char *job, const char *partner, struct imported_loss *loss)
{
	struct row *row;
	double before;
	long long last;
	bool found;
	size_t at = find_row(p, job, partner, &found);

	p->with_trials = true;
	loss->weight = 0;
	if (!found && p->count >= MAX_ROWS)
		return 0;
	row = found ? &p->row[at] : insert_row(p, job, partner);
	if (!row)
		return -1;
	before = row->known.degradation;
	last = row->known.last;
	/* The time of a trial is none of the history's: what jobs have shown does not age by it. */
	loss->weight = pair_evidence_trial(
		&row->known, loss->degradation, imported_loss_seconds(loss), loss->imported);
	if (!(loss->weight > 0))
		return 0;
	p->sum += row->known.degradation - before;
	row->trial_seconds = row->trial_seconds * aged_left(last, row->known.last) + loss->weight;
	row->trials++;
	return 0;
}

/* What is known of a pair at four steps: of the two as they are, then with the class of the
 * partner, of the job, and of both in place of the variants. NULL: nothing, or the step is one
 * before. */
#define STEPS 4
static const struct row *find_near(
	const struct pairs *p, const char *job, const char *partner, int step)
{
	char class[2][PAIRS_CLASS_MAX];
	const char *name[] = {job, partner};
	bool found;
	size_t at;

	for (int i = 0; i < 2; i++) {
		size_t base;

		if (!(step & (i ? 1 : 2)))
			continue;
		base = class_base(name[i]);
		if (!name[i][base] || base >= PAIRS_CLASS_MAX)
			return NULL;
		memcpy(class[i], name[i], base);
		class[i][base] = '\0';
		name[i] = class[i];
	}
	at = find_row(p, name[0], name[1], &found);
	return found ? &p->row[at] : NULL;
}

/* What stripes have shown is not known of whole sockets, which share no last-level cache. */
static int steps_of(const char *job, const char *partner)
{
	return class_of_sockets(job) || class_of_sockets(partner) ? 1 : STEPS;
}

bool pairs_expect(const struct pairs *p, const char *job, const char *partner, double *degradation)
{
	const struct row *row = NULL;
	const int steps = steps_of(job, partner);

	for (int step = 0; !row && step < steps; step++)
		row = find_near(p, job, partner, step);
	if (row)
		*degradation = row->known.degradation;
	return row;
}

bool pairs_certain(
	const struct pairs *p, const char *job, const char *partner, double *low, double *high)
{
	const int steps = steps_of(job, partner);
	bool certain = false;

	for (int step = 0; !certain && step < steps; step++) {
		const struct row *row = find_near(p, job, partner, step);

		certain = row && pair_evidence_certain(&row->known, p->present, low, high);
	}
	return certain;
}

void pairs_each(const struct pairs *p, void (*fn)(const struct pairs_row *, void *), void *arg)
{
	for (size_t i = 0; i < p->count; i++) {
		const struct row *r = &p->row[i];
		const struct pairs_row row = {r->job, r->partner, r->known.degradation,
			pair_evidence_seconds(&r->known, p->present), r->known.runs, r->trials,
			r->trial_seconds * aged_left(r->known.last, p->present)};

		fn(&row, arg);
	}
}

double pairs_mean(const struct pairs *p)
{
	return p->count ? p->sum / p->count : 0;
}

/* The most fields of a line. */
#define FIELDS 9

/* One line of the file. Lines without evidence are of an earlier release. */
static struct row *read_row(struct pairs *p, char *line)
{
	char *field[FIELDS], *end;
	double runs = 0;
	struct pair_evidence known = {.runs = 0};
	struct row *row;
	bool found;
	int count = line_fields(line, field, FIELDS);

	if ((count != 6 && count != FIELDS) || !class_valid(field[0]) || !class_valid(field[1]) ||
		!line_number(field[2], -1, 1, &known.degradation) ||
		!line_number(field[3], 0, INFINITY, &known.seconds) ||
		!line_time(field[5], &known.last))
		return NULL;
	known.count = strtoull(field[4], &end, 10);
	if (*end || end == field[4])
		return NULL;
	if (count == FIELDS &&
		(!line_number(field[6], 0, PAIR_EVIDENCE_RUNS, &runs) || runs != floor(runs) ||
			!line_number(field[7], -1, 1, &known.average) ||
			!line_number(field[8], 0, 1, &known.variance)))
		return NULL;
	known.seconds = fmin(known.seconds, PAIR_EVIDENCE_MEMORY_S);
	known.runs = (int)runs;
	find_row(p, field[0], field[1], &found);
	if (found || !pair_evidence_valid(&known))
		return NULL;
	row = insert_row(p, field[0], field[1]);
	if (!row)
		return NULL;
	known.last_run = known.last;
	row->known = known;
	p->sum += known.degradation;
	return row;
}

/* When the last run of the pair in the line before was, where that is not when it was seen last. */
static bool read_run(struct row *row, char *line)
{
	char *field[FIELDS];
	long long last;

	if (!row || line_fields(line, field, FIELDS) != 2 || !line_time(field[1], &last) ||
		last > row->known.last)
		return false;
	row->known.last_run = last;
	return true;
}

/* The run that is kept aside of the pair in the line before; row: that pair, NULL = it is bad. */
static bool read_odd(struct row *row, char *line)
{
	char *field[FIELDS];
	struct pair_evidence known;

	if (!row || line_fields(line, field, FIELDS) != 4)
		return false;
	known = row->known;
	if (!line_number(field[1], -1, 1, &known.odd) ||
		!line_number(field[2], 0, INFINITY, &known.odd_seconds) ||
		!line_time(field[3], &known.odd_last) || !pair_evidence_valid(&known))
		return false;
	row->known = known;
	return true;
}

/* Where the clock was wrong once, a few rows are ahead of it, and are not to stay so. Where most
 * are ahead, it is the clock that is wrong now, and the rows tell the time. */
static void find_present(struct pairs *p)
{
	const long long now = time(NULL);
	size_t ahead = 0;

	for (size_t i = 0; i < p->count; i++)
		ahead += p->row[i].known.last > now;
	for (size_t i = 0; i < p->count; i++) {
		struct pair_evidence *known = &p->row[i].known;

		if (2 * ahead <= p->count) {
			aged_no_later(&known->last, now);
			aged_no_later(&known->last_run, now);
			aged_no_later(&known->odd_last, now);
		}
		if (known->last > p->present)
			p->present = known->last;
	}
	if (2 * ahead > p->count)
		return;
	job_names_no_later(p->names, now);
	spread_gains_no_later(p->spread, now);
	miss_costs_no_later(p->misses, now);
	pair_told_no_later(p->told, now);
}

static bool begins(const char *line, const char *with)
{
	return !strncmp(line, with, strlen(with));
}

/* Reads a line that is not empty. *row: the pair of the line before, NULL = that was bad; that of
 * this one afterwards. Returns 1, 0 where it is a comment, -1 where it is bad. */
static int read_line(struct pairs *p, struct row **row, char *line)
{
	bool good;

	if (*line != '#')
		good = (*row = read_row(p, line));
	else if (begins(line, ODD))
		good = read_odd(*row, line);
	else if (begins(line, RUN))
		good = read_run(*row, line);
	else if (begins(line, PAIR_TOLD_LINE))
		good = *row && pair_told_read(p->told, (*row)->number, line);
	else if (begins(line, JOB_NAMES_LINE))
		good = job_names_read(p->names, line);
	else if (begins(line, SPREAD_GAIN_LINE))
		good = spread_gains_read(p->spread, line);
	else if (begins(line, MISS_COST_LINE))
		good = miss_costs_read(p->misses, line);
	else
		return 0;
	return good ? 1 : -1;
}

static void read_text(struct pairs *p, char *text, size_t length, struct pairs_lines *lines)
{
	const char *end = text + length;
	struct row *row = NULL;
	int number = 1;

	for (char *line = text, *next; line < end; line = next, number++) {
		size_t size = strcspn(line, "\n");
		int rc;

		next = line + size + 1;
		/* Text ends here, but the file does not. */
		if (line[size] != '\n' && line + size < end) {
			rc = -1;
			next = text + length;
		} else {
			line[size] = '\0';
			if (size && line[size - 1] == '\r')
				line[size - 1] = '\0';
			rc = *line ? read_line(p, &row, line) : 0;
		}
		lines->good += rc > 0;
		lines->bad += rc < 0;
		if (rc < 0 && !lines->first_bad)
			lines->first_bad = number;
	}
}

struct pairs *pairs_read(const char *path, struct pairs_lines *lines, struct errmsg *err)
{
	struct pairs *p = pairs_new();
	size_t length = 0;
	char *text;

	*lines = (struct pairs_lines){.bad = 0};
	if (!p) {
		errmsg_set(err, "out of memory for the pair history");
		return NULL;
	}
	text = fsio_read(path, MAX_FILE, &length, err);
	if (!text && errno != ENOENT) {
		pairs_free(p);
		return NULL;
	}
	if (text)
		read_text(p, text, length, lines);
	free(text);
	find_present(p);
	return p;
}

struct pairs *pairs_load(const char *path, int *bad, struct errmsg *err)
{
	struct pairs_lines lines;
	struct pairs *p = pairs_read(path, &lines, err);

	if (p && bad)
		*bad = lines.bad;
	return p;
}

static void write_row(const struct pairs *p, const struct row *row, FILE *f)
{
	const struct pair_evidence *known = &row->known;

	fprintf(f, "%s\t%s\t%.6g\t%.6g\t%" PRIu64 "\t%lld\t%d\t%.6g\t%.6g\n", row->job,
		row->partner, known->degradation, known->seconds, known->count, known->last,
		known->runs, known->average, known->variance);
	if (known->runs && known->last_run != known->last)
		fprintf(f, RUN "%lld\n", known->last_run);
	if (known->odd_seconds > 0)
		fprintf(f, ODD "%.6g\t%.6g\t%lld\n", known->odd, known->odd_seconds,
			known->odd_last);
	pair_told_write(p->told, row->number, f);
}

static void write_all(const void *pairs, FILE *f)
{
	const struct pairs *p = pairs;

	fputs(HEADER, f);
	for (size_t i = 0; i < p->count; i++)
		write_row(p, &p->row[i], f);
	job_names_write(p->names, f);
	spread_gains_write(p->spread, f);
	miss_costs_write(p->misses, f);
}

int pairs_save(const struct pairs *p, const char *path, struct errmsg *err)
{
	if (p->with_trials)
		return errmsg_set(err, "%s is not to have what trials tell", path);
	return journal_replace_by(path, write_all, p, err);
}

int pairs_batch_read(struct pairs_batch *b, const char *path, struct errmsg *err)
{
	int bad = 0;

	if (b->pairs)
		return 0;
	b->pairs = pairs_load(path, &bad, err);
	if (!b->pairs)
		return -1;
	/* Lines that cannot be read are about to be lost; the history's reader has logged them. */
	if (bad && journal_keep_damaged(path, err)) {
		pairs_batch_forget(b);
		return -1;
	}
	b->changed = bad;
	return 0;
}

static int cannot_enter(const struct pairs_shared *with, struct errmsg *err)
{
	return errmsg_set(err, "cannot enter %s beside %s into the pair history: %s", with->job,
		with->partner, strerror(errno));
}

int pairs_batch_learn(struct pairs_batch *b, const char *path, const struct pairs_shared *with,
	long long now, struct errmsg *err)
{
	if (pairs_batch_read(b, path, err))
		return -1;
	if (pairs_learn_run(b->pairs, with, now))
		return cannot_enter(with, err);
	b->changed = true;
	return 0;
}

int pairs_batch_segment(struct pairs_batch *b, const char *path, const struct pairs_shared *with,
	long long now, struct errmsg *err)
{
	int rc = pairs_batch_read(b, path, err);

	if (rc)
		return rc;
	rc = pairs_learn_segment(b->pairs, with, now);
	if (rc < 0)
		return cannot_enter(with, err);
	b->changed |= rc;
	return 0;
}

int pairs_batch_end(struct pairs_batch *b, const char *path, unsigned int job_id, long long start,
	struct errmsg *err)
{
	int rc = pairs_batch_read(b, path, err);

	if (!rc)
		b->changed |= pairs_end_run(b->pairs, job_id, start);
	return rc;
}

int pairs_batch_ran(struct pairs_batch *b, const char *path, unsigned int uid, const char *job_name,
	const struct job_ran *ran, long long now, struct errmsg *err)
{
	int rc = pairs_batch_read(b, path, err);

	if (rc)
		return rc;
	rc = pairs_ran(b->pairs, uid, job_name, ran, now);
	if (rc < 0)
		return errmsg_set(err,
			"cannot enter what %s of uid %u ran into the pair history: %s", job_name,
			uid, strerror(errno));
	b->changed |= rc;
	return 0;
}

int pairs_batch_spread(struct pairs_batch *b, const char *path, const struct spread_run *run,
	const char *class_name, long long now, struct errmsg *err)
{
	int rc = pairs_batch_read(b, path, err);

	if (rc)
		return rc;
	rc = class_name ? spread_gains_colocated(b->pairs->spread, run, class_name, now)
			: spread_gains_plain(b->pairs->spread, run, now);
	if (rc < 0)
		return errmsg_set(err,
			"cannot enter how long %s of uid %u took into the pair history: %s",
			run->job_name, run->uid, strerror(errno));
	b->changed |= rc;
	return 0;
}

int pairs_batch_miss(struct pairs_batch *b, const char *path, const struct miss_run *run,
	long long now, struct errmsg *err)
{
	int rc = pairs_batch_read(b, path, err);

	if (rc)
		return rc;
	rc = miss_costs_learn(b->pairs->misses, run, now);
	if (rc < 0)
		return errmsg_set(err,
			"cannot enter what a miss costs %s into the pair history: %s",
			run->class_name, strerror(errno));
	b->changed |= rc;
	return 0;
}

int pairs_batch_save(struct pairs_batch *b, const char *path, struct errmsg *err)
{
	if (b->changed && pairs_save(b->pairs, path, err))
		return -1;
	pairs_batch_forget(b);
	return 0;
}

void pairs_batch_forget(struct pairs_batch *b)
{
	pairs_free(b->pairs);
	*b = (struct pairs_batch){.pairs = NULL};
}
