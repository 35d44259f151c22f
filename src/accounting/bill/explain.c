/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Writes the arithmetic of a price out. */
#include "accounting/bill/explain.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

/* Digits shown: for a rounded fact as many as it has, else more than a charge depends on. */
#define ROUNDED_DIGITS 4
#define EXACT_DIGITS 9

struct number {
	char text[32];
	double value; /* of the text */
};

/* A number as it is shown, and the value of what is shown. */
static struct number shown(double v, double off)
{
	struct number n;
	char *end;

	snprintf(n.text, sizeof(n.text), "%.*f", off > 0 ? ROUNDED_DIGITS : EXACT_DIGITS, v);
	end = n.text + strlen(n.text);
	while (end[-1] == '0')
		*--end = '\0';
	if (end[-1] == '.')
		*--end = '\0';
	if (sscanf(n.text, "%lf", &n.value) != 1)
		n.value = v;
	return n;
}

/* The least and the most charge over all corners of what the rounded facts may have been. */
static void write_range(
	const struct price_policy *p, const struct explain_facts *f, struct explain *e)
{
	e->least = UINT64_MAX;
	e->most = 0;
	for (int corner = 0; corner < 8; corner++) {
		uint64_t charge = price_charge(p, f->raw,
			f->degradation + (corner & 1 ? 1 : -1) * f->degradation_off,
			f->hi + (corner & 2 ? 1 : -1) * f->hi_off,
			f->stopped + (corner & 4 ? 1 : -1) * f->stopped_off);

		e->least = charge < e->least ? charge : e->least;
		e->most = charge > e->most ? charge : e->most;
	}
}

void explain_price(
	const struct price_policy *policy, const struct explain_facts *facts, struct explain *out)
{
	struct price_steps exact =
		price_steps(policy, facts->raw, facts->degradation, facts->hi, facts->stopped);
	bool upper = policy->upper && facts->hi > facts->degradation;
	struct number z = shown(exact.stopped, facts->stopped_off);
	struct number d = shown(exact.degradation, upper ? facts->hi_off : facts->degradation_off);
	struct number point = shown(fmin(fmax(facts->degradation, 0), 1), facts->degradation_off);
	/* Computed with the numbers that are shown, so that people get the same result. */
	struct price_steps steps = price_steps(policy, facts->raw, d.value, NAN, z.value);

	*out = (struct explain){.product = steps.product,
		.amount = steps.amount,
		.capped = steps.capped,
		.floored = steps.floored,
		.degradation = d.value,
		.solo = steps.full * (1 - point.value),
		.charged = price_charge(
			policy, facts->raw, facts->degradation, facts->hi, facts->stopped)};
	strcpy(out->formula, "raw x (1 - Z)");
	sprintf(out->numbers, "%llu x (1 - %s)", (unsigned long long)facts->raw, z.text);
	if (steps.capped) {
		strcat(out->formula, " x (1 - cap)");
		sprintf(out->numbers + strlen(out->numbers), " x (1 - %.6g)", policy->cap);
	} else {
		price_policy_words(policy, NULL, out->formula, sizeof(out->formula));
		price_policy_words(policy, d.text, out->numbers, sizeof(out->numbers));
	}
	write_range(policy, facts, out);
}
