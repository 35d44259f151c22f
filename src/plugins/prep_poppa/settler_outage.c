/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Keeps the settler from asking the ledger and slurmdbd all the time while they do not answer. */
#include "plugins/compat/slurm_compat.h"

#include "serving.h"
#include "settler_impl.h"

#define MAX_BACKOFF_MS 16000 /* between two attempts */

/* Whether that is news. */
static bool no_answer(struct outage *o)
{
	bool begins = !o->backoff_ms;

	if (begins)
		o->backoff_ms = TICK_MS;
	o->retry_ms = settler_now_ms() + o->backoff_ms;
	if (o->backoff_ms < MAX_BACKOFF_MS)
		o->backoff_ms *= 2;
	return begins;
}

/* Whether that is news. */
static bool an_answer(struct outage *o)
{
	bool ends = o->backoff_ms;

	*o = (struct outage){0};
	return ends;
}

void ledger_failed(struct settler *w, const char *why)
{
	if (no_answer(&w->ledger))
		error(ME ": %s: jobs stay unsettled until it answers", why);
}

void ledger_answered(struct settler *w, const char *id)
{
	/* The nodes notice that it is back in their own time, so late records are late from now
	 * on. */
	if (an_answer(&w->ledger)) {
		info(ME ": the ledger answers again");
		w->ledger_back_ms = settler_now_ms();
	}
	if (!*id || !strcmp(id, w->ledger_id))
		return;
	if (*w->ledger_id) {
		info(ME ": the ledger is a new one: the nodes send again what they have kept");
		w->ledger_new_ms = settler_now_ms();
	}
	snprintf(w->ledger_id, sizeof(w->ledger_id), "%s", id);
}

void database_answered(struct settler *w, int rc)
{
	if (rc >= 0) {
		if (an_answer(&w->database))
			info(ME ": slurmdbd answers again");
		return;
	}
	/* Slurm logs each attempt by itself. */
	if (serving() && no_answer(&w->database))
		error(ME ": slurmdbd does not answer: prices are not seen there until it does");
}

bool database_rests(const struct settler *w, struct item *i)
{
	if (settler_now_ms() >= w->database.retry_ms)
		return false;
	i->due_ms = w->database.retry_ms;
	return true;
}
