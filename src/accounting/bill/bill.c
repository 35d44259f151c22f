/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Reads sacct's rows and the facts of prices. */
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
#define RESIZING "RESIZING"             /* the state of a row that ended with its job's size */
#define LAST_TIME INT64_C(253402300799) /* of the year 9999 */
#define MAX_COUNT INT64_C(1000000000000000)

/* In the order of BILL_FIELDS. */
enum field {
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

/* Texts that live as long as the list, each in a block of its own. */
struct text_block {
	struct text_block *next;
	char text[];
};

static int fact_real(const char *value, double *out)
{
	struct errmsg why;

	return units_parse_double(value, -1e6, 1e6, out, &why);
}

static int fact_count(const char *value, uint64_t *out)
{
	struct errmsg why;
	int64_t n;

	if (units_parse_int(value, 0, MAX_COUNT, &n, &why))
		return -1;
	*out = (uint64_t)n;
	return 0;
}

/* "0.389..0.413" */
static int fact_interval(const char *value, struct bill_facts *f)
{
	const char *between = strstr(value, "..");
	char low[32];

	if (!between || (size_t)(between - value) >= sizeof(low))
		return -1;
	snprintf(low, sizeof(low), "%.*s", (int)(between - value), value);
	return fact_real(low, &f->lo) || fact_real(between + 2, &f->hi);
}

/* "12,13,+3", or with what each one cost, "12:0.310,13:0.091" */
static int fact_partners(const char *value, struct bill_facts *f)
{
	char copy[512], *save = NULL;

	if ((size_t)snprintf(copy, sizeof(copy), "%s", value) >= sizeof(copy) || !*copy)
		return -1;
	for (char *p = strtok_r(copy, ",", &save); p; p = strtok_r(NULL, ",", &save)) {
		char *cost = strchr(p, ':');
		bool more = *p == '+';
		double lost = NAN;
		struct errmsg why;
		int64_t id;

		if (cost)
			*cost++ = '\0';
		if (units_parse_int(p + more, 1, more ? INT16_MAX : UINT32_MAX, &id, &why) ||
			(cost && fact_real(cost, &lost)))
			return -1;
		if (more || f->partner_count == BILL_MAX_PARTNERS) {
			f->more_partners += more ? (int)id : 1;
			continue;
		}
		f->partner_cost[f->partner_count] = lost;
		f->partner[f->partner_count++] = (uint32_t)id;
	}
	return 0;
}

static int fact_part(const char *value, struct bill_facts *f)
{
	char rest;

	return sscanf(value, "%d/%d%c", &f->with_data, &f->nodes, &rest) == 2 && f->nodes > 0 ? 0
											      : -1;
}

/* "16000:120,8000:30" */
static int fact_sizes(const char *value, struct bill_facts *f)
{
	int n = settlement_sizes_parse(value, f->size);

	f->size_count = n > 0 ? n : 0;
	return n > 0 ? 0 : -1;
}

static int fact_text(const char *value, char *out, size_t size)
{
	return (size_t)snprintf(out, size, "%s", value) < size ? 0 : -1;
}

static int one_fact(const char *key, const char *value, struct bill_facts *f)
{
	uint64_t n;

	if (!strcmp(key, "d"))
		return fact_real(value, &f->degradation);
	if (!strcmp(key, "ci"))
		return fact_interval(value, f);
	if (!strcmp(key, "co"))
		return fact_real(value, &f->co);
	if (!strcmp(key, "dco"))
		return fact_real(value, &f->co_degradation);
	if (!strcmp(key, "stopped"))
		return fact_real(value, &f->stopped);
	if (!strcmp(key, "unmeasured"))
		return fact_real(value, &f->unmeasured);
	if (!strcmp(key, "partners"))
		return fact_partners(value, f);
	if (!strcmp(key, "partial"))
		return fact_part(value, f);
	if (!strcmp(key, "raw"))
		return fact_count(value, &f->raw);
	if (!strcmp(key, "charged"))
		return fact_count(value, &f->charged);
	if (!strcmp(key, "changed"))
		return fact_count(value, &f->changed);
	if (!strcmp(key, "policy"))
		return fact_text(value, f->policy, sizeof(f->policy));
	if (!strcmp(key, "backend"))
		return fact_text(value, f->backend, sizeof(f->backend));
	if (!strcmp(key, "earlier"))
		return fact_sizes(value, f);
	if (!strcmp(key, "spin")) {
		f->spin = true;
		return 0;
	}
	if (!strcmp(key, "nodata"))
		return fact_text(value, f->nodata, sizeof(f->nodata));
	if (strcmp(key, "restart"))
		return 0;
	if (fact_count(value, &n) || n > UINT32_MAX)
		return -1;
	f->restart = (uint32_t)n;
	return 0;
}

int bill_facts_parse(const char *text, struct bill_facts *facts, struct errmsg *err)
{
	struct bill_facts next = {.degradation = NAN,
		.lo = NAN,
		.hi = NAN,
		.co = NAN,
		.co_degradation = NAN,
		.stopped = NAN};
	bool raw = false, charged = false;
	char copy[1024], *save = NULL;

	if (strlen(text) >= sizeof(copy))
		return errmsg_set(err, "a price's facts are longer than %zu bytes", sizeof(copy));
	strcpy(copy, text);
	for (char *fact = strtok_r(copy, " ", &save); fact; fact = strtok_r(NULL, " ", &save)) {
		char *value = strchr(fact, '=');

		if (!value)
			continue;
		*value++ = '\0';
		if (one_fact(fact, value, &next))
			return errmsg_set(
				err, "\"%s=%s\" of a price's facts is malformed", fact, value);
		raw |= !strcmp(fact, "raw");
		charged |= !strcmp(fact, "charged");
	}
	if (!raw || !charged || (isnan(next.degradation) && !*next.nodata))
		return errmsg_set(err, "a price's facts lack %s",
			raw && charged ? "both d= and nodata=" : "raw= or charged=");
	*facts = next;
	return 0;
}

const char *bill_status_name(enum bill_status status)
{
	static const char *const names[] = {
		"not-co-located", "pending", "running", "unsettled", "priced", "no-data"};

	return names[status];
}

uint64_t bill_raw(const struct bill *bill)
{
	bool priced = bill->status == BILL_PRICED || bill->status == BILL_NO_DATA;

	return priced ? bill->facts.raw : bill->billing;
}

static char *keep(struct bills *bills, const char *text)
{
	struct text_block *block = malloc(sizeof(*block) + strlen(text) + 1);

	if (!block)
		return NULL;
	strcpy(block->text, text);
	block->next = bills->texts;
	bills->texts = block;
	return block->text;
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
		return 0; /* "Unknown", "None": it has not come yet */
	tm.tm_year -= 1900;
	tm.tm_mon--;
	v = mktime(&tm);
	return v > 0 && v <= LAST_TIME ? v : 0;
}

/* The billing in "billing=1000,cpu=1,node=1". */
static uint64_t read_billing(const char *tres)
{
	static const char key[] = "billing=";

	for (const char *p = tres; p; p = strchr(p, ',')) {
		p += *p == ',';
		if (!strncmp(p, key, sizeof(key) - 1) && isdigit((unsigned char)p[sizeof(key) - 1]))
			return strtoull(p + sizeof(key) - 1, NULL, 10);
	}
	return 0;
}

/* The class of "stripe,class:weather", or NULL. */
static char *read_class(struct bills *bills, char *option)
{
	static const char key[] = "class:";

	for (const char *p = option; p; p = strchr(p, ',')) {
		p += *p == ',';
		if (!strncmp(p, key, sizeof(key) - 1)) {
			char *name = keep(bills, p + sizeof(key) - 1);

			if (name)
				name[strcspn(name, ", ")] = '\0';
			return name;
		}
	}
	return NULL;
}

static bool begins(const char *text, const char *start)
{
	return !strncmp(text, start, strlen(start));
}

static enum bill_status status_of(const struct bill *b, bool priced)
{
	if (priced)
		return *b->facts.nodata ? BILL_NO_DATA : BILL_PRICED;
	if (!b->option)
		return BILL_PLAIN;
	if (begins(b->state, "PENDING") || begins(b->state, "REQUEUE_HOLD"))
		return BILL_PENDING;
	if (begins(b->state, "RUNNING") || begins(b->state, "SUSPENDED"))
		return BILL_RUNNING;
	return BILL_UNSETTLED;
}

/* What SystemComment tells. */
static int read_comment(
	struct bills *bills, struct bill *b, const char *comment, struct errmsg *err)
{
	char *option = tags_get(comment, OPTION_TAG), *price = tags_get(comment, PRICE_TAG), *class;
	int rc = price ? bill_facts_parse(price, &b->facts, err) : 0;

	b->option = option ? keep(bills, option) : price ? "" : NULL;
	b->price = price && !rc ? keep(bills, price) : NULL;
	class = option ? read_class(bills, option) : NULL;
	if (class && *class)
		b->program = class;
	b->status = status_of(b, price && !rc);
	free(option);
	free(price);
	return rc;
}

/* A row of which every field is there; field[] is modified. */
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
	b->billing = read_billing(field[F_TRES]);
	if (units_parse_double(field[F_ENERGY], 1, 1e18, &b->energy_j, &why))
		b->energy_j = NAN;
	if (read_comment(bills, b, field[F_COMMENT], &why))
		return errmsg_set(err, "job %s: SystemComment: %s", b->id, why.text);
	return 0;
}

/* Splits at the delimiter; the rest of the line is the last field. How many there are. */
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

/* What stands between the names of the header line. */
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

	if (n == 1 && bills->count) {
		/* A job's name may hold a newline; sacct prints it as it is. */
		return 0;
	}
	if (!(bills->count & (bills->count - 1))) {
		struct bill *bigger = reallocarray(
			bills->bill, bills->count ? 2 * (size_t)bills->count : 1, sizeof(*bigger));

		if (!bigger)
			return -1;
		bills->bill = bigger;
	}
	if (n < FIELDS)
		errmsg_set(&why, "%d fields instead of %d", n, FIELDS);
	if (!*why.text && !read_row(bills, field, &bills->bill[bills->count], &why)) {
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

/* The row of the size that ended then, or NULL. */
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
 * slurmdbd has a row for each size of a resized job, which the last one's price tells of. That one
 * begins with its size, or, after "scontrol update" in Slurm 22.05, with the run.
 */
static void tell_of_sizes(struct bills *bills, struct bill *last)
{
	const struct bill_facts *f = &last->facts;
	int64_t end, all = 0;

	for (int n = 0; n < f->size_count; n++)
		all += f->size[n].seconds;
	if (!row_of_size(bills, last, last->start + f->size[0].seconds) &&
		row_of_size(bills, last, last->start - all + f->size[0].seconds))
		last->run_start -= all;
	end = last->run_start;
	for (int n = 0; n < f->size_count; n++) {
		struct bill *b = row_of_size(bills, last, end += f->size[n].seconds);

		if (!b)
			continue;
		b->facts = *f;
		b->facts.raw = f->size[n].raw;
		b->facts.charged = settlement_share(f->size[n].raw, f->charged, f->raw);
		b->facts.size_count = 0;
		b->option = last->option;
		b->program = last->program;
		b->status = last->status;
		b->run_start = last->run_start;
	}
}

/* A comment that slurmdbd has put into the rows of all sizes is about the last one. */
static void tell_sizes_apart(struct bills *bills)
{
	for (int i = 0; i < bills->count; i++) {
		struct bill *b = &bills->bill[i];

		if (!begins(b->state, RESIZING))
			continue;
		b->earlier_size = true;
		b->price = NULL;
		b->status = BILL_PLAIN;
		b->facts.size_count = 0;
	}
	for (int i = 0; i < bills->count; i++)
		if (bills->bill[i].facts.size_count)
			tell_of_sizes(bills, &bills->bill[i]);
}

int bills_read(char *text, struct bills *bills, struct errmsg *err)
{
	struct text_block *block = malloc(sizeof(*block) + strlen(text) + 1);
	char delimiter[64], *line, *next;
	int rc = 0, number = 1;

	memset(bills, 0, sizeof(*bills));
	if (!block) {
		free(text);
		return errmsg_set(err, "out of memory");
	}
	strcpy(block->text, text);
	block->next = NULL;
	bills->texts = block;
	free(text);
	line = block->text;
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
	if (rc || order(bills)) {
		bills_free(bills);
		return errmsg_set(err, "out of memory");
	}
	tell_sizes_apart(bills);
	return 0;
}

void bills_free(struct bills *bills)
{
	for (struct text_block *b = bills->texts, *next; b; b = next) {
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
