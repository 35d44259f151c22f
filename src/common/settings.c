/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Reads the cluster-wide settings. */
#include "common/settings.h"

#include <stdio.h>
#include <string.h>
#include <strings.h>

#include "common/hostport.h"
#include "common/keyval.h"
#include "common/price_rules.h"
#include "common/units.h"

#define MIN_PERIOD (10 * NS_PER_MS)
#define MAX_PERIOD (3600 * NS_PER_S)
#define MIN_SHUTTER (100 * NS_PER_US)
#define MAX_SHUTTER (100 * NS_PER_MS)
#define MAX_WINDOWS 16
#define MAX_LANES 16
#define MAX_CORES 65535

static const char *const pause_names[] = {"auto", "sigstop", "freezer"};
static const char *const method_names[] = {"robust", "thesis"};
static const char *const counter_names[] = {
	"auto", "perf", "papi", "heartbeat", "uprobe", "replay", "none"};

static const char *const switch_names[] = {"no", "yes"};
static const char *const match_names[] = {"any", "exact", "within"};

#define COUNT(a) ((int)(sizeof(a) / sizeof((a)[0])))

static int find_name(const char *const *names, int count, const char *name)
{
	for (int i = 0; i < count; i++)
		if (!strcasecmp(names[i], name))
			return i;
	return -1;
}

const char *pause_method_name(enum pause_method m)
{
	return pause_names[m];
}

const char *estimate_method_name(enum estimate_method m)
{
	return method_names[m];
}

const char *counter_backend_name(enum counter_backend b)
{
	return counter_names[b];
}

int estimate_method_parse(const char *name, enum estimate_method *m)
{
	int i = find_name(method_names, COUNT(method_names), name);

	if (i < 0)
		return -1;
	*m = i;
	return 0;
}

int counter_backend_parse(const char *name, enum counter_backend *b)
{
	int i = find_name(counter_names, COUNT(counter_names), name);

	if (i < 0)
		return -1;
	*b = i;
	return 0;
}

void settings_defaults(struct poppa_settings *s)
{
	memset(s, 0, sizeof(*s));
	s->period_ns = 400 * NS_PER_MS;
	s->shutter_ns = 3200 * NS_PER_US;
	s->windows = 4;
	s->adaptive = true;
	s->overhead_max = 0.005;
	s->min_blocks = 10;
	strcpy(s->price, "thesis");
	s->ledger_port = 6820;
	s->settle_timeout_ns = 60 * NS_PER_S;
	s->stripe_lanes = 2;
}

static int set_duration(const char *key, const char *value, int64_t min, int64_t max, bool zero,
	int64_t *out, struct errmsg *err)
{
	struct errmsg why = {""};
	char low[32], high[32];
	int64_t ns;

	if (units_parse_duration(value, &ns, &why))
		return errmsg_set(err, "%s: %s", key, why.text);
	if ((ns < min || ns > max) && !(zero && ns == 0))
		return errmsg_set(err, "%s=%s is out of range: %s to %s%s", key, value,
			units_format_duration(min, low, sizeof(low)),
			units_format_duration(max, high, sizeof(high)),
			zero ? ", or 0 for none" : "");
	*out = ns;
	return 0;
}

static int set_percent(const char *key, const char *value, double *out, struct errmsg *err)
{
	struct errmsg why = {""};

	if (units_parse_percent(value, out, &why))
		return errmsg_set(err, "%s: %s", key, why.text);
	return 0;
}

static int set_int(
	const char *key, const char *value, int min, int max, int *out, struct errmsg *err)
{
	struct errmsg why = {""};
	int64_t v;

	if (units_parse_int(value, min, max, &v, &why))
		return errmsg_set(err, "%s: %s", key, why.text);
	*out = (int)v;
	return 0;
}

static int set_name(const char *key, const char *value, const char *const *names, int count,
	int *out, struct errmsg *err)
{
	char all[128] = "";
	int i = find_name(names, count, value);

	if (i >= 0) {
		*out = i;
		return 0;
	}
	for (int n = 0; n < count; n++)
		snprintf(all + strlen(all), sizeof(all) - strlen(all), "%s%s", n ? ", " : "",
			names[n]);
	return errmsg_set(err, "%s=%s is unknown: choose one of %s", key, value, all);
}

static int set_text(const char *key, const char *value, char *out, size_t size, struct errmsg *err)
{
	if (!*value || strlen(value) >= size)
		return errmsg_set(
			err, "%s: the value must have 1 to %zu characters", key, size - 1);
	strcpy(out, value);
	return 0;
}

static int add_price_rule(const char *key, const char *kind, const char *value,
	struct poppa_settings *s, struct errmsg *err)
{
	size_t used = strlen(s->price_rules), room = sizeof(s->price_rules) - used;

	if ((size_t)snprintf(s->price_rules + used, room, "%s%s=%s", used ? "," : "", kind, value) <
		room)
		return 0;
	s->price_rules[used] = '\0';
	return errmsg_set(err, "%s=%s: the price rules have more than %zu characters in all", key,
		value, sizeof(s->price_rules) - 1);
}

/* SOCKETSxCORES:LANES; the last rule for a shape counts. */
static int add_stripe_rule(
	const char *key, const char *value, struct poppa_settings *s, struct errmsg *err)
{
	const int max[] = {MAX_CORES, MAX_CORES, MAX_LANES}, min[] = {1, 1, 2};
	const char *at = value, *separators = "x:";
	int number[3];

	for (int i = 0; i < 3; i++) {
		size_t len = strcspn(at, i < 2 ? separators : "");
		struct errmsg why = {""};
		char text[16];
		int64_t v;

		if (len >= sizeof(text) || (i < 2 && at[len] != separators[i]))
			return errmsg_set(err,
				"%s=%s is not SOCKETSxCORES:LANES, such as %s=2x64:4", key, value,
				key);
		memcpy(text, at, len);
		text[len] = '\0';
		if (units_parse_int(text, min[i], max[i], &v, &why))
			return errmsg_set(err, "%s=%s: %s", key, value, why.text);
		number[i] = (int)v;
		at += len + (i < 2);
	}
	if (s->stripe_rule_count == STRIPE_RULES_MAX)
		return errmsg_set(
			err, "%s=%s: there are %d shapes at most", key, value, STRIPE_RULES_MAX);
	s->stripe_rule[s->stripe_rule_count++] =
		(struct stripe_rule){number[0], number[1], number[2]};
	return 0;
}

static int add_partition(
	const char *key, const char *value, struct poppa_settings *s, struct errmsg *err)
{
	size_t used = strlen(s->stripe_partitions), room = sizeof(s->stripe_partitions) - used;

	if (*value && (size_t)snprintf(s->stripe_partitions + used, room, "%s%s", used ? "," : "",
			      value) < room)
		return 0;
	s->stripe_partitions[used] = '\0';
	return errmsg_set(err, "%s=%s: the names must have 1 to %zu characters in all", key, value,
		sizeof(s->stripe_partitions) - 1);
}

static int set_match(
	const char *key, const char *value, struct poppa_settings *s, struct errmsg *err)
{
	static const char within[] = "within:";
	int choice;

	if (!strncasecmp(value, within, strlen(within))) {
		s->stripe_match = MATCH_WITHIN;
		return set_percent(key, value + strlen(within), &s->stripe_within, err);
	}
	choice = find_name(match_names, COUNT(match_names), value);
	if (choice < 0 || choice == MATCH_WITHIN)
		return errmsg_set(err, "%s=%s is unknown: choose one of any, exact, within:PERCENT",
			key, value);
	s->stripe_match = choice;
	return 0;
}

static int set_ledger(
	const char *key, const char *value, struct poppa_settings *s, struct errmsg *err)
{
	struct errmsg why = {""};

	if (hostport_parse(value, s->ledger_host, sizeof(s->ledger_host), &s->ledger_port, &why))
		return errmsg_set(err, "%s=%s: %s", key, value, why.text);
	return 0;
}

static int one_setting(const char *key, const char *value, int line, void *arg, struct errmsg *err)
{
	struct poppa_settings *s = arg;
	int choice;

	(void)line;
	if (strncasecmp(key, "poppa_", 6) && strncasecmp(key, "stripe_", 7))
		return 0;
	if (!value)
		return errmsg_set(err, "%s needs a value: %s=...", key, key);
	if (!strcasecmp(key, "poppa_period"))
		return set_duration(key, value, MIN_PERIOD, MAX_PERIOD, true, &s->period_ns, err);
	if (!strcasecmp(key, "poppa_shutter"))
		return set_duration(
			key, value, MIN_SHUTTER, MAX_SHUTTER, false, &s->shutter_ns, err);
	if (!strcasecmp(key, "poppa_windows"))
		return set_int(key, value, 1, MAX_WINDOWS, &s->windows, err);
	if (!strcasecmp(key, "poppa_overhead_max"))
		return set_percent(key, value, &s->overhead_max, err);
	if (!strcasecmp(key, "poppa_adaptive")) {
		if (set_name(key, value, switch_names, COUNT(switch_names), &choice, err))
			return -1;
		s->adaptive = choice;
		return 0;
	}
	if (!strcasecmp(key, "poppa_min_blocks"))
		return set_int(key, value, 2, 1000000, &s->min_blocks, err);
	if (!strcasecmp(key, "stripe_lanes"))
		return set_int(key, value, 2, MAX_LANES, &s->stripe_lanes, err);
	if (!strcasecmp(key, "stripe_lanes_on"))
		return add_stripe_rule(key, value, s, err);
	if (!strcasecmp(key, "stripe_partition"))
		return add_partition(key, value, s, err);
	if (!strcasecmp(key, "stripe_match"))
		return set_match(key, value, s, err);
	if (!strcasecmp(key, "poppa_settle_timeout"))
		return set_duration(key, value, NS_PER_S, 24 * 3600 * NS_PER_S, false,
			&s->settle_timeout_ns, err);
	if (!strcasecmp(key, "poppa_price"))
		return set_text(key, value, s->price, sizeof(s->price), err);
	if (!strcasecmp(key, "poppa_price_partition"))
		return add_price_rule(key, "partition", value, s, err);
	if (!strcasecmp(key, "poppa_price_qos"))
		return add_price_rule(key, "qos", value, s, err);
	if (!strcasecmp(key, "poppa_ledger"))
		return set_ledger(key, value, s, err);
	if (!strcasecmp(key, "poppa_method")) {
		if (set_name(key, value, method_names, COUNT(method_names), &choice, err))
			return -1;
		s->method = choice;
		return 0;
	}
	if (!strcasecmp(key, "poppa_pause")) {
		if (set_name(key, value, pause_names, COUNT(pause_names), &choice, err))
			return -1;
		s->pause = choice;
		return 0;
	}
	if (!strcasecmp(key, "poppa_counter")) {
		if (set_name(key, value, counter_names, COUNT(counter_names), &choice, err))
			return -1;
		s->counter = choice;
		return 0;
	}
	return errmsg_set(err,
		"%s is unknown: the keys are poppa_period, poppa_shutter, poppa_windows, "
		"poppa_adaptive, poppa_overhead_max, poppa_method, poppa_pause, "
		"poppa_counter, poppa_min_blocks, poppa_price, poppa_price_partition, "
		"poppa_price_qos, poppa_ledger, poppa_settle_timeout, "
		"stripe_lanes, stripe_lanes_on, stripe_partition and stripe_match",
		key);
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
	char period[32], shutter[32], settle[32], ledger[300] = "";
	char rules[2 * sizeof(s->price_rules)] = "", match[32], shapes[1024] = "";
	char partitions[20 * sizeof(s->stripe_partitions)] = "";

	for (const char *at = s->price_rules; *at; at += strcspn(at, ","), at += *at == ',')
		snprintf(rules + strlen(rules), sizeof(rules) - strlen(rules), ",poppa_price_%.*s",
			(int)strcspn(at, ","), at);
	if (*s->ledger_host)
		snprintf(ledger, sizeof(ledger),
			strchr(s->ledger_host, ':') ? "poppa_ledger=[%s]:%d,"
						    : "poppa_ledger=%s:%d,",
			s->ledger_host, s->ledger_port);
	for (const char *at = s->stripe_partitions; *at; at += strcspn(at, ","), at += *at == ',')
		snprintf(partitions + strlen(partitions), sizeof(partitions) - strlen(partitions),
			",stripe_partition=%.*s", (int)strcspn(at, ","), at);
	for (int i = 0; i < s->stripe_rule_count; i++)
		snprintf(shapes + strlen(shapes), sizeof(shapes) - strlen(shapes),
			",stripe_lanes_on=%dx%d:%d", s->stripe_rule[i].sockets,
			s->stripe_rule[i].cores, s->stripe_rule[i].lanes);
	snprintf(match, sizeof(match), s->stripe_match == MATCH_WITHIN ? "%s:%.15g%%" : "%s",
		match_names[s->stripe_match], 100 * s->stripe_within);
	snprintf(buf, size,
		"poppa_period=%s,poppa_shutter=%s,poppa_windows=%d,poppa_adaptive=%s,"
		"poppa_overhead_max=%.15g%%,poppa_method=%s,poppa_pause=%s,poppa_counter=%s,"
		"poppa_min_blocks=%d,poppa_price=%s%s,%spoppa_settle_timeout=%s,stripe_lanes=%d"
		"%s%s,stripe_match=%s",
		units_format_duration(s->period_ns, period, sizeof(period)),
		units_format_duration(s->shutter_ns, shutter, sizeof(shutter)), s->windows,
		switch_names[s->adaptive], 100 * s->overhead_max, method_names[s->method],
		pause_names[s->pause], counter_names[s->counter], s->min_blocks, s->price, rules,
		ledger, units_format_duration(s->settle_timeout_ns, settle, sizeof(settle)),
		s->stripe_lanes, shapes, partitions, match);
	return buf;
}
