/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The text that poppa top shows, the same for terminals and for scripts. */
#pragma once

#include <jansson.h>

struct top_page {
	char *text; /* lines, each ended by a newline; the caller's to free */
	int head;   /* number of lines above the jobs; the last one is the table's heading */
};

/*
 * Compares two answers of poppad and adds the rates to the later one, now: "rates" {"interval_s",
 * "shutters_s", "shutter_cpu"} and "blocks_s" of each job. They are null where there is nothing to
 * compare, as after a restart of poppad. before is seconds older; it may be NULL.
 */
void top_rates(const json_t *before, json_t *now, double seconds);

/* The page for an answer with rates from top_rates(). Its text is NULL without memory. */
struct top_page top_page(const json_t *now);
