/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Reads and applies the price rules. */
#include "common/price_rules.h"

#include <stdio.h>
#include <string.h>
#include <strings.h>

#include "common/keyval.h"

/* One "partition=NAME:POLICY" or "qos=NAME:POLICY" of settings->price_rules. */
static int one_rule(const char *key, const char *value, int line, void *arg, struct errmsg *err)
{
	struct price_rules *rules = arg;
	struct price_rule *r = &rules->rule[rules->count];
	const char *colon = value ? strchr(value, ':') : NULL;
	struct errmsg why = {""};

	(void)line;
	if (rules->count == PRICE_MAX_RULES)
		return errmsg_set(
			err, "poppa_price_%s: at most %d rules are possible", key, PRICE_MAX_RULES);
	if (!colon || colon == value || (size_t)(colon - value) >= sizeof(r->name))
		return errmsg_set(
			err, "poppa_price_%s=%s is not NAME:POLICY", key, value ? value : "");
	r->qos = !strcmp(key, "qos");
	snprintf(r->name, sizeof(r->name), "%.*s", (int)(colon - value), value);
	if (price_policy_parse(colon + 1, &r->policy, &why))
		return errmsg_set(err, "poppa_price_%s=%s: %s", key, value, why.text);
	for (int i = 0; i < rules->count; i++)
		if (rules->rule[i].qos == r->qos && !strcasecmp(rules->rule[i].name, r->name))
			return errmsg_set(
				err, "poppa_price_%s: \"%s\" is named twice", key, r->name);
	rules->count++;
	return 0;
}

int price_rules_parse(
	const struct poppa_settings *settings, struct price_rules *rules, struct errmsg *err)
{
	struct price_rules next = {.count = 0};
	struct errmsg why = {""};

	if (price_policy_parse(settings->price, &next.general, &why))
		return errmsg_set(err, "poppa_price=%s: %s", settings->price, why.text);
	if (keyval_list(settings->price_rules, one_rule, &next, err))
		return -1;
	*rules = next;
	return 0;
}

static const struct price_policy *find(const struct price_rules *rules, bool qos, const char *name)
{
	for (int i = 0; name && i < rules->count; i++)
		if (rules->rule[i].qos == qos && !strcasecmp(rules->rule[i].name, name))
			return &rules->rule[i].policy;
	return NULL;
}

const struct price_policy *price_rules_choose(
	const struct price_rules *rules, const char *partition, const char *qos)
{
	const struct price_policy *p = find(rules, true, qos);

	if (!p)
		p = find(rules, false, partition);
	return p ? p : &rules->general;
}
