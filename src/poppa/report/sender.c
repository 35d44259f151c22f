/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Sends what is in the spool to the ledger until each record is acknowledged. */
#include "poppa/report/sender.h"

#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "common/clock.h"
#include "common/units.h"
#include "common/log.h"

#define STACK_SIZE (512 * 1024)
#define FIRST_RETRY_S 1
#define LAST_RETRY_S 60
#define INTERIM_MAX 32
/* How often a node with nothing to send asks the ledger for its identity. */
#define ASK_EVERY (300 * NS_PER_S)
/* By so much a weight of the prior changes before the new one is taken, and before it is logged. */
#define CHANGED 0.001
#define CHANGED_MUCH 0.05

struct sender {
	pthread_t thread;
	const struct spool *spool;
	char node_type[SLOW_NODE_TYPE];
	struct slow_prior told_prior; /* that was logged last; the thread's */
	/* The main thread sets the members below under this lock and signals. The sender's thread
	 * copies them under the lock, and does not hold it while it waits for network or disk. */
	pthread_mutex_t lock;
	pthread_cond_t changed;
	bool quit;
	bool wanted; /* there may be a record in the spool */
	bool known;  /* whether client is set */
	struct client client;
	int interim_count;
	struct ledger_record interim[INTERIM_MAX];
	/* The thread sets it under the lock, and the main thread reads it. */
	struct slow_prior prior;
};

/* Takes the ledger's prior for the jobs that begin from now on. */
static void know_prior(struct sender *s, const struct slow_prior *next)
{
	const double *w = next->weight;
	struct errmsg err = {""};

	/* Nobody else changes it, so it can be read without the lock. */
	if (slow_prior_distance(&s->prior, next) < CHANGED)
		return;
	pthread_mutex_lock(&s->lock);
	s->prior = *next;
	pthread_mutex_unlock(&s->lock);
	if (spool_keep_prior(s->spool, s->node_type, next, &err))
		plog_error("the prior of slow refill is not kept for the next start: %s", err.text);
	if (slow_prior_distance(&s->told_prior, next) <= CHANGED_MUCH)
		return;
	s->told_prior = *next;
	plog_info("slow refill on nodes like this one: none %.2f, some %.2f, much %.2f likely",
		w[SLOW_NONE], w[SLOW_NARROW], w[SLOW_WIDE]);
}

/* A new ledger does not have what was sent before: the spool then sends it again. */
static void know_ledger(struct sender *s, const struct client_news *news)
{
	struct errmsg err = {""};
	int n = spool_know_ledger(s->spool, news->ledger, &err);

	if (n < 0)
		plog_error("%s", err.text);
	else if (n)
		plog_info("the ledger is a new one: %d records of the last %d days are sent again",
			n, s->spool->keep_days);
	if (news->has_prior)
		know_prior(s, &news->prior);
}

/* Returns whether the ledger answered. */
static bool ask_ledger(struct sender *s, const struct client *c, struct errmsg *err)
{
	struct client_news news;

	spool_expire(s->spool);
	if (client_send_records(c, NULL, 0, NULL, &news, err))
		return false;
	know_ledger(s, &news);
	return true;
}

/* Takes a record out of the spool when the ledger has acknowledged or refused it. Returns 0, or -1
 * with err. */
static int take_out(const struct sender *s, const struct ledger_record *r, enum client_ack ack,
	const char *reason, struct errmsg *err)
{
	int rc = 0;

	if (ack == CLIENT_ACKED) {
		rc = spool_acked(s->spool, r);
	} else if (ack == CLIENT_REFUSED) {
		plog_error("the ledger refuses the record of job %u: %s", r->job_id, reason);
		rc = spool_refused(s->spool, r);
	}
	return rc ? errmsg_set(err, "cannot take the record of job %u out of the spool: %s",
			    r->job_id, strerror(errno))
		  : 0;
}

/* Returns whether the ledger has everything, and the spool is empty. A record that cannot be taken
 * out makes it false, too, so that the caller waits before it is sent again. */
static bool send_spool(struct sender *s, const struct client *c, struct errmsg *err)
{
	struct ledger_record *r = malloc(CLIENT_MAX_BATCH * sizeof(*r));
	enum client_ack ack[CLIENT_MAX_BATCH];
	struct client_news news = {.has_prior = false};
	bool done = r != NULL;
	int n;

	while (done && (n = spool_records(s->spool, r, CLIENT_MAX_BATCH, err)) > 0) {
		struct errmsg reason;

		done = !client_send_records(c, r, n, ack, &news, err);
		reason = *err;
		for (int i = 0; i < n; i++)
			if (take_out(s, &r[i], ack[i], reason.text, err))
				done = false;
		know_ledger(s, &news);
	}
	free(r);
	return done && n == 0;
}

static void *sender_main(void *arg)
{
	struct sender *s = arg;
	int retry_s = FIRST_RETRY_S;
	bool told = false;
	int64_t asked = 0; /* CLOCK_MONOTONIC, ns; 0 = not yet */

	pthread_setname_np(pthread_self(), "poppad-sender");
	pthread_mutex_lock(&s->lock);
	while (!s->quit) {
		enum client_ack ack[INTERIM_MAX];
		struct ledger_record *interim;
		struct client_news news;
		struct errmsg err = {""};
		struct client c;
		int n = s->interim_count;
		bool ok = true;

		if (!s->known) {
			pthread_cond_wait(&s->changed, &s->lock);
			continue;
		}
		if (!s->wanted && !n && asked && clock_now() < asked + ASK_EVERY) {
			const struct timespec until = clock_spec(asked + ASK_EVERY);

			pthread_cond_timedwait(&s->changed, &s->lock, &until);
			continue;
		}
		c = s->client;
		s->wanted = false;
		s->interim_count = 0;
		interim = n ? malloc(n * sizeof(*interim)) : NULL;
		if (interim)
			memcpy(interim, s->interim, n * sizeof(*interim));
		pthread_mutex_unlock(&s->lock);
		if (interim)
			ok = !client_send_records(&c, interim, n, ack, &news, &err);
		if (interim && ok)
			know_ledger(s, &news);
		free(interim);
		if (ok && (!asked || clock_now() >= asked + ASK_EVERY)) {
			ok = ask_ledger(s, &c, &err);
			if (ok)
				asked = clock_now();
		}
		ok = ok && send_spool(s, &c, &err);
		if (ok && told)
			plog_info("the ledger at %s answers again", c.host);
		else if (!ok && !told)
			plog_warn("records stay in the spool for now: %s", err.text);
		told = !ok;
		pthread_mutex_lock(&s->lock);
		if (ok) {
			retry_s = FIRST_RETRY_S;
		} else if (!s->quit) {
			const struct timespec until = clock_spec(clock_now() + retry_s * NS_PER_S);

			pthread_cond_timedwait(&s->changed, &s->lock, &until);
			retry_s = retry_s * 2 < LAST_RETRY_S ? retry_s * 2 : LAST_RETRY_S;
			s->wanted = true;
		}
	}
	pthread_mutex_unlock(&s->lock);
	return NULL;
}

struct sender *sender_start(const struct spool *spool, const char *node_type, struct errmsg *err)
{
	struct sender *s = calloc(1, sizeof(*s));
	pthread_condattr_t ca;
	pthread_attr_t ta;
	int rc;

	if (!s) {
		errmsg_set(err, "out of memory");
		return NULL;
	}
	s->spool = spool;
	snprintf(s->node_type, sizeof(s->node_type), "%s", node_type);
	spool_kept_prior(spool, node_type, &s->prior);
	s->told_prior = s->prior;
	s->wanted = true;
	pthread_mutex_init(&s->lock, NULL);
	pthread_condattr_init(&ca);
	pthread_condattr_setclock(&ca, CLOCK_MONOTONIC);
	pthread_cond_init(&s->changed, &ca);
	pthread_condattr_destroy(&ca);
	pthread_attr_init(&ta);
	pthread_attr_setstacksize(&ta, STACK_SIZE);
	rc = pthread_create(&s->thread, &ta, sender_main, s);
	pthread_attr_destroy(&ta);
	if (!rc)
		return s;
	errmsg_set(err, "cannot start the sender thread: %s", strerror(rc));
	free(s);
	return NULL;
}

void sender_ledger(struct sender *s, const struct client *c)
{
	pthread_mutex_lock(&s->lock);
	s->client = *c;
	strcpy(s->client.node_type, s->node_type);
	s->known = true;
	pthread_mutex_unlock(&s->lock);
	sender_wake(s);
}

void sender_prior(struct sender *s, struct slow_prior *prior)
{
	pthread_mutex_lock(&s->lock);
	*prior = s->prior;
	pthread_mutex_unlock(&s->lock);
}

void sender_wake(struct sender *s)
{
	pthread_mutex_lock(&s->lock);
	s->wanted = true;
	pthread_cond_signal(&s->changed);
	pthread_mutex_unlock(&s->lock);
}

void sender_interim(struct sender *s, const struct ledger_record *r)
{
	int i;

	pthread_mutex_lock(&s->lock);
	for (i = 0; i < s->interim_count; i++)
		if (s->interim[i].job_id == r->job_id && s->interim[i].restart == r->restart)
			break;
	if (i < INTERIM_MAX) {
		s->interim[i] = *r;
		s->interim_count += i == s->interim_count;
		pthread_cond_signal(&s->changed);
	}
	pthread_mutex_unlock(&s->lock);
}

void sender_stop(struct sender *s)
{
	pthread_mutex_lock(&s->lock);
	s->quit = true;
	pthread_cond_signal(&s->changed);
	pthread_mutex_unlock(&s->lock);
	pthread_join(s->thread, NULL);
	pthread_cond_destroy(&s->changed);
	pthread_mutex_destroy(&s->lock);
	free(s);
}
