/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Writes metrics in Prometheus' text exposition format (version 0.0.4). */
#ifndef POPPA_CLI_LIVE_METRICS_H
#define POPPA_CLI_LIVE_METRICS_H

#include <stddef.h>
#include <jansson.h>

enum metric_type { METRIC_GAUGE, METRIC_COUNTER };

struct metrics;

/* NULL without memory. */
struct metrics *metrics_new(void);

/* Begins a metric; metrics_value() adds its samples. name and help are not copied. */
void metrics_family(struct metrics *m, const char *name, enum metric_type type, const char *help);

/* One sample. labels: an object of strings. A value that is not finite is not known: no sample. */
void metrics_value(struct metrics *m, const json_t *labels, double value);

/*
 * Ends it: the text, or with json {"metrics":[{"name","type","labels","value"}]} on one line; the
 * caller's to free. NULL without memory. m is gone either way.
 */
char *metrics_finish(struct metrics *m, int json, size_t *len);

#endif
