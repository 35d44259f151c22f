/* SPDX-License-Identifier: GPL-2.0-or-later */
/* One worker of poppa-farm: a processor on which one task after the other runs. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "farm/farm_job.h"

/*
 * A task is a process group of its own: a shell that executes the task's command. With a server the
 * group is the server, which stays, reads tasks as lines and answers each with a line: "ok", or why
 * it failed.
 */
struct farm_worker {
	uint32_t number;
	pid_t pid;              /* of the group; 0: none runs */
	struct farm_line *line; /* what it works on; NULL: nothing */
	struct farm_line *next; /* what its server has been given besides; NULL: nothing */
	int64_t started_ns;     /* `line` */
	int64_t last_ns;        /* so long its last task took; -1: it has had none */
	struct farm_worker_sum sum;
	/* With a server alone; -1 where none runs. */
	int to, from;
	size_t sent; /* bytes of `line` and its end, then of `next` */
	char reply[256];
	size_t reply_len;   /* bytes of answers that were read */
	size_t reply_end;   /* so many of them are the answer that was returned last */
	const char *broken; /* why its server is killed; NULL: it is not */
	bool answered;      /* it has answered a task */
	size_t unread;      /* bytes that it had not read when it was closed */
};

void farm_worker_init(struct farm_worker *w, uint32_t number, int cpu);
/* Starts a task, or gives it to the server, which is started where none runs. Returns 0, or -1 with
 * err: the task is the caller's then. */
int farm_worker_start(struct farm_worker *w, struct farm_line *line, const struct farm_options *o,
	struct errmsg *err);
/* Gives a server, which has a task, another one for afterwards: so it does not wait for us. */
void farm_worker_hand(struct farm_worker *w, struct farm_line *next);
/* The task is over: the worker has it no more, and has begun its next one where it has that.
 * Returns the task. */
struct farm_line *farm_worker_finish(struct farm_worker *w);
/* Whether there is something to send. */
bool farm_worker_sends(const struct farm_worker *w);
/* Sends what of the lines is not sent yet, without waiting. Returns -1 where the server does not
 * read any more. */
int farm_worker_send(struct farm_worker *w);
/* Whether a server without a task says nothing, and has not ended, so that its next line will be
 * the answer to its next task. */
bool farm_worker_is_quiet(struct farm_worker *w);
/* Whether the server has read its task to the end: what answers before is no answer. */
bool farm_worker_was_read(const struct farm_worker *w);
/* Reads from the server without waiting. Returns 1 with its answer in w->reply, 0 where there is
 * none yet, -1 where it has closed its output or says too much. */
int farm_worker_receive(struct farm_worker *w);
/* Whether a closed server may have begun its task: one that ends between two tasks has not, and one
 * that has answered none is to blame for its first one. */
bool farm_worker_has_begun(const struct farm_worker *w);
/* Takes the task from a closed server that has not begun it. */
struct farm_line *farm_worker_take_back(struct farm_worker *w);
/* To the whole group. */
void farm_worker_signal(const struct farm_worker *w, int signal);
/* The server is told that no task follows: its input ends. */
void farm_worker_end_input(struct farm_worker *w);
/* The same, and nobody listens to it any more. */
void farm_worker_close(struct farm_worker *w);
