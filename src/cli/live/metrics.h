/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Writes metrics in Prometheus' text exposition format (version 0.0.4). */
#pragma once

#include <stddef.h>
#include <jansson.h>

enum metric_type { METRIC_GAUGE, METRIC_COUNTER };

struct metrics;

/* Starts a list of metrics, which metrics_finish() frees; NULL without memory. */
struct metrics *metrics_new(void);

/* Starts a metric, to which metrics_value() adds samples. name and help are not copied: they must
 * live until metrics_finish(). */
void metrics_family(struct metrics *m, const char *name, enum metric_type type, const char *help);

/* Adds a sample; labels is an object of strings. A value that is not finite is not known and adds
 * nothing. */
void metrics_value(struct metrics *m, const json_t *labels, double value);

/*
 * Returns the text of all metrics, or with json one line {"metrics":[{"name","type","labels",
 * "value"}]}, and frees m. The caller frees the text; NULL without memory.
 */
char *metrics_finish(struct metrics *m, int json, size_t *len);
