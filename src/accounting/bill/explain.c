/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Writes the arithmetic of a price out. */
#include "accounting/bill/explain.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

/* Digits that a fact is written with: as it was stored, or more than any amount can notice. */
#define ROUNDED_DIGITS 4
#define EXACT_DIGITS 9

struct number {
	char text[32];
	double value; /* of the text */
};

static double unit(double v)
{
	return fmin(fmax(v, 0), 1);
}

/* A number as it is shown, and the value that this shows. */
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

/* The part of the formula that the degradation makes. */
static double write_rate(const struct price_policy *p, const struct number *d, struct explain *e)
{
	double discount = 0;

	switch (p->kind) {
	case PRICE_THESIS:
		strcat(e->formula, " x (1 - D)^2");
		sprintf(e->numbers + strlen(e->numbers), " x (1 - %s)^2", d->text);
		return (1 - d->value) * (1 - d->value);
	case PRICE_SOLO:
		strcat(e->formula, " x (1 - D)");
		sprintf(e->numbers + strlen(e->numbers), " x (1 - %s)", d->text);
		return 1 - d->value;
	case PRICE_LINEAR:
		sprintf(e->formula + strlen(e->formula), " x (1 - %.6g x D), at least 0",
			p->factor);
		sprintf(e->numbers + strlen(e->numbers), " x (1 - %.6g x %s)", p->factor, d->text);
		return unit(1 - p->factor * d->value);
	case PRICE_TIERS:
		for (int i = 0; i < p->tiers && d->value >= p->tier[i].from; i++)
			discount = p->tier[i].discount;
		strcat(e->formula, " x (1 - discount of the tier that D reaches)");
		sprintf(e->numbers + strlen(e->numbers), " x (1 - %.6g)", discount);
		return 1 - discount;
	case PRICE_NONE:
		break;
	}
	return 1;
}

/* The least and the most charge at the corners of what the rounded facts may stand for. */
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
	double wanted = policy->upper ? fmax(facts->hi, facts->degradation) : facts->degradation;
	bool upper = wanted > facts->degradation;
	double stopped = isnan(facts->stopped) ? 0 : unit(facts->stopped), rate, full;
	struct number z = shown(stopped, facts->stopped_off);
	struct number d = shown(unit(wanted), upper ? facts->hi_off : facts->degradation_off);
	struct number point = shown(unit(facts->degradation), facts->degradation_off);

	memset(out, 0, sizeof(*out));
	out->degradation = d.value;
	strcpy(out->formula, "raw x (1 - Z)");
	sprintf(out->numbers, "%llu x (1 - %s)", (unsigned long long)facts->raw, z.text);
	full = (double)facts->raw * (1 - z.value);
	out->solo = full * (1 - point.value);
	rate = write_rate(policy, &d, out);
	if (rate < 1 - policy->cap) {
		out->capped = true;
		strcpy(out->formula, "raw x (1 - Z) x (1 - cap)");
		sprintf(out->numbers, "%llu x (1 - %s) x (1 - %.6g)",
			(unsigned long long)facts->raw, z.text, policy->cap);
		rate = 1 - policy->cap;
	}
	out->amount = out->product = full * rate;
	if (policy->floor && out->amount < fmin(full, (double)policy->floor)) {
		out->floored = true;
		out->amount = fmin(full, (double)policy->floor);
	}
	out->charged = price_charge(policy, facts->raw, facts->degradation, facts->hi, stopped);
	write_range(policy, facts, out);
}
