/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Remembers which program jobs of a name have run, and for how long. */
#include "striping/history/job_names.h"

#include <errno.h>
#include <fnmatch.h>
#include <inttypes.h>
#include <math.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "striping/history/aged_mean.h"
#include "striping/history/line_fields.h"
#include "striping/history/user_rows.h"

/* Of a user, so that new names of jobs push out nobody else's. */
#define MAX_OF_USER 50
#define MAX_ALL 5000
/* Each note changes the file, so what was noted within this time is not noted again, s; nor is a
 * usual time that has changed by a smaller share. */
#define NOTE_EVERY_S 3600
#define NOTE_CHANGE 0.05
/* So many jobs make the usual time of a name. */
#define USUAL_OF 10

struct ran {
	uint32_t uid;
	/* Of a row in the table they are its own. */
	const char *name, *program;
	long long last;  /* unix time */
	int timed;       /* jobs whose time is known, USUAL_OF at most */
	double usual_s;  /* the geometric mean of their times; 0 without one */
	bool interprets; /* see job_names_interprets(), which takes longer than a look-up */
};

struct job_names {
	struct user_rows rows;
};

static int compare(const void *a, const void *b)
{
	const struct ran *x = a, *y = b;

	return strcmp(x->name, y->name);
}

static long long last_of(const void *row)
{
	const struct ran *r = row;

	return r->last;
}

static const struct user_rows_kind kind = {sizeof(struct ran), MAX_OF_USER, MAX_ALL, compare,
	last_of, 2, {offsetof(struct ran, name), offsetof(struct ran, program)}};

struct job_names *job_names_new(void)
{
	struct job_names *n = calloc(1, sizeof(*n));

	if (n)
		n->rows.kind = &kind;
	return n;
}

void job_names_free(struct job_names *n)
{
	if (n)
		user_rows_clear(&n->rows);
	free(n);
}

/* NULL: the name is not known. */
static struct ran *find(const struct job_names *n, uint32_t uid, const char *name)
{
	const struct ran key = {.uid = uid, .name = name};
	bool found;
	size_t at = user_rows_find(&n->rows, &key, &found);

	return found ? user_rows_at(&n->rows, at) : NULL;
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

static struct ran *insert(struct job_names *n, struct ran *key)
{
	key->interprets = job_names_interprets(key->program);
	return user_rows_insert(&n->rows, key);
}

/* Enters how long a job has run; whether that makes a difference. */
static bool add_time(struct ran *r, double seconds)
{
	double before = r->usual_s, off;

	if (!(seconds > 0))
		return false;
	r->timed += r->timed < USUAL_OF;
	off = before > 0 ? log(seconds / before) / r->timed : 0;
	r->usual_s = before > 0 ? before * exp(off) : seconds;
	return !(before > 0) || fabs(off) > NOTE_CHANGE;
}

/* How long the other program runs is not known. 0, or -1 without memory. */
static int change_program(struct ran *r, const char *program)
{
	char *copy = strdup(program);

	if (!copy)
		return -1;
	free((void *)r->program);
	r->program = copy;
	r->interprets = job_names_interprets(copy);
	r->timed = 0;
	r->usual_s = 0;
	return 0;
}

/* As job_names_ran(), of a name as it is. */
static int note(struct job_names *n, uint32_t uid, const char *name, const struct job_ran *ran,
	long long now)
{
	struct ran *r = find(n, uid, name);
	const bool found = r;
	bool other, news;

	if (!r)
		r = insert(
			n, &(struct ran){
				   .uid = uid, .name = name, .program = ran->program, .last = now});
	if (!r)
		return -1;
	other = strcmp(r->program, ran->program) != 0;
	if (other && change_program(r, ran->program))
		return -1;
	news = add_time(r, ran->seconds) || !found || other || now - r->last >= NOTE_EVERY_S;
	if (news)
		r->last = now;
	return news;
}

/* Whether the name as it is must be noted beside the one with "#" for its numbers. */
static bool stands_out(const struct job_names *n, uint32_t uid, const char *name, const char *like,
	const char *program)
{
	const struct ran *alike = find(n, uid, like);

	return find(n, uid, name) || (alike && strcmp(alike->program, program) != 0);
}

int job_names_ran(struct job_names *n, unsigned int uid, const char *job_name,
	const struct job_ran *ran, long long now)
{
	char name[JOB_NAMES_NAME_MAX], like[JOB_NAMES_NAME_MAX], what[JOB_NAMES_PROGRAM_MAX];
	const struct job_ran clean = {what, ran->seconds};
	int rc = 0, also;

	class_copy(job_name, name, sizeof(name));
	class_copy(ran->program, what, sizeof(what));
	if (!*what || !(ran->seconds >= 0) || isinf(ran->seconds)) {
		errno = EINVAL;
		return -1;
	}
	strcpy(like, name);
	if (class_generalize(like) && stands_out(n, uid, name, like, what))
		rc = note(n, uid, name, &clean, now);
	also = note(n, uid, like, &clean, now);
	return rc < 0 || also < 0 ? -1 : rc | also;
}

/* What is known of a name, or of one that differs in its numbers only; NULL: nothing. */
static const struct ran *look_up(const struct job_names *n, uint32_t uid, const char *job_name)
{
	char name[JOB_NAMES_NAME_MAX];
	const struct ran *r;

	class_copy(job_name, name, sizeof(name));
	r = find(n, uid, name);
	return r || !class_generalize(name) ? r : find(n, uid, name);
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

double job_names_usual_s(const struct job_names *n, unsigned int uid, const char *job_name)
{
	const struct ran *r = look_up(n, uid, job_name);

	return r ? r->usual_s : 0;
}

/* The usual time, and how many jobs it is of. */
static bool read_usual(char *const field[2], struct ran *r)
{
	char *end;
	long timed = strtol(field[1], &end, 10);

	if (end == field[1] || *end || timed < 1 || timed > USUAL_OF)
		return false;
	r->timed = (int)timed;
	r->usual_s = strtod(field[0], &end);
	return end != field[0] && !*end && r->usual_s > 0 && !isinf(r->usual_s);
}

/* The fields of a line: user, time, program, name; and, where it is known, the usual time and the
 * number of jobs that it is of. */
#define FIELDS 6
bool job_names_read(struct job_names *n, char *line)
{
	char *field[FIELDS];
	int fields = line_fields(line + sizeof(JOB_NAMES_LINE) - 1, field, FIELDS);
	struct ran key = {.timed = 0};

	if (fields != 4 && (fields != FIELDS || !read_usual(field + 4, &key)))
		return false;
	if (!line_id(field[0], &key.uid) || !line_time(field[1], &key.last) || key.last < 0 ||
		!*field[2] || strlen(field[2]) >= JOB_NAMES_PROGRAM_MAX ||
		strlen(field[3]) >= JOB_NAMES_NAME_MAX)
		return false;
	key.program = field[2];
	key.name = field[3];
	return !find(n, key.uid, key.name) && insert(n, &key);
}

void job_names_no_later(struct job_names *n, long long now)
{
	for (size_t i = 0; i < n->rows.count; i++) {
		struct ran *r = user_rows_at(&n->rows, i);

		aged_no_later(&r->last, now);
	}
}

void job_names_write(const struct job_names *n, FILE *f)
{
	for (size_t i = 0; i < n->rows.count; i++) {
		const struct ran *r = user_rows_at(&n->rows, i);

		fprintf(f, JOB_NAMES_LINE "%" PRIu32 "\t%lld\t%s\t%s", r->uid, r->last, r->program,
			r->name);
		if (r->usual_s > 0)
			fprintf(f, "\t%.6g\t%d", r->usual_s, r->timed);
		fputc('\n', f);
	}
}
