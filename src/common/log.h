/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Log lines of the suite: one line for each event, with the program's name before it. */
#pragma once

enum plog_level { PLOG_ERROR, PLOG_WARN, PLOG_INFO, PLOG_DEBUG };

/* Receives finished lines without newline; must be thread-safe. */
typedef void (*plog_sink_fn)(enum plog_level level, const char *line);

/*
 * Sets the prefix ("poppad") and the highest level that is printed. The prefix is not copied: pass
 * a string literal.
 */
void plog_init(const char *prefix, enum plog_level max);

/* Says where lines go: to standard error at first and where sink is NULL. There each has its time,
 * or, where systemd's journal reads it, its priority. */
void plog_set_sink(plog_sink_fn sink);

/* A sink: syslog, facility daemon, under the prefix of plog_init(). */
void plog_syslog(enum plog_level level, const char *line);

/* Logs one line of at most 1023 bytes. What would end it or steer a terminal becomes "?". */
void plog(enum plog_level level, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

#define plog_error(...) plog(PLOG_ERROR, __VA_ARGS__)
#define plog_warn(...) plog(PLOG_WARN, __VA_ARGS__)
#define plog_info(...) plog(PLOG_INFO, __VA_ARGS__)
#define plog_debug(...) plog(PLOG_DEBUG, __VA_ARGS__)
