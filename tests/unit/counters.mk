# SPDX-License-Identifier: GPL-2.0-or-later
# The tests of the counters, the heartbeat and the sample workloads.
if HAVE_CMOCKA
check_PROGRAMS += tests/unit/test_counter tests/unit/test_counter_uprobe tests/unit/test_heartbeat
endif
tests_unit_test_counter_SOURCES = tests/unit/test_counter.c
tests_unit_test_counter_CFLAGS = $(AM_CFLAGS) $(CMOCKA_CFLAGS)
tests_unit_test_counter_LDADD = libpoppacore.la libheartbeat.la $(CMOCKA_LIBS)
tests_unit_test_counter_LDFLAGS = $(AM_LDFLAGS) \
	-Wl,--wrap=counter_sys_perf_open,--wrap=counter_sys_read
tests_unit_test_counter_uprobe_SOURCES = tests/unit/test_counter_uprobe.c
tests_unit_test_counter_uprobe_CFLAGS = $(AM_CFLAGS) $(CMOCKA_CFLAGS)
tests_unit_test_counter_uprobe_LDADD = libpoppacore.la $(CMOCKA_LIBS)
tests_unit_test_counter_uprobe_LDFLAGS = $(AM_LDFLAGS) -Wl,--wrap=counter_sys_perf_open
tests_unit_test_heartbeat_SOURCES = tests/unit/test_heartbeat.c
tests_unit_test_heartbeat_CFLAGS = $(AM_CFLAGS) $(CMOCKA_CFLAGS)
tests_unit_test_heartbeat_LDADD = libpoppacore.la libheartbeat.la $(CMOCKA_LIBS)

TESTS += tests/unit/test_workloads.sh
EXTRA_DIST += tests/unit/test_workloads.sh

if HAVE_CMOCKA
if HAVE_PFM
check_PROGRAMS += tests/unit/test_counter_live
endif
endif
tests_unit_test_counter_live_SOURCES = tests/unit/test_counter_live.c
tests_unit_test_counter_live_CFLAGS = $(AM_CFLAGS) $(CMOCKA_CFLAGS)
tests_unit_test_counter_live_LDADD = libpoppacore.la $(CMOCKA_LIBS)
tests_unit_test_counter_live_LDFLAGS = $(AM_LDFLAGS) -Wl,--wrap=counter_sys_perf_open

if HAVE_CMOCKA
check_PROGRAMS += tests/unit/test_replay
endif
tests_unit_test_replay_SOURCES = tests/unit/test_replay.c tests/gen/gen.c tests/gen/gen.h
tests_unit_test_replay_CPPFLAGS = $(AM_CPPFLAGS) -I$(top_srcdir)/tests
tests_unit_test_replay_CFLAGS = $(AM_CFLAGS) $(CMOCKA_CFLAGS)
tests_unit_test_replay_LDADD = libpoppacore.la $(JANSSON_LIBS) $(CMOCKA_LIBS) -lm

if HAVE_CMOCKA
if HAVE_PAPI
check_PROGRAMS += tests/unit/test_counter_papi
endif
endif
tests_unit_test_counter_papi_SOURCES = tests/unit/test_counter_papi.c
tests_unit_test_counter_papi_CFLAGS = $(AM_CFLAGS) $(CMOCKA_CFLAGS)
tests_unit_test_counter_papi_LDADD = libpoppacore.la $(CMOCKA_LIBS)
tests_unit_test_counter_papi_LDFLAGS = $(AM_LDFLAGS) \
	-Wl,--wrap=PAPI_is_initialized,--wrap=PAPI_library_init,--wrap=PAPI_num_cmp_hwctrs \
	-Wl,--wrap=PAPI_get_component_info,--wrap=PAPI_create_eventset \
	-Wl,--wrap=PAPI_assign_eventset_component,--wrap=PAPI_attach,--wrap=PAPI_add_named_event \
	-Wl,--wrap=PAPI_start,--wrap=PAPI_read,--wrap=PAPI_stop,--wrap=PAPI_cleanup_eventset \
	-Wl,--wrap=PAPI_destroy_eventset
