# SPDX-License-Identifier: GPL-2.0-or-later
# What tests builds, runs and ships. A unit test is tests/unit/test_NAME.c with a paragraph of its own here.
if HAVE_CMOCKA
check_PROGRAMS += tests/unit/test_common
endif
tests_unit_test_common_SOURCES = tests/unit/test_common.c
tests_unit_test_common_CFLAGS = $(AM_CFLAGS) $(CMOCKA_CFLAGS)
tests_unit_test_common_LDADD = libpoppacommon.la $(CMOCKA_LIBS) -lm

if HAVE_CMOCKA
check_PROGRAMS += tests/unit/test_colocate tests/unit/test_constraint tests/unit/test_lanes tests/unit/test_request tests/unit/test_topology
endif
tests_unit_test_colocate_SOURCES = tests/unit/test_colocate.c
tests_unit_test_colocate_CFLAGS = $(AM_CFLAGS) $(CMOCKA_CFLAGS)
tests_unit_test_colocate_LDADD = libstriping.la $(CMOCKA_LIBS) -lm
tests_unit_test_constraint_SOURCES = tests/unit/test_constraint.c
tests_unit_test_constraint_CFLAGS = $(AM_CFLAGS) $(CMOCKA_CFLAGS)
tests_unit_test_constraint_LDADD = libstriping.la $(CMOCKA_LIBS)
tests_unit_test_lanes_SOURCES = tests/unit/test_lanes.c
tests_unit_test_lanes_CFLAGS = $(AM_CFLAGS) $(CMOCKA_CFLAGS)
tests_unit_test_lanes_LDADD = libstriping.la $(CMOCKA_LIBS)
tests_unit_test_request_SOURCES = tests/unit/test_request.c
tests_unit_test_request_CFLAGS = $(AM_CFLAGS) $(CMOCKA_CFLAGS)
tests_unit_test_request_LDADD = libstriping.la $(CMOCKA_LIBS)
tests_unit_test_topology_SOURCES = tests/unit/test_topology.c
tests_unit_test_topology_CFLAGS = $(AM_CFLAGS) $(CMOCKA_CFLAGS)
tests_unit_test_topology_LDADD = libtopology.la libstriping.la $(CMOCKA_LIBS)

include tests/cli/cli.mk
include tests/unit/estimator.mk
include tests/unit/fairness.mk
include tests/unit/partners.mk

include tests/unit/counters.mk
include tests/unit/heartbeat.mk
include tests/unit/poppad.mk

include tests/unit/accounting.mk

include tests/bench/bench.mk
include tests/scale/scale.mk
include tests/slurm-suite/suite.mk
include tests/vm/vm.mk
include tests/fuzz/fuzz.mk

EXTRA_DIST += .ci/run tests/all tests/lint tests/tap.sh tests/pmu/run tests/pmu/guest.c tests/release/compile tests/release/debian.sh tests/release/main-job tests/release/run tests/integration/lib.sh tests/integration/lanes.sh tests/integration/bill.sh tests/integration/kills.sh tests/integration/clouds.sh \
	tests/integration/00-cluster.t \
	tests/integration/20-submit.t \
	tests/integration/30-striping.t \
	tests/integration/31-lanes.t \
	tests/integration/32-submissions.t \
	tests/integration/33-stock.t \
	tests/integration/34-truth.t \
	tests/integration/35-bad-moments.t \
	tests/integration/36-units.t \
	tests/integration/40-poppad.t \
	tests/integration/41-pausing.t \
	tests/integration/41-schedule.t \
	tests/integration/42-guard.t \
	tests/integration/43-counters.t \
	tests/integration/43-heartbeat.t \
	tests/integration/45-seeing.t \
	tests/integration/50-settle.t \
	tests/integration/51-ledger.t \
	tests/integration/55-people.t \
	tests/integration/56-security.t tests/integration/attack.py \
	tests/integration/52-limits.t \
	tests/integration/80-kills.t \
	tests/integration/53-plugins.t tests/integration/57-failover.t \
	tests/integration/58-crashes.t tests/integration/59-lost-ends.t \
	tests/integration/54-ends.t \
	tests/integration/90-down.t
