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
	long long last; /* unix time */
	char *name, *program;
	int timed;       /* jobs whose time is known, USUAL_OF at most */
	double usual_s;  /* the geometric mean of their times; 0 without one */
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

static struct ran *insert(
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
			return NULL;
		n->ran = bigger;
		n->room = room;
	}
	new.name = strdup(name);
	new.program = strdup(program);
	if (!new.name || !new.program) {
		free_ran(&new);
		errno = ENOMEM;
		return NULL;
	}
	at = find(n, uid, name, &found);
	memmove(&n->ran[at + 1], &n->ran[at], (n->count - at) * sizeof(*n->ran));
	n->ran[at] = new;
	n->count++;
	return &n->ran[at];
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
	free(r->program);
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
	bool found, other, news;
	size_t at = find(n, uid, name, &found);
	struct ran *r = found ? &n->ran[at] : insert(n, uid, name, ran->program, now);

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
	bool noted, alike;
	size_t at;

	find(n, uid, name, &noted);
	at = find(n, uid, like, &alike);
	return noted || (alike && strcmp(n->ran[at].program, program) != 0);
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
	struct ran usual = {.timed = 0}, *r;
	uint32_t uid;
	long long last;
	bool found;

	if (fields != 4 && (fields != FIELDS || !read_usual(field + 4, &usual)))
		return false;
	if (!line_id(field[0], &uid) || !line_time(field[1], &last) || last < 0 || !*field[2] ||
		strlen(field[2]) >= JOB_NAMES_PROGRAM_MAX || strlen(field[3]) >= JOB_NAMES_NAME_MAX)
		return false;
	find(n, uid, field[3], &found);
	r = found ? NULL : insert(n, uid, field[3], field[2], last);
	if (!r)
		return false;
	r->timed = usual.timed;
	r->usual_s = usual.usual_s;
	return true;
}

void job_names_no_later(struct job_names *n, long long now)
{
	for (size_t i = 0; i < n->count; i++)
		aged_no_later(&n->ran[i].last, now);
}

void job_names_write(const struct job_names *n, FILE *f)
{
	for (size_t i = 0; i < n->count; i++) {
		const struct ran *r = &n->ran[i];

		fprintf(f, JOB_NAMES_LINE "%" PRIu32 "\t%lld\t%s\t%s", r->uid, r->last, r->program,
			r->name);
		if (r->usual_s > 0)
			fprintf(f, "\t%.6g\t%d", r->usual_s, r->timed);
		fputc('\n', f);
	}
}
