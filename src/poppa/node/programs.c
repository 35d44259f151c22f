/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Adds up the processor time of a job's programs by their names. */
#include "poppa/node/programs.h"

#include <stdio.h>
#include <string.h>

#include "common/printable.h"

static struct program *find(struct programs *p, const char *name)
{
	for (int i = 0; i < p->count; i++)
		if (!strcmp(p->list[i].name, name))
			return &p->list[i];
	return NULL;
}

/* A place for one more, with the time that it inherits. */
static struct program *make_place(struct programs *p)
{
	struct program *least = &p->list[0];

	if (p->count < PROGRAMS_MAX)
		return &p->list[p->count++];
	for (int i = 1; i < p->count; i++)
		if (p->list[i].ticks < least->ticks)
			least = &p->list[i];
	return least;
}

void programs_ran(struct programs *p, const char *name, uint64_t ticks)
{
	char shown[RECORD_PROGRAM];
	struct program *program;

	snprintf(shown, sizeof(shown), "%s", name);
	plain_text(shown);
	if (!*shown || !ticks)
		return;
	program = find(p, shown);
	if (!program) {
		program = make_place(p);
		strcpy(program->name, shown);
	}
	program->ticks += ticks;
}

const char *programs_first(const struct programs *p)
{
	const struct program *most = NULL;

	for (int i = 0; i < p->count; i++)
		if (!most || p->list[i].ticks > most->ticks)
			most = &p->list[i];
	return most ? most->name : "";
}

json_t *programs_save(const struct programs *p)
{
	json_t *saved = json_array();

	for (int i = 0; i < p->count; i++)
		json_array_append_new(
			saved, json_pack("[s, I]", p->list[i].name, (json_int_t)p->list[i].ticks));
	return saved;
}

void programs_load(const json_t *saved, struct programs *p)
{
	const char *name;
	json_int_t ticks;
	json_t *one;
	size_t i;

	*p = (struct programs){.resumed = saved};
	json_array_foreach((json_t *)saved, i,
		one) if (!json_unpack(one, "[s, I]", &name, &ticks) && ticks > 0)
		programs_ran(p, name, (uint64_t)ticks);
}
