/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Settles finished co-located jobs from one worker thread. */
#include "plugins/compat/slurm_compat.h"

#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "src/common/assoc_mgr.h"
#include "src/common/list.h"
#include "src/slurmctld/locks.h"

#include "accounting/client.h"
#include "accounting/price_rules.h"
#include "accounting/settle.h"
#include "common/fsio.h"
#include "common/nodeconf.h"
#include "common/settings.h"
#include "common/units.h"
#include "striping/colocate.h"
#include "striping/pairs.h"

#include "addresses.h"
#include "facts.h"
#include "settler.h"
#include "write_back.h"

SLURM_WEAK(job_list)

#define ME "prep/poppa"
#define TICK_MS 500          /* how often a job's nodes and records are looked at, at first */
#define MAX_TICK_MS 5000     /* and later */
#define MAX_BACKOFF_MS 60000 /* between attempts while the ledger or slurmdbd is down */
#define RESEND_MS 30000      /* slurmdbd has not written what it was sent: send it again */
#define SCAN_MS 30000        /* between looks for jobs that were left unsettled */
#define NEW_LEDGER_MS 330000 /* until all nodes have noticed that the ledger was lost */
#define CHANGES_MS 5000      /* between looks for prices that administrators have changed */
#define SAVE_MS 1000         /* between two writes of the state file */
#define USAGE_MS 10000       /* from a refund to when the usage is saved */
#define FORGET_TIMEOUTS 5    /* settle time-outs until a run that nobody knows is dropped */
#define STATE_FILE "poppa_unsettled"
#define ARRIVED_FILE "poppa_arrived"
#define MAX_STATE_BYTES (256 << 20)
#define LEDGER_TIMEOUT_MS 3000
#define STOP_WAIT_S 5

enum stage {
	WAIT_NODES,   /* until the job has left its nodes */
	WAIT_RECORDS, /* until all its records are in, or it is too late */
	WRITE,        /* priced and in the ledger: tell Slurm */
	CHECK,        /* until the accounting database shows it */
};

struct item {
	struct item *next;
	struct facts *facts;
	enum stage stage;
	int64_t due_ms, tick_ms;
	int64_t ended_ms;   /* when it had left its nodes */
	int64_t sent_ms;    /* when slurmdbd was told */
	int64_t unknown_ms; /* since when nobody knows the run; 0 = somebody does */
	struct settlement settlement;
	bool priced; /* an earlier process knew the settlement */
	bool first;  /* the settlement is this process's */
	bool change; /* an administrator's change of a price that Slurm shows already */
	bool shown;  /* settled before; the job's record has the settlement */
	bool commented;
	bool done;
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t wake = PTHREAD_COND_INITIALIZER;
static struct item *arrived; /* handed over by settler_queue() */
static bool arrived_changed; /* ARRIVED_FILE is behind */
static pthread_mutex_t arrived_file = PTHREAD_MUTEX_INITIALIZER; /* taken before `lock` */
static pthread_t worker, keeper;
/* Counts starts and stops; odd while running. A worker whose number has passed ends by itself. */
static unsigned generation;

/* The rest belongs to the worker. */
static struct {
	struct item *items;
	struct nodeconf conf;
	struct poppa_settings settings;
	struct price_rules rules;
	struct client client;
	char *settings_text;
	bool configured;
	char complaint[512];     /* the last problem with the configuration that was logged */
	int64_t ledger_retry_ms; /* the ledger did not answer: not before then */
	int64_t ledger_backoff_ms;
	int64_t ledger_back_ms;    /* when its last outage ended */
	int64_t database_retry_ms; /* the same of slurmdbd */
	int64_t database_backoff_ms;
	char ledger[CLIENT_LEDGER_ID];
	int64_t ledger_new_ms; /* when it was seen to be another one than before; 0 = never */
	int64_t scan_ms, changes_ms;
	bool scanned;
	bool loaded;
	int64_t usage_ms; /* when the usage is to be saved; 0 = nothing was refunded since */
	bool changed;     /* the state file is behind */
	int64_t save_ms;
} w;

static int64_t now_ms(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return now.tv_sec * 1000 + now.tv_nsec / NS_PER_MS;
}

static bool stopped(unsigned mine)
{
	bool over;

	pthread_mutex_lock(&lock);
	over = generation != mine;
	pthread_mutex_unlock(&lock);
	return over;
}

/* Logs a problem once, until it changes. */
static void complain(const char *text)
{
	if (strcmp(text, w.complaint))
		error(ME ": %s", text);
	snprintf(w.complaint, sizeof(w.complaint), "%s", text);
}

/* Follows slurm.conf; a bad value keeps what was in force, or the defaults. */
static void follow_settings(void)
{
	slurmctld_lock_t read_conf = {.conf = READ_LOCK};
	struct poppa_settings next;
	struct price_rules rules;
	struct errmsg err = {""};
	char *text, *controller;

	lock_slurmctld(read_conf);
	text = xstrdup(slurm_conf.prep_params ? slurm_conf.prep_params : "");
	controller = slurm_conf.control_cnt ? xstrdup(slurm_conf.control_addr[0]) : NULL;
	unlock_slurmctld(read_conf);
	if (w.configured && !xstrcmp(text, w.settings_text)) {
		xfree(text);
		xfree(controller);
		return;
	}
	if (settings_parse(text, &next, &err) || price_rules_parse(&next, &rules, &err)) {
		complain(err.text);
	} else {
		w.settings = next;
		w.rules = rules;
		w.complaint[0] = '\0';
	}
	if (client_init(&w.client, &w.settings, &w.conf, controller, &err)) {
		complain(err.text);
	} else {
		w.client.timeout_ms = LEDGER_TIMEOUT_MS;
		w.configured = true;
	}
	xfree(w.settings_text);
	w.settings_text = text;
	xfree(controller);
}

static struct item *find_item(uint32_t job_id, time_t start)
{
	for (struct item *i = w.items; i; i = i->next)
		if (i->facts->job_id == job_id && i->facts->start == start)
			return i;
	return NULL;
}

static bool is_known(uint32_t job_id, time_t start)
{
	return find_item(job_id, start);
}

static void drop_item(struct item *i)
{
	facts_free(i->facts);
	xfree(i);
}

static void add_item(struct item *i)
{
	i->next = w.items;
	w.items = i;
	w.changed = true;
}

static struct item *new_item(struct facts *f)
{
	struct item *i = xmalloc(sizeof(*i));

	i->facts = f;
	i->tick_ms = TICK_MS;
	i->due_ms = now_ms() + TICK_MS;
	return i;
}

/*
 * A run may end twice: killed after its first end, slurmctld has forgotten that, and counts on
 * until it misses the job.
 */
static void end_again(struct item *i, struct facts *f)
{
	if (i->stage >= WRITE || i->priced || i->change)
		return facts_free(f);
	facts_free(i->facts);
	i->facts = f;
	i->stage = WAIT_NODES;
	w.changed = true;
}

static void take_arrived(void)
{
	struct item *list, *next, *known;

	pthread_mutex_lock(&lock);
	list = arrived;
	arrived = NULL;
	pthread_mutex_unlock(&lock);
	for (; list; list = next) {
		next = list->next;
		known = find_item(list->facts->job_id, list->facts->start);
		if (known) {
			end_again(known, list->facts);
			xfree(list);
		} else {
			add_item(list);
		}
	}
}

static int scan_one(void *x, void *arg)
{
	const job_record_t *job = x;
	int *found = arg;
	struct facts *f;
	struct item *i;
	bool settled;

	/* Jobs are locked, and most are none of ours: what costs least comes first. */
	if (!IS_JOB_FINISHED(job) || IS_JOB_COMPLETING(job) || !facts_colocate(job))
		return 0;
	settled = facts_settled_restart(job) == (int64_t)job->restart_cnt;
	/* Whether the database has heard of a settled job is asked once a start. */
	if ((settled && w.scanned) || is_known(job->job_id, job->start_time))
		return 0;
	f = facts_take(job);
	if (!f)
		return 0;
	i = new_item(f);
	if (settled) {
		i->shown = true;
		i->stage = WRITE;
	}
	add_item(i);
	*found += !settled;
	return 0;
}

/* Finds what an earlier slurmctld, or a lost epilog, left unsettled. */
static void scan(void)
{
	slurmctld_lock_t read_jobs = {.job = READ_LOCK};
	int found = 0;

	if (!write_back_begin())
		return;
	lock_slurmctld(read_jobs);
	if (job_list) {
		list_for_each(job_list, scan_one, &found);
		w.scanned = true;
	}
	unlock_slurmctld(read_jobs);
	write_back_end();
	if (found)
		info(ME ": %d finished jobs were left unsettled", found);
}

static void delay(struct item *i, int64_t max_ms)
{
	i->due_ms = now_ms() + i->tick_ms;
	i->tick_ms = i->tick_ms * 2 < max_ms ? i->tick_ms * 2 : max_ms;
}

static void enter(struct item *i, enum stage stage)
{
	i->stage = stage;
	i->tick_ms = TICK_MS;
	i->due_ms = now_ms();
}

/* One lock for all that wait for their nodes. */
static void look_at_nodes(int64_t now)
{
	slurmctld_lock_t read_jobs = {.job = READ_LOCK};
	bool any = false;

	for (struct item *i = w.items; i; i = i->next)
		any |= i->stage == WAIT_NODES && i->due_ms <= now;
	if (!any || !write_back_begin())
		return;
	lock_slurmctld(read_jobs);
	for (struct item *i = w.items; i; i = i->next) {
		const job_record_t *job;

		if (i->stage != WAIT_NODES || i->due_ms > now)
			continue;
		job = find_job_record(i->facts->job_id);
		if (facts_same_run(i->facts, job)) {
			bool runs = IS_JOB_RUNNING(job) || IS_JOB_SUSPENDED(job);

			/* The end of one that runs is when it will have to end. */
			if (!runs)
				facts_update_end(i->facts, job);
			if (runs || IS_JOB_COMPLETING(job)) {
				delay(i, MAX_TICK_MS);
				continue;
			}
		}
		i->ended_ms = now;
		w.changed = true; /* its end is known now */
		enter(i, WAIT_RECORDS);
	}
	unlock_slurmctld(read_jobs);
	write_back_end();
}

/* An outage is logged once; everybody waits for its end. */
static void ledger_failed(const char *why)
{
	if (!w.ledger_backoff_ms) {
		error(ME ": %s: jobs stay unsettled until it answers", why);
		w.ledger_backoff_ms = TICK_MS;
	}
	w.ledger_retry_ms = now_ms() + w.ledger_backoff_ms;
	if (w.ledger_backoff_ms < MAX_BACKOFF_MS / 4)
		w.ledger_backoff_ms *= 2;
}

/* The nodes notice that it is back in their own time, so late records are late from now on. */
static void ledger_answered(void)
{
	if (w.ledger_backoff_ms) {
		info(ME ": the ledger answers again");
		w.ledger_back_ms = now_ms();
	}
	w.ledger_backoff_ms = 0;
}

/*
 * What slurmdbd was asked: rc < 0, it did not answer. Slurm logs each attempt, so everybody waits
 * for its end.
 */
static void database_answered(int rc)
{
	if (rc >= 0) {
		if (w.database_backoff_ms)
			info(ME ": slurmdbd answers again");
		w.database_backoff_ms = w.database_retry_ms = 0;
		return;
	}
	if (!write_back_possible())
		return;
	if (!w.database_backoff_ms) {
		error(ME ": slurmdbd does not answer: prices are not seen there until it does");
		w.database_backoff_ms = TICK_MS;
	}
	w.database_retry_ms = now_ms() + w.database_backoff_ms;
	if (w.database_backoff_ms < MAX_BACKOFF_MS / 4)
		w.database_backoff_ms *= 2;
}

/* Whether this item waits for slurmdbd. */
static bool database_rests(struct item *i)
{
	if (now_ms() >= w.database_retry_ms)
		return false;
	i->due_ms = w.database_retry_ms;
	return true;
}

/* Whether there is no use in waiting for the records any longer. */
static bool too_late(const struct item *i)
{
	int64_t since = i->ended_ms > w.ledger_back_ms ? i->ended_ms : w.ledger_back_ms;

	/* What a lost ledger had acknowledged of such a run comes again, in the nodes' own time. */
	if (w.ledger_new_ms && i->ended_ms < w.ledger_new_ms &&
		now_ms() - w.ledger_new_ms < NEW_LEDGER_MS)
		return false;
	return now_ms() - since >= w.settings.settle_timeout_ns / NS_PER_MS;
}

/* The history's class of a job, or "" without it. */
static void class_of(const char *colocate, uint32_t uid, const char *name, char *buf)
{
	struct colocate wish;
	struct errmsg err;

	buf[0] = '\0';
	if (!colocate_parse(colocate, &wish, &err))
		pairs_class(wish.class_name, uid, name, buf);
}

/* Enters what the run tells about its pair into the history that partner choice reads. */
static void learn(const struct facts *f, const struct client_answer *answer)
{
	slurmctld_lock_t read_jobs = {.conf = READ_LOCK, .job = READ_LOCK};
	char mine[PAIRS_CLASS_MAX], other[PAIRS_CLASS_MAX] = "", path[PATH_MAX];
	struct settle_job job = facts_settle_job(f);
	struct errmsg err = {""};
	const job_record_t *partner;
	struct settle_pair pair;

	if (!settle_pair(&job, answer->records, answer->record_count, &pair))
		return;
	class_of(f->colocate, f->uid, f->name, mine);
	if (!write_back_begin())
		return;
	lock_slurmctld(read_jobs);
	partner = find_job_record(pair.partner);
	if (partner && facts_colocate(partner))
		class_of(facts_colocate(partner), partner->user_id, partner->name, other);
	snprintf(path, sizeof(path), "%s/" PAIRS_FILE, slurm_conf.state_save_location);
	unlock_slurmctld(read_jobs);
	write_back_end();
	if (*mine && *other &&
		pairs_record(path, mine, other, pair.degradation, pair.seconds, time(NULL), &err))
		complain(err.text);
}

static void price(struct item *i, const struct client_answer *answer)
{
	struct settle_job job = facts_settle_job(i->facts);
	char *qos = facts_qos_name(i->facts);
	struct settlement wanted;
	struct errmsg err = {""};

	settle_decide(&job, answer->records, answer->record_count,
		price_rules_choose(&w.rules, i->facts->partition, qos), time(NULL), &wanted);
	xfree(qos);
	if (client_settle(&w.client, &wanted, &i->settlement, &i->first, &err)) {
		ledger_failed(err.text);
		return;
	}
	if (i->first)
		learn(i->facts, answer);
	w.changed = true;
	enter(i, WRITE);
}

static void know_ledger(const char *id)
{
	if (!*id || !strcmp(id, w.ledger))
		return;
	if (*w.ledger) {
		info(ME ": the ledger is a new one: the nodes send again what they have kept");
		w.ledger_new_ms = now_ms();
	}
	snprintf(w.ledger, sizeof(w.ledger), "%s", id);
}

/* The price that this run had when slurmctld was ended last, and that the ledger has lost since. */
static bool bring_back(struct item *i)
{
	struct errmsg err = {""};
	bool first;

	if (client_restore(&w.client, &i->settlement, &i->settlement, &first, &err)) {
		ledger_failed(err.text);
		return false;
	}
	i->first = false;
	enter(i, WRITE);
	return true;
}

/*
 * slurmctld's record has the last size of a resized job only. false: come again. Where slurmdbd
 * never hears of the others, the run is settled without them.
 */
static bool know_sizes(struct item *i)
{
	int rc;

	if (!i->facts->resized || i->facts->sizes_read)
		return true;
	if (database_rests(i))
		return false;
	rc = write_back_read_sizes(i->facts);
	database_answered(rc);
	switch (rc) {
	case 1:
		return true;
	case 0:
		if (i->stage == WAIT_RECORDS && !too_late(i)) {
			delay(i, MAX_TICK_MS);
			return false;
		}
		i->facts->sizes_read = true;
		return true;
	default:
		delay(i, MAX_TICK_MS);
		return false;
	}
}

static void look_at_records(struct item *i)
{
	struct settle_job job;
	struct client_run run = {.cluster = i->facts->cluster,
		.job_id = i->facts->job_id,
		.restart = i->facts->restart,
		.start_unix = i->facts->start};
	struct client_answer answer;
	struct errmsg err = {""};
	int rc;

	if (!w.configured) {
		delay(i, MAX_TICK_MS);
		return;
	}
	if (!know_sizes(i))
		return;
	job = facts_settle_job(i->facts);
	if (now_ms() < w.ledger_retry_ms) {
		i->due_ms = w.ledger_retry_ms;
		return;
	}
	run.nodes = addresses_of(i->facts);
	rc = client_job(&w.client, &run, &answer, &err);
	json_decref(run.nodes);
	if (rc) {
		ledger_failed(err.text);
		i->due_ms = w.ledger_retry_ms;
		return;
	}
	ledger_answered();
	know_ledger(answer.ledger);
	if (!answer.settled && i->priced) {
		if (!bring_back(i))
			i->due_ms = w.ledger_retry_ms;
	} else if (answer.settled) {
		i->settlement = answer.settlement;
		i->first = false;
		enter(i, WRITE);
	} else if (settle_complete(&job, answer.records, answer.record_count) || too_late(i)) {
		price(i, &answer);
	} else {
		delay(i, MAX_TICK_MS);
	}
	client_answer_free(&answer);
}

/*
 * A slurmctld that is killed forgets what it has not saved, and slurmdbd may never have heard of
 * it. Such a run is in nobody's bill, so there is none to correct.
 */
static void nobody_knows(struct item *i)
{
	int64_t now = now_ms();

	if (!i->unknown_ms)
		i->unknown_ms = now;
	if (now - i->unknown_ms < FORGET_TIMEOUTS * w.settings.settle_timeout_ns / NS_PER_MS)
		return;
	info(ME ": job %u: neither slurmctld nor slurmdbd knows its run of %lld any more: its "
		"price "
		"is in the ledger only",
		i->facts->job_id, (long long)i->facts->start);
	i->done = true;
}

static struct write_back_result write_once(struct item *i)
{
	return i->change ? write_back_change(i->facts, &i->settlement, i->first)
			 : write_back(i->facts, &i->settlement, i->first);
}

static void write_item(struct item *i)
{
	struct write_back_result result;
	int row = 0;

	if (!know_sizes(i))
		return;
	result = write_once(i);
	/* The record that had the settlement is gone; what slurmdbd has is what there is. */
	if (i->shown && result.needs_row) {
		i->done = true;
		return;
	}
	if (result.needs_row) {
		if (database_rests(i))
			return;
		row = write_back_read_row(i->facts);
		database_answered(row);
	}
	if (row == 1)
		result = write_once(i);
	if (result.needs_row && row == 0)
		nobody_knows(i);
	else
		i->unknown_ms = 0;
	if (!result.done) {
		delay(i, MAX_TICK_MS);
		return;
	}
	if (result.refunded) {
		info(ME ": job %u: %s", i->facts->job_id, i->settlement.text);
		if (!w.usage_ms)
			w.usage_ms = now_ms() + USAGE_MS;
	}
	/* A second time would refund a run twice that has no record to tell. */
	i->first = false;
	i->commented = result.commented;
	i->sent_ms = now_ms();
	enter(i, CHECK);
	i->due_ms += TICK_MS;
}

/* Tells the ledger that Slurm shows a change everywhere. */
static bool end_change(const struct settlement *s)
{
	struct errmsg err = {""};
	bool first;

	if (!client_changed(&w.client, s, true, &first, &err))
		return true;
	ledger_failed(err.text);
	return false;
}

/* One that slurmctld had begun to write before it was ended is not refunded twice. */
static void begin_change(const struct settlement *s)
{
	struct errmsg err = {""};
	struct facts *f = NULL;
	struct item *i;
	bool first;
	int rc;

	if (is_known(s->job_id, s->start_unix))
		return;
	rc = write_back_facts(s, &f);
	if (rc < 1)
		database_answered(rc);
	if (rc == 0) {
		info(ME ": job %u: neither slurmctld nor slurmdbd knows its run of %lld: its "
			"changed "
			"price is in the ledger only",
			s->job_id, (long long)s->start_unix);
		end_change(s);
	}
	if (rc != 1)
		return;
	if (client_changed(&w.client, s, false, &first, &err)) {
		ledger_failed(err.text);
		facts_free(f);
		return;
	}
	i = new_item(f);
	i->settlement = *s;
	i->change = true;
	i->first = first;
	enter(i, WRITE);
	i->next = w.items;
	w.items = i;
}

static void look_at_changes(int64_t now)
{
	slurmctld_lock_t read_conf = {.conf = READ_LOCK};
	struct errmsg err = {""};
	json_t *list, *change;
	char *cluster;
	size_t n;

	if (!w.configured || now < w.changes_ms || now < w.ledger_retry_ms ||
		now < w.database_retry_ms)
		return;
	w.changes_ms = now + CHANGES_MS;
	lock_slurmctld(read_conf);
	cluster = xstrdup(slurm_conf.cluster_name);
	unlock_slurmctld(read_conf);
	list = client_changes(&w.client, cluster, &err);
	xfree(cluster);
	if (!list) {
		ledger_failed(err.text);
		return;
	}
	ledger_answered();
	json_array_foreach(list, n, change)
	{
		struct settlement s;

		if (settlement_from_json(json_object_get(change, "settlement"), &s, &err))
			complain(err.text);
		else
			begin_change(&s);
	}
	json_decref(list);
}

static void check_item(struct item *i)
{
	int rc;

	if (database_rests(i))
		return;
	rc = write_back_check(i->facts, &i->settlement, i->commented);
	database_answered(rc);
	switch (rc) {
	case 1:
		i->done = !i->change || end_change(&i->settlement);
		if (!i->done)
			delay(i, MAX_TICK_MS);
		return;
	case 0:
		if (now_ms() - i->sent_ms >= RESEND_MS) {
			enter(i, WRITE);
			return;
		}
		delay(i, MAX_TICK_MS);
		return;
	default:
		delay(i, MAX_TICK_MS);
	}
}

static void remove_done(void)
{
	for (struct item **at = &w.items; *at;) {
		struct item *i = *at;

		if (!i->done) {
			at = &i->next;
			continue;
		}
		*at = i->next;
		drop_item(i);
		w.changed = true;
	}
}

static char *state_path(const char *name, char *buf, size_t size)
{
	slurmctld_lock_t read_conf = {.conf = READ_LOCK};

	lock_slurmctld(read_conf);
	snprintf(buf, size, "%s/%s", slurm_conf.state_save_location, name);
	unlock_slurmctld(read_conf);
	return buf;
}

/* With its price once it has one, should the ledger be lost together with this process. */
static json_t *item_to_json(const struct item *i)
{
	json_t *json = facts_to_json(i->facts);

	if (json && (i->stage >= WRITE || i->priced) && i->settlement.job_id)
		json_object_set_new(json, "settlement", settlement_to_json(&i->settlement));
	return json;
}

static struct item *item_from_json(const json_t *json)
{
	struct facts *f = facts_from_json(json);
	const json_t *settlement = json_object_get(json, "settlement");
	struct errmsg err;
	struct item *i;

	if (!f)
		return NULL;
	i = new_item(f);
	i->priced = settlement && !settlement_from_json(settlement, &i->settlement, &err);
	return i;
}

/* All that it names is in the state file by now, unless more has arrived. */
static void drop_arrived_file(void)
{
	char path[PATH_MAX];
	bool more;

	pthread_mutex_lock(&arrived_file);
	pthread_mutex_lock(&lock);
	more = arrived;
	pthread_mutex_unlock(&lock);
	if (!more)
		unlink(state_path(ARRIVED_FILE, path, sizeof(path)));
	pthread_mutex_unlock(&arrived_file);
}

/*
 * What waits for its settlement outlives slurmctld: the job's record may be purged, or be about the
 * next run, before this process or the next comes to settle it.
 */
static void save_state(void)
{
	json_t *list = json_array();
	struct errmsg err = {""};
	char path[PATH_MAX], *text;

	/* Changes are found in the ledger again. */
	for (struct item *i = w.items; list && i; i = i->next)
		if (!i->change)
			json_array_append_new(list, item_to_json(i));
	text = list ? json_dumps(list, JSON_COMPACT) : NULL;
	json_decref(list);
	w.save_ms = now_ms() + SAVE_MS;
	if (!text || fsio_write(state_path(STATE_FILE, path, sizeof(path)), text, strlen(text),
			     0600, 1, &err)) {
		complain(text ? err.text : "out of memory");
	} else {
		w.changed = false;
		drop_arrived_file();
	}
	free(text);
}

/* Once, until it can be written again. */
static void complain_of_arrived(const struct errmsg *err)
{
	static bool told;

	if (err && !told)
		error(ME ": %s", *err->text ? err->text : "out of memory");
	told = err;
}

/*
 * What the worker has not taken yet is kept beside its own file, as the ledger and slurmdbd may
 * let it wait for minutes: of a run that ended in a requeue, nothing else tells.
 */
static void keep_arrived(void)
{
	json_t *list = NULL;
	struct errmsg err = {""};
	char path[PATH_MAX], *text;
	bool behind;

	pthread_mutex_lock(&arrived_file);
	pthread_mutex_lock(&lock);
	if (arrived)
		list = json_array();
	for (struct item *i = arrived; list && i; i = i->next)
		json_array_append_new(list, facts_to_json(i->facts));
	arrived_changed = false;
	pthread_mutex_unlock(&lock);
	text = list ? json_dumps(list, JSON_COMPACT) : NULL;
	behind = list && (!text || fsio_write(state_path(ARRIVED_FILE, path, sizeof(path)), text,
					   strlen(text), 0600, 1, &err));
	json_decref(list);
	free(text);
	pthread_mutex_unlock(&arrived_file);
	complain_of_arrived(behind ? &err : NULL);
	if (behind) {
		pthread_mutex_lock(&lock);
		arrived_changed = true;
		pthread_mutex_unlock(&lock);
	}
}

static void load_file(const char *name)
{
	char path[PATH_MAX], *text;
	struct errmsg err = {""};
	json_t *list;
	size_t len = 0;

	text = fsio_read(state_path(name, path, sizeof(path)), MAX_STATE_BYTES, &len, &err);
	if (!text) {
		if (errno != ENOENT)
			error(ME ": %s", err.text);
		return;
	}
	list = json_loadb(text, len, 0, NULL);
	free(text);
	if (!json_is_array(list))
		error(ME ": %s is damaged: runs that slurmctld has forgotten stay unsettled", path);
	for (size_t n = 0; n < json_array_size(list); n++) {
		struct item *i = item_from_json(json_array_get(list, n));

		if (!i)
			error(ME ": %s: entry %zu is damaged", path, n);
		else if (is_known(i->facts->job_id, i->facts->start))
			drop_item(i);
		else
			add_item(i);
	}
	json_decref(list);
}

static void load_state(void)
{
	w.loaded = true;
	load_file(STATE_FILE);
	load_file(ARRIVED_FILE);
}

static void forget(struct item **list)
{
	for (struct item *i = *list, *next; i; i = next) {
		next = i->next;
		drop_item(i);
	}
	*list = NULL;
}

/*
 * Another controller is in charge: what is known here grows stale, and the state file is its own.
 * Once this one is in charge again it begins like a new process.
 */
static void stand_by(void)
{
	forget(&w.items);
	w.loaded = w.scanned = w.changed = false;
	w.scan_ms = 0;
}

/*
 * Slurm saves the usage every five minutes, and the record that shows a refund after five seconds:
 * a slurmctld that is killed in between would have kept the charge and forgotten the refund for
 * good. The record is to be saved first, as a refund that it does not show is made again.
 */
static void save_usage(int64_t now)
{
	if (!w.usage_ms || now < w.usage_ms || !write_back_begin())
		return;
	dump_assoc_mgr_state();
	write_back_end();
	w.usage_ms = 0;
}

static void one_round(unsigned mine)
{
	int64_t now = now_ms();

	if (!write_back_possible()) {
		stand_by();
		return;
	}
	if (!w.loaded)
		load_state();
	take_arrived();
	if (w.changed && now >= w.save_ms)
		save_state();
	follow_settings();
	if (now >= w.scan_ms) {
		scan();
		w.scan_ms = w.scanned ? now + SCAN_MS : now + TICK_MS;
	}
	if (!w.scanned)
		return;
	look_at_nodes(now);
	look_at_changes(now);
	for (struct item *i = w.items; i && !stopped(mine); i = i->next) {
		if (i->due_ms > now_ms())
			continue;
		if (i->stage == WAIT_RECORDS)
			look_at_records(i);
		else if (i->stage == WRITE)
			write_item(i);
		else if (i->stage == CHECK)
			check_item(i);
	}
	remove_done();
	save_usage(now_ms());
	if (w.changed && now_ms() >= w.save_ms && write_back_possible())
		save_state();
}

static void *keep(void *arg)
{
	unsigned mine = (unsigned)(uintptr_t)arg;
	struct timespec tick = {.tv_nsec = TICK_MS / 2 * NS_PER_MS};

	while (!stopped(mine)) {
		bool behind;

		pthread_mutex_lock(&lock);
		behind = arrived_changed;
		pthread_mutex_unlock(&lock);
		if (behind && write_back_begin()) {
			keep_arrived();
			write_back_end();
		}
		nanosleep(&tick, NULL);
	}
	return NULL;
}

static void *work(void *arg)
{
	unsigned mine = (unsigned)(uintptr_t)arg;

	while (!stopped(mine)) {
		struct timespec until;

		one_round(mine);
		clock_gettime(CLOCK_REALTIME, &until);
		until.tv_nsec += TICK_MS / 2 * NS_PER_MS;
		if (until.tv_nsec >= NS_PER_S) {
			until.tv_nsec -= NS_PER_S;
			until.tv_sec++;
		}
		pthread_mutex_lock(&lock);
		if (generation == mine)
			pthread_cond_timedwait(&wake, &lock, &until);
		pthread_mutex_unlock(&lock);
	}
	return NULL;
}

static void failed_to_start(void)
{
	error(ME ": jobs are not settled: cannot start a thread: %m");
	pthread_mutex_lock(&lock);
	generation++;
	pthread_mutex_unlock(&lock);
}

void settler_start(void)
{
	struct errmsg err = {""};
	char path[PATH_MAX];
	unsigned mine;

	nodeconf_path(path, sizeof(path));
	settings_defaults(&w.settings);
	price_rules_parse(&w.settings, &w.rules, &err);
	if (nodeconf_load(path, &w.conf, &err)) {
		error(ME ": jobs are not settled: %s", err.text);
		return;
	}
	pthread_mutex_lock(&lock);
	mine = ++generation;
	pthread_mutex_unlock(&lock);
	if (pthread_create(&keeper, NULL, keep, (void *)(uintptr_t)mine)) {
		failed_to_start();
	} else if (pthread_create(&worker, NULL, work, (void *)(uintptr_t)mine)) {
		failed_to_start();
		pthread_join(keeper, NULL);
	}
}

/*
 * The caller may hold Slurm's locks, which the worker may be waiting for: then it is left to end by
 * itself (the plugin stays mapped), and what it has is found again by the next scan.
 */
void settler_stop(void)
{
	struct timespec until;

	pthread_mutex_lock(&lock);
	if (!(generation % 2)) {
		pthread_mutex_unlock(&lock);
		return;
	}
	generation++;
	pthread_cond_signal(&wake);
	pthread_mutex_unlock(&lock);
	clock_gettime(CLOCK_REALTIME, &until);
	until.tv_sec += STOP_WAIT_S;
	if (pthread_timedjoin_np(keeper, NULL, &until)) {
		pthread_detach(keeper);
		pthread_detach(worker);
		return;
	}
	if (pthread_timedjoin_np(worker, NULL, &until)) {
		pthread_detach(worker);
		return;
	}
	forget(&w.items);
	forget(&arrived);
	addresses_forget();
	xfree(w.settings_text);
	memset(&w, 0, sizeof(w));
}

void settler_queue(const job_record_t *job)
{
	struct facts *f = facts_take(job);
	struct item *i;

	if (!f)
		return;
	i = new_item(f);
	pthread_mutex_lock(&lock);
	if (!(generation % 2)) {
		pthread_mutex_unlock(&lock);
		drop_item(i);
		return;
	}
	i->next = arrived;
	arrived = i;
	arrived_changed = true;
	pthread_cond_signal(&wake);
	pthread_mutex_unlock(&lock);
}
