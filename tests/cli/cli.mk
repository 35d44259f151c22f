# SPDX-License-Identifier: GPL-2.0-or-later
# The tests of the poppa command: TAP, and an exit status that says the same.
CLI_TESTS = tests/cli/usage.t tests/cli/numbers.t tests/cli/estimate.t tests/cli/node.t tests/cli/top.t tests/cli/report.t tests/cli/page_browser.t tests/cli/why.t tests/cli/advise.t tests/cli/metrics.t tests/cli/pairs.t tests/cli/profile.t tests/cli/sim.t tests/cli/completion.t tests/cli/docs.t
TESTS += $(CLI_TESTS)
TEST_EXTENSIONS = .t
T_LOG_COMPILER = timeout -k 10 600 bash
AM_TESTS_ENVIRONMENT = POPPA='$(abs_top_builddir)/poppa'; export POPPA; \
	POPPAD='$(abs_top_builddir)/poppad'; export POPPAD; \
	SIMULATE='$(abs_top_builddir)/tests/sim/simulate'; export SIMULATE; \
	WALK='$(abs_top_builddir)/tests/cli/walk'; export WALK; \
	SHUTTERLOG_GEN='$(abs_top_builddir)/tests/gen/shutterlog_gen'; export SHUTTERLOG_GEN;
EXTRA_DIST += $(CLI_TESTS) tests/cli/answers tests/cli/bills.txt tests/cli/plain_runs.txt tests/cli/page_check.py tests/gen/bills_gen tests/cli/on-terminal tests/cli/status.json tests/cli/lib.sh

# What tests/cli/profile.t walks under Valgrind, which runs no program of AddressSanitizer's.
noinst_PROGRAMS += tests/cli/walk
tests_cli_walk_SOURCES = tests/cli/walk.c
tests_cli_walk_CFLAGS = -std=gnu11 $(WARN_FLAGS)
tests_cli_walk_LDFLAGS =
tests_cli_walk_LDADD =
