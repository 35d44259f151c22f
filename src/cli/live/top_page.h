/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What poppa top shows, as text: the same for terminals and for scripts. */
#ifndef POPPA_CLI_LIVE_TOP_PAGE_H
#define POPPA_CLI_LIVE_TOP_PAGE_H

#include <jansson.h>

struct top_page {
	char *text; /* lines, each ended by a newline; the caller's to free */
	int head;   /* so many of them are above the jobs, the last is the table's heading */
};

/*
 * Adds to *now, an answer of poppad, what follows from comparing it with one that was asked for
 * seconds earlier: "rates" {"interval_s", "shutters_s", "shutter_cpu"} and "blocks_s" of each job;
 * null where there is nothing to compare, as after a restart of poppad. before may be NULL.
 */
void top_rates(const json_t *before, json_t *now, double seconds);

/* The page for an answer that top_rates() has seen. text is NULL where memory is short. */
struct top_page top_page(const json_t *now);

#endif
