# SPDX-License-Identifier: GPL-2.0-or-later
# The tests of the poppa command: TAP, and an exit status that says the same.
CLI_TESTS = tests/cli/usage.t tests/cli/numbers.t tests/cli/estimate.t tests/cli/farm.t tests/cli/recommend.t tests/cli/gpu.t tests/cli/map.t tests/cli/job.t tests/cli/lmod.t tests/cli/mail.t tests/cli/node.t tests/cli/top.t tests/cli/report.t tests/cli/trial.t tests/cli/trial_kills.t tests/cli/trial_self.t tests/cli/trial_page.t tests/cli/page_browser.t tests/cli/why.t tests/cli/advise.t tests/cli/metrics.t tests/cli/ondemand.t tests/cli/pairs.t tests/cli/profile.t tests/cli/prometheus.t tests/cli/sim.t tests/cli/completion.t tests/cli/docs.t tests/cli/commands.t
TESTS += $(CLI_TESTS)
TEST_EXTENSIONS = .t
T_LOG_COMPILER = timeout -k 10 600 bash
AM_TESTS_ENVIRONMENT = POPPA='$(abs_top_builddir)/poppa'; export POPPA; \
	POPPAD='$(abs_top_builddir)/poppad'; export POPPAD; \
	SIMULATE='$(abs_top_builddir)/tests/sim/simulate'; export SIMULATE; \
	MAPPER='$(abs_top_builddir)/tests/sim/mapper/mapper'; export MAPPER; \
	WRITE_TRIAL_PAGE='$(abs_top_builddir)/tests/cli/write_trial_page'; export WRITE_TRIAL_PAGE; \
	FARM='$(abs_top_builddir)/poppa-farm'; export FARM; \
	DEVICE_UNITS='$(abs_top_builddir)/contrib/workloads/device_units'; export DEVICE_UNITS; \
	NVML='$(abs_top_builddir)/tests/cli/.libs/nvml.so'; export NVML; \
	RECOMMEND='$(abs_top_builddir)/contrib/workloads/recommend'; export RECOMMEND; \
	BEATS='$(abs_top_builddir)/tests/cli/beats'; export BEATS; \
	WALK='$(abs_top_builddir)/tests/cli/walk'; export WALK; \
	PARSE='$(abs_top_builddir)/tests/cli/parse'; export PARSE; \
	SHUTTERLOG_GEN='$(abs_top_builddir)/tests/gen/shutterlog_gen'; export SHUTTERLOG_GEN;
EXTRA_DIST += $(CLI_TESTS) tests/cli/answers tests/cli/bills.txt tests/cli/plain_runs.txt tests/cli/page_check.py tests/cli/commands.list tests/cli/commands.py tests/gen/bills_gen tests/cli/on-terminal tests/cli/status.json tests/cli/lib.sh

# What tests/cli/profile.t walks under Valgrind, which runs no program of AddressSanitizer's.
noinst_PROGRAMS += tests/cli/walk
tests_cli_walk_SOURCES = tests/cli/walk.c
tests_cli_walk_CFLAGS = -std=gnu11 $(WARN_FLAGS)
tests_cli_walk_LDFLAGS =
tests_cli_walk_LDADD =

# Writes the page of a trial's result, for tests/cli/trial.t tests/cli/trial_kills.t tests/cli/trial_page.t and page_browser.t.
noinst_PROGRAMS += tests/cli/write_trial_page
tests_cli_write_trial_page_SOURCES = tests/cli/write_trial_page.c $(PAGE_SOURCES)
tests_cli_write_trial_page_LDADD = libtrialpage.la libpoppacommon.la $(JANSSON_LIBS) -lm
EXTRA_DIST += $(TRIALS)
TRIALS = tests/cli/trial_colocate.json tests/cli/trial_do_not.json tests/cli/trial_uncertain.json tests/cli/trial_four.json
# What tests/cli/trial.t tries: its progress does not depend on how busy the machine is.
noinst_PROGRAMS += tests/cli/beats
tests_cli_beats_SOURCES = tests/cli/beats.c
tests_cli_beats_LDADD = libheartbeat.la
# Stands in for NVML for tests/cli/gpu.t.
noinst_LTLIBRARIES += tests/cli/nvml.la
tests_cli_nvml_la_SOURCES = tests/cli/nvml.c
tests_cli_nvml_la_LDFLAGS = -module -avoid-version -shared -rpath /nowhere
# Parses what the documents say of settings and of --colocate, for tests/cli/commands.t.
noinst_PROGRAMS += tests/cli/parse
tests_cli_parse_SOURCES = tests/cli/parse.c
tests_cli_parse_LDADD = libsubmit.la libpoppacommon.la
