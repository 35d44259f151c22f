# SPDX-License-Identifier: GPL-2.0-or-later
# The tests of poppad's parts, and the program that kills it.
if HAVE_CMOCKA
check_PROGRAMS += tests/unit/test_adaptive tests/unit/test_discover tests/unit/test_gaming \
	tests/unit/test_held_handles tests/unit/test_jobs tests/unit/test_newborn \
	tests/unit/test_pace tests/unit/test_pause tests/unit/test_registry tests/unit/test_schedule \
	tests/unit/test_sender tests/unit/test_shutter tests/unit/test_status tests/unit/test_tally
endif
tests_unit_test_adaptive_SOURCES = tests/unit/test_adaptive.c
tests_unit_test_adaptive_CFLAGS = $(AM_CFLAGS) $(CMOCKA_CFLAGS)
tests_unit_test_adaptive_LDADD = libpoppacore.la $(CMOCKA_LIBS) -lm
tests_unit_test_discover_SOURCES = tests/unit/test_discover.c
tests_unit_test_discover_CFLAGS = $(AM_CFLAGS) $(CMOCKA_CFLAGS)
tests_unit_test_discover_LDADD = libpoppacore.la $(CMOCKA_LIBS)
tests_unit_test_gaming_SOURCES = tests/unit/test_gaming.c
tests_unit_test_gaming_CFLAGS = $(AM_CFLAGS) $(CMOCKA_CFLAGS)
tests_unit_test_gaming_LDADD = libpoppacore.la $(CMOCKA_LIBS) -lm
tests_unit_test_jobs_SOURCES = tests/unit/test_jobs.c
tests_unit_test_jobs_CFLAGS = $(AM_CFLAGS) $(CMOCKA_CFLAGS)
tests_unit_test_jobs_LDADD = libpoppacore.la $(CMOCKA_LIBS)
tests_unit_test_jobs_LDFLAGS = $(AM_LDFLAGS) \
	-Wl,--wrap=counter_open,--wrap=counter_read,--wrap=counter_refresh,--wrap=counter_prepare \
	-Wl,--wrap=counter_close,--wrap=counter_kind,--wrap=counter_has_cycles,--wrap=counter_region,--wrap=counter_task_state,--wrap=counter_interrupts \
	-Wl,--wrap=shutter_done
tests_unit_test_pace_SOURCES = tests/unit/test_pace.c
tests_unit_test_pace_CFLAGS = $(AM_CFLAGS) $(CMOCKA_CFLAGS)
tests_unit_test_pace_LDADD = libpoppacore.la $(CMOCKA_LIBS) -lm
tests_unit_test_held_handles_SOURCES = tests/unit/test_held_handles.c
tests_unit_test_held_handles_CFLAGS = $(AM_CFLAGS) $(CMOCKA_CFLAGS)
tests_unit_test_held_handles_LDADD = libpoppacore.la $(CMOCKA_LIBS)
tests_unit_test_newborn_SOURCES = tests/unit/test_newborn.c
tests_unit_test_newborn_CFLAGS = $(AM_CFLAGS) $(CMOCKA_CFLAGS)
tests_unit_test_newborn_LDADD = libpoppacore.la $(CMOCKA_LIBS)
tests_unit_test_pause_SOURCES = tests/unit/test_pause.c
tests_unit_test_pause_CFLAGS = $(AM_CFLAGS) $(CMOCKA_CFLAGS)
tests_unit_test_pause_LDADD = libpoppacore.la $(CMOCKA_LIBS)
tests_unit_test_registry_SOURCES = tests/unit/test_registry.c
tests_unit_test_registry_CFLAGS = $(AM_CFLAGS) $(CMOCKA_CFLAGS)
tests_unit_test_registry_LDADD = libpoppacore.la $(CMOCKA_LIBS)
tests_unit_test_registry_LDFLAGS = $(AM_LDFLAGS) -Wl,--wrap=readdir
tests_unit_test_schedule_SOURCES = tests/unit/test_schedule.c
tests_unit_test_schedule_CFLAGS = $(AM_CFLAGS) $(CMOCKA_CFLAGS)
tests_unit_test_schedule_LDADD = libpoppacore.la $(CMOCKA_LIBS) -lm
tests_unit_test_sender_SOURCES = tests/unit/test_sender.c
tests_unit_test_sender_CFLAGS = $(AM_CFLAGS) $(CMOCKA_CFLAGS)
tests_unit_test_sender_LDADD = libpoppacore.la $(CMOCKA_LIBS) -lm
tests_unit_test_sender_LDFLAGS = $(AM_LDFLAGS) \
	-Wl,--wrap=client_send_records,--wrap=rename,--wrap=unlink
tests_unit_test_shutter_SOURCES = tests/unit/test_shutter.c
tests_unit_test_shutter_CFLAGS = $(AM_CFLAGS) $(CMOCKA_CFLAGS)
tests_unit_test_shutter_LDADD = libpoppacore.la $(CMOCKA_LIBS)
tests_unit_test_shutter_LDFLAGS = $(AM_LDFLAGS) \
	-Wl,--wrap=clock_gettime,--wrap=counter_read,--wrap=counter_has_cycles,--wrap=counter_region,--wrap=counter_task_state,--wrap=counter_interrupts
tests_unit_test_status_SOURCES = tests/unit/test_status.c
tests_unit_test_status_CFLAGS = $(AM_CFLAGS) $(CMOCKA_CFLAGS)
tests_unit_test_status_LDADD = libpoppacore.la $(CMOCKA_LIBS)
tests_unit_test_tally_SOURCES = tests/unit/test_tally.c
tests_unit_test_tally_CFLAGS = $(AM_CFLAGS) $(CMOCKA_CFLAGS)
tests_unit_test_tally_LDADD = libpoppacore.la $(CMOCKA_LIBS) -lm

noinst_PROGRAMS += tests/integration/beat
tests_integration_beat_SOURCES = tests/integration/beat.c
tests_integration_beat_LDADD = libheartbeat.la

# Needs root and a freezer; tests/integration/42-guard.t runs it. The module sets poppad's wall clock.
noinst_PROGRAMS += tests/integration/poppad_kill
tests_integration_poppad_kill_SOURCES = tests/integration/poppad_kill.c \
	tests/integration/witness.c tests/integration/witness.h
tests_integration_poppad_kill_LDADD = libpoppaheld.la libheartbeat.la libpoppacommon.la -lpthread
noinst_LTLIBRARIES += tests/integration/wallclock.la
tests_integration_wallclock_la_SOURCES = tests/integration/wallclock.c
tests_integration_wallclock_la_LDFLAGS = -module -avoid-version -shared -rpath /nowhere
