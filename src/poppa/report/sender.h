/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Sends records to the ledger from a thread that may wait for the network. */
#ifndef POPPA_REPORT_SENDER_H
#define POPPA_REPORT_SENDER_H

#include "accounting/record/client.h"
#include "accounting/record/record.h"
#include "common/errmsg.h"
#include "poppa/report/spool.h"

struct sender;

/* Records that lie in the spool are sent once sender_ledger() said where. spool must outlive it. */
struct sender *sender_start(const struct spool *spool, struct errmsg *err);

/* Where to send; copied. */
void sender_ledger(struct sender *s, const struct client *c);

/* A final record has been put into the spool. */
void sender_wake(struct sender *s);

/* Takes a copy of an interim record: sent once, kept only until a newer one of its job comes. Of
 * more than a few dozen jobs the rest waits for the next time. */
void sender_interim(struct sender *s, const struct ledger_record *r);

/* Ends the thread: at once, or after the call under way. What was not acked stays in the spool. */
void sender_stop(struct sender *s);

#endif
