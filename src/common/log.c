/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Writes log lines to standard error, or to the sink that the caller chooses, such as syslog. */
#include "common/log.h"

#include <stdarg.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <syslog.h>
#include <time.h>
#include <unistd.h>

#include "common/printable.h"

static const char *log_prefix = "poppa";
static _Atomic(enum plog_level) log_max = PLOG_INFO;
static plog_sink_fn log_sink;

static const char *const level_word[] = {"error: ", "warning: ", "", "debug: "};

static const int priority[] = {LOG_ERR, LOG_WARNING, LOG_INFO, LOG_DEBUG};

/* systemd's journal reads standard error, and takes a priority before a line (sd-daemon(3)). Set by
 * plog_init(). */
static bool log_journal;

/* Whether it does: systemd names the file that it has made for that (systemd.exec(5)). */
static bool is_journal(void)
{
	const char *stream = getenv("JOURNAL_STREAM");
	unsigned long long dev, ino;
	struct stat st;

	return stream && sscanf(stream, "%llu:%llu", &dev, &ino) == 2 &&
	       fstat(STDERR_FILENO, &st) == 0 && st.st_dev == dev && st.st_ino == ino;
}

/* One write(2) a line, so that lines of several threads and processes do not mix. */
static void to_stderr(enum plog_level level, const char *line)
{
	char out[1200], head[48];
	struct timespec now;
	struct tm tm;
	size_t len;
	int n;

	if (log_journal) { /* it has the time itself */
		snprintf(head, sizeof(head), "<%d>", priority[level]);
	} else {
		clock_gettime(CLOCK_REALTIME, &now);
		localtime_r(&now.tv_sec, &tm);
		len = strftime(head, sizeof(head), "[%Y-%m-%dT%H:%M:%S", &tm);
		snprintf(head + len, sizeof(head) - len, ".%03ld] ", now.tv_nsec / 1000000);
	}
	n = snprintf(out, sizeof(out), "%s%s: %s%s\n", head, log_prefix, level_word[level], line);
	if (n >= (int)sizeof(out)) {
		n = sizeof(out) - 1;
		out[n - 1] = '\n';
	}
	if (write(STDERR_FILENO, out, n) < 0)
		return; /* nobody is left to tell */
}

void plog_syslog(enum plog_level level, const char *line)
{
	syslog(priority[level], "%s%s", level_word[level], line);
}

void plog_init(const char *prefix, enum plog_level max)
{
	log_prefix = prefix;
	log_max = max;
	log_journal = is_journal();
	openlog(prefix, LOG_PID, LOG_DAEMON); /* opens nothing before a line is sent */
}

void plog_set_sink(plog_sink_fn sink)
{
	log_sink = sink;
}

void plog(enum plog_level level, const char *fmt, ...)
{
	char line[1024];
	va_list ap;

	if (level > log_max)
		return;
	va_start(ap, fmt);
	vsnprintf(line, sizeof(line), fmt, ap);
	va_end(ap);
	/* Users choose parts of the line: these must not look like lines of their own. */
	plain_text(line);
	(log_sink ? log_sink : to_stderr)(level, line);
}
