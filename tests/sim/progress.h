/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Says when and how a long simulation tells how far it is. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct progress {
	bool terminal;    /* a line that is written over, five times a second; else one a minute */
	int64_t began_ms; /* when the policy did */
	int64_t shown_ms; /* when the last line was shown, or the program began */
};

/* Whether the next line is due; if so, it counts as shown. */
bool progress_due(struct progress *p, int64_t now_ms);

/* Writes the line into buf, for a terminal without its end; returns buf. 128 bytes are enough. */
char *progress_text(const struct progress *p, int64_t now_ms, const char *policy, int done, int all,
	int waiting, char *buf, size_t size);
