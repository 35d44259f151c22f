/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Keeps what jobs tell of slow refill: a vote for each user and type of nodes, and the priors. */
#include "accounting/ledgerd/ledger_impl.h"

#include <string.h>

/* Of a run, so many nodes are asked: others of the same type hardly say more. */
#define NODES_ASKED 16

/* What the nodes of one type tell of one run: the mean of their likelihoods. */
struct told {
	char node_type[SLOW_NODE_TYPE];
	int nodes;
	double likelihood[SLOW_HYPOTHESES];
};

static void add_node(struct told *told, const struct ledger_record *r)
{
	int t = 0;

	/* Whoever reacts to shutters shows what it likes. */
	if (!r->slow_known || r->sensing || !*r->node_type ||
		!slow_likelihood_valid(r->slow_likelihood))
		return;
	while (told[t].nodes && strcmp(told[t].node_type, r->node_type))
		t++;
	strcpy(told[t].node_type, r->node_type);
	told[t].nodes++;
	for (int i = 0; i < SLOW_HYPOTHESES; i++)
		told[t].likelihood[i] +=
			(r->slow_likelihood[i] - told[t].likelihood[i]) / told[t].nodes;
}

/* Reads what the run's records tell; told[NODES_ASKED] begins as zeros. 0, or -1 with err. */
static int ask_nodes(
	struct ledger *l, const struct settlement *s, struct told *told, struct errmsg *err)
{
	sqlite3_stmt *st = l->st[S_TOLD];
	int step, rc = 0;

	ledger_bind_run(st, s->cluster, s->job_id, s->restart, 1);
	sqlite3_bind_int64(st, 4, s->start_unix);
	sqlite3_bind_int64(st, 5, s->end_unix);
	sqlite3_bind_int(st, 6, LEDGER_CLOCK_SLACK_S);
	sqlite3_bind_int(st, 7, NODES_ASKED);
	while ((step = sqlite3_step(st)) == SQLITE_ROW) {
		/* A row that cannot be read tells nothing; "poppa ledger check" finds it. */
		json_t *json = ledger_column_json(st, 0, NULL);
		struct ledger_record r;

		if (json && !record_from_json(json, &r, NULL) && r.uid == s->uid)
			add_node(told, &r);
		json_decref(json);
	}
	if (step != SQLITE_DONE)
		rc = ledger_db_failed(l, "read records", err);
	sqlite3_reset(st);
	return rc;
}

/* Columns 0 to 2 of a row. */
static void read_weights(sqlite3_stmt *st, struct slow_prior *p)
{
	for (int i = 0; i < SLOW_HYPOTHESES; i++)
		p->weight[i] = sqlite3_column_double(st, i);
}

static void bind_weights(sqlite3_stmt *st, int first, const struct slow_prior *p)
{
	for (int i = 0; i < SLOW_HYPOTHESES; i++)
		sqlite3_bind_double(st, first + i, p->weight[i]);
}

/* Reads at most max votes from a statement that is bound. Returns how many, or -1 with err. */
static int read_votes(
	struct ledger *l, enum statement s, struct slow_vote *v, int max, struct errmsg *err)
{
	sqlite3_stmt *st = l->st[s];
	int n = 0, step = SQLITE_DONE;

	while (n < max && (step = sqlite3_step(st)) == SQLITE_ROW) {
		read_weights(st, &v[n].weights);
		v[n].told = sqlite3_column_double(st, 3);
		n += slow_likelihood_valid(v[n].weights.weight) && v[n].told >= 0;
	}
	if (n < max && step != SQLITE_DONE)
		n = ledger_db_failed(l, "read votes", err);
	sqlite3_reset(st);
	return n;
}

/* Adds what a run has told to its user's vote. */
static int vote(
	struct ledger *l, const struct told *told, uint32_t uid, int64_t now, struct errmsg *err)
{
	sqlite3_stmt *st = l->st[S_VOTE];
	struct slow_vote v;
	int n;

	sqlite3_bind_text(st, 1, told->node_type, -1, SQLITE_STATIC);
	sqlite3_bind_int64(st, 2, uid);
	n = read_votes(l, S_VOTE, &v, 1, err);
	sqlite3_clear_bindings(st);
	if (n < 0)
		return -1;
	if (!n)
		slow_vote_init(&v);
	slow_vote_add(&v, told->likelihood);
	st = l->st[S_SET_VOTE];
	sqlite3_bind_text(st, 1, told->node_type, -1, SQLITE_STATIC);
	sqlite3_bind_int64(st, 2, uid);
	bind_weights(st, 3, &v.weights);
	sqlite3_bind_double(st, 6, v.told);
	sqlite3_bind_int64(st, 7, now);
	if (ledger_run(l, S_SET_VOTE, "store a vote", err))
		return -1;
	st = l->st[S_DROP_VOTE];
	sqlite3_bind_text(st, 1, told->node_type, -1, SQLITE_STATIC);
	sqlite3_bind_int(st, 2, LEDGER_MAX_VOTES);
	return ledger_run(l, S_DROP_VOTE, "drop a vote", err);
}

/* Works out the prior of a type, which was used now. */
static int count_votes(struct ledger *l, const char *node_type, int64_t now, struct errmsg *err)
{
	struct slow_vote v[LEDGER_MAX_VOTES];
	sqlite3_stmt *st = l->st[S_VOTES];
	struct slow_prior prior;
	int n;

	sqlite3_bind_text(st, 1, node_type, -1, SQLITE_STATIC);
	sqlite3_bind_int(st, 2, LEDGER_MAX_VOTES);
	n = read_votes(l, S_VOTES, v, LEDGER_MAX_VOTES, err);
	sqlite3_clear_bindings(st);
	if (n < 0)
		return -1;
	slow_prior_of_votes(v, n, &prior);
	st = l->st[S_SET_PRIOR];
	sqlite3_bind_text(st, 1, node_type, -1, SQLITE_STATIC);
	bind_weights(st, 2, &prior);
	sqlite3_bind_int64(st, 5, now);
	if (ledger_run(l, S_SET_PRIOR, "store a prior", err))
		return -1;
	sqlite3_bind_int(l->st[S_DROP_PRIOR], 1, LEDGER_MAX_TYPES);
	if (ledger_run(l, S_DROP_PRIOR, "drop a prior", err))
		return -1;
	return sqlite3_changes(l->db) ? ledger_run(l, S_ORPHANS, "drop votes", err) : 0;
}

int ledger_learn(struct ledger *l, const struct settlement *s, struct errmsg *err)
{
	/* One more, which ends the list. */
	struct told told[NODES_ASKED + 1] = {{.nodes = 0}};

	if (ask_nodes(l, s, told, err))
		return -1;
	for (const struct told *t = told; t->nodes; t++)
		if (vote(l, t, s->uid, s->settled_unix, err) ||
			count_votes(l, t->node_type, s->settled_unix, err))
			return -1;
	return 0;
}

int ledger_prior(
	struct ledger *l, const char *node_type, struct slow_prior *prior, struct errmsg *err)
{
	sqlite3_stmt *st = l->st[S_PRIOR];
	struct slow_prior stored;
	int step, rc = 0;

	sqlite3_bind_text(st, 1, node_type, -1, SQLITE_STATIC);
	step = sqlite3_step(st);
	if (step == SQLITE_ROW) {
		read_weights(st, &stored);
		rc = slow_prior_valid(&stored);
	} else if (step != SQLITE_DONE) {
		rc = ledger_db_failed(l, "read a prior", err);
	}
	sqlite3_reset(st);
	sqlite3_clear_bindings(st);
	if (rc > 0)
		*prior = stored;
	return rc;
}
