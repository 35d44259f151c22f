/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Runs squeue and reads its answer. */
#include "cli/ask/squeue.h"

#include <stdlib.h>
#include <string.h>

#include "cli/ask/run_program.h"
#include "common/printable.h"
#include "common/units.h"

#define WAIT_MS 15000
#define OUTPUT_MAX (1 << 20)
/* Of all jobs, which may be many. */
#define QUEUE_MAX (64 << 20)
/* A character that is in no text of the suite. The name is last, because its user may have put the
 * character into it. Widths of 0 cut nothing. */
#define BETWEEN "\x1f"
#define QUEUE_FORMAT "UserID:0" BETWEEN ",NumNodes:0" BETWEEN ",system_comment:0" BETWEEN ",Name:0"
/* The name is last, because its user may have put the delimiter into it. */
#define FORMAT "%i|%u|%a|%P|%q|%r|%E|%j"

int squeue_parse(char *line, struct squeue_job *job)
{
	char *rest = line;
	struct squeue_job found = {.id = line};
	const char **const fields[] = {&found.user, &found.account, &found.partition, &found.qos,
		&found.reason, &found.dependency, &found.name};

	line[strcspn(line, "\n")] = '\0';
	plain_text(line);
	for (size_t i = 0; i < sizeof(fields) / sizeof(fields[0]); i++) {
		rest = strchr(rest, '|');
		if (!rest)
			return -1;
		*rest++ = '\0';
		*fields[i] = rest;
	}
	*job = found;
	return 0;
}

int squeue_waiting(const char *id, struct squeue_job *job)
{
	const char *const argv[] = {
		"squeue", "--noheader", "--states=PENDING", "--jobs", id, "--format", FORMAT, NULL};
	struct errmsg ignored;
	char *text = run_program((char *const *)argv, OUTPUT_MAX, WAIT_MS, &ignored);

	if (!text || squeue_parse(text, job)) {
		free(text);
		return -1;
	}
	return 0;
}

int squeue_parse_queued(char *line, struct squeue_queued *job)
{
	char *field[4] = {line};
	int64_t uid;

	for (int i = 1; i < 4; i++) {
		char *end = strchr(field[i - 1], *BETWEEN);

		if (!end)
			return -1;
		*end = '\0';
		field[i] = end + 1;
	}
	if (units_parse_int(field[0], 0, UINT32_MAX, &uid, NULL))
		return -1;
	*job = (struct squeue_queued){(unsigned int)uid, field[1], field[2], field[3]};
	return 0;
}

int squeue_each_queued(
	int (*fn)(char *line, void *arg, struct errmsg *err), void *arg, struct errmsg *err)
{
	const char *const argv[] = {"squeue", "--noheader", "--array", "--states=PENDING,RUNNING",
		"--sort=-t,-p", "--Format=" QUEUE_FORMAT, NULL};
	char *text = run_program((char *const *)argv, QUEUE_MAX, WAIT_MS, err), *save = NULL;
	int rc = text ? 0 : -1;

	for (char *line = text ? strtok_r(text, "\n", &save) : NULL; line && !rc;
		line = strtok_r(NULL, "\n", &save))
		rc = fn(line, arg, err);
	free(text);
	return rc;
}
