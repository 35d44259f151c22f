/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Adds up the nodes of a job and prices it. */
#include "accounting/settle/settle.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/units.h"

/* Half width of a 95 % interval in standard errors. */
#define Z95 1.96
/* A 95 % interval that is wider than D plus or minus this tells too little for a price. */
#define MAX_HALF_INTERVAL 0.25
/* Of one that is wider than that, the time that the run would have taken alone is not certain: most
 * gains from spreading are below 0.4. */
#define MAX_SPREAD_HALF 0.1
/* The smallest unmeasured share of a run that its settlement mentions. */
#define MIN_UNMEASURED 0.005
/* While a job runs, time that a node has not told of yet is no loss once it is so far behind what
 * another node has told of: nodes send at least once a minute. */
#define MAX_LAG_NS (150 * NS_PER_S)

/* What one partner cost the job, in the unit of sums.lost; of no use where sums.unshared is set. */
struct partner_cost {
	uint32_t job_id;
	bool known;
	double lost;
};

/* Sums over the nodes of a job. Times are in nanoseconds, multiplied by the weight of the node. */
struct sums {
	double all; /* the whole run on all nodes */
	double paused;
	double co;     /* beside a co-runner, or held for its turn */
	double turned; /* held for turns; part of co */
	double unmeasured;
	double lost;     /* degradation times co-located time, and all of turned */
	double variance; /* of lost */
	int nodes_with_data, nodes_with_record;
	bool only_no_signal;   /* every record came without a counter */
	bool spin;             /* a node suspects that tasks wait in a loop */
	bool sensing;          /* a node has seen the job react to its shutters */
	bool unkept;           /* a node cannot keep its limit, as its last record says */
	bool lack[LACK_COUNT]; /* what nodes without data lack */
	bool uncertain;        /* the measurements show too little for a price */
	bool only_unseen;      /* every record is of a job that poppad never saw running */
	uint32_t culprit;      /* the co-runner for which a node did not measure; 0 = none */
	char backends[64];
	struct partner_cost *partner; /* sorted, distinct */
	int partner_count;
	bool unshared; /* some loss is not attributed to a single partner */
};

/* Whether a record may be of the run. Job ids are used again, also by other users, and the clocks
 * of a node and of the controller may differ. */
static bool is_of_run(const struct ledger_record *r, const struct settle_job *job)
{
	return r->job_id == job->job_id && r->restart == job->restart && r->uid == job->uid &&
	       !strcmp(r->cluster, job->cluster) &&
	       r->start_unix >= job->start_unix - LEDGER_CLOCK_SLACK_S &&
	       r->start_unix <= job->end_unix + LEDGER_CLOCK_SLACK_S;
}

/*
 * Whether a record is of an earlier run, or its node's clock is wrong: a slurmctld that was killed
 * may soon give the same job id again, or start the same job again. A record that begins after the
 * run's end need not be of a later run: a job may be cancelled before its node has heard of it.
 */
static bool is_of_earlier_run(const struct ledger_record *r, const struct settle_job *job)
{
	return r->end_unix < job->start_unix;
}

static bool is_nearer(const struct ledger_record *r, const struct ledger_record *than,
	const struct settle_job *job)
{
	bool earlier = is_of_earlier_run(r, job);

	if (earlier != is_of_earlier_run(than, job))
		return !earlier;
	return llabs(r->start_unix - job->start_unix) < llabs(than->start_unix - job->start_unix);
}

static const struct ledger_record *find_record(const struct settle_job *job, const char *node,
	const struct ledger_record *records, int count)
{
	const struct ledger_record *found = NULL;

	for (int i = 0; i < count; i++)
		if (!strcmp(records[i].node, node) && is_of_run(&records[i], job) &&
			(!found || is_nearer(&records[i], found, job)))
			found = &records[i];
	return found;
}

bool settle_complete(const struct settle_job *job, const struct ledger_record *records, int count)
{
	for (int i = 0; i < job->node_count; i++) {
		const struct ledger_record *r =
			find_record(job, job->nodes[i].name, records, count);

		if (!r || !r->final || is_of_earlier_run(r, job))
			return false;
	}
	return true;
}

/* "heartbeat", "heartbeat+perf": each backend once, in order of appearance. */
static void add_backend(struct sums *s, const char *name)
{
	char copy[sizeof(s->backends)], *save = NULL;

	strcpy(copy, s->backends);
	for (char *known = strtok_r(copy, "+", &save); known; known = strtok_r(NULL, "+", &save))
		if (!strcmp(known, name))
			return;
	if (strlen(s->backends) + strlen(name) + 2 <= sizeof(s->backends)) {
		if (*s->backends)
			strcat(s->backends, "+");
		strcat(s->backends, name);
	}
}

static int compare_ids(const void *a, const void *b)
{
	uint32_t x = ((const struct partner_cost *)a)->job_id;
	uint32_t y = ((const struct partner_cost *)b)->job_id;

	return (x > y) - (x < y);
}

/* r: a record in the run; weight: of its node; 0 = add only the job ids. */
static void add_partners(struct sums *s, const struct ledger_record *r, double weight)
{
	const double share = weight * (double)r->co_ns, turned = weight * (double)r->turned_ns;

	struct partner_cost *bigger = reallocarray(
		s->partner, s->partner_count + r->partner_count + 1, sizeof(*s->partner));
	int kept = 0;

	/* Without memory the settlement names fewer partners; the price does not depend on them. */
	if (!bigger)
		return;
	s->partner = bigger;
	for (int i = 0; i < r->partner_count; i++) {
		/* A single partner caused all of the node's degradation. */
		double cost = r->partner_count == 1 ? r->degradation
			      : r->attributed       ? r->partner_degradation[i]
						    : NAN;
		bool known = share > 0 && isfinite(cost), only = r->partner_count == 1;

		s->partner[s->partner_count++] =
			(struct partner_cost){r->partner[i], known || (only && turned > 0),
				(known ? share * cost : 0) + (only ? turned : 0)};
	}
	/* Nobody knows for whose turns of several the job was held. */
	s->unshared |= r->partner_count > 1 && ((share > 0 && !r->attributed) || turned > 0);
	qsort(s->partner, s->partner_count, sizeof(*s->partner), compare_ids);
	for (int i = 0; i < s->partner_count; i++) {
		if (!kept || s->partner[i].job_id != s->partner[kept - 1].job_id) {
			s->partner[kept++] = s->partner[i];
			continue;
		}
		s->partner[kept - 1].lost += s->partner[i].lost;
		s->partner[kept - 1].known |= s->partner[i].known;
	}
	s->partner_count = kept;
}

static void add_node(struct sums *s, const struct settle_job *job, const struct settle_node *node,
	const struct ledger_record *r)
{
	int64_t wall = node->wall_ns ? node->wall_ns : job->wall_ns;
	struct ledger_record in; /* the run */

	s->all += node->weight * (double)wall;
	if (!r)
		return;
	in = *r;
	record_clip(&in, wall);
	s->nodes_with_record++;
	s->sensing |= r->sensing;
	s->spin |= r->spin;
	s->unkept |= r->unkept && !r->final;
	if (r->culprit)
		s->culprit = r->culprit;
	add_partners(s, r, 0);
	if (strcmp(r->backend, "none"))
		s->only_no_signal = false;
	if (r->co_ns || r->solo_ns)
		s->only_unseen = false;
	/* Nobody pays for this time, also where there is no degradation. */
	s->paused += node->weight * (double)in.paused_ns;
	if (!record_has_data(r)) {
		s->lack[r->lack] = true;
		/* This is known to be lost, whatever else is not. */
		s->paused += node->weight * (double)in.turned_ns;
		return;
	}
	if (r->co_ns && r->degradation > 1) {
		s->uncertain = true;
		return;
	}
	add_backend(s, r->backend);
	s->nodes_with_data++;
	/* Without the node's final record the time since this record is unmeasured. */
	if (!r->final)
		in.unmeasured_ns = wall - in.co_ns - in.solo_ns - in.paused_ns - in.turned_ns;
	s->unmeasured += node->weight * (double)in.unmeasured_ns;
	s->co += node->weight * ((double)in.co_ns + (double)in.turned_ns);
	s->turned += node->weight * (double)in.turned_ns;
	s->lost += node->weight * record_lost_ns(&in);
	if (r->co_ns) {
		double share = node->weight * (double)in.co_ns;

		s->variance += share * share * r->variance; /* NAN makes it unknown */
	}
	if (r->co_ns || r->turned_ns)
		add_partners(s, &in, node->weight);
}

/* With several partners also what each one cost, as a part of out->degradation, if it is known. */
static void name_partners(struct settlement *out, const struct sums *s)
{
	bool costs = s->partner_count > 1 && !s->unshared && isfinite(out->degradation);

	for (int i = 0; i < s->partner_count && i < SETTLEMENT_MAX_PARTNERS; i++) {
		const struct partner_cost *p = &s->partner[i];

		out->partner[i] = p->job_id;
		if (costs && p->known)
			out->partner_cost[i] = fmax(p->lost, 0) / (s->all - s->paused);
		out->partner_count++;
	}
	out->more_partners = s->partner_count - out->partner_count;
}

static const char *no_data_reason(const struct settle_job *job, const struct sums *s)
{
	if (job->unpriced)
		return job->unpriced;
	if (job->wall_ns <= 0)
		return "no-time";
	if (!s->nodes_with_record)
		return "no-record";
	if (s->sensing)
		return "shutter-sensing";
	if (s->uncertain)
		return "uncertain";
	if (s->only_unseen)
		return "unmeasured";
	if (s->only_no_signal)
		return "no-signal";
	if (s->lack[LACK_STILLNESS])
		return "unmeasured";
	if (s->lack[LACK_PRECISION])
		return "uncertain";
	if (s->lack[LACK_CORE])
		return "no-core";
	if (s->lack[LACK_PROGRESS])
		return "no-progress";
	return s->lack[LACK_STEADINESS] ? "unsteady" : "too-few-blocks";
}

/* Takes what Slurm knows about the run. */
static void take_run(struct settlement *out, const struct settle_job *job,
	const struct price_policy *policy, int64_t now_unix)
{
	settlement_clear(out);
	snprintf(out->cluster, sizeof(out->cluster), "%s", job->cluster);
	price_policy_format(policy, out->policy);
	out->version = PRICE_VERSION;
	out->job_id = job->job_id;
	out->restart = job->restart;
	out->uid = job->uid;
	out->start_unix = job->start_unix;
	out->end_unix = job->end_unix;
	out->settled_unix = now_unix;
	out->raw = job->raw;
	out->size_count = job->size_count;
	out->extended = job->extended;
	snprintf(out->bound, sizeof(out->bound), "%s", job->bound ? job->bound : "");
	for (int i = 0; i < job->size_count; i++)
		out->size[i] = job->sizes[i];
}

/* Takes what was measured, for a run with a degradation; half_interval: of its 95 % interval. */
static void take_measured(struct settlement *out, const struct settle_job *job,
	const struct sums *s, double half_interval)
{
	out->stopped = s->paused / s->all;
	out->degradation = s->lost / (s->all - s->paused);
	if (s->turned > 0)
		out->turned = s->turned / s->all;
	out->co = s->co / s->all;
	if (s->co > 0)
		out->co_degradation = s->lost / s->co;
	if (s->co > 0 && isfinite(half_interval)) {
		out->lo = out->degradation - half_interval;
		out->hi = out->degradation + half_interval;
	}
	strcpy(out->backend, s->backends);
	if (s->nodes_with_data < job->node_count) {
		out->with_data = s->nodes_with_data;
		out->nodes = job->node_count;
	}
	if (s->unmeasured > MIN_UNMEASURED * s->all)
		out->unmeasured = s->unmeasured / s->all;
	out->spin = s->spin;
}

/* Half of the 95 % interval of D; NAN: unknown. */
static double half_interval(const struct sums *s)
{
	return s->all > s->paused ? Z95 * sqrt(s->variance) / (s->all - s->paused) : NAN;
}

static bool has_degradation(const struct settle_job *job, const struct sums *s)
{
	return !job->unpriced && job->wall_ns > 0 && s->nodes_with_data && s->all > s->paused &&
	       !s->sensing && !s->uncertain;
}

void settle_decide(const struct settle_job *job, const struct ledger_record *records, int count,
	const struct price_policy *policy, int64_t now_unix, struct settlement *out)
{
	struct sums s = {.only_no_signal = true, .only_unseen = true};
	double half;

	take_run(out, job, policy, now_unix);
	for (int i = 0; i < job->node_count; i++)
		add_node(&s, job, &job->nodes[i],
			find_record(job, job->nodes[i].name, records, count));
	half = half_interval(&s);
	if (s.co > 0 && half > MAX_HALF_INTERVAL)
		s.uncertain = true;
	if (!has_degradation(job, &s)) {
		snprintf(out->nodata, sizeof(out->nodata), "%s", no_data_reason(job, &s));
		/* A run that cannot be priced has no known share of stopped time. */
		if (!job->unpriced && s.all > s.paused && s.paused > 0)
			out->stopped = s.paused / s.all;
	} else {
		take_measured(out, job, &s, half);
	}
	if (*out->nodata || out->nodes || !isnan(out->unmeasured))
		out->culprit = s.culprit;
	name_partners(out, &s);
	out->charged = price_charge(policy, out->raw, out->degradation, out->hi, out->stopped);
	settlement_write_comment(out);
	free(s.partner);
}

double settle_spread_s(const struct settle_job *job, const struct settlement *price)
{
	double half = price->hi - price->degradation;

	/* Without co-located time there is no interval, and D is certain. */
	if (*price->nodata || job->unpriced || job->size_count || price->nodes || price->spin ||
		!isnan(price->unmeasured) || (price->co > 0 && !(half <= MAX_SPREAD_HALF)) ||
		!(price->degradation < 1) || !(price->stopped < 1))
		return NAN;
	return (double)job->wall_ns / NS_PER_S * (1 - price->stopped) * (1 - price->degradation);
}

/* One number of the line, over nodes. */
struct miss_sum {
	double weight, log, least, most;
};

static void add_miss(struct miss_sum *s, double value, double weight)
{
	s->least = s->weight > 0 ? fmin(s->least, value) : value;
	s->most = fmax(s->most, value);
	s->weight += weight;
	s->log += weight * log(value);
}

static bool mean_of_miss(const struct miss_sum *s, double *out)
{
	if (!(s->least > 0) || s->most > SETTLE_MISS_APART * s->least)
		return false;
	*out = exp(s->log / s->weight);
	return isfinite(*out);
}

bool settle_miss(const struct settle_job *job, const struct ledger_record *records, int count,
	const struct settlement *price, struct settle_miss *out)
{
	struct miss_sum base = {.weight = 0}, miss = {.weight = 0};

	if (*price->nodata || job->unpriced || price->spin)
		return false;
	for (int i = 0; i < job->node_count; i++) {
		const struct ledger_record *r =
			find_record(job, job->nodes[i].name, records, count);

		if (!r || is_of_earlier_run(r, job) || !r->miss_known ||
			r->miss_blocks < SETTLE_MISS_BLOCKS)
			continue;
		add_miss(&base, r->miss_line[0], r->miss_blocks);
		add_miss(&miss, r->miss_line[1], r->miss_blocks);
	}
	return mean_of_miss(&base, &out->base_cycles) && mean_of_miss(&miss, &out->miss_cycles);
}

static int64_t told_ns(const struct ledger_record *r)
{
	return r ? r->co_ns + r->solo_ns + r->paused_ns + r->turned_ns + r->unmeasured_ns : 0;
}

static int64_t between(int64_t least, int64_t ns, int64_t most)
{
	ns = ns < most ? ns : most;
	return ns > least ? ns : least;
}

/* The end of D's interval that favours the user. Of one that is too wide for a price no more than
 * of one that is not. */
static double degradation_at_most(const struct sums *s, bool *known)
{
	double d = s->lost / (s->all - s->paused), half = half_interval(s);

	if (!(s->co > 0) || isnan(half))
		return d;
	*known &= half <= MAX_HALF_INTERVAL || d > half;
	return d + fmin(half, MAX_HALF_INTERVAL);
}

/* Of a node's blocks that are too few or too noisy for a price, where the job surely loses. */
static void take_rough(struct ledger_record *r)
{
	double middle = (r->rough[0] + r->rough[1]) / 2, half = (r->rough[1] - r->rough[0]) / 2;

	if (record_has_data(r) || !r->rough_known || !(r->rough[0] > 0) || !(half >= 0) ||
		middle >= 1)
		return;
	r->degradation = fmin(middle + fmin(half, MAX_HALF_INTERVAL), 1);
	r->variance = 0;
}

/* Adds what a node has told of until now, where the one that has told of most has told of so much.
 */
static void add_so_far(struct sums *s, const struct settle_job *job, struct settle_node node,
	const struct ledger_record *r, int64_t most)
{
	struct ledger_record rough;

	/* 0 would mean all of the run. */
	node.wall_ns = between(1, between(most - MAX_LAG_NS, told_ns(r), most), most);
	if (r) {
		rough = *r;
		take_rough(&rough);
	}
	add_node(s, job, &node, r ? &rough : NULL);
}

/* The lower end of D's interval; NAN: it is not known. */
static double degradation_at_least(const struct settle_job *job, const struct sums *s)
{
	if (!has_degradation(job, s) || !(s->co > 0))
		return NAN;
	return s->lost / (s->all - s->paused) - half_interval(s);
}

void settle_loss(const struct settle_job *job, const struct ledger_record *records, int count,
	struct settle_loss *out)
{
	const struct sums none = {.only_no_signal = true, .only_unseen = true};
	struct sums s = none, worst = none;
	double d = 0, least = NAN;
	int64_t most = 0;

	for (int i = 0; i < job->node_count; i++)
		most = between(most, told_ns(find_record(job, job->nodes[i].name, records, count)),
			job->wall_ns);
	for (int i = 0; i < job->node_count; i++) {
		const struct ledger_record *r =
			find_record(job, job->nodes[i].name, records, count);
		struct sums one = none;
		double its;

		add_so_far(&s, job, job->nodes[i], r, most);
		add_so_far(&one, job, job->nodes[i], r, most);
		free(one.partner);
		its = degradation_at_least(job, &one);
		if (its > least || isnan(least)) {
			least = its;
			worst = one;
		}
	}
	free(s.partner);
	out->told_s = (double)most / (double)NS_PER_S;
	out->sensing = s.sensing;
	out->unkept = s.unkept;
	out->known = most > 0 && has_degradation(job, &s);
	if (out->known) {
		d = degradation_at_most(&s, &out->known);
		/* Certainly worse than the nodes together: the others wait for it. */
		if (least > d) {
			out->known = true;
			d = degradation_at_most(&worst, &out->known);
		}
	}
	out->held_s = !job->unpriced && s.all > 0 ? out->told_s * s.paused / s.all : 0;
	out->lost_s = out->known ? d * (out->told_s - out->held_s) : 0;
}

const char *settle_program(
	const struct settle_job *job, const struct ledger_record *records, int count)
{
	for (int i = 0; i < job->node_count; i++) {
		const struct ledger_record *r =
			find_record(job, job->nodes[i].name, records, count);

		if (r && *r->program)
			return r->program;
	}
	return "";
}

/* What the nodes told of one partner so far. */
struct pair_sums {
	struct settle_pair pair;
	double nodes; /* their weight */
	double co, lost;
	bool unknown; /* one of them does not know the partner's part */
};

/* What a node's record tells of its i-th partner: for how long it was there, and what it cost. NAN:
 * unknown. */
static double pair_of_record(const struct ledger_record *r, int i, int64_t *ns)
{
	*ns = r->co_ns;
	if (r->partner_count == 1)
		return r->degradation;
	*ns = r->attributed && r->timed ? r->partner_ns[i] : 0;
	if (*ns <= 0)
		return NAN;
	return r->partner_degradation[i] * (double)r->co_ns / (double)*ns;
}

static void add_pairs(
	struct pair_sums *sums, int *pairs, const struct ledger_record *r, double weight)
{
	for (int i = 0; i < r->partner_count; i++) {
		struct pair_sums *p = sums;
		int64_t ns;
		double d = pair_of_record(r, i, &ns);

		while (p < sums + *pairs && p->pair.partner != r->partner[i])
			p++;
		if (p == sums + SETTLE_MAX_PAIRS)
			continue;
		*pairs += p == sums + *pairs;
		p->pair.partner = r->partner[i];
		p->pair.seconds = fmax(p->pair.seconds, (double)ns / (double)NS_PER_S);
		p->unknown |= !isfinite(d);
		p->nodes += weight;
		p->co += weight * (double)ns;
		p->lost += weight * (double)ns * d;
	}
}

int settle_pairs(const struct settle_job *job, const struct ledger_record *records, int count,
	struct settle_pair pair[SETTLE_MAX_PAIRS])
{
	struct pair_sums sums[SETTLE_MAX_PAIRS] = {{.nodes = 0}};
	double shared = 0;
	int pairs = 0, kept = 0;

	for (int i = 0; i < job->node_count; i++) {
		const struct ledger_record *r =
			find_record(job, job->nodes[i].name, records, count);

		if (!r || !r->co_ns)
			continue;
		if (!record_has_data(r) || r->sensing)
			return 0;
		shared += job->nodes[i].weight;
		add_pairs(sums, &pairs, r, job->nodes[i].weight);
	}
	for (int i = 0; i < pairs; i++) {
		const struct pair_sums *p = &sums[i];

		if (p->unknown || p->nodes < SETTLE_PAIR_NODES * shared || !(p->co > 0))
			continue;
		pair[kept] = p->pair;
		/* Noise of a short time may be beyond what is possible. */
		pair[kept++].degradation = fmax(fmin(p->lost / p->co, 1), -1);
	}
	return kept;
}

int settle_pairs_so_far(const struct settle_job *job, const struct ledger_record *records,
	int count, struct settle_pair pair[SETTLE_MAX_PAIRS])
{
	for (int i = 0; i < job->node_count; i++)
		if (!told_ns(find_record(job, job->nodes[i].name, records, count)))
			return 0;
	return settle_pairs(job, records, count, pair);
}
