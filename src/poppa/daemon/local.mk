# SPDX-License-Identifier: GPL-2.0-or-later
# The daemon: poppad's start, its event loop and its end.
sbin_PROGRAMS += poppad
poppad_SOURCES = \
	src/poppa/daemon/poppad.c src/poppa/daemon/poppad.h \
	src/poppa/daemon/poppad_counters.c \
	src/poppa/daemon/poppad_files.c \
	src/poppa/daemon/poppad_guard.c \
	src/poppa/daemon/poppad_jobs.c \
	src/poppa/daemon/poppad_options.c \
	src/poppa/daemon/poppad_requests.c \
	src/poppa/daemon/poppad_settings.c
poppad_LDADD = $(POPPAD_LIBS)
dist_man_MANS += src/poppa/daemon/poppad.8 src/poppa/daemon/poppa.conf.5
