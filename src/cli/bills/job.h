/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What "poppa job" says of a run in words. */
#pragma once

#include <stddef.h>

#include "cli/bills/job_usage.h"
#include "cli/bills/why.h"

/* Of the time that its processors had, the share in which they worked for it; NAN = not known. */
double job_cpu_efficiency(const struct why *w, const struct job_usage *u);

/* The price in some sentences that can stand in a mail. They name co-runners by their numbers only,
 * whoever asks. buf has room for size bytes; returns buf. */
char *job_bill_text(const struct why *w, char *buf, size_t size);

/* What its owner could do next time, in one line; returns buf. */
char *job_advice(const struct why *w, const struct job_usage *u, char *buf, size_t size);
