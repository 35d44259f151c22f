/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A child that resumes what this program has stopped, when the program is gone or hangs. */
#pragma once

#include "meter.h"

/* Starts it for these jobs, whose pidfds are open; none is held for longer than longest_ns, but for
 * a program that hangs. A failure ends the program. */
void watchdog_start(const struct meter_job *job, int64_t longest_ns);

/* Stops a job, and resumes it. Nothing is stopped that the watchdog does not know of. */
void watchdog_stop(int job);
void watchdog_resume(int job);

/* Ends it when nothing is held. */
void watchdog_end(void);
