/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Teaches the pair history by the records so far of running jobs. */
#include "plugins/compat/slurm_compat.h"

#include <limits.h>
#include <time.h>

#include "src/slurmctld/locks.h"

#include "accounting/settle/settle.h"
#include "striping/history/job_names.h"
#include "striping/history/pairs.h"

#include "controller.h"
#include "price_to_ledger.h"
#include "run_segments.h"

#define WRITE_MS 30000 /* segments are written so long after the first of them */
#define PROGRAM_S 60   /* what a job has run is not plain before */

struct run_segments {
	const struct run_snapshot *run;
	char program[JOB_NAMES_PROGRAM_MAX]; /* most of its time so far; "" = not known */
	bool names_it; /* the history does not know what jobs of this name run */
	char class_name[PAIRS_CLASS_MAX];
	int pairs;
	struct settle_pair pair[SETTLE_MAX_PAIRS];
	char partner[SETTLE_MAX_PAIRS][PAIRS_CLASS_MAX]; /* their classes; "" = not known */
};

static struct pairs_shared shared_of(const struct run_segments *s, int i)
{
	return (struct pairs_shared){.job = s->class_name,
		.partner = s->partner[i],
		.degradation = s->pair[i].degradation,
		.seconds = s->pair[i].seconds,
		.uid = s->run->uid,
		.job_id = s->run->job_id,
		.partner_id = s->pair[i].partner,
		.start = s->run->start};
}

struct run_segments *run_segments_take(
	struct settler *w, const struct run_snapshot *run, const struct client_answer *answer)
{
	const struct pairs *known = price_to_ledger_history(w, WRITE_MS);
	struct settle_job job = run_snapshot_settle_job(run);
	struct run_segments *s;
	int pairs;

	if (!known)
		return NULL;
	s = xmalloc(sizeof(*s));
	s->run = run;
	class_copy(settle_program(&job, answer->records, answer->record_count), s->program,
		sizeof(s->program));
	s->names_it = *s->program && run->wall_s >= PROGRAM_S &&
		      !*job_names_program(pairs_names(known), run->uid, run->name);
	pairs = settle_pairs_so_far(&job, answer->records, answer->record_count, s->pair);
	for (int i = 0; i < pairs; i++) {
		struct pairs_shared with = shared_of(s, i);

		if (pairs_is_segment(known, &with))
			s->pair[s->pairs++] = s->pair[i];
	}
	if (s->pairs || s->names_it)
		return s;
	run_segments_free(s);
	return NULL;
}

void run_segments_free(struct run_segments *s)
{
	xfree(s);
}

/* A program that is noted already may be another one at this job's end: its price tells. */
static void learn_name(struct settler *w, const char *path, const struct run_segments *s)
{
	const struct job_ran ran = {.program = s->program};
	struct errmsg err = {""};

	if (s->names_it &&
		pairs_batch_ran(&w->pairs, path, s->run->uid, s->run->name, &ran, time(NULL), &err))
		settler_complain(w, err.text);
}

/* The class of a job that may not have told its program yet; "" where only its name tells, and that
 * may be of any program. */
static void class_of_partner(const struct settler *w, const struct pairs *known,
	const job_record_t *job, char class_name[PAIRS_CLASS_MAX])
{
	if (!job || !job->node_bitmap || !run_snapshot_colocate(job))
		return;
	if (!price_to_ledger_class_of_job(w, known, job, class_name) &&
		!*job_names_program(pairs_names(known), job->user_id, job->name))
		*class_name = '\0';
}

/* False: slurmctld does not serve. */
static bool find_classes(
	struct settler *w, const struct pairs *known, struct run_segments *const *list, int count)
{
	slurmctld_lock_t read_jobs = {.job = READ_LOCK, .node = READ_LOCK};

	if (!controller_hold())
		return false;
	lock_slurmctld(read_jobs);
	for (int i = 0; i < count; i++)
		for (int k = 0; k < list[i]->pairs; k++)
			class_of_partner(w, known, find_job_record(list[i]->pair[k].partner),
				list[i]->partner[k]);
	unlock_slurmctld(read_jobs);
	controller_release();
	return true;
}

static void learn_pairs(struct settler *w, const char *path, struct run_segments *s)
{
	struct errmsg err = {""};

	/* As for the partner. */
	if (!price_to_ledger_class_of_run(w, w->pairs.pairs, s->run, s->program, s->class_name) &&
		!*s->program)
		return;
	for (int i = 0; i < s->pairs && *s->class_name; i++) {
		struct pairs_shared with = shared_of(s, i);

		if (*s->partner[i] && pairs_batch_segment(&w->pairs, path, &with, time(NULL), &err))
			settler_complain(w, err.text);
	}
}

void run_segments_learn(struct settler *w, struct run_segments *const *list, int count)
{
	const struct pairs *known = count ? price_to_ledger_history(w, WRITE_MS) : NULL;
	char path[PATH_MAX];

	if (!known)
		return;
	controller_state_path(PAIRS_FILE, path, sizeof(path));
	for (int i = 0; i < count; i++)
		learn_name(w, path, list[i]);
	if (!find_classes(w, known, list, count))
		return;
	for (int i = 0; i < count; i++)
		learn_pairs(w, path, list[i]);
}
