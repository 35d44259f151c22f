/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Adds up a job's time and blocks. */
#include "poppa/node/tally.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/units.h"
#include "poppa/estimate/blockrate.h"

#define TALLY_VERSION 1
#define MIN_ROUGH_BLOCKS 4      /* usable ones for an interval that is shown */
#define MAX_ROUGH 10            /* of a degradation; above that it is no measurement */
#define MAX_STANDARD_ERROR 0.25 /* of a degradation that is worth a price */
/* Where progress comes in bursts, which anybody can make: a D below 0 counts as 0, so noise is
 * worth two fifths of its standard error. */
#define MAX_BURSTS_ERROR 0.05
/* One block in so many may be spoilt by chance. */
#define SPOILT_SHARE 16.0
#define SPOILT_SIGMAS 2

struct tally *tally_new(uint32_t job_id, uint32_t restart, uint32_t uid, int64_t start_unix,
	int64_t now_ns, const struct slow_prior *prior)
{
	struct tally *t = calloc(1, sizeof(*t));

	if (!t)
		return NULL;
	t->job_id = job_id;
	t->restart = restart;
	t->uid = uid;
	t->lane = -1;
	t->start_unix = start_unix;
	t->last_ns = now_ns;
	t->backend = COUNTER_NONE;
	t->robust = estimator_new(ESTIMATE_ROBUST, prior);
	t->thesis = estimator_new(ESTIMATE_THESIS, NULL);
	t->spin = spin_new();
	if (t->robust && t->thesis && t->spin)
		return t;
	tally_free(t);
	errno = ENOMEM;
	return NULL;
}

void tally_free(struct tally *t)
{
	if (!t)
		return;
	estimator_free(t->robust);
	estimator_free(t->thesis);
	spin_free(t->spin);
	free(t);
}

void tally_advance(struct tally *t, int64_t now_ns, enum tally_mode next)
{
	if (now_ns > t->last_ns) {
		t->mode_ns[t->mode] += now_ns - t->last_ns;
		t->last_ns = now_ns;
	}
	t->mode = next;
}

void tally_partner(struct tally *t, uint32_t job_id)
{
	for (int i = 0; i < t->partner_count; i++)
		if (t->partner[i] == job_id)
			return;
	if (t->partner_count < RECORD_MAX_PARTNERS)
		t->partner[t->partner_count++] = job_id;
}

void tally_unmeasured(struct tally *t, int64_t ns)
{
	if (ns > 0)
		t->mode_ns[TALLY_UNMEASURED] += ns;
}

/* Boyer and Moore's majority vote: who did more than all others together is named in any case. */
static void blame(struct tally *t, uint32_t culprit)
{
	if (!t->culprit_lead)
		t->culprit = culprit;
	t->culprit_lead += t->culprit == culprit ? 1 : -1;
}

void tally_spoilt(struct tally *t, uint32_t culprit)
{
	t->spoilt++;
	blame(t, culprit);
}

void tally_blinded(struct tally *t, uint32_t culprit)
{
	t->blinded = true;
	blame(t, culprit);
}

/* poppad knows when it held the job, also in time that it did not measure. */
static void count_as_co(struct tally *t, int64_t ns)
{
	if (t->mode == TALLY_UNMEASURED && t->mode_ns[TALLY_UNMEASURED] >= ns) {
		t->mode_ns[TALLY_UNMEASURED] -= ns;
		t->mode_ns[TALLY_CO] += ns;
	}
}

void tally_paused(struct tally *t, int64_t ns)
{
	t->paused_ns += ns;
	count_as_co(t, ns);
}

void tally_turned(struct tally *t, int64_t held_ns, int64_t alone_ns)
{
	t->turned_ns += held_ns;
	t->own_turns_ns += alone_ns;
	count_as_co(t, held_ns + alone_ns);
}

bool tally_block(struct tally *t, const struct est_block *b)
{
	struct est_block on_time_beside = *b;
	double co, solo;
	bool counted = blockrate(b, &co, &solo);

	/* A block stands for the time until the next one. Slices of turns are no such time. */
	on_time_beside.start_ns -= (uint64_t)(t->turned_ns + t->own_turns_ns);
	estimator_add(t->robust, &on_time_beside);
	estimator_add(t->thesis, &on_time_beside);
	t->silent += !counted;
	return counted;
}

void tally_tasks(struct tally *t, int count, const uint64_t *id, const double *log_ratio)
{
	struct spin_result now;

	spin_add(t->spin, count, id, log_ratio);
	spin_result(t->spin, &now);
	if (now.verdict != SPIN_UNKNOWN)
		t->spin_result = now;
}

void tally_misses(struct tally *t, const struct miss_window *w, int n)
{
	miss_model_add(&t->misses, w, n);
}

void tally_sham(struct tally *t, const struct est_block *b)
{
	sham_add(&t->sham, b);
	sham_add_beyond(&t->long_sham, b);
}

/* The share of its time beside co-runners of which a job's blocks tell nothing, because co-runners
 * spoilt them. Whoever spoils blocks chooses which: those that are left speak for themselves only.
 */
static double spoilt_share(const struct tally *t, uint64_t blocks)
{
	double all = (double)(blocks + t->spoilt), chance = all / SPOILT_SHARE;

	return (double)t->spoilt > chance + SPOILT_SIGMAS * sqrt(chance) ? (double)t->spoilt / all
									 : 0;
}

bool tally_senses(const struct tally *t)
{
	return sham_caught(&t->sham) || sham_caught(&t->long_sham);
}

int64_t tally_co_ns(const struct tally *t)
{
	int64_t co = t->mode_ns[TALLY_CO] - t->paused_ns - t->turned_ns - t->own_turns_ns;

	return co > 0 ? co : 0;
}

/*
 * Takes off what shams show: a job that reacts to shutters does so in shams and in blocks alike,
 * and that reaction is no degradation. A job that reacts to what lasts long gets the more by it
 * from long blocks, so the larger of both counts.
 */
static void take_off(struct est_result *r, const struct tally *t)
{
	const struct sham *s =
		sham_excess(&t->long_sham) > sham_excess(&t->sham) ? &t->long_sham : &t->sham;
	double excess = sham_excess(s), error;

	if (!(excess > 0))
		return;
	sham_degradation(s, &error);
	r->degradation -= excess;
	r->lo -= excess + 2 * error;
	r->hi -= excess - 2 * error;
	r->noise += 2 * error;
	r->variance += error * error;
}

/* What is missing for a price. Too few or too noisy blocks count as no data: there is no discount
 * for a guess. */
static enum record_lack lack_of(const struct tally *t, const struct est_result *r, int min_blocks)
{
	bool enough = r->used >= (uint64_t)min_blocks;
	double most = r->bursts ? MAX_BURSTS_ERROR : MAX_STANDARD_ERROR;

	if (enough && r->degradation < 1 && !(r->variance > most * most))
		return LACK_NOTHING;
	if (t->spoilt > r->blocks)
		return LACK_STILLNESS;
	if (enough)
		return LACK_PRECISION;
	if (r->blocks < (uint64_t)min_blocks || r->used > r->blocks / 2)
		return LACK_BLOCKS;
	if (t->silent <= (r->blocks - r->used) / 2)
		return LACK_STEADINESS;
	return t->starved > t->silent / 2 ? LACK_CORE : LACK_PROGRESS;
}

void tally_result(
	const struct tally *t, enum estimate_method method, int min_blocks, struct est_result *out)
{
	estimator_result(method == ESTIMATE_THESIS ? t->thesis : t->robust, out);
	if (lack_of(t, out, min_blocks))
		out->degradation = out->lo = out->hi = out->variance = out->noise = NAN;
	if (method == ESTIMATE_ROBUST)
		take_off(out, t);
}

int tally_shares(const struct tally *t, const struct poppa_settings *s,
	struct attribution_share share[RECORD_MAX_PARTNERS])
{
	struct est_result r;

	tally_result(t, s->method, s->min_blocks, &r);
	return attribution_shares(&t->attribution, r.degradation, r.variance, share);
}

/* A checkpoint has only the last verdict, if there was one: the figures of the tasks are soon
 * measured again. */
static int load_spin(const json_t *state, struct tally *t)
{
	const json_t *spin = json_object_get(state, "spin");
	struct spin_result r;
	int verdict;

	t->spin = spin_new();
	if (!t->spin)
		return -1;
	if (!spin)
		return 0;
	if (json_unpack((json_t *)spin, "[i, F, F]", &verdict, &r.most, &r.least) ||
		verdict <= SPIN_UNKNOWN || verdict > SPIN_CERTAIN)
		return -1;
	r.verdict = (enum spin_verdict)verdict;
	t->spin_result = r;
	return 0;
}

static void record_shares(
	const struct tally *t, const struct poppa_settings *s, struct ledger_record *r)
{
	struct attribution_share share[RECORD_MAX_PARTNERS];
	int n = tally_shares(t, s, share);
	int64_t co = tally_co_ns(t);
	double measured = co > 0 ? (double)r->co_ns / (double)co : 0;

	r->attributed = r->timed = n > 0;
	for (int p = 0; p < r->partner_count; p++) {
		r->partner_degradation[p] = NAN;
		r->partner_ns[p] = 0;
		for (int i = 0; i < n; i++)
			if (share[i].job_id == r->partner[p]) {
				r->partner_degradation[p] = share[i].degradation;
				r->partner_ns[p] = (int64_t)(measured * share[i].together_ns);
			}
	}
}

/* What blocks show that are too few or too noisy for a price. Blocks that a job or a co-runner made
 * useless chose those that are left: they show nothing. */
static void record_rough(const struct tally *t, const struct est_result *r,
	enum estimate_method method, struct ledger_record *out)
{
	struct est_result rough = *r;

	if ((out->lack != LACK_BLOCKS && out->lack != LACK_PRECISION) || r->used < MIN_ROUGH_BLOCKS)
		return;
	if (method == ESTIMATE_ROBUST)
		take_off(&rough, t);
	if (!(fabs(rough.lo) < MAX_ROUGH && fabs(rough.hi) < MAX_ROUGH))
		return;
	out->rough_known = true;
	out->rough[0] = rough.lo;
	out->rough[1] = rough.hi;
}

/* A job that reacts to shutters shows in them what it wants. */
static void record_misses(const struct tally *t, struct ledger_record *r)
{
	struct miss_fit line;

	miss_model_line(&t->misses, &line);
	if (r->sensing || !line.accepted)
		return;
	r->miss_known = true;
	r->miss_line[0] = line.b;
	r->miss_line[1] = line.m;
	r->miss_blocks = line.blocks < UINT32_MAX ? (uint32_t)line.blocks : UINT32_MAX;
}

void tally_record(struct tally *t, const struct poppa_settings *s, const char *cluster,
	const char *node, bool final, int64_t now_unix, struct ledger_record *r)
{
	struct est_result chosen, thesis;
	int64_t spoilt;

	tally_result(t, s->method, s->min_blocks, &chosen);
	tally_result(t, ESTIMATE_THESIS, s->min_blocks, &thesis);
	memset(r, 0, sizeof(*r));
	snprintf(r->cluster, sizeof(r->cluster), "%s", cluster);
	snprintf(r->node, sizeof(r->node), "%s", node);
	snprintf(r->method, sizeof(r->method), "%s", estimate_method_name(s->method));
	snprintf(r->backend, sizeof(r->backend), "%s", counter_backend_name(t->backend));
	r->job_id = t->job_id;
	r->restart = t->restart;
	r->uid = t->uid;
	r->seq = ++t->seq;
	r->final = final;
	r->lane = t->lane;
	r->cores = t->cores;
	r->start_unix = t->start_unix;
	r->end_unix = now_unix;
	r->co_ns = tally_co_ns(t);
	r->solo_ns = t->mode_ns[TALLY_SOLO] + t->own_turns_ns;
	r->paused_ns = t->paused_ns;
	r->turned_ns = t->turned_ns;
	r->unmeasured_ns = t->mode_ns[TALLY_UNMEASURED];
	r->blocks = chosen.blocks;
	r->used = chosen.used;
	r->degradation = chosen.degradation;
	r->variance = chosen.variance;
	estimator_result(s->method == ESTIMATE_THESIS ? t->thesis : t->robust, &chosen);
	if (r->co_ns > 0)
		r->lack = lack_of(t, &chosen, s->min_blocks);
	record_rough(t, &chosen, s->method, r);
	spoilt = (int64_t)(spoilt_share(t, r->blocks) * (double)r->co_ns);
	r->co_ns -= spoilt;
	r->unmeasured_ns += spoilt;
	if (r->lack == LACK_STILLNESS || t->blinded || spoilt)
		r->culprit = t->culprit;
	r->thesis_degradation = thesis.degradation;
	r->sensing = tally_senses(t);
	snprintf(r->program, sizeof(r->program), "%s", programs_first(&t->programs));
	r->partner_count = t->partner_count;
	memcpy(r->partner, t->partner, sizeof(r->partner));
	record_shares(t, s, r);
	r->spin = t->spin_result.verdict >= SPIN_UNEVEN;
	r->slow_known = estimator_likelihood(t->robust, r->slow_likelihood) > 0;
	record_misses(t, r);
}

#define AT(member) FIELD_AT(struct tally, member)

/* The members that a checkpoint has beside the states of the tally's parts. */
static const struct field saved_fields[] = {
	{"last_ns", FIELD_INT, AT(last_ns), .max = INT64_MAX},
	{"job", FIELD_INT, AT(job_id), .max = UINT32_MAX},
	{"restart", FIELD_INT, AT(restart), .max = UINT32_MAX},
	{"uid", FIELD_INT, AT(uid), .max = UINT32_MAX},
	{"lane", FIELD_INT, AT(lane), .min = -1, .max = INT32_MAX},
	{"cores", FIELD_INT, AT(cores), .max = INT32_MAX},
	{"start", FIELD_INT, AT(start_unix), .max = INT64_MAX},
	{"mode_ns", FIELD_INT, FIELD_LIST(struct tally, mode_ns), .max = INT64_MAX,
		.items = "times"},
	{"paused_ns", FIELD_INT, AT(paused_ns), .max = INT64_MAX},
	{"turned_ns", FIELD_INT, AT(turned_ns), .max = INT64_MAX, .optional = true},
	{"own_turns_ns", FIELD_INT, AT(own_turns_ns), .max = INT64_MAX, .optional = true},
	{"seq", FIELD_INT, AT(seq), .max = INT64_MAX},
	{"silent", FIELD_INT, AT(silent), .max = INT64_MAX},
	{"starved", FIELD_INT, AT(starved), .max = INT64_MAX, .optional = true},
	{"spoilt", FIELD_INT, AT(spoilt), .max = INT64_MAX, .optional = true},
	{"blinded", FIELD_BOOL, AT(blinded), .optional = true},
	{"culprit", FIELD_INT, AT(culprit), .max = UINT32_MAX, .optional = true},
	{"culprit_lead", FIELD_INT, AT(culprit_lead), .max = INT64_MAX, .optional = true},
	{"partners", FIELD_INT, FIELD_LIST(struct tally, partner), .max = UINT32_MAX,
		.count = offsetof(struct tally, partner_count), .items = "job ids"},
};
static const struct field_table saved = {
	"checkpoint", saved_fields, sizeof(saved_fields) / sizeof(saved_fields[0])};

json_t *tally_save(const struct tally *t, const char *boot, int64_t now_unix)
{
	json_t *state = fields_to_json(&saved, t);

	if (!state || json_object_update_new(state,
			      json_pack("{s:i, s:s, s:I, s:I, s:s, s:o, s:o, s:o, s:o}", "version",
				      TALLY_VERSION, "boot", boot, "saved", (json_int_t)now_unix,
				      "present", (json_int_t)(t->mode != TALLY_ABSENT), "backend",
				      counter_backend_name(t->backend), "robust",
				      estimator_save(t->robust), "thesis",
				      estimator_save(t->thesis), "sham", sham_save(&t->sham),
				      "attribution", attribution_save(&t->attribution)))) {
		json_decref(state);
		return NULL;
	}
	json_object_set_new(state, "long_sham", sham_save(&t->long_sham));
	json_object_set_new(state, "programs", programs_save(&t->programs));
	if (t->misses.blocks)
		json_object_set_new(state, "misses", miss_model_save(&t->misses));
	if (t->spin_result.verdict != SPIN_UNKNOWN)
		json_object_set_new(state, "spin",
			json_pack("[i, f, f]", t->spin_result.verdict, t->spin_result.most,
				t->spin_result.least));
	return state;
}

struct tally *tally_load(const json_t *state, const char *boot, int64_t now_ns, int64_t now_unix)
{
	json_t *robust, *thesis, *sham, *attribution;
	json_int_t version, saved_unix, present;
	const char *saved_boot, *backend;
	struct tally *t;

	if (json_unpack((json_t *)state, "{s:I, s:s, s:I, s:I, s:s, s:o, s:o, s:o, s:o}", "version",
		    &version, "boot", &saved_boot, "saved", &saved_unix, "present", &present,
		    "backend", &backend, "robust", &robust, "thesis", &thesis, "sham", &sham,
		    "attribution", &attribution) ||
		version != TALLY_VERSION)
		return NULL;
	t = calloc(1, sizeof(*t));
	if (!t)
		return NULL;
	t->robust = estimator_load(robust);
	t->thesis = estimator_load(thesis);
	if (!t->robust || !t->thesis || fields_from_json(&saved, state, t, NULL) ||
		sham_load(&t->sham, sham) ||
		sham_load(&t->long_sham, json_object_get(state, "long_sham")) ||
		attribution_load(attribution, &t->attribution) || load_spin(state, t) ||
		counter_backend_parse(backend, &t->backend)) {
		tally_free(t);
		return NULL;
	}
	programs_load(json_object_get(state, "programs"), &t->programs);
	/* What is lost of it is learned again: no price waits for it. */
	miss_model_load(&t->misses, json_object_get(state, "misses"));
	if (present)
		tally_unmeasured(t, strcmp(saved_boot, boot) ? (now_unix - saved_unix) * NS_PER_S
							     : now_ns - t->last_ns);
	t->last_ns = now_ns;
	return t;
}
