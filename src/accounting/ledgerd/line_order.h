/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Whose line the ledger reads next, and whose connection it closes where there are too many. */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <sys/queue.h>
#include <sys/types.h>

#include "common/askers.h"

/*
 * Opening a line is most of the work, and only an opened line tells who has sent it. So the
 * connections of one source take turns as one: those of an address, as long as nothing of them was
 * opened, and those of a user. Whoever opens a new connection for each line has no more turns by
 * it. Every call takes the same time however many connections there are.
 */
enum standing {
	TRUSTED,         /* root's or LedgerUser's: by the kernel or by the last line */
	FROM_CONTROLLER, /* no line yet; it comes from where slurmctld runs */
	NEW,             /* no line yet */
	SUSPECT,         /* no line yet; from its address strangers have come lately */
	STRANGER,        /* anybody else's: by the kernel or by the last line */
	STANDINGS,
};

struct source;

/* A connection's place. At first all 0: it has none. */
struct waiter {
	struct source *source;
	bool in_line;
	TAILQ_ENTRY(waiter) entry;
};

struct line_order;

/* NULL with errno. */
struct line_order *line_order_new(void);
/* No connection may have a place any more. */
void line_order_free(struct line_order *t);

/* Gives a connection its place, in exchange for the one that it has: that of an address or that of
 * a user. It is not in line then. Returns 0; without memory -1, and it has none. */
int line_order_join_address(
	struct line_order *t, struct waiter *w, const char *origin, bool controls);
int line_order_join_user(struct line_order *t, struct waiter *w, uid_t uid, bool trusted);
void line_order_leave(struct line_order *t, struct waiter *w);

/* Also where it has no place: NEW. */
enum standing line_order_standing(const struct waiter *w);

/* Strangers have come from this address: until some time has passed, what else comes from there
 * waits for those from other addresses. Controllers and trusted connections do not. */
void line_order_suspect(struct line_order *t, const char *origin);

/* A user who is neither root nor LedgerUser gets so many turns a second; further lines wait. */
#define LINE_ORDER_MAX_ANSWERS_PER_S 20
void line_order_count(struct line_order *t, uid_t uid);
bool line_order_had_enough(struct line_order *t, uid_t uid);

/* The connection has sent a line. */
void line_order_line_up(struct line_order *t, struct waiter *w);
/* Whose turn it is; it is not in line any more. NULL: nobody's for now. Suspects and strangers come
 * last. The others take turns, so that no kind of them keeps another one out. */
struct waiter *line_order_next(struct line_order *t);
/* Whether anybody is in line, whether they had enough or not. */
bool line_order_waiting(const struct line_order *t);
/* Whether anybody is in line for whom replies may wait: no suspect and no stranger. */
bool line_order_urgent(const struct line_order *t);

/* The most connections of an address or a user that hold a place and send no line. */
#define LINE_ORDER_MAX_IDLE 64
/* The oldest of them where the source of w has more, or NULL. */
struct waiter *line_order_surplus(const struct line_order *t, const struct waiter *w);
/* The one to close where a connection of this standing needs room: a stranger's, a suspect's, or
 * else the one that has kept its place for longest without a line. NULL: none. */
struct waiter *line_order_victim(const struct line_order *t);
