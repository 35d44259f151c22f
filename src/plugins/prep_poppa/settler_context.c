/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Follows the settler's settings, and limits how often it asks a server that does not answer. */
#include "plugins/compat/slurm_compat.h"

#include <string.h>

#include "src/slurmctld/locks.h"

#include "common/clock.h"
#include "common/settings_kept.h"
#include "common/units.h"

#include "controller.h"
#include "settler_context.h"

#define LEDGER_TIMEOUT_MS 3000
#define MAX_BACKOFF_MS 16000 /* between two attempts */
#define NEW_LEDGER_MS 330000 /* until all nodes have noticed that the ledger was lost */

void settler_complain(struct settler *w, const char *text)
{
	if (strcmp(text, w->complaint))
		error(ME ": %s", text);
	snprintf(w->complaint, sizeof(w->complaint), "%s", text);
}

void settler_follow_settings(struct settler *w)
{
	slurmctld_lock_t read_conf = {.conf = READ_LOCK};
	struct errmsg err = {""};
	char *text, *controller, *dir;
	bool good;

	lock_slurmctld(read_conf);
	text = xstrdup(slurm_conf.prep_params ? slurm_conf.prep_params : "");
	controller = slurm_conf.control_cnt ? xstrdup(slurm_conf.control_addr[0]) : NULL;
	dir = xstrdup(slurm_conf.state_save_location);
	unlock_slurmctld(read_conf);
	if (w->configured && !xstrcmp(text, w->settings_text)) {
		xfree(text);
		xfree(controller);
		xfree(dir);
		return;
	}
	good = !settings_follow(text, dir, !w->settings_text, &w->settings, &err);
	if (good) {
		w->complaint[0] = '\0';
	} else {
		errmsg_set(&err, "PrEpParameters: %s", err.text);
		settler_complain(w, err.text);
	}
	price_rules_parse(&w->settings, &w->rules, &err);
	if (good && settings_keep(dir, text, &err))
		settler_complain(w, err.text);
	if (client_init(&w->client, &w->settings, &w->conf, controller, &err)) {
		settler_complain(w, err.text);
	} else {
		w->client.timeout_ms = LEDGER_TIMEOUT_MS;
		w->configured = true;
	}
	xfree(w->settings_text);
	w->settings_text = text;
	xfree(controller);
	xfree(dir);
}

/* Returns whether an outage begins. */
static bool no_answer(struct outage *o)
{
	bool begins = !o->backoff_ms;

	if (begins)
		o->backoff_ms = TICK_MS;
	o->retry_ms = clock_now_ms() + o->backoff_ms;
	if (o->backoff_ms < MAX_BACKOFF_MS)
		o->backoff_ms *= 2;
	return begins;
}

/* Returns whether an outage ends. */
static bool an_answer(struct outage *o)
{
	bool ends = o->backoff_ms;

	*o = (struct outage){0};
	return ends;
}

void settler_ledger_failed(struct settler *w, const char *why)
{
	if (no_answer(&w->ledger))
		error(ME ": %s: jobs stay unsettled until it answers", why);
}

void settler_ledger_answered(struct settler *w, const char *id)
{
	/* The nodes notice later that it is back, so the wait for records begins again now. */
	if (an_answer(&w->ledger)) {
		info(ME ": the ledger answers again");
		w->ledger_back_ms = clock_now_ms();
	}
	if (!*id || !strcmp(id, w->ledger_id))
		return;
	if (*w->ledger_id) {
		info(ME ": the ledger is a new one: the nodes send again what they have kept");
		w->ledger_new_ms = clock_now_ms();
	}
	snprintf(w->ledger_id, sizeof(w->ledger_id), "%s", id);
}

void settler_database_answered(struct settler *w, int rc)
{
	if (rc >= 0) {
		if (an_answer(&w->database))
			info(ME ": slurmdbd answers again");
		return;
	}
	/* Slurm logs each attempt by itself. */
	if (controller_serves() && no_answer(&w->database))
		error(ME ": slurmdbd does not answer: prices are not seen there until it does");
}

bool settler_database_rests(const struct settler *w, struct run *run)
{
	if (clock_now_ms() >= w->database.retry_ms)
		return false;
	run->due_ms = w->database.retry_ms;
	return true;
}

bool settler_too_late(const struct settler *w, const struct run *run)
{
	int64_t now = clock_now_ms();
	int64_t since = run->ended_ms > w->ledger_back_ms ? run->ended_ms : w->ledger_back_ms;

	/* The nodes send the run's records again that a lost ledger had acknowledged, but each node
	 * notices the loss at another time. */
	if (w->ledger_new_ms && run->ended_ms < w->ledger_new_ms &&
		now - w->ledger_new_ms < NEW_LEDGER_MS)
		return false;
	return now - since >= w->settings.settle_timeout_ns / NS_PER_MS;
}
