/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Says what an error of a counter means and how to fix it. */
#include "poppa/counter/counter_backend.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

int counter_fail(int code, struct errmsg *err, const char *fmt, ...)
{
	va_list ap;

	if (err) {
		va_start(ap, fmt);
		vsnprintf(err->text, sizeof(err->text), fmt, ap);
		va_end(ap);
	}
	errno = code;
	return -1;
}

int counter_number_in(const char *path, int otherwise)
{
	FILE *f = fopen(path, "re");
	int number;

	if (!f)
		return otherwise;
	if (fscanf(f, "%d", &number) != 1)
		number = otherwise;
	fclose(f);
	return number;
}

int counter_perf_open_error(int code, const char *what, struct errmsg *err)
{
	switch (code) {
	case EACCES:
	case EPERM:
		return counter_fail(code, err,
			"%s: not allowed to count another user's process "
			"(perf_event_paranoid is %d): run as root or give CAP_PERFMON; a container "
			"must also let perf_event_open through its seccomp filter",
			what, counter_number_in("/proc/sys/kernel/perf_event_paranoid", 2));
	case ENOENT:
	case ENODEV:
	case EOPNOTSUPP:
		return counter_fail(ENODATA, err,
			"%s: this machine offers no such counter; a virtual machine needs its "
			"PMU passed through (QEMU/KVM: -cpu host,pmu=on), else use heartbeat or "
			"uprobe",
			what);
	case EBUSY:
		return counter_fail(code, err,
			"%s: the PMU is held by somebody else; stop the profiler, or free the NMI "
			"watchdog's counter with sysctl kernel.nmi_watchdog=0",
			what);
	case EMFILE:
	case ENFILE:
		return counter_fail(code, err,
			"%s: out of file descriptors, one to three are needed a thread: raise "
			"LimitNOFILE (ulimit -n)",
			what);
	case ENOSYS:
		return counter_fail(ENODATA, err, "%s: this kernel has no perf events", what);
	case ESRCH:
		return counter_fail(code, err, "%s: the task is gone", what);
	default:
		return counter_fail(code, err, "%s: %s", what, strerror(code));
	}
}
