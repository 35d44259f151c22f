/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Reads the cluster-wide settings. */
#include "common/settings.h"

#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

#include "common/hostport.h"
#include "common/keyval.h"
#include "common/price_rules.h"
#include "common/stripe_default.h"
#include "common/text_append.h"
#include "common/units.h"

#define MIN_PERIOD (10 * NS_PER_MS)
#define MAX_PERIOD (3600 * NS_PER_S)
#define MIN_SHUTTER (100 * NS_PER_US)
#define MAX_SHUTTER (100 * NS_PER_MS)
#define MAX_WINDOWS 16
#define MIN_LONG NS_PER_MS
#define MAX_LONG NS_PER_S
#define MIN_TURN (100 * NS_PER_MS)
#define MAX_TURN NS_PER_S
#define TURN_SPARE (30 * NS_PER_MS)
#define MAX_LANES 16
#define MAX_CORES 65535
/* Bytes. A cache is a whole number of KiB, so that its text is exact. */
#define MIN_CACHE (INT64_C(64) << 10)
#define MAX_CACHE (INT64_C(64) << 30)
#define KIB (INT64_C(1) << 10)
#define MAX_MISS_CYCLES 10000
#define MAX_GAIN 50 /* percent, below 0 as well */
/* Not one of Slurm's daemons, which have 6817 to 6820; unassigned at IANA. */
#define LEDGER_PORT 6824

static const char *const pause_names[] = {"auto", "sigstop", "freezer"};
static const char *const method_names[] = {"robust", "thesis", "unfiltered"};
static const char *const switch_names[] = {"no", "yes"};
static const char *const turns_names[] = {"no", "limits", "yes"};
static const char *const classes_names[] = {"own", "shared"};
static const char *const timelimit_names[] = {"progress", "wall"};
static const char *const policy_names[] = {"perf", "fair"};
static const char *const shape_names[STRIPE_SHAPES] = {"stripe", "socket"};
static const char *const match_names[] = {"any", "exact", "within"};

#define COUNT(a) ((int)(sizeof(a) / sizeof((a)[0])))

/*
 * All that is known of one key of PrEpParameters. The defaults, the parser, the canonical text and
 * the message about unknown keys come from the table of these rows, near the end of this file.
 */
struct setting {
	const char *key;
	const char *usual; /* the default, as one would write it; NULL = the key is absent */
	int (*parse)(const struct setting *k, const char *value, struct poppa_settings *s,
		struct errmsg *err);
	void (*format)(
		const struct setting *k, const struct poppa_settings *s, char *buf, size_t size);
	size_t at;        /* the member of struct poppa_settings, where there is just one */
	int64_t min, max; /* bounds of a number or of nanoseconds; max of a text: its room */
	bool zero;        /* 0 is allowed as well, and turns something off */
	const char *const *names; /* the choices, by their numbers */
	int count;                /* of names */
	const char *prefix;       /* of each item of this key in a comma list that keys may share */
};

#define MEMBER(type, k, s) ((type *)((char *)(s) + (k)->at))
#define CONST_MEMBER(type, k, s) ((const type *)((const char *)(s) + (k)->at))

const char *estimate_method_name(enum estimate_method m)
{
	return method_names[m];
}

int estimate_method_parse(const char *name, enum estimate_method *m)
{
	int i = keyval_choice("method", name, method_names, COUNT(method_names), NULL);

	if (i < 0)
		return -1;
	*m = i;
	return 0;
}

const char *stripe_shape_name(enum stripe_shape shape)
{
	return shape_names[shape];
}

int stripe_shape_parse(const char *name, enum stripe_shape *shape)
{
	int i = keyval_choice("shape", name, shape_names, STRIPE_SHAPES, NULL);

	if (i < 0)
		return -1;
	*shape = i;
	return 0;
}

/* Appends "KEY=VALUE" of the row k to the list in buf. */
#define APPEND(format, ...)                                                                        \
	text_append(buf, size, "%s%s=" format, *buf ? "," : "", k->key, __VA_ARGS__)

static int parse_duration(
	const struct setting *k, const char *value, struct poppa_settings *s, struct errmsg *err)
{
	struct errmsg why = {""};
	char low[32], high[32];
	int64_t ns;

	if (units_parse_duration(value, &ns, &why))
		return errmsg_set(err, "%s: %s", k->key, why.text);
	if ((ns < k->min || ns > k->max) && !(k->zero && ns == 0))
		return errmsg_set(err, "%s=%s is out of range: %s to %s%s", k->key, value,
			units_format_duration(k->min, low, sizeof(low)),
			units_format_duration(k->max, high, sizeof(high)),
			k->zero ? ", or 0 for none" : "");
	*MEMBER(int64_t, k, s) = ns;
	return 0;
}

static void format_duration(
	const struct setting *k, const struct poppa_settings *s, char *buf, size_t size)
{
	char text[32];

	APPEND("%s", units_format_duration(*CONST_MEMBER(int64_t, k, s), text, sizeof(text)));
}

static int parse_long(
	const struct setting *k, const char *value, struct poppa_settings *s, struct errmsg *err)
{
	struct errmsg why = {""};
	int64_t ns;

	if (!strcasecmp(value, "auto")) {
		s->long_ns = LONG_AUTO;
		return 0;
	}
	if (!strcasecmp(value, "off")) {
		s->long_ns = 0;
		return 0;
	}
	if (units_parse_duration(value, &ns, &why) || ns < MIN_LONG || ns > MAX_LONG)
		return errmsg_set(
			err, "%s=%s: choose auto, off, or a time from 1ms to 1s", k->key, value);
	s->long_ns = ns;
	return 0;
}

static void format_long(
	const struct setting *k, const struct poppa_settings *s, char *buf, size_t size)
{
	char text[32];

	APPEND("%s", s->long_ns == LONG_AUTO ? "auto"
		     : s->long_ns == 0       ? "off"
				       : units_format_duration(s->long_ns, text, sizeof(text)));
}

static int percent(const char *key, const char *value, double *out, struct errmsg *err)
{
	struct errmsg why = {""};

	if (units_parse_percent(value, out, &why))
		return errmsg_set(err, "%s: %s", key, why.text);
	return 0;
}

static int parse_percent(
	const struct setting *k, const char *value, struct poppa_settings *s, struct errmsg *err)
{
	return percent(k->key, value, MEMBER(double, k, s), err);
}

static void format_percent(
	const struct setting *k, const struct poppa_settings *s, char *buf, size_t size)
{
	APPEND("%.15g%%", 100 * *CONST_MEMBER(double, k, s));
}

/* A percentage with a sign. */
static int parse_gain(
	const struct setting *k, const char *value, struct poppa_settings *s, struct errmsg *err)
{
	struct errmsg why = {""};
	const bool less = *value == '-', twice = less && value[1] == '-';
	double gain;

	if (twice || units_parse_percent(value + less, &gain, &why) || 100 * gain > MAX_GAIN)
		return errmsg_set(err, "%s=%s is no gain: write a percentage from -%d%% to %d%%",
			k->key, value, MAX_GAIN, MAX_GAIN);
	*MEMBER(double, k, s) = less ? -gain : gain;
	return 0;
}

static int parse_size(
	const struct setting *k, const char *value, struct poppa_settings *s, struct errmsg *err)
{
	struct errmsg why = {""};
	char low[32], high[32];
	int64_t bytes;

	if (units_parse_size(value, &bytes, &why))
		return errmsg_set(err, "%s: %s", k->key, why.text);
	if ((bytes < k->min || bytes > k->max) && !(k->zero && bytes == 0))
		return errmsg_set(err, "%s=%s is out of range: %s to %s%s", k->key, value,
			units_format_size(k->min, low, sizeof(low)),
			units_format_size(k->max, high, sizeof(high)),
			k->zero ? ", or 0 for none" : "");
	*MEMBER(int64_t, k, s) = bytes / KIB * KIB;
	return 0;
}

static void format_size(
	const struct setting *k, const struct poppa_settings *s, char *buf, size_t size)
{
	char text[32];

	APPEND("%s", units_format_size(*CONST_MEMBER(int64_t, k, s), text, sizeof(text)));
}

static int parse_int(
	const struct setting *k, const char *value, struct poppa_settings *s, struct errmsg *err)
{
	struct errmsg why = {""};
	int64_t v;

	if (units_parse_int(value, k->min, k->max, &v, &why))
		return errmsg_set(err, "%s: %s", k->key, why.text);
	*MEMBER(int, k, s) = (int)v;
	return 0;
}

static void format_int(
	const struct setting *k, const struct poppa_settings *s, char *buf, size_t size)
{
	APPEND("%d", *CONST_MEMBER(int, k, s));
}

/* Sets an enum, which has the size and the representation of an int. */
static int parse_choice(
	const struct setting *k, const char *value, struct poppa_settings *s, struct errmsg *err)
{
	int i = keyval_choice(k->key, value, k->names, k->count, err);

	if (i < 0)
		return -1;
	*MEMBER(int, k, s) = i;
	return 0;
}

static void format_choice(
	const struct setting *k, const struct poppa_settings *s, char *buf, size_t size)
{
	APPEND("%s", k->names[*CONST_MEMBER(int, k, s)]);
}

static int parse_text(
	const struct setting *k, const char *value, struct poppa_settings *s, struct errmsg *err)
{
	if (!*value || strlen(value) >= (size_t)k->max)
		return errmsg_set(
			err, "%s: the value must have 1 to %d characters", k->key, (int)k->max - 1);
	strcpy(MEMBER(char, k, s), value);
	return 0;
}

static void format_text(
	const struct setting *k, const struct poppa_settings *s, char *buf, size_t size)
{
	APPEND("%s", CONST_MEMBER(char, k, s));
}

/* Appends the value to a comma list, with the row's prefix before it. */
static int add_item(
	const struct setting *k, const char *value, struct poppa_settings *s, struct errmsg *err)
{
	char *list = MEMBER(char, k, s);

	if ((*value || *k->prefix) &&
		text_append(list, (size_t)k->max, "%s%s%s", *list ? "," : "", k->prefix, value))
		return 0;
	return errmsg_set(err,
		*k->prefix ? "%s=%s: the price rules have more than %d characters in all"
			   : "%s=%s: the names must have 1 to %d characters in all",
		k->key, value, (int)k->max - 1);
}

static void format_items(
	const struct setting *k, const struct poppa_settings *s, char *buf, size_t size)
{
	const char *at = CONST_MEMBER(char, k, s);
	size_t len = strlen(k->prefix);

	for (; *at; at += strcspn(at, ","), at += *at == ',')
		if (!strncmp(at, k->prefix, len))
			APPEND("%.*s", (int)(strcspn(at, ",") - len), at + len);
}

/* Appends PARTITION or qos:NAME, or several with ':' between them, to the list of all. */
static int add_defaults(
	const struct setting *k, const char *value, struct poppa_settings *s, struct errmsg *err)
{
	struct stripe_default element;
	char *list = s->stripe_defaults;

	for (const char *at = value; at;) {
		at = stripe_default_next(at, &element);
		if (!element.len)
			return errmsg_set(err,
				"%s=%s: a name is missing: write PARTITION or qos:NAME, and \":\" "
				"between several",
				k->key, value);
	}
	if (text_append(list, sizeof(s->stripe_defaults), "%s%s", *list ? ":" : "", value))
		return 0;
	return errmsg_set(err, "%s=%s: the names must have 1 to %d characters in all", k->key,
		value, (int)sizeof(s->stripe_defaults) - 1);
}

static void format_defaults(
	const struct setting *k, const struct poppa_settings *s, char *buf, size_t size)
{
	if (*s->stripe_defaults)
		APPEND("%s", s->stripe_defaults);
}

/* Reads SOCKETSxCORES:VALUE; the last rule for a size counts. */
static int add_rule(
	const struct setting *k, const char *value, struct poppa_settings *s, struct errmsg *err)
{
	const char *const example = k->names ? k->names[SHAPE_SOCKET] : "4";
	const char *at = value, *separators = "x:";
	struct stripe_rules *rules = MEMBER(struct stripe_rules, k, s);
	int number[3];

	for (int i = 0; i < 3; i++) {
		size_t len = strcspn(at, i < 2 ? separators : "");
		struct errmsg why = {""};
		char text[16];
		int64_t v;

		if (len >= sizeof(text) || (i < 2 && at[len] != separators[i]))
			return errmsg_set(err, "%s=%s is not SOCKETSxCORES:%s, such as %s=2x64:%s",
				k->key, value, k->names ? "SHAPE" : "LANES", k->key, example);
		memcpy(text, at, len);
		text[len] = '\0';
		if (i == 2 && k->names) {
			v = keyval_choice(k->key, text, k->names, k->count, err);
			if (v < 0)
				return -1;
		} else if (units_parse_int(text, i < 2 ? 1 : k->min, i < 2 ? MAX_CORES : k->max, &v,
				   &why)) {
			return errmsg_set(err, "%s=%s: %s", k->key, value, why.text);
		}
		number[i] = (int)v;
		at += len + (i < 2);
	}
	if (rules->count == STRIPE_RULES_MAX)
		return errmsg_set(err, "%s=%s: there are %d sizes of nodes at most", k->key, value,
			STRIPE_RULES_MAX);
	rules->rule[rules->count++] = (struct stripe_rule){number[0], number[1], number[2]};
	return 0;
}

static void format_rules(
	const struct setting *k, const struct poppa_settings *s, char *buf, size_t size)
{
	const struct stripe_rules *rules = CONST_MEMBER(struct stripe_rules, k, s);

	for (const struct stripe_rule *r = rules->rule; r < rules->rule + rules->count; r++)
		if (k->names)
			APPEND("%dx%d:%s", r->sockets, r->cores, k->names[r->value]);
		else
			APPEND("%dx%d:%d", r->sockets, r->cores, r->value);
}

int stripe_rules_find(const struct stripe_rules *rules, int sockets, int cores, int usual)
{
	for (int i = rules->count - 1; i >= 0; i--)
		if (rules->rule[i].sockets == sockets && rules->rule[i].cores == cores)
			return rules->rule[i].value;
	return usual;
}

static int parse_match(
	const struct setting *k, const char *value, struct poppa_settings *s, struct errmsg *err)
{
	static const char within[] = "within:";
	int match;

	if (!strncasecmp(value, within, strlen(within))) {
		s->stripe_match = MATCH_WITHIN;
		return percent(k->key, value + strlen(within), &s->stripe_within, err);
	}
	match = keyval_choice(k->key, value, match_names, COUNT(match_names), NULL);
	if (match < 0 || match == MATCH_WITHIN)
		return errmsg_set(err, "%s=%s is unknown: choose one of any, exact, within:PERCENT",
			k->key, value);
	s->stripe_match = match;
	return 0;
}

static void format_match(
	const struct setting *k, const struct poppa_settings *s, char *buf, size_t size)
{
	if (s->stripe_match == MATCH_WITHIN)
		APPEND("%s:%.15g%%", match_names[MATCH_WITHIN], 100 * s->stripe_within);
	else
		APPEND("%s", match_names[s->stripe_match]);
}

static int parse_ledger(
	const struct setting *k, const char *value, struct poppa_settings *s, struct errmsg *err)
{
	struct errmsg why = {""};

	if (hostport_parse(value, s->ledger_host, sizeof(s->ledger_host), &s->ledger_port, &why))
		return errmsg_set(err, "%s=%s: %s", k->key, value, why.text);
	return 0;
}

static void format_ledger(
	const struct setting *k, const struct poppa_settings *s, char *buf, size_t size)
{
	bool v6 = strchr(s->ledger_host, ':');

	if (*s->ledger_host)
		APPEND("%s%s%s:%d", v6 ? "[" : "", s->ledger_host, v6 ? "]" : "", s->ledger_port);
}

#define AT(member) .at = offsetof(struct poppa_settings, member)
#define DURATION(member) .parse = parse_duration, .format = format_duration, AT(member)
#define PERCENT(member) .parse = parse_percent, .format = format_percent, AT(member)
#define NUMBER(member) .parse = parse_int, .format = format_int, AT(member)
#define FIRST_OF(member, all, n)                                                                   \
	.parse = parse_choice, .format = format_choice, AT(member), .names = all, .count = n
#define CHOICE(member, all) FIRST_OF(member, all, COUNT(all))
#define TEXT(member) AT(member), .max = sizeof(((struct poppa_settings *)0)->member)
#define ITEMS(member, before)                                                                      \
	.parse = add_item, .format = format_items, TEXT(member), .prefix = before
#define RULES(member) .parse = add_rule, .format = format_rules, AT(member)
/* tests/lint compares keys and defaults with poppad(8) and slurm.conf.example. */
static const struct setting table[] = {
	{"poppa_period", "400ms", DURATION(period_ns), .min = MIN_PERIOD, .max = MAX_PERIOD,
		.zero = true},
	{"poppa_shutter", "3200us", DURATION(shutter_ns), .min = MIN_SHUTTER, .max = MAX_SHUTTER},
	{"poppa_windows", "4", NUMBER(windows), .min = 1, .max = MAX_WINDOWS},
	{"poppa_long", "auto", .parse = parse_long, .format = format_long},
	{"poppa_long_budget", "0.1%", PERCENT(long_budget)},
	{"poppa_adaptive", "yes", CHOICE(adaptive, switch_names)},
	{"poppa_overhead_max", "0.5%", PERCENT(overhead_max)},
	{"poppa_method", "robust", FIRST_OF(method, method_names, ESTIMATE_UNFILTERED)},
	{"poppa_pause", "auto", CHOICE(pause, pause_names)},
	{"poppa_counter", "auto", CHOICE(counter, counter_backend_names)},
	{"poppa_min_blocks", "10", NUMBER(min_blocks), .min = 2, .max = 1000000},
	{"poppa_turns", "limits", CHOICE(turns, turns_names)},
	{"poppa_turn", "500ms", DURATION(turn_ns), .min = MIN_TURN, .max = MAX_TURN},
	{"poppa_price", "thesis", .parse = parse_text, .format = format_text, TEXT(price)},
	{"poppa_price_partition", NULL, ITEMS(price_rules, "partition=")},
	{"poppa_price_qos", NULL, ITEMS(price_rules, "qos=")},
	{"poppa_ledger", NULL, .parse = parse_ledger, .format = format_ledger},
	{"poppa_settle_timeout", "60s", DURATION(settle_timeout_ns), .min = NS_PER_S,
		.max = 24 * 3600 * NS_PER_S},
	{"stripe_lanes", "2", NUMBER(stripe_lanes), .min = 2, .max = MAX_LANES},
	{"stripe_lanes_on", NULL, RULES(lanes_on), .min = 2, .max = MAX_LANES},
	{"stripe_shape", "stripe", CHOICE(stripe_shape, shape_names)},
	{"stripe_shape_on", NULL, RULES(shape_on), .names = shape_names, .count = STRIPE_SHAPES},
	{"stripe_partition", NULL, ITEMS(stripe_partitions, "")},
	{"stripe_default", NULL, .parse = add_defaults, .format = format_defaults},
	{"stripe_match", "any", .parse = parse_match, .format = format_match},
	{"stripe_classes", "own", CHOICE(stripe_classes, classes_names)},
	{"stripe_wait", "1h", DURATION(stripe_wait_ns), .min = NS_PER_S,
		.max = 24 * 3600 * NS_PER_S, .zero = true},
	{"stripe_gain_min", "-3%", .parse = parse_gain, .format = format_percent,
		AT(stripe_gain_min)},
	{"stripe_victim_max", "25%", PERCENT(stripe_victim_max)},
	{"stripe_cache", "0", .parse = parse_size, .format = format_size, AT(stripe_cache),
		.min = MIN_CACHE, .max = MAX_CACHE, .zero = true},
	{"stripe_miss_cycles", "120", NUMBER(stripe_miss_cycles), .min = 1, .max = MAX_MISS_CYCLES},
	{"stripe_explore", "2%", PERCENT(stripe_explore)},
	{"stripe_policy", "perf", CHOICE(stripe_policy, policy_names)},
	{"stripe_timelimit", "progress", CHOICE(stripe_timelimit, timelimit_names)},
	{"stripe_alone", "yes", CHOICE(stripe_alone, switch_names)},
};

void settings_defaults(struct poppa_settings *s)
{
	memset(s, 0, sizeof(*s));
	s->ledger_port = LEDGER_PORT;
	for (int i = 0; i < COUNT(table); i++)
		if (table[i].usual)
			table[i].parse(&table[i], table[i].usual, s, NULL);
}

static int one_setting(const char *key, const char *value, int line, void *arg, struct errmsg *err)
{
	(void)line;
	if (strncasecmp(key, "poppa_", 6) && strncasecmp(key, "stripe_", 7))
		return 0;
	if (!value)
		return errmsg_set(err, "%s needs a value: %s=...", key, key);
	for (const struct setting *k = table; k < table + COUNT(table); k++)
		if (!strcasecmp(key, k->key))
			return k->parse(k, value, arg, err);
	return keyval_unknown(key, table, sizeof(table[0]), COUNT(table), err);
}

int settings_parse(const char *prep_parameters, struct poppa_settings *s, struct errmsg *err)
{
	struct poppa_settings next;
	struct price_rules rules;

	settings_defaults(&next);
	if (prep_parameters && keyval_list(prep_parameters, one_setting, &next, err))
		return -1;
	if (price_rules_parse(&next, &rules, err))
		return -1;
	if (next.period_ns && next.period_ns < next.shutter_ns)
		return errmsg_set(err, "poppa_period must not be shorter than poppa_shutter");
	if (next.turns && next.turn_ns < 4 * next.shutter_ns + TURN_SPARE)
		return errmsg_set(err, "poppa_turn must be at least four times poppa_shutter and "
				       "30 ms: a shutter must fit into a slice");
	*s = next;
	return 0;
}

static int ledger_only(const char *key, const char *value, int line, void *arg, struct errmsg *err)
{
	return strcasecmp(key, "poppa_ledger") ? 0 : one_setting(key, value, line, arg, err);
}

int settings_parse_ledger(const char *prep_parameters, struct poppa_settings *s, struct errmsg *err)
{
	struct poppa_settings next;

	settings_defaults(&next);
	if (prep_parameters && keyval_list(prep_parameters, ledger_only, &next, err))
		return -1;
	*s = next;
	return 0;
}

char *settings_format(const struct poppa_settings *s, char *buf, size_t size)
{
	*buf = '\0';
	for (int i = 0; i < COUNT(table); i++)
		table[i].format(&table[i], s, buf, size);
	return buf;
}
