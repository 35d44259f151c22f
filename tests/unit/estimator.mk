# SPDX-License-Identifier: GPL-2.0-or-later
# The estimators', the shutter log's and the overhead model's tests, and the log generator.
noinst_PROGRAMS += tests/gen/shutterlog_gen
tests_gen_shutterlog_gen_SOURCES = tests/gen/shutterlog_gen.c tests/gen/gen.c tests/gen/gen.h
tests_gen_shutterlog_gen_CPPFLAGS = $(AM_CPPFLAGS) -I$(top_srcdir)/tests
tests_gen_shutterlog_gen_LDADD = libpoppacore.la libpoppacommon.la -lm

# Writes docs/results/estimator.md.
noinst_PROGRAMS += tests/gen/estimator_table
tests_gen_estimator_table_SOURCES = tests/gen/estimator_table.c tests/gen/families.c tests/gen/families.h tests/gen/gen.c \
	tests/gen/gen.h
tests_gen_estimator_table_CPPFLAGS = $(AM_CPPFLAGS) -I$(top_srcdir)/tests
tests_gen_estimator_table_LDADD = libpoppacore.la libpoppacommon.la $(JANSSON_LIBS) -lm

if HAVE_CMOCKA
check_PROGRAMS += tests/unit/test_attribution tests/unit/test_estimator tests/unit/test_overhead tests/unit/test_spin tests/unit/test_shutterlog
endif
tests_unit_test_attribution_SOURCES = tests/unit/test_attribution.c
tests_unit_test_attribution_CFLAGS = $(AM_CFLAGS) $(CMOCKA_CFLAGS)
tests_unit_test_attribution_LDADD = libpoppacore.la $(JANSSON_LIBS) $(CMOCKA_LIBS) -lm
tests_unit_test_estimator_SOURCES = tests/unit/test_estimator.c tests/gen/families.c tests/gen/families.h \
	tests/gen/gen.c tests/gen/gen.h
tests_unit_test_estimator_CPPFLAGS = $(AM_CPPFLAGS) -I$(top_srcdir)/tests
tests_unit_test_estimator_CFLAGS = $(AM_CFLAGS) $(CMOCKA_CFLAGS)
tests_unit_test_estimator_LDADD = libpoppacore.la $(JANSSON_LIBS) $(CMOCKA_LIBS) -lm
tests_unit_test_spin_SOURCES = tests/unit/test_spin.c
tests_unit_test_spin_CFLAGS = $(AM_CFLAGS) $(CMOCKA_CFLAGS)
tests_unit_test_spin_LDADD = libpoppacore.la $(CMOCKA_LIBS) -lm
tests_unit_test_overhead_SOURCES = tests/unit/test_overhead.c
tests_unit_test_overhead_CFLAGS = $(AM_CFLAGS) $(CMOCKA_CFLAGS)
tests_unit_test_overhead_LDADD = libpoppacore.la $(CMOCKA_LIBS) -lm
tests_unit_test_shutterlog_SOURCES = tests/unit/test_shutterlog.c
tests_unit_test_shutterlog_CFLAGS = $(AM_CFLAGS) $(CMOCKA_CFLAGS)
tests_unit_test_shutterlog_LDADD = libpoppacore.la $(CMOCKA_LIBS) -lm
