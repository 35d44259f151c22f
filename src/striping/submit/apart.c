/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Reads and writes from whom a job was parted. */
#include "striping/submit/apart.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/tags.h"
#include "common/text_append.h"

bool apart_from(const struct apart *a, uint32_t job)
{
	for (int i = 0; i < a->count; i++)
		if (a->job[i] == job)
			return true;
	return false;
}

void apart_add(struct apart *a, uint32_t restart, const uint32_t *job, int count)
{
	a->times++;
	a->restart = restart;
	for (int i = 0; i < count; i++) {
		if (apart_from(a, job[i]))
			continue;
		if (a->count == APART_JOBS)
			memmove(a->job, a->job + 1, (size_t)--a->count * sizeof(*a->job));
		a->job[a->count++] = job[i];
	}
}

char *apart_format(const struct apart *a, char *buf)
{
	snprintf(buf, APART_TEXT_MAX, "times=%" PRIu32 " restart=%" PRIu32 " from=", a->times,
		a->restart);
	for (int i = 0; i < a->count; i++)
		text_append(buf, APART_TEXT_MAX, "%s%" PRIu32, i ? "," : "", a->job[i]);
	return buf;
}

int apart_parse(const char *text, struct apart *a)
{
	char again[APART_TEXT_MAX], *end;
	struct apart read = {0};
	const char *at;
	int used = 0;

	memset(a, 0, sizeof(*a));
	if (!text ||
		sscanf(text, "times=%" SCNu32 " restart=%" SCNu32 " from=%n", &read.times,
			&read.restart, &used) < 2 ||
		!used)
		return -1;
	for (at = text + used; *at && read.count < APART_JOBS; at = end + (*end == ',')) {
		unsigned long id = strtoul(at, &end, 10);

		if (end == at || id > UINT32_MAX)
			return -1;
		read.job[read.count++] = (uint32_t)id;
	}
	/* Signs, blanks, overflows and what follows: it would be written otherwise. */
	if (strcmp(apart_format(&read, again), text))
		return -1;
	*a = read;
	return 0;
}

void apart_read(const char *comment, struct apart *a)
{
	char *text = tags_get(comment, APART_TAG);

	apart_parse(text, a);
	free(text);
}
