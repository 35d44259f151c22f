/* SPDX-License-Identifier: GPL-2.0-or-later */
/* poppa job: what one job used, lost and is charged, on one screen. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "accounting/record/fields.h"
#include "cli/ask/cli.h"
#include "cli/ask/number_text.h"
#include "cli/bills/find_run.h"
#include "cli/bills/job.h"
#include "common/text_append.h"

#define PERCENT(v) (100 * (v))

struct options {
	bool json;
	struct find_run run;
	const char *conf;
};

static const struct argp_option option_table[] = {
	{"conf", 'c', "FILE", 0, "Read FILE instead of the default poppa.conf", 0}, CLI_JSON_OPTION,
	{0}};

static error_t parse_option(int key, char *arg, struct argp_state *state)
{
	struct options *o = state->input;

	switch (key) {
	case 'c':
		o->conf = cli_path("--conf", arg);
		return 0;
	case ARGP_KEY_ARG:
		find_run_read(&o->run, arg);
		return 0;
	default:
		return cli_parse_rest(key, arg, &o->json);
	}
}

/* Room for hours, minutes and seconds. */
struct span {
	char text[48];
};

static const char *span_text(struct span *s, double seconds)
{
	int64_t n = llround(seconds);

	snprintf(s->text, sizeof(s->text), "%lld:%02d:%02d", (long long)(n / 3600),
		(int)(n / 60 % 60), (int)(n % 60));
	return s->text;
}

static const char *memory_text(struct number_cell *c, double bytes)
{
	static const char *const unit[] = {"B", "KiB", "MiB", "GiB", "TiB", "PiB"};
	size_t i = 0;

	for (; bytes >= 1024 && i + 1 < sizeof(unit) / sizeof(unit[0]); i++)
		bytes /= 1024;
	snprintf(c->text, sizeof(c->text), "%.*f %s", i && bytes < 100 ? 1 : 0, bytes, unit[i]);
	return c->text;
}

static void print_nodes(const struct why *w, const struct job_usage *u)
{
	struct number_cell n;

	printf("Nodes        %s", number_count(&n, w->bill->nodes, "node"));
	if (*u->nodes)
		printf(" (%s)", u->nodes);
	if (*w->lane)
		printf(", lane%s %s%s", strchr(w->lane, ',') ? "s" : "", w->lane,
			!strcmp(w->shape, "socket") ? " of whole sockets"
			: !strcmp(w->shape, "both") ? ", some of whole sockets"
						    : "");
	putchar('\n');
}

/* How far the end of its limit was moved, whether it runs or has ended. */
static int64_t extended_s(const struct why *w)
{
	return w->limit.extended > 0 ? w->limit.extended : w->bill->facts->extended;
}

static const char *limit_bound(const struct why *w)
{
	return *w->limit.bound ? w->limit.bound : w->bill->facts->bound;
}

static void print_time(const struct why *w, const struct job_usage *u)
{
	struct span elapsed, limit, more;

	printf("Time         %s", span_text(&elapsed, (double)w->bill->elapsed_s));
	if (u->limit_s > 0)
		printf(" of %s", span_text(&limit, (double)u->limit_s));
	if (extended_s(w) > 0)
		printf("; the limit's end was moved by %s for what it lost",
			span_text(&more, (double)extended_s(w)));
	if (*limit_bound(w))
		printf("%s not further, for a bound: %s",
			extended_s(w) > 0 ? "," : "; it was moved", limit_bound(w));
	putchar('\n');
}

static void print_cpu(const struct why *w, const struct job_usage *u)
{
	double used = job_cpu_efficiency(w, u);
	struct span cpu, all;
	struct number_cell n;

	printf("Processors   %s", number_count(&n, w->bill->cpus, "CPU"));
	if (!isnan(used))
		printf(", %.1f %% used: %s of %s", PERCENT(used), span_text(&cpu, u->cpu_s),
			span_text(&all, (double)w->bill->elapsed_s * w->bill->cpus));
	else if (!w->bill->end)
		printf(", how much they work is known when it has ended (sstat -j %s)",
			w->bill->id);
	putchar('\n');
}

static void print_memory(const struct job_usage *u)
{
	struct number_cell rss, mem;

	printf("Memory       ");
	if (u->rss > 0)
		printf("%s in its largest task, of %lld in step %s", memory_text(&rss, u->rss),
			(long long)u->tasks, u->step);
	else
		printf("what it used is not known");
	if (u->mem > 0)
		printf("; it had %s in all", memory_text(&mem, u->mem));
	putchar('\n');
}

static void print_partners(const struct why *w)
{
	const struct settlement *f = w->bill->facts;
	char names[1024] = "";

	for (int i = 0; i < f->partner_count; i++) {
		const struct bill *p = bills_partner(w->bills, w->bill, f->partner[i]);

		text_append(names, sizeof(names), "%s%u%s%.60s%s", i ? ", " : "", f->partner[i],
			p ? " (" : "", p ? p->name : "", p ? ")" : "");
	}
	if (f->more_partners)
		text_append(names, sizeof(names), " and %d more", f->more_partners);
	if (*names)
		printf("Beside       %s", names);
	else if (f->co > 0)
		printf("Beside       other jobs");
	else
		printf("Beside       nobody");
	if (f->co > 0)
		printf(", for %.0f %% of its time", PERCENT(f->co));
	putchar('\n');
}

static void print_degradation(const struct settlement *f)
{
	printf("Degradation  %.1f %%", f->degradation > 0 ? PERCENT(f->degradation) : 0);
	if (!isnan(f->hi))
		printf(" (95 %% interval: %.1f to %.1f %%)", PERCENT(f->lo), PERCENT(f->hi));
	putchar('\n');
}

static void print_price(const struct bill *b)
{
	const struct settlement *f = b->facts;

	printf("Price        billing %llu", (unsigned long long)f->charged);
	if (f->charged < f->raw)
		printf(" instead of %llu for each second: %.1f %% less, %llu saved in all\n",
			(unsigned long long)f->raw, PERCENT(settlement_discount(f)),
			(unsigned long long)((f->raw - f->charged) * (uint64_t)b->elapsed_s));
	else
		puts(" for each second, the full one");
}

static void job_print(const struct why *w, const struct job_usage *u)
{
	const struct bill *b = w->bill;
	bool settled = w->status == BILL_PRICED || w->status == BILL_NO_DATA;
	size_t asked = strlen(w->job);
	char run[32] = "", text[1024];

	if (!strncmp(b->id, w->job, asked) && (b->id[asked] == '_' || b->id[asked] == '+'))
		printf("%s is %s: this is %s alone.\n", w->job,
			b->id[asked] == '_' ? "an array" : "a heterogeneous job", b->id);
	if (w->restart)
		snprintf(run, sizeof(run), ", run %u", w->restart + 1);
	printf("Job          %s (%s%s) of %s, account %s, partition %s: %s\n", b->id, b->name, run,
		b->user, b->account, b->partition, b->state);
	if (!why_waits(b) && w->status != BILL_NEVER) {
		print_nodes(w, u);
		print_time(w, u);
		print_cpu(w, u);
		print_memory(u);
	}
	if (settled)
		print_partners(w);
	if (w->status == BILL_PRICED)
		print_degradation(b->facts);
	else if (w->status == BILL_NO_DATA)
		printf("Degradation  not measured (%s)\n", b->facts->nodata);
	if (settled)
		print_price(b);
	else
		printf("Price        %s\n", job_bill_text(w, text, sizeof(text)));
	printf("Advice       %s\n", job_advice(w, u, text, sizeof(text)));
}

static json_t *partners_json(const struct settlement *f)
{
	json_t *list = json_array();

	for (int i = 0; list && i < f->partner_count; i++)
		json_array_append_new(list, json_integer(f->partner[i]));
	return list;
}

static json_t *bytes_json(double v)
{
	return v > 0 ? json_integer(llround(v)) : json_null();
}

/* A bill's amounts and what they rest on; null where there is no price. */
static json_t *price_json(const struct why *w)
{
	const struct settlement *f = w->bill->facts;

	if (w->status != BILL_PRICED && w->status != BILL_NO_DATA)
		return json_null();
	return json_pack("{s:I, s:I, s:I, s:o, s:o, s:o, s:o, s:i, s:s}", "raw", (json_int_t)f->raw,
		"charged", (json_int_t)f->charged, "saved",
		(json_int_t)((f->raw - f->charged) * (uint64_t)w->bill->elapsed_s), "degradation",
		field_real_or_null(f->degradation), "ci95",
		isnan(f->hi) ? json_null() : json_pack("[f, f]", f->lo, f->hi), "co",
		field_real_or_null(f->co), "partners", partners_json(f), "more_partners",
		f->more_partners, "nodata", f->nodata);
}

static json_t *job_json(const struct why *w, const struct job_usage *u)
{
	const struct bill *b = w->bill;
	char bill[1024], advice[256];
	json_t *json = json_pack("{s:I, s:s, s:I, s:s, s:s, s:s, s:s, s:s, s:s, s:I, s:I, s:I}",
		"job", (json_int_t)b->job_id, "id", b->id, "restart", (json_int_t)w->restart,
		"user", b->user, "account", b->account, "partition", b->partition, "name", b->name,
		"state", b->state, "status", bill_status_name(w->status), "start",
		(json_int_t)b->start, "end", (json_int_t)b->end, "elapsed_s",
		(json_int_t)b->elapsed_s);
	json_t *used = json_pack("{s:I, s:s, s:s, s:s, s:I, s:o, s:o, s:o, s:s, s:I, s:o}", "nodes",
		(json_int_t)b->nodes, "node_list", u->nodes, "lanes", w->lane, "lane_shape",
		*w->lane ? w->shape : "", "cpus", (json_int_t)b->cpus, "cpu_s",
		field_real_or_null(u->cpu_s), "cpu_efficiency",
		field_real_or_null(job_cpu_efficiency(w, u)), "task_memory", bytes_json(u->rss),
		"step", u->step, "step_tasks", (json_int_t)u->tasks, "memory", bytes_json(u->mem));
	json_t *told =
		json_pack("{s:I, s:I, s:s, s:o, s:s, s:s}", "limit_s", (json_int_t)u->limit_s,
			"extended", (json_int_t)extended_s(w), "bound", limit_bound(w), "price",
			price_json(w), "bill", job_bill_text(w, bill, sizeof(bill)), "advice",
			job_advice(w, u, advice, sizeof(advice)));

	if (json && used && told) {
		json_object_update(json, used);
		json_object_update(json, told);
	} else {
		json_decref(json);
		json = NULL;
	}
	json_decref(used);
	json_decref(told);
	return json;
}

int cmd_job(int argc, char **argv)
{
	static const struct argp argp = {.options = option_table,
		.parser = parse_option,
		.args_doc = "JOBID[_TASK|+PART][.RUN]",
		.doc = "What one job used, what it lost to its co-runners and what it is charged, on one "
		       "screen; for jobs that run, have ended, or did not opt in. sacct decides which "
		       "jobs you may see.\vExample:\n  poppa job 12\n  poppa job --json 12_3.0"};
	struct options o = {.json = false};
	struct why w = {.restart = 0};
	struct job_usage usage;
	struct bills bills;
	struct errmsg err;
	int rc = CLI_OK;

	cli_parse(&argp, argc, argv, &o);
	if (find_run(&o.run, NULL, &bills, &w))
		return CLI_FAILURE;
	why_gather(&w, true, o.conf);
	if (job_usage_ask(o.run.job, w.bill, &usage, &err))
		cli_error("what it used is not known: %s", err.text);
	if (o.json)
		rc = cli_print_json(job_json(&w, &usage));
	else
		job_print(&w, &usage);
	find_run_free(&bills, &w);
	return rc;
}
