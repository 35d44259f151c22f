# SPDX-License-Identifier: GPL-2.0-or-later
# Counters: reads the progress of one task, by one file a backend.
noinst_LTLIBRARIES += libcounter.la
libcounter_la_SOURCES = \
	src/poppa/counter/background_close.c src/poppa/counter/background_close.h \
	src/poppa/counter/counter.c src/poppa/counter/counter.h \
	src/poppa/counter/counter_backend.h \
	src/poppa/counter/counter_cgroup.c src/poppa/counter/counter_cgroup.h \
	src/poppa/counter/counter_error.c \
	src/poppa/counter/counter_heartbeat.c \
	src/poppa/counter/counter_replay.c \
	src/poppa/counter/counter_sys.c \
	src/poppa/counter/counter_threads.c \
	src/poppa/counter/counter_uprobe.c \
	src/poppa/counter/symbol.c src/poppa/counter/symbol.h \
	src/poppa/counter/timed_call.c src/poppa/counter/timed_call.h \
	src/poppa/counter/counter_perf.h
if HAVE_PFM
libcounter_la_SOURCES += src/poppa/counter/counter_event.c src/poppa/counter/counter_perf.c
endif
if HAVE_PAPI
libcounter_la_SOURCES += src/poppa/counter/counter_papi.c
endif
libcounter_la_LIBADD = $(LIBELF_LIBS) $(PFM_LIBS) $(PAPI_LIBS) -lpthread
