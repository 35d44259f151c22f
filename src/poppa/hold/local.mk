# SPDX-License-Identifier: GPL-2.0-or-later
# Holding: finds a job's tasks, stops them for the length of a shutter, and resumes them whatever dies.
noinst_LTLIBRARIES += libhold.la
libhold_la_SOURCES = \
	src/poppa/hold/find_tasks.c src/poppa/hold/find_tasks.h \
	src/poppa/hold/guardctl.c src/poppa/hold/guardctl.h \
	src/poppa/hold/job_cpu.c src/poppa/hold/job_cpu.h \
	src/poppa/hold/new_tasks.c src/poppa/hold/new_tasks.h \
	src/poppa/hold/pause.c src/poppa/hold/pause.h \
	src/poppa/hold/pause_freezer.c \
	src/poppa/hold/pause_ops.h \
	src/poppa/hold/pause_sigstop.c

# What the guard needs, and nothing else: it must stay small.
noinst_LTLIBRARIES += libheld.la
libheld_la_SOURCES = \
	src/poppa/hold/freezer.c src/poppa/hold/freezer.h \
	src/poppa/hold/held.c src/poppa/hold/held.h \
	src/poppa/hold/held_handles.c src/poppa/hold/held_handles.h \
	src/poppa/hold/held_release.c src/poppa/hold/held_release.h \
	src/poppa/hold/proc.c src/poppa/hold/proc.h \
	src/poppa/hold/proc_watch.c src/poppa/hold/proc_watch.h \
	src/poppa/hold/realtime.c src/poppa/hold/realtime.h

pkglibexec_PROGRAMS += poppa-guard
poppa_guard_SOURCES = src/poppa/hold/guard.c
poppa_guard_LDADD = libheld.la libpoppacommon.la
