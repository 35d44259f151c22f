/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The table of the kinds of prices, and the text of price policies. */
#include "common/price_policy.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "common/text_append.h"
#include "common/units.h"

#define MAX_FACTOR 10
#define MAX_FLOOR INT64_C(1000000000000)

/* Bills name a policy with six digits of each number (NUMBER), and are checked by that: so more are
 * not in force. */
#define NUMBER "%.6g"

static int parse_number(const char *value, double min, double max, double *out)
{
	struct errmsg why;
	char text[32];

	if (units_parse_double(value, min, max, out, &why))
		return -1;
	snprintf(text, sizeof(text), NUMBER, *out);
	*out = strtod(text, NULL);
	return 0;
}

static int parse_linear(char *value, struct price_policy *p, struct errmsg *err)
{
	if (!value || parse_number(value, 0, MAX_FACTOR, &p->factor))
		return errmsg_set(
			err, "linear needs a factor from 0 to %d: linear:1.5", MAX_FACTOR);
	return 0;
}

/* "D=DISCOUNT:D=DISCOUNT..." */
static int parse_tiers(char *value, struct price_policy *p, struct errmsg *err)
{
	char *save = NULL, *item = value ? strtok_r(value, ":", &save) : NULL;

	p->tiers = 0;
	for (; item; item = strtok_r(NULL, ":", &save)) {
		struct price_tier *t = &p->tier[p->tiers];
		char *discount = strchr(item, '=');

		if (p->tiers == PRICE_MAX_TIERS)
			return errmsg_set(err, "tiers: at most %d are possible", PRICE_MAX_TIERS);
		if (discount)
			*discount++ = '\0';
		if (!discount || parse_number(item, 0, 1, &t->from) ||
			parse_number(discount, 0, 1, &t->discount))
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

static void format_linear(const struct price_policy *p, char *text)
{
	text_append(text, PRICE_MAX_TEXT, ":" NUMBER, p->factor);
}

static void format_tiers(const struct price_policy *p, char *text)
{
	for (int i = 0; i < p->tiers; i++)
		text_append(text, PRICE_MAX_TEXT, ":" NUMBER "=" NUMBER, p->tier[i].from,
			p->tier[i].discount);
}

static double rate_thesis(const struct price_policy *p, double d)
{
	(void)p;
	return (1 - d) * (1 - d);
}

static double rate_solo(const struct price_policy *p, double d)
{
	(void)p;
	return 1 - d;
}

static double rate_linear(const struct price_policy *p, double d)
{
	return fmax(1 - p->factor * d, 0);
}

static double rate_tiers(const struct price_policy *p, double d)
{
	double rate = 1;

	for (int i = 0; i < p->tiers && d >= p->tier[i].from; i++)
		rate = 1 - p->tier[i].discount;
	return rate;
}

static double rate_none(const struct price_policy *p, double d)
{
	(void)p;
	(void)d;
	return 1;
}

const struct price_kind_info price_kinds[PRICE_KINDS] = {
	[PRICE_THESIS] = {.name = "thesis",
		.usage = "thesis",
		.rate = rate_thesis,
		.formula = "(1 - D)^2",
		.numbers = "(1 - $D)^2",
		.option = "thesis (default)",
		.help = "thesis charges SU * (1-Z) * (1-D)^2",
		.example = {"thesis", 63360}},
	[PRICE_SOLO] = {.name = "solo",
		.usage = "solo",
		.rate = rate_solo,
		.formula = "(1 - D)",
		.numbers = "(1 - $D)",
		.option = "solo",
		.help = "solo SU * (1-Z) * (1-D)",
		.example = {"solo", 79200}},
	[PRICE_LINEAR] = {.name = "linear",
		.usage = "linear:FACTOR",
		.parse = parse_linear,
		.format = format_linear,
		.rate = rate_linear,
		.formula = "(1 - $K x D), at least 0",
		.numbers = "(1 - $K x $D)",
		.option = "linear:FACTOR",
		.help = "linear:K SU * (1-Z) * (1-K*D)",
		.example = {"linear:1.5", 69300}},
	[PRICE_TIERS] = {.name = "tiers",
		.usage = "tiers:D=DISCOUNT:...",
		.parse = parse_tiers,
		.format = format_tiers,
		.rate = rate_tiers,
		.formula = "(1 - discount of the tier that D reaches)",
		.numbers = "(1 - $T)",
		.option = "tiers:...",
		.example = {"tiers:0.05=0.1:0.2=0.35:0.4=0.6", 64350}},
	[PRICE_NONE] = {.name = "none",
		.usage = "none",
		.rate = rate_none,
		.formula = "",
		.numbers = "",
		.option = "none",
		.help = "none SU * (1-Z)",
		.example = {"none", 99000}},
};

char *price_kinds_text(char *buf, size_t size, size_t offset)
{
	buf[0] = '\0';
	for (int i = 0; i < PRICE_KINDS; i++) {
		const char *text = *(const char *const *)((const char *)&price_kinds[i] + offset);

		if (text)
			text_append(buf, size, "%s%s", *buf ? ", " : "", text);
	}
	return buf;
}

static int parse_kind(char *text, struct price_policy *p, struct errmsg *err)
{
	const struct price_kind_info *info = price_kinds;
	char *value = strchr(text, ':'), all[256];

	if (value)
		*value++ = '\0';
	while (info < price_kinds + PRICE_KINDS && strcasecmp(text, info->name))
		info++;
	if (info == price_kinds + PRICE_KINDS)
		return errmsg_set(err, "price policy \"%s\" is unknown: choose one of %s", text,
			PRICE_KINDS_TEXT(all, sizeof(all), usage));
	p->kind = (enum price_kind)(info - price_kinds);
	if (info->parse)
		return info->parse(value, p, err);
	return value ? errmsg_set(err, "%s takes no value", info->name) : 0;
}

static int parse_limit(char *text, struct price_policy *p, struct errmsg *err)
{
	char *value = strchr(text, '=');
	struct errmsg why;
	int64_t floor;

	if (value)
		*value++ = '\0';
	if (!strcasecmp(text, "cap")) {
		if (value && !parse_number(value, 0, 1, &p->cap))
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

char *price_policy_format(const struct price_policy *policy, char *buf)
{
	const struct price_kind_info *info = &price_kinds[policy->kind];

	buf[0] = '\0';
	text_append(buf, PRICE_MAX_TEXT, "%s", info->name);
	if (info->format)
		info->format(policy, buf);
	if (policy->cap < 1)
		text_append(buf, PRICE_MAX_TEXT, "/cap=" NUMBER, policy->cap);
	if (policy->floor)
		text_append(buf, PRICE_MAX_TEXT, "/floor=%llu", (unsigned long long)policy->floor);
	if (policy->upper)
		text_append(buf, PRICE_MAX_TEXT, "/estimate=upper");
	return buf;
}

void price_policy_words(
	const struct price_policy *policy, const char *degradation, char *buf, size_t size)
{
	const struct price_kind_info *info = &price_kinds[policy->kind];
	const char *words = degradation ? info->numbers : info->formula;
	double d = degradation ? strtod(degradation, NULL) : 0;

	if (*words)
		text_append(buf, size, " x ");
	for (; *words; words++) {
		if (*words != '$')
			text_append(buf, size, "%c", *words);
		else if (*++words == 'D')
			text_append(buf, size, "%s", degradation);
		else
			text_append(buf, size, NUMBER,
				*words == 'K' ? policy->factor : 1 - info->rate(policy, d));
	}
}
