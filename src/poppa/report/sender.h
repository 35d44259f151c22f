/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Sends records to the ledger from a thread of its own, which may wait for the network. */
#pragma once

#include "accounting/record/client.h"
#include "accounting/record/record.h"
#include "common/errmsg.h"
#include "poppa/report/spool.h"

struct sender;

/* Starts the thread. It sends the records in the spool as soon as sender_ledger() has said where
 * the ledger is. The spool must outlive the thread. node_type (node_type.h) is copied; "" learns no
 * prior. Returns NULL with err on failure. */
struct sender *sender_start(const struct spool *spool, const char *node_type, struct errmsg *err);

/* Says where the ledger is; *c is copied, but for its node type. */
void sender_ledger(struct sender *s, const struct client *c);

/* The prior of slow refill in force: what the ledger last said, also before a restart; else
 * slow_prior_default. Does not wait for network or disk. */
void sender_prior(struct sender *s, struct slow_prior *prior);

/* Says that there is a new record in the spool. */
void sender_wake(struct sender *s);

/* Copies an interim record, which is sent once. Until then, a newer one of the same run replaces
 * it. While the copies of 32 jobs wait, another job's is dropped: its next one says more. */
void sender_interim(struct sender *s, const struct ledger_record *r);

/* Ends the thread, after the call to the ledger that is under way, and frees s. Records that the
 * ledger has not acknowledged stay in the spool. */
void sender_stop(struct sender *s);
