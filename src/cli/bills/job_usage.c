/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Asks sacct what the steps of a run used. */
#include "cli/bills/job_usage.h"

#include <ctype.h>
#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/ask/run_program.h"
#include "common/printable.h"
#include "common/units.h"

#define WAIT_MS 60000
#define OUTPUT_MAX (16 << 20)
#define MAX_COUNT INT64_C(1000000000000000)
/* Users choose none of these, so none holds the delimiter. */
#define FIELDS "JobIDRaw,Start,TotalCPU,MaxRSS,NTasks,ReqMem,TimelimitRaw,AllocTRES,NodeList"

enum usage_column {
	U_ID,
	U_START,
	U_CPU,
	U_RSS,
	U_TASKS,
	U_REQ_MEM,
	U_LIMIT,
	U_TRES,
	U_NODES,
	COLUMNS
};

/* Seconds of "[DAYS-][HOURS:]MINUTES:SECONDS[.PART]"; NAN where it is none. */
static double read_cpu_time(const char *text)
{
	double part, all = 0;
	char *end;

	for (;;) {
		if (!isdigit((unsigned char)*text))
			return NAN;
		part = strtod(text, &end);
		if (*end == '-')
			all = 24 * part;
		else if (*end == ':')
			all = 60 * (all + part);
		else
			return *end ? NAN : all + part;
		text = end + 1;
	}
}

/* Bytes of "1500", "2.5G" or "16000M"; NAN where it is none. *per becomes what follows: "c" and "n"
 * in releases that tell memory for each CPU or node. */
static double read_bytes(const char *text, char *per)
{
	static const char unit[] = "KMGTP";
	const char *found;
	char *end;
	double v;

	*per = '\0';
	if (!isdigit((unsigned char)*text))
		return NAN;
	v = strtod(text, &end);
	found = *end ? strchr(unit, *end) : NULL;
	if (found) {
		v *= pow(1024, (double)(found - unit + 1));
		end++;
	}
	*per = *end;
	return v;
}

/* What follows "mem=" in a list of TRES; NAN without it. */
static double read_tres_mem(const char *tres)
{
	char text[32], per;

	for (const char *p = tres; p; p = strchr(p, ',')) {
		p += *p == ',';
		if (strncmp(p, "mem=", 4))
			continue;
		snprintf(text, sizeof(text), "%.*s", (int)strcspn(p + 4, ","), p + 4);
		return read_bytes(text, &per);
	}
	return NAN;
}

static int64_t read_count(const char *text)
{
	struct errmsg ignored;
	int64_t v;

	return units_parse_int(text, 0, MAX_COUNT, &v, &ignored) ? 0 : v;
}

static void take_run(struct job_usage *u, char **field, const struct bill *b)
{
	double asked;
	char per;

	/* Slurm counts processor time when a step ends. */
	u->cpu_s = b->end ? read_cpu_time(field[U_CPU]) : NAN;
	u->limit_s = 60 * read_count(field[U_LIMIT]);
	asked = read_bytes(field[U_REQ_MEM], &per);
	if (per == 'c')
		asked *= b->cpus;
	else if (per == 'n')
		asked *= b->nodes;
	u->mem = read_tres_mem(field[U_TRES]);
	if (!(u->mem > 0))
		u->mem = asked > 0 ? asked : NAN;
	snprintf(u->nodes, sizeof(u->nodes), "%s", field[U_NODES]);
}

static void take_step(struct job_usage *u, char **field, const char *step)
{
	char per;
	double rss = read_bytes(field[U_RSS], &per);

	if (!(rss > 0) || rss <= u->rss)
		return;
	u->rss = rss;
	u->tasks = read_count(field[U_TASKS]);
	snprintf(u->step, sizeof(u->step), "%s", step);
}

/* Takes a row; *ours tells whether the steps that follow are the run's. */
static void take_row(struct job_usage *u, char *line, const struct bill *b, bool *ours)
{
	char *field[COLUMNS], *step, *save = line;
	int n = 0;

	plain_text(line);
	while (n < COLUMNS && save)
		field[n++] = strsep(&save, "|");
	if (n < COLUMNS)
		return;
	step = strchr(field[U_ID], '.');
	if (step && *ours) {
		take_step(u, field, step + 1);
	} else if (!step) {
		*ours = read_count(field[U_ID]) == b->job_id &&
			read_count(field[U_START]) == b->start;
		if (*ours)
			take_run(u, field, b);
	}
}

int job_usage_ask(const char *job, const struct bill *b, struct job_usage *u, struct errmsg *err)
{
	const char *const argv[] = {"sacct", "--duplicates", "--noheader", "--parsable2",
		"--noconvert", "--delimiter=|", "--format=" FIELDS, "--jobs", job, NULL};
	char *text, *save = NULL;
	bool ours = false;

	*u = (struct job_usage){.cpu_s = NAN, .rss = 0, .mem = NAN};
	/* So that a run's row is known by its start. */
	if (setenv("SLURM_TIME_FORMAT", "%s", 1))
		return errmsg_set(err, "out of memory");
	text = run_program((char *const *)argv, OUTPUT_MAX, WAIT_MS, err);
	if (!text)
		return -1;
	for (char *line = strtok_r(text, "\n", &save); line; line = strtok_r(NULL, "\n", &save))
		take_row(u, line, b, &ours);
	free(text);
	return 0;
}
