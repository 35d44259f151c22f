# SPDX-License-Identifier: GPL-2.0-or-later
# The fairness of charges: its test, and what writes docs/results/fairness.md.
fairness_sources = tests/gen/fairness.c tests/gen/fairness.h tests/gen/families.c tests/gen/families.h \
	tests/gen/gen.c tests/gen/gen.h
fairness_ldadd = libpoppacore.la libledger.la libpoppacommon.la $(JANSSON_LIBS) -lm
EXTRA_DIST += docs/results/fairness.md
noinst_PROGRAMS += tests/gen/fairness_table
tests_gen_fairness_table_SOURCES = tests/gen/fairness_table.c $(fairness_sources)
tests_gen_fairness_table_CPPFLAGS = $(AM_CPPFLAGS) -I$(top_srcdir)/tests
tests_gen_fairness_table_LDADD = $(fairness_ldadd)
if HAVE_CMOCKA
check_PROGRAMS += tests/unit/test_fairness
endif
tests_unit_test_fairness_SOURCES = tests/unit/test_fairness.c $(fairness_sources)
tests_unit_test_fairness_CPPFLAGS = $(AM_CPPFLAGS) -I$(top_srcdir)/tests
tests_unit_test_fairness_CFLAGS = $(AM_CFLAGS) $(CMOCKA_CFLAGS)
tests_unit_test_fairness_LDADD = $(fairness_ldadd) $(CMOCKA_LIBS)
