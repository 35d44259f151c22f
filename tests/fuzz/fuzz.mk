# SPDX-License-Identifier: GPL-2.0-or-later
# Fuzz targets: with --enable-fuzzing for libFuzzer, else programs that run the corpus once, as a test.
FUZZ_TARGETS = tests/fuzz/fuzz_bill tests/fuzz/fuzz_columns tests/fuzz/fuzz_conf tests/fuzz/fuzz_constraint tests/fuzz/fuzz_horton tests/fuzz/fuzz_option tests/fuzz/fuzz_reuse \
	tests/fuzz/fuzz_settings tests/fuzz/fuzz_shutterlog tests/fuzz/fuzz_state tests/fuzz/fuzz_symbol tests/fuzz/fuzz_trial tests/fuzz/fuzz_wire
fuzz_shared = tests/fuzz/fuzz.c tests/fuzz/fuzz.h
if FUZZING
EXTRA_PROGRAMS = $(FUZZ_TARGETS)
fuzz_link = $(AM_LDFLAGS) -fsanitize=fuzzer
else
check_PROGRAMS += $(FUZZ_TARGETS)
fuzz_shared += tests/fuzz/replay.c
fuzz_link = $(AM_LDFLAGS)
endif

# What tests/fuzz/run builds.
fuzz-targets: $(FUZZ_TARGETS)
.PHONY: fuzz-targets

tests_fuzz_fuzz_bill_SOURCES = tests/fuzz/fuzz_bill.c src/cli/ask/run_program.c src/cli/ask/squeue.c $(fuzz_shared)
tests_fuzz_fuzz_bill_LDADD = libbill.la librecord.la libpoppacommon.la $(JANSSON_LIBS) -lm
tests_fuzz_fuzz_bill_LDFLAGS = $(fuzz_link)
tests_fuzz_fuzz_columns_SOURCES = tests/fuzz/fuzz_columns.c $(fuzz_shared)
tests_fuzz_fuzz_columns_LDADD = libgpu.la libmapper.la libcolumns.la libpoppacommon.la -lm
tests_fuzz_fuzz_columns_LDFLAGS = $(fuzz_link)
tests_fuzz_fuzz_conf_SOURCES = tests/fuzz/fuzz_conf.c $(fuzz_shared)
tests_fuzz_fuzz_conf_LDADD = $(POPPAD_LIBS) $(JANSSON_LIBS) -lm
tests_fuzz_fuzz_conf_LDFLAGS = $(fuzz_link)
tests_fuzz_fuzz_constraint_SOURCES = tests/fuzz/fuzz_constraint.c $(fuzz_shared)
tests_fuzz_fuzz_constraint_LDADD = libsubmit.la libpoppacommon.la
tests_fuzz_fuzz_constraint_LDFLAGS = $(fuzz_link)
tests_fuzz_fuzz_horton_SOURCES = tests/fuzz/fuzz_horton.c $(fuzz_shared)
tests_fuzz_fuzz_horton_LDADD = libhorton.la libpoppacommon.la
tests_fuzz_fuzz_horton_LDFLAGS = $(fuzz_link)
tests_fuzz_fuzz_option_SOURCES = tests/fuzz/fuzz_option.c $(fuzz_shared)
tests_fuzz_fuzz_option_LDADD = libsubmit.la libpoppacommon.la $(JANSSON_LIBS) -lm
tests_fuzz_fuzz_option_LDFLAGS = $(fuzz_link)
tests_fuzz_fuzz_reuse_SOURCES = tests/fuzz/fuzz_reuse.c $(fuzz_shared)
tests_fuzz_fuzz_reuse_LDADD = libreuse.la libpoppacommon.la -lm
tests_fuzz_fuzz_reuse_LDFLAGS = $(fuzz_link)
tests_fuzz_fuzz_settings_SOURCES = tests/fuzz/fuzz_settings.c $(fuzz_shared)
tests_fuzz_fuzz_settings_LDADD = librecord.la libpoppacommon.la $(JANSSON_LIBS) -lm
tests_fuzz_fuzz_settings_LDFLAGS = $(fuzz_link)
tests_fuzz_fuzz_shutterlog_SOURCES = tests/fuzz/fuzz_shutterlog.c $(fuzz_shared)
tests_fuzz_fuzz_shutterlog_LDADD = $(POPPAD_LIBS) $(JANSSON_LIBS) -lm
tests_fuzz_fuzz_shutterlog_LDFLAGS = $(fuzz_link)
tests_fuzz_fuzz_state_SOURCES = tests/fuzz/fuzz_state.c $(fuzz_shared)
tests_fuzz_fuzz_state_LDADD = libsettle.la libpartners.la libhistory.la libreuse.la librecord.la libpoppacommon.la $(JANSSON_LIBS) -lm
tests_fuzz_fuzz_state_LDFLAGS = $(fuzz_link)
tests_fuzz_fuzz_symbol_SOURCES = tests/fuzz/fuzz_symbol.c $(fuzz_shared)
tests_fuzz_fuzz_symbol_LDADD = libpreload.la $(POPPAD_LIBS) $(JANSSON_LIBS) -lm
tests_fuzz_fuzz_symbol_LDFLAGS = $(fuzz_link)
tests_fuzz_fuzz_trial_SOURCES = tests/fuzz/fuzz_trial.c src/cli/partners/read_trial.c $(fuzz_shared)
tests_fuzz_fuzz_trial_LDADD = libhistory.la libpoppacommon.la $(JANSSON_LIBS) -lm
tests_fuzz_fuzz_trial_LDFLAGS = $(fuzz_link)
tests_fuzz_fuzz_wire_SOURCES = tests/fuzz/fuzz_wire.c $(fuzz_shared)
tests_fuzz_fuzz_wire_LDADD = libledger.la librecord.la libpoppacommon.la $(JANSSON_LIBS) -lm
tests_fuzz_fuzz_wire_LDFLAGS = $(fuzz_link)

EXTRA_DIST += tests/fuzz/run tests/fuzz/corpus $(FUZZ_TARGETS:=.dict)
