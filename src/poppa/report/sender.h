/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Sends records to the ledger from a thread that may wait for the network. */
#pragma once

#include "accounting/record/client.h"
#include "accounting/record/record.h"
#include "common/errmsg.h"
#include "poppa/report/spool.h"

struct sender;

/* Starts the thread. It sends what is in the spool as soon as sender_ledger() has said where the
 * ledger is. The spool must outlive it. NULL with err. */
struct sender *sender_start(const struct spool *spool, struct errmsg *err);

/* Says where the ledger is; *c is copied. */
void sender_ledger(struct sender *s, const struct client *c);

/* Says that there is a new record in the spool. */
void sender_wake(struct sender *s);

/* Takes a copy of an interim record, to be sent once and never again; a newer one of the same run
 * replaces it until then. Where the copies of 32 jobs wait already, another job's is left out: the
 * job's next interim record says more. */
void sender_interim(struct sender *s, const struct ledger_record *r);

/* Ends the thread, at once or after the call that is under way, and frees s. What the ledger has
 * not acknowledged stays in the spool. */
void sender_stop(struct sender *s);
