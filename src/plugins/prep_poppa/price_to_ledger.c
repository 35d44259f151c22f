/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Makes the price of a run from its records, and puts it into the ledger. */
#include "plugins/compat/slurm_compat.h"

#include <limits.h>
#include <time.h>

#include "src/slurmctld/locks.h"

#include "accounting/settle/settle.h"
#include "common/clock.h"
#include "striping/submit/colocate_option.h"
#include "striping/history/job_class.h"
#include "striping/history/job_names.h"
#include "striping/history/miss_cost.h"
#include "striping/history/pairs.h"

#include "addresses.h"
#include "arrivals.h"
#include "controller.h"
#include "price_to_ledger.h"

#define PAIRS_MS 10000 /* between two writes of the pair history */
#define PLAIN_MS 60000 /* between two reads of it that only plain runs ask for */

_Static_assert(sizeof(((struct settlement *)0)->class_name) == PAIRS_CLASS_MAX,
	"a price has room for every class");

/* The ledger may refuse only this run, so the other runs that wait come before it. */
static enum outcome ledger_failed_for(struct settler *w, struct run *run, const char *why)
{
	settler_ledger_failed(w, why);
	run_delay(run);
	run->due_ms = MAX(run->due_ms, w->ledger.retry_ms + TICK_MS);
	return RUN_LATER;
}

const struct pairs *price_to_ledger_history(struct settler *w, int64_t within_ms)
{
	int64_t due_ms = clock_now_ms() + within_ms;
	struct errmsg err = {""};
	char path[PATH_MAX];

	w->pairs_ms = w->pairs.pairs ? MIN(w->pairs_ms, due_ms) : due_ms;
	controller_state_path(PAIRS_FILE, path, sizeof(path));
	if (pairs_batch_read(&w->pairs, path, &err))
		settler_complain(w, err.text);
	return w->pairs.pairs;
}

static const struct pairs *history(struct settler *w)
{
	return price_to_ledger_history(w, PAIRS_MS);
}

/* The history's class of a job, or "" without it; kind: what is known of the job but for its
 * option. false where only the job's name tells. */
static bool class_of(const struct settler *w, const struct pairs *known, const char *colocate,
	struct job_kind kind, char *buf)
{
	struct colocate wish;
	struct errmsg err;

	buf[0] = '\0';
	if (colocate_parse(colocate, &wish, &err))
		return false;
	kind.class_name = wish.class_name;
	kind.shared = w->settings.stripe_classes == CLASSES_SHARED;
	return job_class(known, &kind, buf);
}

bool price_to_ledger_class_of_run(const struct settler *w, const struct pairs *known,
	const struct run_snapshot *run, const char *program, char *buf)
{
	char type[CLASS_TYPE_MAX];
	const struct job_kind kind = {.uid = run->uid,
		.job_name = run->name,
		.program = program,
		.nodes = (unsigned int)run->last_node_count,
		.node_type = run_snapshot_type(run, type)};

	return class_of(w, known, run->colocate, kind, buf);
}

bool price_to_ledger_class_of_job(
	const struct settler *w, const struct pairs *known, const job_record_t *job, char *buf)
{
	char type[CLASS_TYPE_MAX];
	const struct job_kind kind = {.uid = job->user_id,
		.job_name = job->name,
		.nodes = job->node_bitmap ? (unsigned int)bit_set_count(job->node_bitmap) : 0,
		.node_type = run_snapshot_type_of_record(job, type)};

	return class_of(w, known, run_snapshot_colocate(job), kind, buf);
}

/* What is known of a partner's class. */
struct other {
	char class_name[PAIRS_CLASS_MAX]; /* "" = slurmctld has forgotten it */
	bool by_price;                    /* its price may know better */
};

/* The classes of partners that slurmctld still knows. */
static bool classes_of_jobs(
	struct settler *w, const struct settle_pair *pair, int pairs, struct other *other)
{
	slurmctld_lock_t read_jobs = {.job = READ_LOCK, .node = READ_LOCK};
	const struct pairs *known = history(w);

	if (!controller_hold())
		return false;
	lock_slurmctld(read_jobs);
	for (int i = 0; i < pairs; i++) {
		const job_record_t *job = find_job_record(pair[i].partner);

		other[i] = (struct other){.by_price = true};
		/* One that waits again has no nodes, and its next ones may be others. */
		if (job && job->node_bitmap && run_snapshot_colocate(job))
			other[i].by_price =
				!price_to_ledger_class_of_job(w, known, job, other[i].class_name) &&
				IS_JOB_FINISHED(job);
	}
	unlock_slurmctld(read_jobs);
	controller_release();
	return true;
}

/* The class of a partner that has ended, by its price, which knows what it ran; untouched where it
 * has none, or its job id was another job's at that time. */
static void class_by_price(struct settler *w, const struct run_snapshot *snapshot, uint32_t partner,
	char class_name[PAIRS_CLASS_MAX])
{
	const struct client_run question = {.cluster = snapshot->cluster, .job_id = partner};
	struct settlement price;
	struct errmsg err = {""};

	if (clock_now_ms() < w->ledger.retry_ms)
		return;
	switch (client_settlement(&w->client, &question, &price, &err)) {
	case 1:
		if (price.start_unix <= snapshot->last.end && price.end_unix >= snapshot->start &&
			*price.class_name)
			snprintf(class_name, PAIRS_CLASS_MAX, "%s", price.class_name);
		break;
	case 0:
		break;
	default:
		settler_ledger_failed(w, err.text);
	}
}

/* Enters what the job ran and for how long, so that the next job of its name is known by it. What
 * failed or was cancelled has not run for as long as such jobs do. */
static void learn_program(
	struct settler *w, const struct run_snapshot *snapshot, const char *program)
{
	const uint32_t state = snapshot->last.state & JOB_STATE_BASE;
	const struct job_ran ran = {.program = program,
		.seconds = state == JOB_COMPLETE || state == JOB_TIMEOUT ? snapshot->wall_s : 0};
	struct errmsg err = {""};
	char path[PATH_MAX];

	if (!*program || !history(w))
		return;
	controller_state_path(PAIRS_FILE, path, sizeof(path));
	if (pairs_batch_ran(&w->pairs, path, snapshot->uid, snapshot->name, &ran, time(NULL), &err))
		settler_complain(w, err.text);
}

/* Forgets what a run has told before it had its price. */
static void end_told(struct settler *w, const struct run_snapshot *snapshot)
{
	struct errmsg err = {""};
	char path[PATH_MAX];

	if (!history(w))
		return;
	controller_state_path(PAIRS_FILE, path, sizeof(path));
	if (pairs_batch_end(&w->pairs, path, snapshot->job_id, snapshot->start, &err))
		settler_complain(w, err.text);
}

static void learn_pair(struct settler *w, const struct run_snapshot *snapshot, const char *mine,
	const char *other, const struct settle_pair *pair)
{
	const struct pairs_shared with = {.job = mine,
		.partner = other,
		.degradation = pair->degradation,
		.seconds = pair->seconds,
		.uid = snapshot->uid,
		.job_id = snapshot->job_id,
		.partner_id = pair->partner,
		.start = snapshot->start};
	struct errmsg err = {""};
	char path[PATH_MAX];

	controller_state_path(PAIRS_FILE, path, sizeof(path));
	if (pairs_batch_learn(&w->pairs, path, &with, time(NULL), &err))
		settler_complain(w, err.text);
}

/* Enters what the run, which has a price, tells about its partners into the history that partner
 * choice reads. */
static void learn(struct settler *w, const struct run *run, const struct client_answer *answer)
{
	struct other other[SETTLE_MAX_PAIRS];
	const char *mine = run->settlement.class_name;
	struct settle_job job = run_snapshot_settle_job(run->snapshot);
	struct settle_pair pair[SETTLE_MAX_PAIRS];
	int pairs = settle_pairs(&job, answer->records, answer->record_count, pair);

	learn_program(
		w, run->snapshot, settle_program(&job, answer->records, answer->record_count));
	if (!*mine || !pairs || !classes_of_jobs(w, pair, pairs, other))
		return;
	for (int i = 0; i < pairs; i++) {
		if (other[i].by_price)
			class_by_price(w, run->snapshot, pair[i].partner, other[i].class_name);
		if (*other[i].class_name && history(w))
			learn_pair(w, run->snapshot, mine, other[i].class_name, &pair[i]);
	}
}

/* Enters what the run would have taken alone on its lanes, which plain runs are compared with. */
static void learn_spread(struct settler *w, const struct run *run)
{
	const struct run_snapshot *snapshot = run->snapshot;
	const struct settle_job job = run_snapshot_settle_job(snapshot);
	struct spread_run spread = run_snapshot_spread(snapshot);
	struct errmsg err = {""};
	char path[PATH_MAX];

	spread.seconds = settle_spread_s(&job, &run->settlement);
	if ((snapshot->last.state & JOB_STATE_BASE) != JOB_COMPLETE || !spread.cpus ||
		!(spread.seconds > 0) || !*run->settlement.class_name || !history(w))
		return;
	controller_state_path(PAIRS_FILE, path, sizeof(path));
	if (pairs_batch_spread(
		    &w->pairs, path, &spread, run->settlement.class_name, time(NULL), &err))
		settler_complain(w, err.text);
}

/* Enters what a miss costs the job, by the lines that its nodes have found. */
static void learn_miss(struct settler *w, const struct run *run, const struct client_answer *answer)
{
	const struct settle_job job = run_snapshot_settle_job(run->snapshot);
	struct settle_miss line;
	struct miss_run miss;
	struct errmsg err = {""};
	char path[PATH_MAX];

	if (!settle_miss(&job, answer->records, answer->record_count, &run->settlement, &line) ||
		!*run->settlement.class_name || !history(w))
		return;
	miss = (struct miss_run){.uid = run->snapshot->uid,
		.class_name = run->settlement.class_name,
		.base_cycles = line.base_cycles,
		.miss_cycles = line.miss_cycles};
	controller_state_path(PAIRS_FILE, path, sizeof(path));
	if (pairs_batch_miss(&w->pairs, path, &miss, time(NULL), &err))
		settler_complain(w, err.text);
}

void price_to_ledger_plain_runs(struct settler *w)
{
	struct plain_run run[PLAIN_QUEUE_OF_SLOT];
	struct errmsg err = {""};
	char path[PATH_MAX];
	int count;

	if (!w->pairs.pairs && clock_now_ms() < w->plain_ms)
		return;
	controller_state_path(PAIRS_FILE, path, sizeof(path));
	while ((count = arrivals_take_plain(run)) && history(w)) {
		w->plain_ms = clock_now_ms() + PLAIN_MS;
		for (int i = 0; i < count; i++) {
			const struct spread_run plain = {.uid = run[i].uid,
				.job_name = run[i].name,
				.partition = run[i].partition,
				.cpus = run[i].cpus,
				.seconds = run[i].seconds};

			if (pairs_batch_spread(&w->pairs, path, &plain, NULL, time(NULL), &err))
				settler_complain(w, err.text);
		}
	}
}

void price_to_ledger_save_pairs(struct settler *w, bool now)
{
	struct errmsg err = {""};
	char path[PATH_MAX];

	if (!w->pairs.pairs || (!now && clock_now_ms() < w->pairs_ms))
		return;
	w->pairs_ms = clock_now_ms() + PAIRS_MS;
	controller_state_path(PAIRS_FILE, path, sizeof(path));
	if (pairs_batch_save(&w->pairs, path, &err))
		settler_complain(w, err.text);
}

static enum outcome make_price(
	struct settler *w, struct run *run, const struct client_answer *answer)
{
	struct settle_job job = run_snapshot_settle_job(run->snapshot);
	char *qos = run_snapshot_qos_name(run->snapshot);
	const char *program = settle_program(&job, answer->records, answer->record_count);
	struct settlement wanted;
	struct errmsg err = {""};

	settle_decide(&job, answer->records, answer->record_count,
		price_rules_choose(&w->rules, run->snapshot->last.partition, qos), time(NULL),
		&wanted);
	xfree(qos);
	price_to_ledger_class_of_run(
		w, *program ? NULL : history(w), run->snapshot, program, wanted.class_name);
	if (client_settle(&w->client, &wanted, &run->settlement, &run->never_written, &err))
		return ledger_failed_for(w, run, err.text);
	if (run->never_written) {
		learn(w, run, answer);
		learn_spread(w, run);
		learn_miss(w, run, answer);
	}
	end_told(w, run->snapshot);
	run_store_touch(&w->store, run);
	return RUN_NEXT;
}

/* Gives a price back to the ledger, which has lost it since an earlier slurmctld got it. */
static enum outcome bring_back(struct settler *w, struct run *run)
{
	struct errmsg err = {""};
	bool first;

	if (client_restore(&w->client, &run->settlement, &run->settlement, &first, &err))
		return ledger_failed_for(w, run, err.text);
	run->never_written = false;
	return RUN_NEXT;
}

static enum outcome act_on_answer(
	struct settler *w, struct run *run, const struct client_answer *answer)
{
	struct settle_job job = run_snapshot_settle_job(run->snapshot);

	if (answer->settled) {
		run->settlement = answer->settlement;
		run->never_written = false;
		run_store_touch(&w->store, run);
		end_told(w, run->snapshot);
		return RUN_NEXT;
	}
	if (run_has_price(run))
		return bring_back(w, run);
	if (settle_complete(&job, answer->records, answer->record_count) ||
		settler_too_late(w, run))
		return make_price(w, run, answer);
	return RUN_AGAIN;
}

enum outcome price_to_ledger(struct settler *w, struct run *run)
{
	struct client_run question;
	struct client_answer answer;
	struct errmsg err = {""};
	enum outcome outcome;
	bool all;
	int rc;

	if (clock_now_ms() < w->ledger.retry_ms) {
		run->due_ms = w->ledger.retry_ms;
		return RUN_LATER;
	}
	question = addresses_question(run->snapshot, &all);
	/* What comes from a node without an address does not count: its name gets some time. */
	if (!all && !settler_too_late(w, run)) {
		json_decref(question.nodes);
		return RUN_AGAIN;
	}
	rc = client_job(&w->client, &question, &answer, &err);
	json_decref(question.nodes);
	if (rc)
		return ledger_failed_for(w, run, err.text);
	settler_ledger_answered(w, answer.ledger);
	outcome = act_on_answer(w, run, &answer);
	client_answer_free(&answer);
	return outcome;
}
