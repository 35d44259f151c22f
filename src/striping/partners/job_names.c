/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Remembers which program jobs of a name have run. */
#include "striping/partners/job_names.h"

#include <ctype.h>
#include <errno.h>
#include <fnmatch.h>
#include <inttypes.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

/* Of a user, so that new names of jobs push out nobody else's. */
#define MAX_OF_USER 50
#define MAX_ALL 5000
/* Each note changes the file, so what was noted within this time is not noted again, s. */
#define NOTE_EVERY_S 3600

struct ran {
	uint32_t uid;
	long long last; /* unix time */
	char *name, *program;
	bool interprets; /* see job_names_interprets(), which takes longer than a look-up */
};

struct job_names {
	struct ran *ran; /* sorted by uid, then name */
	size_t count, room;
};

struct job_names *job_names_new(void)
{
	return calloc(1, sizeof(struct job_names));
}

static void free_ran(struct ran *r)
{
	free(r->name);
	free(r->program);
}

void job_names_free(struct job_names *n)
{
	if (!n)
		return;
	for (size_t i = 0; i < n->count; i++)
		free_ran(&n->ran[i]);
	free(n->ran);
	free(n);
}

/* Index of the name, or of the place where it belongs. */
static size_t find(const struct job_names *n, uint32_t uid, const char *name, bool *found)
{
	size_t low = 0, high = n->count;

	*found = false;
	while (low < high && !*found) {
		size_t mid = low + (high - low) / 2;
		const struct ran *r = &n->ran[mid];
		int c = r->uid != uid ? (r->uid < uid ? -1 : 1) : strcmp(r->name, name);

		*found = !c;
		if (c < 0)
			low = mid + 1;
		else
			high = mid;
	}
	return high;
}

bool job_names_interprets(const char *program)
{
	static const char *const pattern[] = {"python*", "pypy*", "perl*", "ruby*", "java", "R",
		"Rscript", "julia*", "node", "nodejs", "octave*", "MATLAB*", "matlab*", "lua*",
		"tclsh*", "php*", "mono*", "dotnet", "qemu-*", "bash", "sh", "dash", "zsh*", "ksh*",
		"mksh*", "csh", "tcsh", "fish", "busybox", "slurm_script"};

	for (size_t i = 0; i < sizeof(pattern) / sizeof(pattern[0]); i++)
		if (!fnmatch(pattern[i], program, 0))
			return true;
	return false;
}

/* Drops the name of the user that was seen longest ago. */
static void drop_oldest(struct job_names *n, uint32_t uid)
{
	size_t oldest = n->count;

	for (size_t i = 0; i < n->count; i++)
		if (n->ran[i].uid == uid &&
			(oldest == n->count || n->ran[i].last < n->ran[oldest].last))
			oldest = i;
	free_ran(&n->ran[oldest]);
	memmove(&n->ran[oldest], &n->ran[oldest + 1], (n->count - oldest - 1) * sizeof(*n->ran));
	n->count--;
}

static void make_room(struct job_names *n, uint32_t uid)
{
	size_t mine = 0, run = 0, most = 0;
	uint32_t whose = uid;

	for (size_t i = 0; i < n->count; i++) {
		mine += n->ran[i].uid == uid;
		run = i && n->ran[i].uid == n->ran[i - 1].uid ? run + 1 : 1;
		if (run > most) {
			most = run;
			whose = n->ran[i].uid;
		}
	}
	if (mine >= MAX_OF_USER)
		drop_oldest(n, uid);
	else if (n->count >= MAX_ALL)
		drop_oldest(n, whose);
}

static int insert(
	struct job_names *n, uint32_t uid, const char *name, const char *program, long long now)
{
	struct ran new = {.uid = uid, .last = now, .interprets = job_names_interprets(program)};
	bool found;
	size_t at;

	make_room(n, uid);
	if (n->count == n->room) {
		size_t room = n->room ? n->room * 2 : 64;
		struct ran *bigger = realloc(n->ran, room * sizeof(*bigger));

		if (!bigger)
			return -1;
		n->ran = bigger;
		n->room = room;
	}
	new.name = strdup(name);
	new.program = strdup(program);
	if (!new.name || !new.program) {
		free_ran(&new);
		errno = ENOMEM;
		return -1;
	}
	at = find(n, uid, name, &found);
	memmove(&n->ran[at + 1], &n->ran[at], (n->count - at) * sizeof(*n->ran));
	n->ran[at] = new;
	n->count++;
	return 0;
}

/* As job_names_ran(), of a name as it is. */
static int note(
	struct job_names *n, uint32_t uid, const char *name, const char *program, long long now)
{
	bool found;
	size_t at = find(n, uid, name, &found);
	struct ran *r = &n->ran[at];
	bool same = found && !strcmp(r->program, program);
	char *copy;

	if (!found)
		return insert(n, uid, name, program, now) ? -1 : 1;
	if (same && now - r->last < NOTE_EVERY_S)
		return 0;
	copy = same ? r->program : strdup(program);
	if (!copy)
		return -1;
	if (!same)
		free(r->program);
	r->program = copy;
	r->interprets = job_names_interprets(copy);
	r->last = now;
	return 1;
}

/* Whether the name as it is must be noted beside the one with "#" for its numbers. */
static bool stands_out(const struct job_names *n, uint32_t uid, const char *name, const char *like,
	const char *program)
{
	bool noted, alike;
	size_t at;

	find(n, uid, name, &noted);
	at = find(n, uid, like, &alike);
	return noted || (alike && strcmp(n->ran[at].program, program) != 0);
}

int job_names_ran(struct job_names *n, unsigned int uid, const char *job_name, const char *program,
	long long now)
{
	char name[JOB_NAMES_NAME_MAX], like[JOB_NAMES_NAME_MAX], what[JOB_NAMES_PROGRAM_MAX];
	int rc = 0, also;

	class_copy(job_name, name, sizeof(name));
	class_copy(program, what, sizeof(what));
	if (!*what) {
		errno = EINVAL;
		return -1;
	}
	strcpy(like, name);
	if (class_generalize(like) && stands_out(n, uid, name, like, what))
		rc = note(n, uid, name, what, now);
	also = note(n, uid, like, what, now);
	return rc < 0 || also < 0 ? -1 : rc | also;
}

/* What is known of a name, or of one that differs in its numbers only; NULL: nothing. */
static const struct ran *look_up(const struct job_names *n, uint32_t uid, const char *job_name)
{
	char name[JOB_NAMES_NAME_MAX];
	bool found;
	size_t at;

	class_copy(job_name, name, sizeof(name));
	at = find(n, uid, name, &found);
	if (!found && class_generalize(name))
		at = find(n, uid, name, &found);
	return found ? &n->ran[at] : NULL;
}

const char *job_names_program(const struct job_names *n, unsigned int uid, const char *job_name)
{
	const struct ran *r = look_up(n, uid, job_name);

	return r ? r->program : "";
}

const char *job_names_kind(const struct job_names *n, unsigned int uid, const char *job_name)
{
	const struct ran *r = look_up(n, uid, job_name);

	return r && !r->interprets ? r->program : NULL;
}

/* The fields of a line: user, time, program, name. */
bool job_names_read(struct job_names *n, char *line)
{
	char *field[4], *end, *at = line + sizeof(JOB_NAMES_LINE) - 1;
	unsigned long long uid;
	long long last;
	bool found;

	for (int i = 0; i < 4; i++) {
		field[i] = at;
		at = strchr(at, '\t');
		if (!at != (i == 3))
			return false;
		if (at)
			*at++ = '\0';
	}
	uid = strtoull(field[0], &end, 10);
	if (!isdigit((unsigned char)*field[0]) || *end || uid > UINT32_MAX)
		return false;
	last = strtoll(field[1], &end, 10);
	if (end == field[1] || *end || last < 0 || !*field[2] ||
		strlen(field[2]) >= JOB_NAMES_PROGRAM_MAX || strlen(field[3]) >= JOB_NAMES_NAME_MAX)
		return false;
	find(n, (uint32_t)uid, field[3], &found);
	return !found && !insert(n, (uint32_t)uid, field[3], field[2], last);
}

void job_names_no_later(struct job_names *n, long long now)
{
	for (size_t i = 0; i < n->count; i++)
		if (n->ran[i].last > now)
			n->ran[i].last = now;
}

void job_names_write(const struct job_names *n, FILE *f)
{
	for (size_t i = 0; i < n->count; i++)
		fprintf(f, JOB_NAMES_LINE "%" PRIu32 "\t%lld\t%s\t%s\n", n->ran[i].uid,
			n->ran[i].last, n->ran[i].program, n->ran[i].name);
}
