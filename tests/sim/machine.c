/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Keeps the state of nodes and of the queue. */
#include "sim/machine.h"

#include <stdlib.h>
#include <string.h>

int sim_free(const struct sim *s, int node)
{
	return (s->node[node].job[0] == NOBODY) + (s->node[node].job[1] == NOBODY);
}

int sim_partner(const struct sim *s, int node, int job)
{
	const struct node *n = &s->node[node];

	for (int lane = 0; lane < LANES; lane++)
		if (n->job[lane] != NOBODY && n->job[lane] != job)
			return n->job[lane];
	return NOBODY;
}

void sim_unmark(struct sim *s)
{
	s->stamps++;
}

bool sim_mark(struct sim *s, int job)
{
	bool is_new = s->stamp[job] != s->stamps;

	s->stamp[job] = s->stamps;
	return is_new;
}

int machine_new(struct sim *s, struct errmsg *err)
{
	size_t jobs = (size_t)s->work->count + 1;

	s->node = calloc((size_t)s->nodes, sizeof(*s->node));
	s->run = calloc(jobs, sizeof(*s->run));
	s->running = calloc(jobs, sizeof(*s->running));
	s->stamp = calloc(jobs, sizeof(*s->stamp));
	s->first = s->last = NOBODY;
	if (!s->node || !s->run || !s->running || !s->stamp)
		return errmsg_set(
			err, "out of memory for %d nodes and %d jobs", s->nodes, s->work->count);
	for (int n = 0; n < s->nodes; n++)
		s->node[n].job[0] = s->node[n].job[1] = NOBODY;
	for (int i = 0; i < s->work->count; i++)
		s->run[i] = (struct run){.before = NOBODY,
			.after = NOBODY,
			.wakes_s = -1,
			.promised_s = -1,
			.place = PLACE_ANY,
			.passed_over_s = -1};
	s->open = s->empty = s->nodes;
	return 0;
}

void machine_free(struct sim *s)
{
	for (int i = 0; s->run && i < s->work->count; i++) {
		free(s->run[i].node);
		free(s->run[i].met);
	}
	free(s->node);
	free(s->run);
	free(s->running);
	free(s->stamp);
}

/* Counts the node among those with free lanes (by 1), or no longer (by -1). */
static void count_free(struct sim *s, int node, int by)
{
	int lanes = sim_free(s, node);

	s->open += lanes > 0 ? by : 0;
	s->empty += lanes == LANES ? by : 0;
}

int machine_take(struct sim *s, int job, const int *node, int nodes, int lanes)
{
	struct run *r = &s->run[job];

	r->node = malloc((size_t)nodes * sizeof(*r->node));
	r->met = calloc(MOST_MET, sizeof(*r->met));
	if (!r->node || !r->met)
		return -1;
	memcpy(r->node, node, (size_t)nodes * sizeof(*r->node));
	r->nodes = nodes;
	r->lanes = lanes;
	for (int i = 0; i < nodes; i++) {
		struct node *n = &s->node[node[i]];

		machine_account(s, node[i]);
		count_free(s, node[i], -1);
		for (int lane = 0, left = lanes; lane < LANES && left; lane++)
			if (n->job[lane] == NOBODY) {
				n->job[lane] = job;
				n->met[lane] = false;
				left--;
			}
		n->alone[0] = n->alone[1] = 0;
		count_free(s, node[i], 1);
	}
	s->running[s->running_count++] = job;
	return 0;
}

void machine_release(struct sim *s, int job)
{
	struct run *r = &s->run[job];

	for (int i = 0; i < r->nodes; i++) {
		struct node *n = &s->node[r->node[i]];

		machine_account(s, r->node[i]);
		count_free(s, r->node[i], -1);
		for (int lane = 0; lane < LANES; lane++)
			if (n->job[lane] == job)
				n->job[lane] = NOBODY;
		n->alone[0] = n->alone[1] = 0;
		n->below = false;
		count_free(s, r->node[i], 1);
	}
	free(r->node);
	free(r->met);
	r->node = NULL;
	r->met = NULL;
	r->nodes = 0;
	for (int i = 0; i < s->running_count; i++)
		if (s->running[i] == job) {
			s->running[i] = s->running[--s->running_count];
			break;
		}
}

void machine_account(struct sim *s, int node)
{
	struct node *n = &s->node[node];
	bool shared = n->job[0] != NOBODY && n->job[1] != NOBODY && n->job[0] != n->job[1];

	if (shared) {
		s->measures.shared_node_s += s->now - n->since;
		s->measures.below_node_s += n->below ? s->now - n->since : 0;
	}
	n->since = s->now;
	n->below = shared && s->run[n->job[0]].plain + s->run[n->job[1]].plain < LANES;
}

void machine_enqueue(struct sim *s, int job)
{
	struct run *r = &s->run[job];

	r->state = RUN_WAITING;
	r->before = s->last;
	while (r->before > job)
		r->before = s->run[r->before].before;
	r->after = r->before == NOBODY ? s->first : s->run[r->before].after;
	*(r->before == NOBODY ? &s->first : &s->run[r->before].after) = job;
	*(r->after == NOBODY ? &s->last : &s->run[r->after].before) = job;
	s->waiting++;
}

void machine_dequeue(struct sim *s, int job)
{
	struct run *r = &s->run[job];

	*(r->before == NOBODY ? &s->first : &s->run[r->before].after) = r->after;
	*(r->after == NOBODY ? &s->last : &s->run[r->after].before) = r->before;
	s->waiting--;
}
