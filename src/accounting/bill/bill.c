/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Reads sacct's rows, and the facts about prices in their comments. */
#include "accounting/bill/bill.h"

#include <ctype.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "common/printable.h"
#include "common/tags.h"
#include "common/units.h"

#define OPTION_TAG "colocate"
#define PRICE_TAG "poppa"
#define APART_TAG "poppa-apart"
#define RESIZING "RESIZING"             /* the state of a row whose job went on with another size */
#define LAST_TIME INT64_C(253402300799) /* of the year 9999 */
#define MAX_COUNT INT64_C(1000000000000000)

/* The fields of a row, in the order of BILL_FIELDS. */
enum bill_column {
	F_JOB_RAW,
	F_JOB,
	F_CLUSTER,
	F_USER,
	F_ACCOUNT,
	F_PARTITION,
	F_QOS,
	F_STATE,
	F_SUBMIT,
	F_START,
	F_END,
	F_ELAPSED,
	F_TRES,
	F_ENERGY,
	F_COMMENT,
	F_NAME,
	FIELDS
};

/* A text or a settlement that lives as long as the list. */
struct block {
	struct block *next;
	max_align_t data[];
};

int bill_facts_parse(const char *text, struct settlement *facts, struct errmsg *err)
{
	struct settlement next;

	settlement_clear(&next);
	next.raw = next.charged = UINT64_MAX;
	if (settlement_read_comment(text, &next, err))
		return -1;
	if (next.raw == UINT64_MAX || next.charged == UINT64_MAX)
		return errmsg_set(err, "a price's facts lack raw= or charged=");
	if (isnan(next.degradation) && !*next.nodata)
		return errmsg_set(err, "a price's facts lack both d= and nodata=");
	/* Sums of these prices times seconds must not overflow. */
	if (next.raw > MAX_COUNT || next.charged > MAX_COUNT)
		return errmsg_set(err, "\"%s=%llu\" of a price's facts is malformed",
			next.raw > MAX_COUNT ? "raw" : "charged",
			(unsigned long long)(next.raw > MAX_COUNT ? next.raw : next.charged));
	*facts = next;
	return 0;
}

const char *bill_status_name(enum bill_status status)
{
	static const char *const names[] = {"not-co-located", "pending", "running", "unsettled",
		"priced", "no-data", "never-started"};

	return names[status];
}

uint64_t bill_raw(const struct bill *bill)
{
	bool priced = bill->status == BILL_PRICED || bill->status == BILL_NO_DATA;

	return priced ? bill->facts->raw : bill->billing;
}

/* A copy of size bytes that lives as long as the list, or NULL without memory. */
static void *keep(struct bills *bills, const void *data, size_t size)
{
	struct block *block = malloc(sizeof(*block) + size);

	if (!block)
		return NULL;
	memcpy(block->data, data, size);
	block->next = bills->kept;
	bills->kept = block;
	return block->data;
}

static char *keep_text(struct bills *bills, const char *text)
{
	return keep(bills, text, strlen(text) + 1);
}

static int64_t read_time(const char *text)
{
	struct tm tm = {.tm_isdst = -1};
	struct errmsg why;
	int64_t v;

	if (!units_parse_int(text, 0, LAST_TIME, &v, &why))
		return v;
	if (sscanf(text, "%d-%d-%dT%d:%d:%d", &tm.tm_year, &tm.tm_mon, &tm.tm_mday, &tm.tm_hour,
		    &tm.tm_min, &tm.tm_sec) != 6)
		return 0; /* "Unknown", "None": the time has not come yet */
	tm.tm_year -= 1900;
	tm.tm_mon--;
	v = mktime(&tm);
	return v > 0 && v <= LAST_TIME ? v : 0;
}

static bool begins(const char *text, const char *start)
{
	return !strncmp(text, start, strlen(start));
}

/* What follows the key in the first item of a comma list that begins with it, or NULL. */
static const char *after_key(const char *list, const char *key)
{
	for (const char *p = list; p; p = strchr(p, ',')) {
		p += *p == ',';
		if (begins(p, key))
			return p + strlen(key);
	}
	return NULL;
}

/* The count behind a key in "billing=1000,cpu=1,node=1"; 0 = unknown. */
static uint64_t read_tres(const char *tres, const char *key, uint64_t most)
{
	const char *count = after_key(tres, key);
	uint64_t v = count && isdigit((unsigned char)*count) ? strtoull(count, NULL, 10) : 0;

	return v <= most ? v : 0;
}

/* The class of "stripe,class:weather", or NULL. */
static char *read_class(struct bills *bills, const char *option)
{
	const char *class = after_key(option, "class:");
	char *name = class ? keep_text(bills, class) : NULL;

	if (name)
		name[strcspn(name, ", ")] = '\0';
	return name;
}

static enum bill_status status_of(const struct bill *b, bool priced)
{
	if (priced)
		return *b->facts->nodata ? BILL_NO_DATA : BILL_PRICED;
	if (!b->option)
		return BILL_PLAIN;
	if (begins(b->state, "PENDING") || begins(b->state, "REQUEUE_HOLD"))
		return BILL_PENDING;
	if (begins(b->state, "RUNNING") || begins(b->state, "SUSPENDED"))
		return BILL_RUNNING;
	return b->never_started ? BILL_NEVER : BILL_UNSETTLED;
}

/* Fills in what SystemComment says. 0, or -1 with err. */
static int read_comment(
	struct bills *bills, struct bill *b, const char *comment, struct errmsg *err)
{
	char *option = tags_get(comment, OPTION_TAG), *price = tags_get(comment, PRICE_TAG);
	char *apart = tags_get(comment, APART_TAG), *class;
	struct settlement facts;
	int rc = price ? bill_facts_parse(price, &facts, err) : 0;

	b->option = option ? keep_text(bills, option) : price ? "" : NULL;
	b->apart = apart ? keep_text(bills, apart) : "";
	b->facts = price && !rc ? keep(bills, &facts, sizeof(facts)) : bills->no_facts;
	if (!b->facts || !b->apart)
		rc = errmsg_set(err, "out of memory");
	b->price = price && !rc ? b->facts->text : NULL;
	class = option ? read_class(bills, option) : NULL;
	if (class && *class)
		b->program = class;
	b->status = status_of(b, price && !rc);
	free(option);
	free(price);
	free(apart);
	return rc;
}

/* Reads a row that has all of its fields; modifies field[]. 0, or -1 with err. */
static int read_row(struct bills *bills, char **field, struct bill *b, struct errmsg *err)
{
	struct errmsg why;
	int64_t n;

	for (int i = 0; i < FIELDS; i++)
		plain_text(field[i]);
	memset(b, 0, sizeof(*b));
	if (units_parse_int(field[F_JOB_RAW], 1, UINT32_MAX, &n, &why))
		return errmsg_set(err, "JobIDRaw: %s", why.text);
	b->job_id = (uint32_t)n;
	if (units_parse_int(field[F_ELAPSED], 0, MAX_COUNT, &b->elapsed_s, &why))
		return errmsg_set(err, "job %u: ElapsedRaw: %s", b->job_id, why.text);
	b->id = field[F_JOB];
	b->cluster = field[F_CLUSTER];
	b->user = field[F_USER];
	b->account = field[F_ACCOUNT];
	b->partition = field[F_PARTITION];
	b->qos = field[F_QOS];
	b->name = b->program = field[F_NAME];
	/* "CANCELLED by 1000" */
	field[F_STATE][strcspn(field[F_STATE], " ")] = '\0';
	b->state = field[F_STATE];
	b->submit = read_time(field[F_SUBMIT]);
	b->start = read_time(field[F_START]);
	b->end = read_time(field[F_END]);
	b->run_start = b->start;
	b->billing = b->billing_now = read_tres(field[F_TRES], "billing=", UINT64_MAX);
	b->cpus = (uint32_t)read_tres(field[F_TRES], "cpu=", UINT32_MAX);
	b->nodes = (uint32_t)read_tres(field[F_TRES], "node=", UINT32_MAX);
	/* Slurm may give a job that was cancelled before it started the TRES that it asked for, and
	 * a start: that of its end. It never gives it nodes. */
	b->never_started =
		b->end && !b->elapsed_s && (!b->start || !after_key(field[F_TRES], "node="));
	if (units_parse_double(field[F_ENERGY], 1, 1e18, &b->energy_j, &why))
		b->energy_j = NAN;
	if (read_comment(bills, b, field[F_COMMENT], &why))
		return errmsg_set(err, "job %s: SystemComment: %s", b->id, why.text);
	return 0;
}

/* Splits a line at the delimiter; the last field has the rest. Returns the number of fields. */
static int split(char *line, const char *delimiter, char **field)
{
	int n = 0;

	for (field[n++] = line; n < FIELDS; n++) {
		char *at = strstr(field[n - 1], delimiter);

		if (!at)
			break;
		*at = '\0';
		field[n] = at + strlen(delimiter);
	}
	return n;
}

/* Checks the header line and finds the delimiter between its names. 0, or -1. */
static int read_header(const char *line, char *delimiter, size_t size)
{
	static const char names[] = BILL_FIELDS;
	const char *first = strchr(names, ','), *p = line + (first - names), *second;

	if (strncmp(line, names, (size_t)(first - names)))
		return -1;
	second = strstr(p, "JobID");
	if (!second || second == p || (size_t)(second - p) >= size)
		return -1;
	snprintf(delimiter, size, "%.*s", (int)(second - p), p);
	for (const char *name = names; *name;) {
		size_t len = strcspn(name, ",");

		if (strncmp(line, name, len))
			return -1;
		line += len;
		name += len + (name[len] == ',');
		if (*name && strncmp(line, delimiter, strlen(delimiter)))
			return -1;
		line += *name ? strlen(delimiter) : 0;
	}
	return *line ? -1 : 0;
}

static int add_row(struct bills *bills, char *line, const char *delimiter, int number)
{
	struct errmsg why = {""};
	char *field[FIELDS];
	int n = split(line, delimiter, field);

	/* A job's name may hold a newline; sacct prints it as it is. */
	if (n == 1 && bills->count)
		return 0;
	if (!(bills->count & (bills->count - 1))) {
		struct bill *bigger = reallocarray(
			bills->bill, bills->count ? 2 * (size_t)bills->count : 1, sizeof(*bigger));

		if (!bigger)
			return -1;
		bills->bill = bigger;
	}
	if (n < FIELDS) {
		errmsg_set(&why, "%d fields instead of %d", n, FIELDS);
	} else if (!read_row(bills, field, &bills->bill[bills->count], &why)) {
		bills->count++;
		return 0;
	}
	if (!bills->malformed++)
		errmsg_set(&bills->first, "line %d: %.400s", number, why.text);
	return 0;
}

static int compare_ids(const void *a, const void *b)
{
	const struct bill *x = *(const struct bill *const *)a, *y = *(const struct bill *const *)b;

	return x->job_id != y->job_id ? (x->job_id > y->job_id) - (x->job_id < y->job_id)
				      : (x > y) - (x < y);
}

static int order(struct bills *bills)
{
	bills->by_id = calloc((size_t)bills->count + 1, sizeof(*bills->by_id));
	if (!bills->by_id)
		return -1;
	for (int i = 0; i < bills->count; i++)
		bills->by_id[i] = &bills->bill[i];
	qsort(bills->by_id, (size_t)bills->count, sizeof(*bills->by_id), compare_ids);
	return 0;
}

/* Where the rows of a job id begin in by_id. */
static int first_of_id(const struct bills *bills, uint32_t job_id)
{
	int low = 0, high = bills->count;

	while (low < high) {
		int middle = low + (high - low) / 2;

		if (bills->by_id[middle]->job_id < job_id)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

/* The row of the earlier size that ended at that time, or NULL. */
static struct bill *row_of_size(struct bills *bills, const struct bill *last, int64_t end)
{
	for (int i = first_of_id(bills, last->job_id);
		i < bills->count && bills->by_id[i]->job_id == last->job_id; i++) {
		const struct bill *b = bills->by_id[i];

		if (b->earlier_size && b->end == end && !strcmp(b->cluster, last->cluster))
			return &bills->bill[b - bills->bill];
	}
	return NULL;
}

/*
 * Gives the rows of a resized job's earlier sizes their shares of its price. slurmdbd has a row for
 * each size, and the last row's comment has the facts of all. The last row begins when its size
 * began or when the run began: slurmdbd has rows of both kinds. 0, or -1 without memory.
 */
static int tell_of_sizes(struct bills *bills, struct bill *last)
{
	const struct settlement *f = last->facts;
	int64_t end, all = settlement_earlier_s(f);

	if (!row_of_size(bills, last, last->start + f->size[0].seconds) &&
		row_of_size(bills, last, last->start - all + f->size[0].seconds))
		last->run_start -= all;
	end = last->run_start;
	for (int n = 0; n < f->size_count; n++) {
		struct bill *b = row_of_size(bills, last, end += f->size[n].seconds);
		struct settlement *facts = b ? keep(bills, f, sizeof(*f)) : NULL;

		if (!b)
			continue;
		if (!facts)
			return -1;
		facts->raw = f->size[n].raw;
		facts->charged = settlement_share(f->size[n].raw, f->charged, f->raw);
		facts->size_count = 0;
		b->facts = facts;
		b->last = last;
		b->option = last->option;
		b->program = last->program;
		b->status = last->status;
		b->run_start = last->run_start;
	}
	return 0;
}

/* Tells the sizes of resized jobs apart. slurmdbd may put the comment, which is of the last size,
 * into the rows of all sizes. 0, or -1 without memory. */
static int tell_sizes_apart(struct bills *bills)
{
	for (int i = 0; i < bills->count; i++) {
		struct bill *b = &bills->bill[i];

		if (!begins(b->state, RESIZING))
			continue;
		b->earlier_size = true;
		b->price = NULL;
		b->status = BILL_PLAIN;
		b->facts = bills->no_facts;
	}
	for (int i = 0; i < bills->count; i++) {
		struct bill *b = &bills->bill[i];

		if (!b->earlier_size && b->facts->size_count && tell_of_sizes(bills, b))
			return -1;
	}
	return 0;
}

int bills_read(char *text, struct bills *bills, struct errmsg *err)
{
	char delimiter[64], *line, *next;
	struct settlement none;
	int rc = 0, number = 1;

	memset(bills, 0, sizeof(*bills));
	settlement_clear(&none);
	bills->no_facts = keep(bills, &none, sizeof(none));
	line = keep_text(bills, text);
	free(text);
	if (!line || !bills->no_facts) {
		bills_free(bills);
		return errmsg_set(err, "out of memory");
	}
	next = strchr(line, '\n');
	if (next)
		*next++ = '\0';
	if (read_header(line, delimiter, sizeof(delimiter))) {
		bills_free(bills);
		return errmsg_set(
			err, "there is no header line of \"sacct -X -P -o %s\"", BILL_FIELDS);
	}
	for (line = next; !rc && line && *line; line = next) {
		next = strchr(line, '\n');
		if (next)
			*next++ = '\0';
		rc = add_row(bills, line, delimiter, ++number);
	}
	if (rc || order(bills) || tell_sizes_apart(bills)) {
		bills_free(bills);
		return errmsg_set(err, "out of memory");
	}
	return 0;
}

void bills_free(struct bills *bills)
{
	for (struct block *b = bills->kept, *next; b; b = next) {
		next = b->next;
		free(b);
	}
	free(bills->bill);
	free(bills->by_id);
	memset(bills, 0, sizeof(*bills));
}

const struct bill *bills_partner(
	const struct bills *bills, const struct bill *bill, uint32_t partner)
{
	for (int i = first_of_id(bills, partner);
		i < bills->count && bills->by_id[i]->job_id == partner; i++) {
		const struct bill *b = bills->by_id[i];

		if (b->start < bill->end && (!b->end || b->end > bill->start) &&
			!strcmp(b->cluster, bill->cluster))
			return b;
	}
	return NULL;
}

bool bill_has_one_partner(const struct bill *b)
{
	return b->status == BILL_PRICED && b->facts->partner_count == 1 &&
	       !b->facts->more_partners && b->facts->co > 0;
}

const struct bill *bills_only_partner(const struct bills *bills, const struct bill *bill)
{
	const struct bill *p = bill_has_one_partner(bill)
				       ? bills_partner(bills, bill, bill->facts->partner[0])
				       : NULL;

	if (!p || p->job_id == bill->job_id || !bill_has_one_partner(p) ||
		p->facts->partner[0] != bill->job_id)
		return NULL;
	return p;
}

bool bills_later_colocated(const struct bills *bills, const struct bill *bill)
{
	for (int i = first_of_id(bills, bill->job_id);
		i < bills->count && bills->by_id[i]->job_id == bill->job_id; i++) {
		const struct bill *b = bills->by_id[i];

		if (b->start > bill->start && b->option && !strcmp(b->cluster, bill->cluster))
			return true;
	}
	return false;
}

json_t *bill_price_json(const struct bill *b, enum settlement_form form)
{
	json_t *json = settlement_show(b->facts, form);

	/* A report shows the stopped time only where there is a degradation. */
	if (b->status != BILL_PRICED)
		json_object_set_new(json, "stopped", json_null());
	return json;
}
