/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The result of a trial as one screen of text. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "cli/trial/trial.h"
#include "common/text_append.h"

/* " (10.2 to 13.9)" in units of 1/scale, or nothing where there is no interval. */
static const char *interval(
	char *buf, size_t size, const struct trial_figure *f, double scale, int digits)
{
	*buf = '\0';
	if (!isnan(f->lo))
		text_append(
			buf, size, " (%.*f to %.*f)", digits, f->lo * scale, digits, f->hi * scale);
	return buf;
}

static void print_prices(const struct trial_figure *loss, FILE *out)
{
	const char *sep = "";

	fputs("; would pay ", out);
	for (int kind = 0; kind < PRICE_KINDS; kind++) {
		fprintf(out, "%s%s %.2f", sep, price_kinds[kind].example.policy,
			trial_price(kind, loss));
		sep = ", ";
	}
}

static void print_loss(const struct trial *t, const struct trial_pair *p, int which, FILE *out)
{
	const struct trial_figure *loss = &p->loss[which];
	char buf[64];

	fprintf(out, "%s ", t->program[p->program[which]].run.name);
	if (isnan(loss->mean)) {
		fputs("loses: not known\n", out);
		return;
	}
	fprintf(out, "loses %.1f %%%s", loss->mean * 100, interval(buf, sizeof(buf), loss, 100, 1));
	if (t->programs > 2)
		fprintf(out, " beside %s", t->program[p->program[!which]].run.name);
	else
		print_prices(loss, out);
	fputc('\n', out);
}

/* An hour of work of each program, one after the other and together. */
static void print_work(const struct trial_figure *stp, int programs, FILE *out)
{
	char buf[64];

	if (isnan(stp->mean))
		return;
	fprintf(out,
		"one after the other %d min, together %.0f min: %.2f times the work of this node%s\n",
		60 * programs, 60 * programs / stp->mean, stp->mean,
		interval(buf, sizeof(buf), stp, 1, 2));
}

static void print_pairing(const struct trial *t, FILE *out)
{
	for (int i = 0; i < t->programs; i++) {
		if (t->partner[i] == i)
			fprintf(out, "best alone on the node: %s\n", t->program[i].run.name);
		else if (t->partner[i] > i)
			fprintf(out, "best together: %s and %s\n", t->program[i].run.name,
				t->program[t->partner[i]].run.name);
	}
}

void trial_text(const struct trial *t, FILE *out)
{
	static const char *const words[] = {
		[TRIAL_UNCERTAIN] = "not certain",
		[TRIAL_COLOCATE] = "co-locate",
		[TRIAL_DO_NOT] = "do not co-locate",
	};

	for (int i = 0; i < t->pairs; i++) {
		char buf[64];
		const struct trial_pair *p = &t->pair[i];

		for (int k = 0; k < RUNNER_SLOTS; k++)
			print_loss(t, p, k, out);
		if (t->programs > 2 && !isnan(p->stp.mean))
			fprintf(out, "  together %.2f times the work of this node%s\n", p->stp.mean,
				interval(buf, sizeof(buf), &p->stp, 1, 2));
	}
	if (t->programs > 2)
		print_pairing(t, out);
	print_work(&t->stp, t->programs, out);
	fprintf(out, "verdict: %s: %s\n", words[t->verdict], t->why);
}

void trial_self_text(const struct self_result *r, const char *name, FILE *out)
{
	static const char *const words[] = {[SELF_UNCERTAIN] = "not certain",
		[SELF_ALL] = "all tasks",
		[SELF_FEWER] = "fewer tasks"};
	char buf[64];

	if (!isnan(r->half.mean))
		fprintf(out, "half of the %d tasks of %s make %.2f times the work of all%s\n",
			r->tasks, name, r->half.mean, interval(buf, sizeof(buf), &r->half, 1, 2));
	fprintf(out, "verdict: %s: %s\n", words[r->verdict], r->why);
}
