/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Runs squeue and reads its answer. */
#include "cli/ask/squeue.h"

#include <stdlib.h>
#include <string.h>

#include "cli/ask/run_program.h"
#include "common/printable.h"

#define WAIT_MS 15000
#define OUTPUT_MAX (1 << 20)
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
