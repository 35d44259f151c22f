/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Computes the pace of jobs. The decision on turns is the shipped one. */
#include "sim/pace.h"

#include <math.h>

#include "common/units.h"
#include "poppa/measure/turns.h"
#include "sim/world/draw.h"

/* How much one block's degradation is off, standard deviation. */
#define BLOCK_NOISE 0.05

double pace_plain(const struct sim *s, int job, int partner)
{
	const struct matrix *m = s->matrix;
	int row = s->work->job[job].row;

	return partner == NOBODY ? m->alone[row]
				 : m->speed[row * m->count + s->work->job[partner].row];
}

/* A run beside one program is off by the same whoever's job that is. */
static double noisy(const struct sim *s, int job, int partner)
{
	double off =
		draw_normal(s->seed, DRAW_RUN, (uint64_t)job, (uint64_t)s->work->job[partner].row);

	return pace_plain(s, job, partner) * fmax(1 + s->noise * off, 0.1);
}

double pace_degradation(const struct sim *s, int job, int partner)
{
	return 1 - noisy(s, job, partner) / pace_plain(s, job, NOBODY);
}

void pace_update(struct sim *s, int job)
{
	struct run *r = &s->run[job];
	double alone = pace_plain(s, job, NOBODY), speed = alone, plain = alone;
	int last = NOBODY, beside = 0;

	r->rate = r->plain = 1;
	r->beside = r->beside_d = 0;
	if (r->nodes == s->work->job[job].nodes && r->lanes == LANES)
		return;
	r->rate = r->plain = alone;
	for (int i = 0; i < r->nodes; i++) {
		const struct node *n = &s->node[r->node[i]];
		int partner = sim_partner(s, r->node[i], job), mine = n->job[1] == job;
		double pace;

		if (partner == NOBODY)
			continue;
		beside++;
		if (partner != last) {
			speed = noisy(s, job, partner);
			plain = pace_plain(s, job, partner);
			last = partner;
		}
		pace = (1 - n->alone[0] - n->alone[1]) * speed + n->alone[mine] * alone;
		r->beside_d = fmax(r->beside_d, 1 - speed / alone);
		r->rate = fmin(r->rate, pace);
		r->plain = fmin(r->plain, plain);
	}
	r->beside = (double)beside / r->nodes;
}

/* The last blocks of a job on the node. */
static void add_blocks(
	const struct sim *s, int job, int partner, int64_t now_ns, struct turns_blocks *b)
{
	double d = pace_degradation(s, job, partner);

	for (int k = 0; k < TURNS_KEPT; k++)
		turns_add(b, 1,
			d + BLOCK_NOISE * draw_normal(s->seed, DRAW_BLOCK,
						  (uint64_t)job << 8 | (uint64_t)k,
						  (uint64_t)partner),
			now_ns);
}

bool pace_turns(struct sim *s, int node)
{
	struct node *n = &s->node[node];
	struct turns_blocks blocks[LANES] = {{.group = 0}};
	struct turns_job job[LANES];
	struct turns t = {.on = false};
	int64_t begin = NS_PER_S, end = begin + (TURNS_SURE_S + 1) * NS_PER_S;
	int64_t turn = s->settings->turns == TURNS_YES ? s->settings->turn_ns : 0;
	double before = n->alone[0];

	if (s->settings->turns == TURNS_NO || n->job[0] == NOBODY || n->job[1] == NOBODY ||
		n->job[0] == n->job[1])
		return false;
	for (int i = 0; i < LANES; i++) {
		int me = n->job[i];

		add_blocks(s, me, n->job[!i], end, &blocks[i]);
		job[i] = (struct turns_job){.fit = true,
			.blocks = &blocks[i],
			.lo = NAN,
			.holdable = true,
			.trusted = true,
			.limit = s->work->job[me].capped ? s->cap : 0,
			.since = (int64_t)(s->run[me].start_s * (double)NS_PER_S)};
	}
	turns_look(&t, 1, job, LANES, turn, begin);
	turns_look(&t, 1, job, LANES, turn, end);
	turns_limits(&t, job, LANES, end);
	n->alone[0] = n->alone[1] = 0;
	if (t.slices)
		n->alone[t.favoured] = (double)t.slices / TURNS_CYCLE;
	else if (t.on)
		n->alone[0] = n->alone[1] = (1 - 1.0 / TURNS_PROBE_EVERY) / LANES *
					    (1 - (double)TURNS_SWITCH_NS / (double)turn);
	return n->alone[0] != before || n->alone[1] > 0;
}
