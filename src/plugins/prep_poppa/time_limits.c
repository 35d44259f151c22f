/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Asks for what running jobs have lost, bounds their ends by Slurm's limits, and sets them; the
 * pair history learns of it. */
#include "plugins/compat/accounting_compat.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "src/common/list.h"
#include "src/slurmctld/acct_policy.h"
#include "src/slurmctld/locks.h"
#include "src/slurmctld/reservation.h"
#include "src/slurmctld/state_save.h"

#include "accounting/settle/pass_order.h"
#include "accounting/settle/settle.h"
#include "accounting/settle/time_limit.h"
#include "common/clock.h"
#include "common/tags.h"
#include "common/units.h"
#include "striping/partners/separation.h"
#include "striping/submit/colocate_option.h"

#include "addresses.h"
#include "controller.h"
#include "run_segments.h"
#include "time_limits.h"

SLURM_WEAK(job_list)
SLURM_WEAK(last_job_update)
SLURM_WEAK(resv_list)
SLURM_WEAK(slurmctld_tres_cnt)

#define PASS_MS 10000 /* between two passes */
#define PASS_HALF 64  /* jobs in a pass: so many whose ends are nearest, and so many in turn */
#define PASS_JOBS (3 * PASS_HALF) /* and so many that may yet leave for their max-degradation */
#define PASS_NEAR_S 900           /* an end is near: it may come before its job's turn by id */
#define PASS_LONG_MS 3000         /* a pass asks for no more jobs after this time */
#define CULPRIT_S 600             /* a job that no record has named for so long is no culprit */
#define CULPRIT_NOTE_S                                                                             \
	300 /* its SystemComment says so for up to so much longer, and seldom changes */
#define CULPRIT_SHARE                                                                              \
	0.1 /* of the time beside others that it must have kept from being measured: any           \
	     * job spoils a block now and then */
/* And at least so much: of a run's first seconds a few are a large share where the machine is busy,
 * and the job that is named would end at its limit for them. */
#define CULPRIT_LEAST_NS (30 * NS_PER_S)

/* One job of a pass: found, then measured, then set. */
struct limited {
	uint32_t job_id;
	struct run_snapshot *run; /* NULL: nothing is known of it */
	struct time_limit limit;  /* what was measured */
	bool measured;
	bool fresh;                    /* it may yet leave its co-runners for its max-degradation */
	bool unkept;                   /* a node cannot keep that */
	struct run_segments *segments; /* what it tells the pair history; NULL = nothing */
};

/* Jobs of which a pass takes the first. */
struct some {
	size_t count, room;
	struct pass_job *job;
};

/* One user's thousands of jobs must not keep another's short job from its turn: so a pass has of
 * each user the jobs whose ends are near, then the oldest of those that may yet leave their
 * co-runners, in both one of each user after the other, and then others by job id, so that nobody
 * is left out. */
struct pass {
	uint32_t after; /* job ids up to this one had their turn */
	struct some nearest, fresh, in_turn;
	uint32_t last_in_turn;  /* 0: all have had theirs */
	int count, first_count; /* of all together; those in turn come last */
	struct limited job[PASS_JOBS];
	bool changed;
};

int64_t time_limits_due_ms(const struct settler *w)
{
	return w->limits_ms;
}

/* Where a limit of no time would end. */
static int64_t base_of(const job_record_t *job)
{
	return job->start_time + job->tot_sus_time;
}

static bool has_limit(const job_record_t *job)
{
	return job->time_limit && job->time_limit != NO_VAL && job->time_limit != INFINITE;
}

static void add(struct some *s, const job_record_t *job, int64_t key, bool later)
{
	if (s->count == s->room) {
		s->room = s->room ? 2 * s->room : PASS_HALF;
		xrecalloc(s->job, s->room, sizeof(*s->job));
	}
	s->job[s->count++] = (struct pass_job){key, job->user_id, job->job_id, later, 0};
}

/* Adds the first ones that are not in the pass yet, and frees the others. */
static void join(struct pass *pass, struct some *s)
{
	int before = pass->count;

	for (size_t i = 0; i < MIN(s->count, PASS_HALF); i++) {
		bool known = false;

		for (int k = 0; k < before; k++)
			known |= pass->job[k].job_id == s->job[i].job_id;
		if (!known)
			pass->job[pass->count++].job_id = s->job[i].job_id;
	}
	xfree(s->job);
}

/* Slurm has preempted the job and lets it run until a grace time is over: that end stays. */
static bool is_preempted(const job_record_t *job)
{
	return job->preempt_time && IS_JOB_RUNNING(job);
}

static double ran_s(const job_record_t *job)
{
	return difftime(time(NULL), job->start_time) - difftime(job->tot_sus_time, 0);
}

/* Whether the job has begun a short time ago, and has a limit for what it loses. */
static bool is_fresh(const job_record_t *job)
{
	struct colocate request;
	struct errmsg err;

	return IS_JOB_RUNNING(job) && ran_s(job) <= SEPARATION_WITHIN_S &&
	       !colocate_parse(run_snapshot_colocate(job), &request, &err) &&
	       request.max_degradation > 0;
}

static int find_one(void *x, void *arg)
{
	const job_record_t *job = x;
	struct pass *pass = arg;
	bool waits = IS_JOB_PENDING(job) && job->system_comment &&
		     strstr(job->system_comment, TIME_LIMIT_TAG);

	if (!(IS_JOB_RUNNING(job) || waits) || is_preempted(job) || !run_snapshot_colocate(job))
		return 0;
	if (is_fresh(job))
		add(&pass->fresh, job, job->job_id, false);
	if (!has_limit(job))
		return 0;
	add(&pass->nearest, job, waits ? 0 : job->end_time,
		!waits && job->end_time > time(NULL) + PASS_NEAR_S);
	if (job->job_id > pass->after)
		add(&pass->in_turn, job, job->job_id, false);
	return 0;
}

static int by_id(const void *a, const void *b)
{
	const struct pass_job *x = a, *y = b;

	return (x->job_id > y->job_id) - (x->job_id < y->job_id);
}

/* Notes whose turn it is; false where slurmctld does not serve. */
static bool find_jobs(struct pass *pass)
{
	slurmctld_lock_t read_jobs = {.job = READ_LOCK};

	if (!controller_hold())
		return false;
	lock_slurmctld(read_jobs);
	if (job_list)
		list_for_each(job_list, find_one, pass);
	pass_order(pass->nearest.job, pass->nearest.count);
	pass_order(pass->fresh.job, pass->fresh.count);
	if (pass->in_turn.count)
		qsort(pass->in_turn.job, pass->in_turn.count, sizeof(struct pass_job), by_id);
	if (pass->in_turn.count >= PASS_HALF)
		pass->last_in_turn = pass->in_turn.job[PASS_HALF - 1].job_id;
	join(pass, &pass->nearest);
	join(pass, &pass->fresh);
	pass->first_count = pass->count;
	join(pass, &pass->in_turn);
	for (int i = 0; i < pass->count; i++) {
		struct limited *l = &pass->job[i];
		const job_record_t *job = find_job_record(l->job_id);
		int64_t now = time(NULL);

		if (!job || !IS_JOB_RUNNING(job))
			continue;
		l->fresh = is_fresh(job);
		l->run = run_snapshot_take(job);
		if (!l->run)
			continue;
		l->run->wall_s = ran_s(job);
		l->run->last.end = now;
	}
	unlock_slurmctld(read_jobs);
	controller_release();
	return true;
}

/* For how many seconds the job is a culprit yet: another job's record has lately named it as one
 * that kept that from being measured. 0: it is none. */
static int64_t culprit_s(const struct settler *w, uint32_t id)
{
	int64_t now = clock_now_ms();

	for (size_t i = 0; i < SETTLER_CULPRITS; i++)
		if (w->culprit[i].job_id == id && now < w->culprit[i].until_ms)
			return (w->culprit[i].until_ms - now) / 1000 + 1;
	return 0;
}

static void note_culprits(struct settler *w, const struct client_answer *answer)
{
	for (int i = 0; i < answer->record_count; i++) {
		const struct ledger_record *r = &answer->records[i];
		double unmeasured = (double)r->unmeasured_ns;
		uint32_t id = r->culprit;
		int at = 0;

		if (!id || unmeasured < CULPRIT_LEAST_NS ||
			unmeasured < CULPRIT_SHARE * (unmeasured + (double)r->co_ns))
			continue;
		/* The one that expires first makes room. */
		for (int k = 0; k < SETTLER_CULPRITS && w->culprit[at].job_id != id; k++)
			if (w->culprit[k].job_id == id ||
				w->culprit[k].until_ms < w->culprit[at].until_ms)
				at = k;
		w->culprit[at].job_id = id;
		w->culprit[at].until_ms = clock_now_ms() + CULPRIT_S * 1000;
	}
}

static void measure(struct limited *l, const struct client_answer *answer)
{
	const struct settle_job job = run_snapshot_settle_job(l->run);
	struct settle_loss loss;

	settle_loss(&job, answer->records, answer->record_count, &loss);
	l->limit.refused = loss.sensing;
	l->limit.nodata = !loss.known;
	l->limit.measured_s = loss.told_s;
	l->limit.held_s = loss.held_s;
	l->limit.lost_s = loss.lost_s;
	l->unkept = loss.unkept;
	l->measured = true;
}

/* False: the ledger does not answer. */
static bool ask(struct settler *w, struct limited *l)
{
	struct client_answer answer;
	struct errmsg err = {""};
	bool all;
	struct client_run question = addresses_question(l->run, &all);
	int rc;

	rc = client_job(&w->client, &question, &answer, &err);
	json_decref(question.nodes);
	if (rc) {
		settler_ledger_failed(w, err.text);
		return false;
	}
	settler_ledger_answered(w, answer.ledger);
	note_culprits(w, &answer);
	if (!answer.settled) {
		measure(l, &answer);
		l->segments = run_segments_take(w, l->run, &answer);
	}
	client_answer_free(&answer);
	return true;
}

/* The earliest bound of a job, and its name. */
struct bound {
	const job_record_t *job;
	const struct time_limit_state *state;
	int64_t base; /* where a limit of no time would end */
	int64_t at;   /* 0 = none */
	const char *name;
};

static void bound_at(struct bound *b, int64_t at, const char *name)
{
	if (!b->at || at < b->at) {
		b->at = at;
		b->name = name;
	}
}

static bool is_limit(uint32_t minutes)
{
	return minutes != INFINITE && minutes != NO_VAL;
}

static void bound_minutes(struct bound *b, uint32_t minutes, const char *name)
{
	if (is_limit(minutes))
		bound_at(b, b->base + INT64_C(60) * minutes, name);
}

/*
 * Where a group's jobs will have used up their time, if so many go on to run, and count like this
 * one. Slurm adds up what they have used once in PriorityCalcPeriod only, so meanwhile this seems
 * to move away: an end that stands there already stays.
 */
static void bound_group(
	struct bound *b, uint32_t minutes, double used_s, uint32_t jobs, double factor)
{
	double left_s = 60.0 * minutes - used_s, rate = factor * MAX(jobs, 1);
	int64_t now = time(NULL), at, end = b->job->end_time;

	if (!(rate > 0) || left_s / rate > YEAR_SECONDS)
		return;
	at = now + (int64_t)(MAX(left_s, 0) / rate);
	if (!strcmp(b->state->bound, "grpwall") && at > end &&
		at <= end + slurm_conf.priority_calc_period + PASS_MS / 1000)
		at = end;
	bound_at(b, at, "grpwall");
}

/* Limits of a QOS or an association on resources times minutes. */
struct tres_limits {
	const uint64_t *of_job, *of_group, *of_running; /* minutes */
	const long double *used_s;
	const uint64_t *running_s; /* what running jobs may use yet until their ends */
};

/* Those that came first are in place of these; a bit for each resource. */
struct tres_taken {
	uint64_t of_job, of_group, of_running;
};

static bool is_tres_limit(const uint64_t *minutes, int i, uint64_t taken)
{
	return minutes && minutes[i] != INFINITE64 && !(taken >> i & 1);
}

/* The group's running jobs have their time until their ends, also this one until its whole
 * minutes: it may have of what is left. */
static void bound_rest(struct bound *b, double left_s, uint64_t count, const char *name)
{
	double more_s = left_s / (double)count;

	if (more_s < YEAR_SECONDS)
		bound_at(b,
			b->base + INT64_C(60) * b->job->time_limit +
				(int64_t)floor(MAX(more_s, -YEAR_SECONDS)),
			name);
}

static void bound_by_tres(struct bound *b, const struct tres_limits *l, struct tres_taken *taken)
{
	const uint64_t *count = b->job->tres_alloc_cnt;

	for (int i = 0; count && i < MIN(slurmctld_tres_cnt, 64); i++) {
		if (i == TRES_ARRAY_ENERGY || !count[i] || count[i] == NO_CONSUME_VAL64)
			continue;
		if (is_tres_limit(l->of_job, i, taken->of_job)) {
			taken->of_job |= UINT64_C(1) << i;
			bound_at(b, b->base + (int64_t)(60 * l->of_job[i] / count[i]), "tresmins");
		}
		if (is_tres_limit(l->of_group, i, taken->of_group))
			bound_rest(b,
				60.0 * (double)l->of_group[i] - (double)l->used_s[i] -
					(double)l->running_s[i],
				count[i], "grptresmins");
		if (is_tres_limit(l->of_running, i, taken->of_running))
			bound_rest(b, 60.0 * (double)l->of_running[i] - (double)l->running_s[i],
				count[i], "grptresrunmins");
	}
}

static void take(struct tres_taken *taken, const struct tres_limits *l)
{
	for (int i = 0; i < MIN(slurmctld_tres_cnt, 64); i++) {
		taken->of_group |= (uint64_t)is_tres_limit(l->of_group, i, 0) << i;
		taken->of_running |= (uint64_t)is_tres_limit(l->of_running, i, 0) << i;
	}
}

/* What holds for a job and its group: QOS one after the other, then associations. */
struct policy {
	double factor;        /* UsageFactor */
	uint32_t wall, group; /* minutes, where a QOS has such a limit */
	struct tres_taken taken;
};

static void bound_by_qos(struct bound *b, struct policy *p, const slurmdb_qos_rec_t *qos)
{
	struct tres_limits tres;

	if (!qos || !qos->usage)
		return;
	tres = (struct tres_limits){qos->max_tres_mins_pj_ctld, qos->grp_tres_mins_ctld,
		qos->grp_tres_run_mins_ctld, qos->usage->usage_tres_raw,
		qos->usage->grp_used_tres_run_secs};
	if (!is_limit(p->wall))
		p->wall = qos->max_wall_pj;
	if (!is_limit(p->group) && is_limit(qos->grp_wall)) {
		p->group = qos->grp_wall;
		bound_group(b, p->group, qos->usage->grp_used_wall, qos->usage->grp_used_jobs,
			p->factor);
	}
	bound_by_tres(b, &tres, &p->taken);
	take(&p->taken, &tres);
}

/* The root association has no limits. */
static void bound_by_associations(
	struct bound *b, struct policy *p, const slurmdb_assoc_rec_t *assoc)
{
	if (assoc && !is_limit(p->wall))
		p->wall = assoc->max_wall_pj;
	for (; assoc && assoc->usage && assoc->usage->parent_assoc_ptr;
		assoc = assoc->usage->parent_assoc_ptr) {
		struct tres_limits tres = {assoc->max_tres_mins_ctld, assoc->grp_tres_mins_ctld,
			assoc->grp_tres_run_mins_ctld, assoc->usage->usage_tres_raw,
			assoc->usage->grp_used_tres_run_secs};

		if (!is_limit(p->group) && is_limit(assoc->grp_wall))
			bound_group(b, assoc->grp_wall, assoc->usage->grp_used_wall,
				assoc->usage->used_jobs, p->factor);
		bound_by_tres(b, &tres, &p->taken);
	}
}

/* As in acct_policy.c of Slurm: a limit of a QOS is in place of the association's, and one of the
 * partition's QOS in place of that of the job's, unless that has a flag that says otherwise. */
static void bound_by_policy(struct bound *b)
{
	const slurmdb_qos_rec_t *own = controller_qos(b->job->qos_id), *part = NULL;
	struct policy p = {.wall = INFINITE, .group = INFINITE};
	bool over = own && own->flags & QOS_FLAG_OVER_PART_QOS;

	if (b->job->part_ptr && b->job->part_ptr->qos_ptr != own)
		part = b->job->part_ptr->qos_ptr;
	if (b->job->part_ptr && !(own && own->flags & QOS_FLAG_PART_TIME_LIMIT))
		bound_minutes(b, b->job->part_ptr->max_time, "partition");
	if (!(slurm_conf.accounting_storage_enforce & ACCOUNTING_ENFORCE_LIMITS))
		return;
	p.factor = own && own->usage_factor >= 0 ? own->usage_factor : 1;
	bound_by_qos(b, &p, over ? own : part);
	bound_by_qos(b, &p, over ? part : own);
	bound_by_associations(b, &p, controller_assoc(b->job->assoc_id));
	bound_minutes(b, p.wall, "maxwall");
}

static int bound_by_reservation(void *x, void *arg)
{
	const slurmctld_resv_t *r = x;
	struct bound *b = arg;
	int64_t now = time(NULL);

	if (b->job->resv_id == r->resv_id) {
		if (!(r->flags & RESERVE_FLAG_FLEX))
			bound_at(b, r->end_time, "reservation");
		return 0;
	}
	if (!r->node_bitmap || !b->job->node_bitmap ||
		!bit_overlap_any(r->node_bitmap, b->job->node_bitmap))
		return 0;
	/* One that floats has no start, but the seconds until then, at any time. */
	if (r->flags & RESERVE_FLAG_TIME_FLOAT)
		bound_at(b, now + r->start_time, "reservation");
	else if (r->start_time > now)
		bound_at(b, r->start_time, "reservation");
	/* The job was running as it began, so it waits for the job to end, and no longer than that.
	 * Beside one of cores a job may also have begun. */
	else if (!r->core_bitmap)
		bound_at(b, b->job->end_time, "reservation");
	return 0;
}

/* Locks on jobs, nodes and partitions are held; takes the association manager's. */
static struct bound bound_of(const job_record_t *job, const struct time_limit_state *state)
{
	assoc_mgr_lock_t locks = {
		.assoc = READ_LOCK, .qos = READ_LOCK, .tres = READ_LOCK, .user = READ_LOCK};
	struct bound b = {.job = job, .state = state, .base = base_of(job), .name = ""};

	if (job->deadline && job->deadline != NO_VAL)
		bound_at(&b, job->deadline, "deadline");
	assoc_mgr_lock(&locks);
	bound_by_policy(&b);
	assoc_mgr_unlock(&locks);
	if (resv_list)
		list_for_each(resv_list, bound_by_reservation, &b);
	if (state->cap)
		bound_at(&b, b.base + state->cap, "scontrol");
	return b;
}

/* Sets a part of the job's SystemComment; text NULL: it has no such part any more. */
static void set_part(job_record_t *job, const char *tag, const char *text)
{
	char *comment = tags_set(job->system_comment, tag, text);

	if (comment) {
		xfree(job->system_comment);
		job->system_comment = *comment ? xstrdup(comment) : NULL;
	}
	free(comment);
}

/* state NULL: none. */
static void set_comment(job_record_t *job, const struct time_limit_state *state)
{
	char text[TIME_LIMIT_MAX_TEXT];

	set_part(job, TIME_LIMIT_TAG, state ? time_limit_format(state, text, sizeof(text)) : NULL);
}

/* A job that waits to run again starts with what was asked for. */
static bool give_back(job_record_t *job, const char *text)
{
	uint32_t asked = time_limit_asked_again(text, job->time_limit);
	bool other = job->time_limit != asked;

	job->time_limit = asked;
	set_comment(job, NULL);
	return other;
}

/* It began with a limit that an earlier run was given, before that could be given back. */
static void begin_again(job_record_t *job, const char *text)
{
	uint32_t asked = time_limit_asked_again(text, job->time_limit);

	job->end_time -= INT64_C(60) * ((int64_t)job->time_limit - asked);
	job->end_time_exp = job->end_time;
	acct_policy_alter_job(job, asked);
	job->time_limit = asked;
	set_comment(job, NULL);
}

/*
 * What was asked for of a running job. Where it was extended by a part of a minute, Slurm puts the
 * end elsewhere when it resumes the job, or when somebody changes TimeLimit: then the end is put
 * where it belongs. Returns whether anything was changed.
 */
static bool look_at_asked(job_record_t *job, struct time_limit_state *state)
{
	char *text = tags_get(job->system_comment, TIME_LIMIT_TAG);
	int64_t base = base_of(job), now = time(NULL), end;
	char now_text[TIME_LIMIT_MAX_TEXT];
	struct time_limit_state old;
	bool changed = false, known;

	if (text && !time_limit_parse(text, &old) && old.restart != job->restart_cnt) {
		begin_again(job, text);
		free(text);
		text = NULL;
		changed = true;
	}
	known = time_limit_asked(text, job->time_limit, job->end_time - base, now - base, state);
	if (text && strcmp(time_limit_format(state, now_text, sizeof(now_text)), text)) {
		set_comment(job, known ? state : NULL);
		changed = true;
	}
	end = base + time_limit_set_s(state);
	if (text && end > now && end != job->end_time) {
		job->end_time = job->end_time_exp = end;
		changed = true;
	}
	free(text);
	return changed;
}

/* Nothing is added for a culprit, also after slurmctld has been started anew. */
static bool is_refused(
	const struct settler *w, const struct limited *l, struct time_limit_state *state)
{
	int64_t now = time(NULL), until = culprit_s(w, l->job_id);

	if (until && state->refused < now + until)
		state->refused = now + until + CULPRIT_NOTE_S;
	else if (state->refused <= now)
		state->refused = 0;
	return l->limit.refused || state->refused;
}

/* Moves the end of a running job. */
static bool move(const struct settler *w, job_record_t *job, const struct limited *l,
	const struct time_limit_state *before)
{
	struct time_limit_state state = *before;
	struct time_limit t = l->limit;
	struct bound b = bound_of(job, before);
	bool bounded;
	int64_t end;

	t.now = time(NULL);
	t.end = job->end_time;
	t.asked_s = MAX(time_limit_asked_s(before), 1);
	t.asked_end = b.base + t.asked_s;
	t.bound = b.at;
	t.refused = is_refused(w, l, &state);
	end = time_limit_end(&t, &bounded);
	state.restart = job->restart_cnt;
	state.extended = MAX(end - t.asked_end, 0);
	state.set = MAX(state.asked, (uint32_t)((end - b.base + 59) / 60));
	snprintf(state.bound, sizeof(state.bound), "%s",
		!bounded              ? ""
		: b.at && b.at <= end ? b.name
				      : "most");
	if (end == t.end && state.set == job->time_limit && state.refused == before->refused &&
		!strcmp(state.bound, before->bound))
		return false;
	if (state.set != job->time_limit)
		acct_policy_alter_job(job, state.set);
	job->time_limit = state.set;
	job->end_time = job->end_time_exp = end;
	set_comment(job, &state);
	if (!before->extended && state.extended)
		info(ME ": %pJ: its end moves with what it loses to others, now by %lld s", job,
			(long long)state.extended);
	else if (*state.bound && strcmp(state.bound, before->bound))
		info(ME ": %pJ: its end moves no further than %lld s: %s", job,
			(long long)state.extended, state.bound);
	return true;
}

static bool set_one(struct settler *w, const struct limited *l)
{
	job_record_t *job = find_job_record(l->job_id);
	struct time_limit_state state;
	char *text;
	bool changed = false;

	if (!job || !has_limit(job) || is_preempted(job))
		return false;
	if (IS_JOB_PENDING(job)) {
		text = tags_get(job->system_comment, TIME_LIMIT_TAG);
		changed = text && give_back(job, text);
		free(text);
	} else if (IS_JOB_RUNNING(job)) {
		changed = look_at_asked(job, &state);
		if (l->measured && run_snapshot_is_of(l->run, job) &&
			w->settings.stripe_timelimit == TIMELIMIT_PROGRESS)
			changed |= move(w, job, l, &state);
	}
	return changed;
}

/* A job and its co-runners. */
struct company {
	const job_record_t *job;
	struct separation s;
};

static int add_co_runner(void *x, void *arg)
{
	const job_record_t *other = x;
	struct company *c = arg;

	if (other != c->job && (IS_JOB_RUNNING(other) || IS_JOB_SUSPENDED(other)) &&
		other->node_bitmap && run_snapshot_colocate(other) &&
		bit_overlap_any(other->node_bitmap, c->job->node_bitmap))
		separation_beside(&c->s, other->job_id, other->start_time);
	return 0;
}

/* What is known of whether the job leaves its co-runners; false where it does not. */
static bool leaves(const struct limited *l, const job_record_t *job, struct company *c)
{
	char *shown;

	if (!l->fresh || !l->measured || !run_snapshot_is_of(l->run, job) || !IS_JOB_RUNNING(job) ||
		is_preempted(job) || !job->node_bitmap)
		return false;
	shown = tags_get(job->system_comment, COLOCATE_TAG);
	c->job = job;
	c->s = (struct separation){.job_id = job->job_id,
		.start = job->start_time,
		.ran_s = (int64_t)ran_s(job),
		.may_leave = job->batch_flag && job->details && job->details->requeue &&
			     !job->het_job_id,
		.unkept = l->unkept,
		.probation = shown && strstr(shown, " " COLOCATE_PROBATION),
		.measured = !l->limit.nodata,
		.distrusted = l->limit.refused};
	apart_read(job->system_comment, &c->s.apart);
	free(shown);
	if (!separation_due(&c->s))
		return false;
	list_for_each(job_list, add_co_runner, c);
	return separation_leaves(&c->s);
}

/* Ends the run, with the reason in its SystemComment, for the job to run again beside others. */
static bool separate(const struct limited *l)
{
	job_record_t *job = find_job_record(l->job_id);
	char text[APART_TEXT_MAX], *before;
	struct company c;
	int rc;

	if (!job || !leaves(l, job, &c))
		return false;
	before = tags_get(job->system_comment, APART_TAG);
	apart_add(&c.s.apart, job->restart_cnt, c.s.other, c.s.count);
	set_part(job, APART_TAG, apart_format(&c.s.apart, text));
	rc = compat_requeue(job);
	if (rc) {
		set_part(job, APART_TAG, before);
		error(ME ": %pJ cannot be requeued: %s", job, slurm_strerror(rc));
	} else {
		info(ME ": %pJ is requeued: its max-degradation %s beside JobId=%u%s", job,
			l->unkept ? "cannot be kept" : "cannot be measured", c.s.other[0],
			c.s.count > 1 ? " and others" : "");
	}
	free(before);
	return !rc;
}

/* Lets those jobs leave their co-runners beside whom their max-degradation cannot be kept. */
static void separate_all(const struct pass *pass)
{
	slurmctld_lock_t locks = {
		.conf = READ_LOCK, .job = WRITE_LOCK, .node = WRITE_LOCK, .fed = READ_LOCK};
	bool any = false, changed = false;

	for (int i = 0; i < pass->count; i++)
		any |= pass->job[i].fresh && pass->job[i].measured &&
		       (pass->job[i].unkept || pass->job[i].limit.nodata);
	if (!any || !controller_hold())
		return;
	lock_slurmctld(locks);
	/* slurmdbd hears of a job that is requeued. */
	if (controller_begin_sending()) {
		for (int i = 0; i < pass->count; i++)
			changed |= separate(&pass->job[i]);
		controller_end_sending();
	}
	unlock_slurmctld(locks);
	if (changed)
		schedule_job_save();
	controller_release();
}

/* All of a pass at once, under one hold of the locks. */
static void set_all(struct settler *w, struct pass *pass)
{
	slurmctld_lock_t locks = {
		.conf = READ_LOCK, .job = WRITE_LOCK, .node = READ_LOCK, .part = READ_LOCK};

	if (!controller_hold())
		return;
	lock_slurmctld(locks);
	for (int i = 0; i < pass->count; i++)
		pass->changed |= set_one(w, &pass->job[i]);
	if (pass->changed)
		last_job_update = time(NULL);
	unlock_slurmctld(locks);
	if (pass->changed)
		schedule_job_save();
	controller_release();
}

/* The ends come first: what is learned may wait for the disk. */
static void learn_all(struct settler *w, const struct pass *pass)
{
	struct run_segments *segments[PASS_JOBS];
	int count = 0;

	for (int i = 0; i < pass->count; i++)
		if (pass->job[i].segments)
			segments[count++] = pass->job[i].segments;
	run_segments_learn(w, segments, count);
}

void time_limits_pass(struct settler *w, bool (*stopped)(const void *arg), const void *arg)
{
	int64_t now = clock_now_ms();
	bool answers = now >= w->ledger.retry_ms;
	struct pass *pass;

	if (!w->configured || now < w->limits_ms)
		return;
	w->limits_ms = now + PASS_MS;
	pass = xmalloc(sizeof(*pass));
	pass->after = w->limits_after;
	if (find_jobs(pass)) {
		int i = 0;

		for (; i < pass->count; i++) {
			struct limited *l = &pass->job[i];

			if (stopped(arg) || clock_now_ms() - now > PASS_LONG_MS)
				break;
			if (l->run && answers &&
				(l->fresh || w->settings.stripe_timelimit == TIMELIMIT_PROGRESS))
				answers = ask(w, l);
		}
		/* Those in turn that were not asked for come first in the next pass. */
		if (i == pass->count)
			w->limits_after = pass->last_in_turn;
		else if (i > pass->first_count)
			w->limits_after = pass->job[i - 1].job_id;
		set_all(w, pass);
		separate_all(pass);
		learn_all(w, pass);
	}
	for (int i = 0; i < pass->count; i++) {
		run_segments_free(pass->job[i].segments);
		run_snapshot_free(pass->job[i].run);
	}
	xfree(pass);
}
