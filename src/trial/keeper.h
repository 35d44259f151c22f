/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Two processes that watch each other, so that nothing that a trial or a sweep starts outlives it.
 */
#pragma once

#include "common/errmsg.h"

/*
 * Forks: the child, the worker, runs work() and ends with the status that it returns; this process,
 * the keeper, waits for it and returns that status (below 255), or -1 with err where the worker was
 * killed. Children that this process had before stay as they are: then the keeper is a child, too.
 * Before it returns, whatever has the token's mark (tagged.h) is killed.
 *
 * Where the worker dies, the keeper kills what it has left. Where the keeper dies, the worker gets
 * SIGTERM and has to end as if a user had asked for it; SIGINT, SIGTERM and SIGHUP to the keeper
 * become SIGTERM to the worker. Where both are killed at the same moment, the kernel kills what the
 * worker has started itself, and resumes and hangs up the process groups that are stopped.
 */
int keeper_run(const char *token, int (*work)(void *arg), void *arg, struct errmsg *err);

/* Kills whatever has the token's mark, and waits for its end. Returns 0, or -1 with err. */
int keeper_clear_up(const char *token, struct errmsg *err);

/* The handler of the signals by which users end a trial, without those that they want ignored. */
void keeper_handle(void (*handler)(int sig));
