/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Asks sbatch when a job would start. */
#include "cli/advise/planned_start.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "cli/ask/run_program.h"
#include "common/printable.h"
#include "common/units.h"

#define WAIT_MS 15000
#define LAST_TIME INT64_C(253402300799) /* of the year 9999 */

/* A time as SLURM_TIME_FORMAT=%s or Slurm's standard has it; 0: it is none. Cuts text behind it. */
static int64_t read_time(char *text)
{
	struct tm tm = {.tm_isdst = -1};
	struct errmsg ignored;
	const char *end;
	int64_t v;

	text[strcspn(text, " \n")] = '\0';
	if (!units_parse_int(text, 1, LAST_TIME, &v, &ignored))
		return v;
	end = strptime(text, "%Y-%m-%dT%H:%M:%S", &tm);
	v = end && !*end ? mktime(&tm) : 0;
	return v > 0 ? v : 0;
}

/* Without what sbatch puts before each line. */
static const char *without_prefix(const char *text)
{
	static const char *const before[] = {"sbatch: ", "error: "};

	for (size_t i = 0; i < sizeof(before) / sizeof(before[0]); i++)
		if (!strncmp(text, before[i], strlen(before[i])))
			text += strlen(before[i]);
	return text;
}

/* Looks for "Job 12 to start at TIME using ...", among lines that a site may print as well. */
static int64_t find_start(char *said)
{
	char *save = NULL;

	for (char *line = strtok_r(said, "\n", &save); line; line = strtok_r(NULL, "\n", &save)) {
		const char *job = without_prefix(line), *id = job + 4;
		static const char between[] = " to start at ";
		size_t digits = strncmp(job, "Job ", 4) ? 0 : strspn(id, "0123456789");

		if (digits && !strncmp(id + digits, between, sizeof(between) - 1))
			return read_time(line + (id - line) + digits + sizeof(between) - 1);
	}
	return 0;
}

void planned_start_ask(const struct sbatch_job *job, bool colocated, struct planned_start *start)
{
	static char name[] = "sbatch", test_only[] = "--test-only", colocate[] = "--colocate";
	char **argv = calloc((size_t)job->words + 4, sizeof(*argv)), *said = NULL;
	int n = 0;

	*start = (struct planned_start){.at = 0};
	if (!colocated && job->script_colocates) {
		errmsg_set(&start->why, "the script itself asks for --colocate");
	} else if (!argv || setenv("SLURM_TIME_FORMAT", "%s", 1)) {
		errmsg_set(&start->why, "out of memory");
	} else {
		argv[n++] = name;
		argv[n++] = test_only;
		if (colocated && !job->colocate)
			argv[n++] = colocate;
		for (int i = 0; i < job->words; i++)
			if (colocated || !job->colocates[i])
				argv[n++] = job->word[i];
		said = run_program_said(argv, WAIT_MS, &start->why);
		if (said)
			start->at = find_start(said);
		if (said && !start->at)
			errmsg_set(&start->why, "sbatch --test-only names no start");
		if (!said)
			memmove(start->why.text, without_prefix(start->why.text),
				strlen(without_prefix(start->why.text)) + 1);
	}
	plain_text(start->why.text);
	free(said);
	free(argv);
}
