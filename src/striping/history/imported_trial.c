/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Keeps the trials that an administrator has imported in a file, a line for each loss. */
#include "striping/history/imported_trial.h"

#include <errno.h>
#include <fcntl.h>
#include <libgen.h>
#include <limits.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "common/fsio.h"
#include "common/journal.h"
#include "striping/history/aged_mean.h"
#include "striping/history/line_fields.h"
#include "striping/history/pair_evidence.h"

#define HEADER "#trial\tjob\tpartner\tdegradation\tlow\thigh\timported\n"
#define FIELDS 7
/* More than all lines can take. */
#define MAX_FILE (1 << 20)
/* 95 % of a normal distribution are within so many standard deviations. */
#define NORMAL_95 1.96
#define LEAST_S 1.0
/* Above that a job hardly gets on, and its logarithm says nothing more. */
#define MOST_D 0.99

struct imported_trials {
	struct imported_loss *of;
	int count;
};

struct imported_trials *imported_trials_new(void)
{
	struct imported_trials *t = calloc(1, sizeof(*t));

	if (t)
		t->of = malloc(TRIALS_MAX * sizeof(*t->of));
	if (t && t->of)
		return t;
	free(t);
	return NULL;
}

void imported_trials_free(struct imported_trials *t)
{
	if (t)
		free(t->of);
	free(t);
}

static bool valid_id(const char *id)
{
	return strlen(id) == TRIAL_ID_MAX - 1 && strspn(id, "0123456789abcdef") == TRIAL_ID_MAX - 1;
}

static bool valid_numbers(const struct imported_loss *l)
{
	return l->degradation >= -1 && l->degradation <= 1 && l->low >= -1 && l->high <= 1 &&
	       l->low <= l->degradation && l->degradation <= l->high;
}

static int no_class(const char *name, struct errmsg *err)
{
	return errmsg_set(err,
		"\"%.40s\" is no class: name it as \"poppa pairs\" does, such as 1000@lmp or "
		"1000:weather, with at most %d characters",
		name, PAIRS_CLASS_MAX - 1);
}

int imported_trials_add(
	struct imported_trials *t, const struct imported_loss *loss, struct errmsg *err)
{
	if (!class_valid(loss->job))
		return no_class(loss->job, err);
	if (!class_valid(loss->partner))
		return no_class(loss->partner, err);
	if (!valid_id(loss->trial) || !valid_numbers(loss))
		return errmsg_set(err,
			"%g from %g to %g is no degradation: each is from -1 to 1, the first one "
			"between the others",
			loss->degradation, loss->low, loss->high);
	if (t->count == TRIALS_MAX)
		return errmsg_set(err,
			"there are %d losses of trials, and no more are kept: take a trial away "
			"with \"poppa pairs --forget TRIAL\"",
			TRIALS_MAX);
	t->of[t->count] = *loss;
	t->of[t->count++].weight = 0;
	return 0;
}

int imported_trials_forget(struct imported_trials *t, const char *trial)
{
	int kept = 0, before = t->count;

	for (int i = 0; i < before; i++)
		if (strcmp(t->of[i].trial, trial))
			t->of[kept++] = t->of[i];
	t->count = kept;
	return before - kept;
}

int imported_trials_count(const struct imported_trials *t)
{
	return t->count;
}

struct imported_loss *imported_trials_get(const struct imported_trials *t, int i)
{
	return i >= 0 && i < t->count ? &t->of[i] : NULL;
}

/* As the expectation's model has it. */
static double slowdown(double degradation)
{
	return -log1p(-fmin(degradation, MOST_D));
}

double imported_loss_seconds(const struct imported_loss *loss)
{
	double sd = (slowdown(loss->high) - slowdown(loss->low)) / (2 * NORMAL_95);
	double variance = fmax(sd * sd, PAIR_MINUTE_VARIANCE * PAIR_MINUTE_S / TRIAL_MOST_S);

	return fmax(PAIR_MINUTE_VARIANCE * PAIR_MINUTE_S / variance, LEAST_S);
}

/* One line of the file; false where it is bad. */
static bool read_line(struct imported_trials *t, char *line, long long now)
{
	char *field[FIELDS];
	struct imported_loss loss = {.weight = 0};

	if (line_fields(line, field, FIELDS) != FIELDS || strlen(field[0]) >= sizeof(loss.trial) ||
		strlen(field[1]) >= sizeof(loss.job) || strlen(field[2]) >= sizeof(loss.partner) ||
		!line_number(field[3], -1, 1, &loss.degradation) ||
		!line_number(field[4], -1, 1, &loss.low) ||
		!line_number(field[5], -1, 1, &loss.high) || !line_time(field[6], &loss.imported))
		return false;
	strcpy(loss.trial, field[0]);
	strcpy(loss.job, field[1]);
	strcpy(loss.partner, field[2]);
	aged_no_later(&loss.imported, now);
	return !imported_trials_add(t, &loss, NULL);
}

/* Whether nobody else can have written the open file; else err says who may have. */
static bool is_trusted(int fd, const char *path, struct errmsg *err)
{
	char copy[PATH_MAX];
	struct stat st, dir;

	if (snprintf(copy, sizeof(copy), "%s", path) >= (int)sizeof(copy) || fstat(fd, &st) ||
		stat(dirname(copy), &dir)) {
		errmsg_set(err, "cannot look at %s: %s", path, strerror(errno));
		return false;
	}
	if (!S_ISREG(st.st_mode))
		errmsg_set(err, "%s is no regular file: remove it", path);
	else if (st.st_uid && st.st_uid != geteuid() && st.st_uid != dir.st_uid)
		errmsg_set(err,
			"%s belongs to uid %u, who may not say what jobs lose: remove it, or chown "
			"it to SlurmUser where it is right",
			path, (unsigned int)st.st_uid);
	else if (st.st_mode & (S_IWGRP | S_IWOTH))
		errmsg_set(err,
			"%s can be written by others than its owner: chmod it to 600 where it is "
			"right",
			path);
	else
		return true;
	return false;
}

/* The text of the file, or NULL: with *missing there is none, else err says why. */
static char *read_text(const char *path, size_t *length, bool *missing, struct errmsg *err)
{
	/* Not a link, and without waiting for whoever writes a pipe. */
	int fd = open(path, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
	char *text = NULL;

	*missing = fd < 0 && errno == ENOENT;
	if (fd < 0)
		errmsg_set(err, "cannot open %s: %s", path,
			errno == ELOOP ? "it is a link" : strerror(errno));
	else if (is_trusted(fd, path, err))
		text = fsio_read_fd(fd, path, MAX_FILE, length, err);
	if (fd >= 0)
		close(fd);
	return text;
}

struct imported_trials *imported_trials_load(const char *path, int *bad, struct errmsg *err)
{
	struct imported_trials *t = imported_trials_new();
	const long long now = time(NULL);
	size_t length = 0;
	bool missing = false;
	char *text, *save = NULL;
	int skipped;

	if (!t) {
		errmsg_set(err, "out of memory for the trials");
		return NULL;
	}
	text = read_text(path, &length, &missing, err);
	if (!text && !missing) {
		imported_trials_free(t);
		return NULL;
	}
	/* Text ends at a zero byte, and the file should, too. */
	skipped = text && strlen(text) != length;
	for (char *line = text ? strtok_r(text, "\n", &save) : NULL; line;
		line = strtok_r(NULL, "\n", &save))
		skipped += *line != '#' && !read_line(t, line, now);
	free(text);
	if (bad)
		*bad = skipped;
	return t;
}

static void write_all(const void *trials, FILE *f)
{
	const struct imported_trials *t = trials;

	fputs(HEADER, f);
	for (int i = 0; i < t->count; i++) {
		const struct imported_loss *l = &t->of[i];

		fprintf(f, "%s\t%s\t%s\t%.6g\t%.6g\t%.6g\t%lld\n", l->trial, l->job, l->partner,
			l->degradation, l->low, l->high, l->imported);
	}
}

int imported_trials_save(const struct imported_trials *t, const char *path, struct errmsg *err)
{
	return journal_replace_by(path, write_all, t, err);
}
