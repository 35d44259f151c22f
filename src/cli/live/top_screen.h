/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A terminal that shows one page and its keys. */
#ifndef POPPA_CLI_LIVE_TOP_SCREEN_H
#define POPPA_CLI_LIVE_TOP_SCREEN_H

#include <stdbool.h>

#include "cli/live/top_page.h"
#include "common/errmsg.h"

/* Takes the terminal over. 0, or -1 with err where it is none or of no known type. */
int top_screen_open(struct errmsg *err);

/* Gives the terminal back as it was. */
void top_screen_close(void);

/* Draws the page, and note, when there is one, in the last line. */
void top_screen_draw(const struct top_page *page, const char *note);

enum top_key { TOP_TIMEOUT, TOP_QUIT, TOP_AGAIN };

/*
 * Waits for at most ms milliseconds, redrawing by itself where the terminal changes its size or
 * the table is scrolled: the page must stay until then.
 */
enum top_key top_screen_wait(const struct top_page *page, const char *note, int ms);

#endif
