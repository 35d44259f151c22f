/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Reads and writes price policies. */
#include "common/price_policy.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

#include "common/units.h"

#define MAX_FACTOR 10
#define MAX_FLOOR INT64_C(1000000000000)

static const char *const names[] = {"thesis", "solo", "linear", "tiers", "none"};

static int parse_linear(const char *value, struct price_policy *p, struct errmsg *err)
{
	struct errmsg why;

	if (!value || units_parse_double(value, 0, MAX_FACTOR, &p->factor, &why))
		return errmsg_set(
			err, "linear needs a factor from 0 to %d: linear:1.5", MAX_FACTOR);
	return 0;
}

/* "D=DISCOUNT:D=DISCOUNT..." */
static int parse_tiers(char *value, struct price_policy *p, struct errmsg *err)
{
	char *save = NULL, *item = value ? strtok_r(value, ":", &save) : NULL;
	struct errmsg why;

	p->tiers = 0;
	for (; item; item = strtok_r(NULL, ":", &save)) {
		struct price_tier *t = &p->tier[p->tiers];
		char *discount = strchr(item, '=');

		if (p->tiers == PRICE_MAX_TIERS)
			return errmsg_set(err, "tiers: at most %d are possible", PRICE_MAX_TIERS);
		if (discount)
			*discount++ = '\0';
		if (!discount || units_parse_double(item, 0, 1, &t->from, &why) ||
			units_parse_double(discount, 0, 1, &t->discount, &why))
			return errmsg_set(err,
				"tiers: \"%s\" is no pair of a degradation and a discount from 0 "
				"to 1: tiers:0.05=0.1:0.2=0.35",
				item);
		if (p->tiers && (t->from <= t[-1].from || t->discount < t[-1].discount))
			return errmsg_set(err, "tiers: %s=%s must be above the tier before it",
				item, discount);
		p->tiers++;
	}
	if (!p->tiers)
		return errmsg_set(err, "tiers needs at least one: tiers:0.05=0.1:0.2=0.35");
	return 0;
}

static int parse_kind(char *text, struct price_policy *p, struct errmsg *err)
{
	char *value = strchr(text, ':');
	int kind = 0;

	if (value)
		*value++ = '\0';
	while (kind <= PRICE_NONE && strcasecmp(text, names[kind]))
		kind++;
	if (kind > PRICE_NONE)
		return errmsg_set(err,
			"price policy \"%s\" is unknown: choose one of thesis, solo, "
			"linear:FACTOR, "
			"tiers:D=DISCOUNT:..., none",
			text);
	p->kind = kind;
	if (kind == PRICE_LINEAR)
		return parse_linear(value, p, err);
	if (kind == PRICE_TIERS)
		return parse_tiers(value, p, err);
	return value ? errmsg_set(err, "%s takes no value", names[kind]) : 0;
}

static int parse_limit(char *text, struct price_policy *p, struct errmsg *err)
{
	char *value = strchr(text, '=');
	struct errmsg why;
	int64_t floor;

	if (value)
		*value++ = '\0';
	if (!strcasecmp(text, "cap")) {
		if (value && !units_parse_double(value, 0, 1, &p->cap, &why))
			return 0;
		return errmsg_set(err, "cap needs a fraction from 0 to 1: cap=0.5");
	}
	if (!strcasecmp(text, "floor")) {
		if (!value || units_parse_int(value, 0, MAX_FLOOR, &floor, &why))
			return errmsg_set(err, "floor needs an amount of billing: floor=100");
		p->floor = (uint64_t)floor;
		return 0;
	}
	if (!strcasecmp(text, "estimate") && value &&
		(!strcasecmp(value, "point") || !strcasecmp(value, "upper"))) {
		p->upper = !strcasecmp(value, "upper");
		return 0;
	}
	return errmsg_set(err,
		"\"%s\" is unknown: a price policy goes on with /cap=FRACTION, /floor=AMOUNT or "
		"/estimate=point|upper",
		text);
}

int price_policy_parse(const char *text, struct price_policy *policy, struct errmsg *err)
{
	struct price_policy next = {.cap = 1};
	char copy[PRICE_MAX_TEXT], *save = NULL, *part;

	if (strlen(text) >= sizeof(copy))
		return errmsg_set(
			err, "a price policy has at most %zu characters", sizeof(copy) - 1);
	strcpy(copy, text);
	part = strtok_r(copy, "/", &save);
	if (parse_kind(part ? part : copy, &next, err))
		return -1;
	while ((part = strtok_r(NULL, "/", &save)))
		if (parse_limit(part, &next, err))
			return -1;
	*policy = next;
	return 0;
}

static void __attribute__((format(printf, 2, 3))) add(char *buf, const char *fmt, ...)
{
	size_t used = strlen(buf);
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(buf + used, PRICE_MAX_TEXT - used, fmt, ap);
	va_end(ap);
}

char *price_policy_format(const struct price_policy *policy, char *buf)
{
	buf[0] = '\0';
	add(buf, "%s", names[policy->kind]);
	if (policy->kind == PRICE_LINEAR)
		add(buf, ":%.6g", policy->factor);
	for (int i = 0; policy->kind == PRICE_TIERS && i < policy->tiers; i++)
		add(buf, ":%.6g=%.6g", policy->tier[i].from, policy->tier[i].discount);
	if (policy->cap < 1)
		add(buf, "/cap=%.6g", policy->cap);
	if (policy->floor)
		add(buf, "/floor=%llu", (unsigned long long)policy->floor);
	if (policy->upper)
		add(buf, "/estimate=upper");
	return buf;
}
