/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Changes the file of trials that slurmctld adds to the pair history. */
#include "cli/partners/import_trial.h"

#include <limits.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "cli/ask/cli.h"
#include "cli/ask/state_file.h"
#include "common/fsio.h"
#include "common/printable.h"

/* A trial of 16 programs has some 20 KB. */
#define MAX_TEXT (1 << 20)

static int read_input(const char *path, struct trial *t, struct errmsg *err)
{
	const bool standard = !path || !strcmp(path, "-");
	const char *name = standard ? "standard input" : path;
	struct errmsg why;
	size_t length = 0;
	char *text;
	int rc;

	if (!standard && cli_regular(path, err))
		return -1;
	text = standard ? fsio_read_fd(STDIN_FILENO, name, MAX_TEXT, &length, err)
			: fsio_read(path, MAX_TEXT, &length, err);
	if (!text)
		return -1;
	rc = read_trial(text, length, t, &why);
	free(text);
	if (!rc)
		return 0;
	return errmsg_set(
		err, "%s: %s: give it what \"poppa trial --json\" prints", name, why.text);
}

/* Whether there is a class for each program; else err lists these. */
static int match_classes(const struct trial *t, int classes, struct errmsg *err)
{
	char list[256] = "";
	size_t used = 0;

	if (t->programs == classes)
		return 0;
	for (int i = 0; i < t->programs && used < sizeof(list); i++)
		used += (size_t)snprintf(
			list + used, sizeof(list) - used, "%s%s", i ? ", " : "", t->command[i]);
	return errmsg_set(err,
		"the trial has %d programs, and %d class%s named: name one with --class for each, "
		"in this order: %s",
		t->programs, classes, classes == 1 ? " is" : "es are", list);
}

/* What of the trial can be entered, with the classes; *left: how much cannot, which is said. */
static int make_losses(const struct trial *t, const struct trial_import *how, long long now,
	struct imported_loss *loss, int *left)
{
	int count = 0;

	*left = 0;
	for (int i = 0; i < t->losses; i++) {
		const struct trial_loss *l = &t->loss[i];
		const bool known = !isnan(l->degradation);
		struct imported_loss *to = &loss[count];

		if (!known || isnan(l->low) || isnan(l->high)) {
			++*left;
			fprintf(stderr,
				"poppa: %s beside %s: the trial does not know %s: left out\n",
				t->command[l->job], t->command[l->partner],
				known ? "how certain its loss is" : "what it loses");
			continue;
		}
		count++;
		*to = (struct imported_loss){.degradation = l->degradation,
			.low = l->low,
			.high = l->high,
			.imported = now};
		memcpy(to->trial, t->id, sizeof(to->trial));
		snprintf(to->job, sizeof(to->job), "%s", how->class[l->job]);
		snprintf(to->partner, sizeof(to->partner), "%s", how->class[l->partner]);
	}
	return count;
}

/* The trials in a file that is being changed. */
struct change {
	char path[PATH_MAX];
	int lock;
	struct imported_trials *trials;
};

static int begin(struct change *c, const char *path, struct errmsg *err)
{
	int bad = 0;

	c->lock = -1;
	c->trials = NULL;
	if (state_file_find("--trials", path, TRIALS_FILE, c->path, err))
		return -1;
	c->lock = state_file_lock(c->path, err);
	if (c->lock < 0)
		return -1;
	c->trials = imported_trials_load(c->path, &bad, err);
	if (!c->trials)
		return -1;
	return state_file_keep_damaged(c->path, bad, err);
}

static void end(struct change *c)
{
	imported_trials_free(c->trials);
	if (c->lock >= 0)
		close(c->lock);
}

/* How much of the trial is there; *same: these are the losses, with the same classes. */
static int find_trial(const struct imported_trials *trials, const struct imported_loss *loss,
	int count, bool *same)
{
	const struct imported_loss *there;
	int found = 0;

	*same = true;
	for (int i = 0; (there = imported_trials_get(trials, i)); i++) {
		if (strcmp(there->trial, loss->trial))
			continue;
		*same &= found < count && !strcmp(there->job, loss[found].job) &&
			 !strcmp(there->partner, loss[found].partner);
		found++;
	}
	*same &= found == count;
	return found;
}

/* Enters the losses, all or none. Returns 1; 0 where they are there; -1 with err. */
static int enter(struct imported_trials *trials, const char *path, const struct imported_loss *loss,
	int count, struct errmsg *err)
{
	bool same;

	if (find_trial(trials, loss, count, &same))
		return same ? 0
			    : errmsg_set(err,
				      "trial %s was imported with other classes: \"poppa pairs\" "
				      "lists it, and \"poppa pairs --forget %s\" takes it away",
				      loss->trial, loss->trial);
	for (int i = 0; i < count; i++)
		if (imported_trials_add(trials, &loss[i], err))
			return -1;
	return imported_trials_save(trials, path, err) ? -1 : 1;
}

/* Who forgets the user names a class that hardly any site has. */
static void tell_shared(const struct trial_import *how)
{
	for (int i = 0; i < how->classes; i++)
		if (!class_user(how->class[i]))
			fprintf(stderr,
				"poppa: \"%s\" names no user: it is the class of jobs with "
				"--colocate=class:%s, and only where stripe_classes=shared is set\n",
				how->class[i], how -> class[i]);
}

static int tell(const char *id, bool fresh, int count, int left, bool json)
{
	if (json)
		return cli_print_json(json_pack("{s:s, s:b, s:i, s:i}", "trial", id, "new", fresh,
			"losses", count, "left_out", left));
	if (fresh)
		printf("Trial %s is in. \"poppa pairs\" shows it; slurmctld takes it in within 5 "
		       "s; \"poppa pairs --forget %s\" takes it away.\n",
			id, id);
	else
		printf("Trial %s was imported before, and counts once.\n", id);
	return CLI_OK;
}

int import_trial(const struct trial_import *how)
{
	struct imported_loss loss[TRIAL_LOSSES_MAX];
	struct trial t;
	struct change c;
	struct errmsg err;
	int count, left, rc;

	if (read_input(how->input, &t, &err) || match_classes(&t, how->classes, &err))
		return cli_error("%s", plain_text(err.text));
	count = make_losses(&t, how, time(NULL), loss, &left);
	if (!count)
		return cli_error("the trial knows no loss, so there is nothing to import");
	rc = begin(&c, how->trials, &err);
	if (!rc)
		rc = enter(c.trials, c.path, loss, count, &err);
	end(&c);
	if (rc < 0)
		return cli_error("%s", plain_text(err.text));
	if (rc)
		tell_shared(how);
	return tell(t.id, rc, count, left, how->json);
}

int forget_trial(const char *trials, const char *id)
{
	struct change c;
	struct errmsg err;
	int rc = begin(&c, trials, &err);

	if (!rc && !imported_trials_forget(c.trials, id))
		rc = errmsg_set(&err,
			"there is no trial \"%.40s\"; \"poppa pairs\" lists those that were "
			"imported",
			id);
	if (!rc)
		rc = imported_trials_save(c.trials, c.path, &err);
	end(&c);
	return rc ? cli_error("%s", plain_text(err.text)) : CLI_OK;
}
