# SPDX-License-Identifier: GPL-2.0-or-later
# Generators: shutter logs with known degradations, and the programs that write docs/results/estimator.md and fairness.md.
noinst_PROGRAMS += tests/gen/shutterlog_gen tests/gen/estimator_table tests/gen/fairness_table
tests_gen_shutterlog_gen_SOURCES = tests/gen/shutterlog_gen.c tests/gen/gen.c tests/gen/gen.h
tests_gen_shutterlog_gen_LDADD = libestimate.la librecord.la libpoppacommon.la -lm
tests_gen_estimator_table_SOURCES = tests/gen/estimator_table.c tests/gen/families.c tests/gen/families.h tests/gen/gen.c \
	tests/gen/gen.h
tests_gen_estimator_table_LDADD = $(POPPAD_LIBS)
fairness_sources = tests/gen/fairness.c tests/gen/fairness.h tests/gen/families.c tests/gen/families.h \
	tests/gen/gen.c tests/gen/gen.h
tests_gen_fairness_table_SOURCES = tests/gen/fairness_table.c $(fairness_sources)
tests_gen_fairness_table_LDADD = $(POPPAD_LIBS)
EXTRA_DIST += docs/results/fairness.md
