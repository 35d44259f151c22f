/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The table of a settlement's fields, and the forms that it makes. */
#include "accounting/record/settlement.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "common/text_append.h"
#include "common/units.h"

#define MAX_FIELDS 64
#define MAX_REAL 1e6 /* largest real number in a comment */

static int read_real(const char *value, double *out)
{
	struct errmsg why;

	return units_parse_double(value, -MAX_REAL, MAX_REAL, out, &why);
}

/* Avoids "-0.0000", which looks like an error. */
static double tidy(double v)
{
	return fabs(v) < 0.00005 ? 0 : v;
}

/* "0.389..0.413" */
static void write_interval(const struct settlement *s, char *value, size_t size)
{
	if (!isnan(s->hi))
		snprintf(value, size, "%.3f..%.3f", tidy(s->lo), tidy(s->hi));
}

static int read_interval(char *value, struct settlement *s)
{
	char *between = strstr(value, "..");

	if (!between)
		return -1;
	*between = '\0';
	return read_real(value, &s->lo) || read_real(between + 2, &s->hi) ? -1 : 0;
}

static json_t *show_interval(const struct settlement *s)
{
	return isnan(s->hi)
		       ? json_null()
		       : json_pack("[o, o]", field_real_or_null(s->lo), field_real_or_null(s->hi));
}

/* "12,13,+3"; with the cost of each partner "12:0.310,13:0.091" */
static void write_partners(const struct settlement *s, char *value, size_t size)
{
	for (int i = 0; i < s->partner_count; i++) {
		text_append(value, size, "%s%u", i ? "," : "", s->partner[i]);
		if (!isnan(s->partner_cost[i]))
			text_append(value, size, ":%.3f", s->partner_cost[i]);
	}
	if (s->more_partners)
		text_append(value, size, ",+%d", s->more_partners);
}

static int read_partners(char *value, struct settlement *s)
{
	char *save = NULL;

	s->partner_count = s->more_partners = 0;
	for (char *p = strtok_r(value, ",", &save); p; p = strtok_r(NULL, ",", &save)) {
		char *cost = strchr(p, ':');
		bool more = *p == '+';
		double lost = NAN;
		struct errmsg why;
		int64_t id;

		if (cost)
			*cost++ = '\0';
		if (units_parse_int(p + more, 1, more ? INT16_MAX : UINT32_MAX, &id, &why) ||
			(cost && read_real(cost, &lost)))
			return -1;
		if (more || s->partner_count == SETTLEMENT_MAX_PARTNERS) {
			s->more_partners += more ? (int)id : 1;
			continue;
		}
		s->partner_cost[s->partner_count] = lost;
		s->partner[s->partner_count++] = (uint32_t)id;
	}
	return s->partner_count || s->more_partners ? 0 : -1;
}

/* What each partner cost; an empty list where no cost is known. */
static json_t *show_costs(const struct settlement *s)
{
	json_t *list = json_array();
	bool known = false;

	for (int i = 0; list && i < s->partner_count; i++) {
		json_array_append_new(list, field_real_or_null(s->partner_cost[i]));
		known |= !isnan(s->partner_cost[i]);
	}
	if (!known)
		json_array_clear(list);
	return list;
}

/* "16000:120,8000:30" */
static void write_sizes(const struct settlement *s, char *value, size_t size)
{
	for (int i = 0; i < s->size_count; i++)
		text_append(value, size, "%s%llu:%lld", i ? "," : "",
			(unsigned long long)s->size[i].raw, (long long)s->size[i].seconds);
}

static int read_sizes(char *value, struct settlement *s)
{
	char *save = NULL;

	s->size_count = 0;
	for (char *p = strtok_r(value, ",", &save); p; p = strtok_r(NULL, ",", &save)) {
		struct settlement_size *size = &s->size[s->size_count];
		char *colon = strchr(p, ':');
		struct errmsg why;
		int64_t raw;

		if (!colon || s->size_count++ == SETTLEMENT_MAX_SIZES)
			return -1;
		*colon = '\0';
		if (units_parse_int(p, 0, INT64_MAX, &raw, &why) ||
			units_parse_int(colon + 1, 1, INT32_MAX, &size->seconds, &why))
			return -1;
		size->raw = (uint64_t)raw;
	}
	return s->size_count ? 0 : -1;
}

/* "3/4" */
static void write_partial(const struct settlement *s, char *value, size_t size)
{
	if (s->nodes)
		snprintf(value, size, "%d/%d", s->with_data, s->nodes);
}

static int read_partial(char *value, struct settlement *s)
{
	char rest;

	return sscanf(value, "%d/%d%c", &s->with_data, &s->nodes, &rest) == 2 && s->nodes > 0 ? 0
											      : -1;
}

static json_t *show_nodata(const struct settlement *s)
{
	return *s->nodata ? json_string(s->nodata) : json_null();
}

static json_t *known(int64_t v)
{
	return v ? json_integer(v) : json_null();
}

static json_t *show_culprit(const struct settlement *s)
{
	return known(s->culprit);
}

/* Comments do not have the next two; only the ledger has them. */
static json_t *show_version(const struct settlement *s)
{
	return known(s->version);
}

static json_t *show_settled(const struct settlement *s)
{
	return known(s->settled_unix);
}

#define AT(member) FIELD_AT(struct settlement, member)
#define LIST(member) FIELD_LIST(struct settlement, member)
#define COUNT_AT(member) .count = offsetof(struct settlement, member)
#define SIZES(member)                                                                              \
	.offset = offsetof(struct settlement, size[0].member), .size = sizeof(int64_t),            \
	.step = sizeof(struct settlement_size), .room = SETTLEMENT_MAX_SIZES, COUNT_AT(size_count)
#define FORMS(...)                                                                                 \
	.forms = &(const struct settlement_forms)                                                  \
	{                                                                                          \
		__VA_ARGS__                                                                        \
	}
#define COMMENT(...) .in[SETTLEMENT_COMMENT] = {__VA_ARGS__}
#define WHY(...) .in[SETTLEMENT_WHY] = {__VA_ARGS__}
#define REPORT(key) .in[SETTLEMENT_REPORT] = {key, 0}
#define CSV(key) .in[SETTLEMENT_CSV] = {key, 0}

/* clang-format off: one row a field */
static const struct field fields[] = {
	{"cluster", FIELD_TEXT, AT(cluster), .column = FIELD_KEY},
	{"job", FIELD_INT, AT(job_id), .min = 1, .max = UINT32_MAX, .column = FIELD_KEY},
	{"restart", FIELD_INT, AT(restart), .max = UINT32_MAX, .column = FIELD_KEY,
		FORMS(COMMENT("restart", 2))},
	{"start", FIELD_INT, AT(start_unix), .min = 1, .max = INT64_MAX, .column = FIELD_KEY},
	{"end", FIELD_INT, AT(end_unix), .min = 1, .max = INT64_MAX, .column = FIELD_FIXED,
		.column_name = "finish"},
	{"uid", FIELD_INT, AT(uid), .max = UINT32_MAX, .column = FIELD_FIXED},
	{"settled", FIELD_INT, AT(settled_unix), .min = 1, .max = INT64_MAX,
		FORMS(WHY("settled", 1), .show = show_settled)},
	{"raw", FIELD_INT, AT(raw), .max = INT64_MAX, .column = FIELD_FIXED,
		FORMS(COMMENT("raw", 1), .zero = true, WHY("raw", -1))},
	{"charged", FIELD_INT, AT(charged), .max = INT64_MAX, .column = FIELD_FIXED,
		FORMS(COMMENT("charged", 1), .zero = true, WHY("charged", -1))},
	{"degradation", FIELD_REAL, AT(degradation),
		FORMS(COMMENT("d", 0), .digits = 4, WHY("degradation", 0), REPORT("degradation"),
			CSV("degradation"))},
	{"lo", FIELD_REAL, AT(lo), FORMS(CSV("ci_low"))},
	{"hi", FIELD_REAL, AT(hi), FORMS(CSV("ci_high"))},
	{FORMS(COMMENT("ci", 0), .write = write_interval, .read = read_interval, WHY("ci95", 0),
		REPORT("ci95"), .show = show_interval)},
	{NULL, FIELD_REAL, AT(co),
		FORMS(COMMENT("co", 0), .digits = 2, WHY("co", 0), REPORT("co"), CSV("co"))},
	{NULL, FIELD_REAL, AT(co_degradation),
		FORMS(COMMENT("dco", 0), .digits = 4, WHY("co_degradation", 0))},
	{"stopped", FIELD_REAL, AT(stopped),
		FORMS(COMMENT("stopped", 0), .digits = 4, WHY("stopped", 0), REPORT("stopped"),
			CSV("stopped"))},
	{NULL, FIELD_REAL, AT(turned), FORMS(COMMENT("turned", 0), .digits = 4, WHY("turned", 0))},
	{NULL, FIELD_INT, LIST(partner), .min = 1, .max = UINT32_MAX, COUNT_AT(partner_count),
		FORMS(COMMENT("partners", 0), .write = write_partners, .read = read_partners,
			WHY("partners", 0), REPORT("partners"), CSV("partners"))},
	{NULL, FIELD_REAL, LIST(partner_cost), COUNT_AT(partner_count),
		FORMS(WHY("partner_costs", 0), .show = show_costs)},
	{NULL, FIELD_INT, AT(more_partners), .max = INT16_MAX, FORMS(WHY("more_partners", 0))},
	{"policy", FIELD_TEXT, AT(policy),
		FORMS(COMMENT("policy", 1), WHY("policy", -1), REPORT("policy"), CSV("policy"))},
	{"version", FIELD_INT, AT(version), .min = 1, .max = INT32_MAX,
		FORMS(WHY("version", -1), .show = show_version)},
	{"text", FIELD_TEXT, AT(text)},
	{NULL, FIELD_INT, SIZES(raw), .max = INT64_MAX,
		FORMS(COMMENT("earlier", 1), .write = write_sizes, .read = read_sizes)},
	{NULL, FIELD_INT, SIZES(seconds), .min = 1, .max = INT32_MAX},
	{NULL, FIELD_TEXT, AT(backend), FORMS(COMMENT("backend", 1), WHY("backend", 0))},
	{NULL, FIELD_INT, AT(with_data), .max = INT32_MAX,
		FORMS(COMMENT("partial", 1), .write = write_partial, .read = read_partial)},
	{NULL, FIELD_INT, AT(nodes), .min = 1, .max = INT32_MAX},
	{NULL, FIELD_REAL, AT(unmeasured), FORMS(COMMENT("unmeasured", 1), .digits = 2)},
	{NULL, FIELD_INT, AT(culprit), .min = 1, .max = UINT32_MAX,
		FORMS(COMMENT("culprit", 1), WHY("culprit", 0), .show = show_culprit)},
	{NULL, FIELD_BOOL, AT(spin),
		FORMS(COMMENT("spin", 1), .word = "suspected", WHY("spin", 0))},
	{NULL, FIELD_TEXT, AT(nodata),
		FORMS(COMMENT("nodata", -1), WHY("nodata", 0), REPORT("nodata"), CSV("nodata"),
			.show = show_nodata)},
	{NULL, FIELD_INT, AT(extended), .max = INT32_MAX,
		FORMS(COMMENT("extended", 1), WHY("extended", 0))},
	{NULL, FIELD_TEXT, AT(bound), FORMS(COMMENT("bound", 1), WHY("bound", 0))},
	{"changes", FIELD_INT, AT(changes), .max = INT32_MAX, .optional = true,
		FORMS(COMMENT("changed", 2))},
	{"class", FIELD_TEXT, AT(class_name), .optional = true},
};
/* clang-format on */

const struct field_table settlement_fields = {
	"settlement", fields, sizeof(fields) / sizeof(fields[0])};
_Static_assert(sizeof(fields) / sizeof(fields[0]) <= MAX_FIELDS, "MAX_FIELDS is too small");

static const struct settlement_forms *forms_of(const struct field *f)
{
	return f->forms;
}

int settlement_form_fields(enum settlement_form form, const struct field **list)
{
	int n = 0;

	for (int rank = -1; rank <= 2; rank++)
		for (size_t i = 0; i < settlement_fields.count; i++) {
			const struct settlement_forms *forms = forms_of(&fields[i]);

			if (forms && forms->in[form].key && forms->in[form].rank == rank)
				list[n++] = &fields[i];
		}
	return n;
}

void settlement_clear(struct settlement *s)
{
	memset(s, 0, sizeof(*s));
	for (const struct field *f = fields; f < fields + settlement_fields.count; f++)
		for (size_t i = 0; f->type == FIELD_REAL && i < (f->room ? f->room : 1); i++)
			*(double *)((char *)s + f->offset + i * f->size) = NAN;
}

json_t *settlement_to_json(const struct settlement *s)
{
	return fields_to_json(&settlement_fields, s);
}

int settlement_from_json(const json_t *json, struct settlement *s, struct errmsg *err)
{
	const char *text = json_string_value(json_object_get(json, "text"));
	struct errmsg why = {""};
	struct settlement next;

	settlement_clear(&next);
	if (text && settlement_read_comment(text, &next, &why))
		return errmsg_set(err, "settlement: \"text\": %s", why.text);
	/* JSON leaves out a number of changes that is 0, so the comment's must not stay. Its reals
	 * have more digits than the comment's and replace them. */
	next.changes = 0;
	if (fields_from_json(&settlement_fields, json, &next, err))
		return -1;
	if (next.charged > next.raw)
		return errmsg_set(err, "settlement: \"charged\" is more than \"raw\"");
	*s = next;
	return 0;
}

/* Writes the value of a fact, "" where it is unknown, false or empty. */
static void write_value(const struct field *f, const struct settlement *s, char *value, size_t size)
{
	const struct settlement_forms *forms = forms_of(f);
	const char *at = (const char *)s + f->offset;

	value[0] = '\0';
	if (forms->write)
		forms->write(s, value, size);
	else if (f->type == FIELD_TEXT)
		snprintf(value, size, "%s", at);
	else if (f->type == FIELD_REAL && !isnan(*(const double *)at))
		snprintf(value, size, "%.*f", forms->digits, tidy(*(const double *)at));
	else if (f->type == FIELD_BOOL && *(const bool *)at)
		snprintf(value, size, "%s", forms->word);
	else if (f->type == FIELD_INT && (forms->zero || field_value(f, s, 0)))
		snprintf(value, size, "%lld", (long long)field_value(f, s, 0));
}

void settlement_write_comment(struct settlement *s)
{
	const struct field *list[MAX_FIELDS];
	int n = settlement_form_fields(SETTLEMENT_COMMENT, list);

	s->text[0] = '\0';
	for (int i = 0; i < n; i++) {
		char value[512];

		write_value(list[i], s, value, sizeof(value));
		if (*value)
			text_append(s->text, sizeof(s->text), "%s%s=%s", *s->text ? " " : "",
				forms_of(list[i])->in[SETTLEMENT_COMMENT].key, value);
	}
}

static int read_value(const struct field *f, char *value, struct settlement *s)
{
	const struct settlement_forms *forms = forms_of(f);
	char *at = (char *)s + f->offset;
	struct errmsg why;
	int64_t n = 1;

	if (forms->read)
		return forms->read(value, s);
	if (f->type == FIELD_TEXT)
		return (size_t)snprintf(at, f->size, "%s", value) < f->size ? 0 : -1;
	if (f->type == FIELD_REAL)
		return read_real(value, (double *)at);
	if (f->type == FIELD_INT && units_parse_int(value, f->min, f->max, &n, &why))
		return -1;
	field_set_value(f, s, 0, n);
	return 0;
}

int settlement_read_comment(const char *text, struct settlement *s, struct errmsg *err)
{
	const struct field *list[MAX_FIELDS];
	int n = settlement_form_fields(SETTLEMENT_COMMENT, list);
	char copy[SETTLEMENT_MAX_TEXT], *save = NULL;
	struct settlement next = *s;

	if (strlen(text) >= sizeof(copy))
		return errmsg_set(err, "a price's facts are longer than %zu bytes", sizeof(copy));
	strcpy(copy, text);
	for (char *fact = strtok_r(copy, " ", &save); fact; fact = strtok_r(NULL, " ", &save)) {
		size_t len = strcspn(fact, "=");
		char value[SETTLEMENT_MAX_TEXT];

		for (int i = 0; fact[len] && i < n; i++) {
			const char *key = forms_of(list[i])->in[SETTLEMENT_COMMENT].key;

			if (strlen(key) != len || strncmp(key, fact, len))
				continue;
			strcpy(value, fact + len + 1);
			if (read_value(list[i], value, &next))
				return errmsg_set(
					err, "\"%s\" of a price's facts is malformed", fact);
		}
	}
	strcpy(next.text, text);
	*s = next;
	return 0;
}

json_t *settlement_show(const struct settlement *s, enum settlement_form form)
{
	const struct field *list[MAX_FIELDS];
	int n = settlement_form_fields(form, list);
	json_t *json = json_object();

	for (int i = 0; json && i < n; i++) {
		const struct settlement_forms *forms = forms_of(list[i]);

		json_object_set_new(json, forms->in[form].key,
			forms->show ? forms->show(s) : field_to_json(list[i], s));
	}
	return json;
}

void settlement_change(struct settlement *s, uint64_t charged)
{
	s->charged = charged;
	s->changes++;
	settlement_write_comment(s);
}

int settlement_change_degradation(struct settlement *s, double degradation, struct errmsg *err)
{
	struct price_policy policy;

	if (price_policy_parse(s->policy, &policy, err))
		return -1;
	s->degradation = degradation;
	s->lo = s->hi = s->co_degradation = NAN;
	s->nodata[0] = '\0';
	settlement_change(s, price_charge(&policy, s->raw, degradation, degradation, s->stopped));
	return 0;
}

int64_t settlement_earlier_s(const struct settlement *s)
{
	int64_t sum = 0;

	for (int i = 0; i < s->size_count; i++)
		sum += s->size[i].seconds;
	return sum;
}

double settlement_discount(const struct settlement *s)
{
	return s->raw ? 1 - (double)s->charged / (double)s->raw : NAN;
}

uint64_t settlement_share(uint64_t raw, uint64_t charged_of_last, uint64_t raw_of_last)
{
	if (charged_of_last >= raw_of_last)
		return raw;
	return (uint64_t)llround((double)raw * ((double)charged_of_last / (double)raw_of_last));
}
