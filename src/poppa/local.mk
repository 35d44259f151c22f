# SPDX-License-Identifier: GPL-2.0-or-later
# What src/poppa builds: the testable parts of poppad in a library; one source a line.
noinst_LTLIBRARIES += libpoppacore.la
libpoppacore_la_SOURCES = \
	src/poppa/attribution.c \
	src/poppa/attribution.h \
	src/poppa/blockfit.c \
	src/poppa/clipmean.c \
	src/poppa/clipmean.h \
	src/poppa/spin.c \
	src/poppa/spin.h \
	src/poppa/blockfit.h \
	src/poppa/blockrate.c \
	src/poppa/blockrate.h \
	src/poppa/budget.c \
	src/poppa/budget.h \
	src/poppa/closer.c \
	src/poppa/closer.h \
	src/poppa/counter.c \
	src/poppa/counter.h \
	src/poppa/counter_backend.h \
	src/poppa/counter_cgroup.c \
	src/poppa/counter_cgroup.h \
	src/poppa/counter_heartbeat.c \
	src/poppa/counter_perf.h \
	src/poppa/counter_replay.c \
	src/poppa/counter_sys.c \
	src/poppa/counter_threads.c \
	src/poppa/counter_uprobe.c \
	src/poppa/discover.c \
	src/poppa/discover.h \
	src/poppa/estimator.c \
	src/poppa/estimator.h \
	src/poppa/estimator_impl.h \
	src/poppa/estimator_robust.c \
	src/poppa/estimator_series.c \
	src/poppa/estimator_series.h \
	src/poppa/estimator_tau.c \
	src/poppa/estimator_tau.h \
	src/poppa/estimator_thesis.c \
	src/poppa/guardctl.c \
	src/poppa/guardctl.h \
	src/poppa/jobs.c \
	src/poppa/jobs.h \
	src/poppa/jobs_account.c \
	src/poppa/jobs_block.c \
	src/poppa/jobs_impl.h \
	src/poppa/jobs_plan.c \
	src/poppa/jobs_scan.c \
	src/poppa/jobs_status.c \
	src/poppa/jobs_sync.c \
	src/poppa/newborn.c \
	src/poppa/newborn.h \
	src/poppa/overhead.c \
	src/poppa/overhead.h \
	src/poppa/pace.c \
	src/poppa/pace.h \
	src/poppa/pause.c \
	src/poppa/pause.h \
	src/poppa/pause_freezer.c \
	src/poppa/pause_ops.h \
	src/poppa/pause_sigstop.c \
	src/poppa/registry.c \
	src/poppa/registry.h \
	src/poppa/schedule.c \
	src/poppa/schedule.h \
	src/poppa/sender.c \
	src/poppa/sender.h \
	src/poppa/shutter.c \
	src/poppa/shutter.h \
	src/poppa/shutter_block.c \
	src/poppa/shutter_block.h \
	src/poppa/shutter_plan.c \
	src/poppa/shutter_plan.h \
	src/poppa/sham.c \
	src/poppa/sham.h \
	src/poppa/shutterlog.c \
	src/poppa/shutterlog.h \
	src/poppa/shutterlog_blocks.c \
	src/poppa/shutterlog_blocks.h \
	src/poppa/shutterlog_read.c \
	src/poppa/spool.c \
	src/poppa/spool.h \
	src/poppa/status.c \
	src/poppa/status.h \
	src/poppa/symbol.c \
	src/poppa/symbol.h \
	src/poppa/tally.c \
	src/poppa/tally.h
if HAVE_PFM
libpoppacore_la_SOURCES += src/poppa/counter_event.c src/poppa/counter_perf.c
endif
if HAVE_PAPI
libpoppacore_la_SOURCES += src/poppa/counter_papi.c
endif
libpoppacore_la_LIBADD = \
	libpoppaheld.la \
	libledger.la \
	libpoppacommon.la \
	$(JANSSON_LIBS) \
	$(LIBEVENT_LIBS) \
	$(LIBELF_LIBS) \
	$(PFM_LIBS) \
	$(PAPI_LIBS) \
	-lm

# What the guard needs, and nothing else: it must stay small.
noinst_LTLIBRARIES += libpoppaheld.la
libpoppaheld_la_SOURCES = \
	src/poppa/clock.c \
	src/poppa/clock.h \
	src/poppa/freezer.c \
	src/poppa/freezer.h \
	src/poppa/held.c \
	src/poppa/held.h \
	src/poppa/held_handles.c \
	src/poppa/held_handles.h \
	src/poppa/held_release.c \
	src/poppa/held_release.h \
	src/poppa/proc.c \
	src/poppa/proc.h \
	src/poppa/proc_watch.c \
	src/poppa/proc_watch.h
libpoppaheld_la_LIBADD = libpoppacommon.la

sbin_PROGRAMS += poppad
poppad_SOURCES = \
	src/poppa/poppad.c \
	src/poppa/poppad.h \
	src/poppa/poppad_files.c \
	src/poppa/poppad_guard.c \
	src/poppa/poppad_jobs.c \
	src/poppa/poppad_options.c \
	src/poppa/poppad_requests.c \
	src/poppa/poppad_settings.c
poppad_LDADD = libpoppacore.la $(LIBEVENT_LIBS)

pkglibexec_PROGRAMS += poppa-guard
poppa_guard_SOURCES = src/poppa/guard.c
poppa_guard_LDADD = libpoppaheld.la

dist_man_MANS += src/poppa/poppad.8 src/poppa/poppa.conf.5
