/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Shows the page of poppa top on a terminal and reads the keys. */
#pragma once

#include "cli/live/top_page.h"
#include "common/errmsg.h"

/* Takes over the terminal. Returns 0, or -1 with err where standard input or output is no terminal
 * or its type is not known. */
int top_screen_open(struct errmsg *err);

/* Gives the terminal back in its former state. */
void top_screen_close(void);

/* Draws the page, and note in the last line unless it is NULL. */
void top_screen_draw(const struct top_page *page, const char *note);

enum top_key { TOP_TIMEOUT, TOP_QUIT, TOP_AGAIN };

/*
 * Waits at most ms milliseconds for a key. Draws the page again when the terminal changes its size
 * or the user scrolls, so page and note must live until it returns.
 */
enum top_key top_screen_wait(const struct top_page *page, const char *note, int ms);
