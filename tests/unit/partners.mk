# SPDX-License-Identifier: GPL-2.0-or-later
# Unit tests of lane occupancy and partner choice.
if HAVE_CMOCKA
check_PROGRAMS += tests/unit/test_choice tests/unit/test_occupancy tests/unit/test_pairs tests/unit/test_partner \
	tests/unit/test_vacancy
endif
tests_unit_test_occupancy_SOURCES = tests/unit/test_occupancy.c
tests_unit_test_occupancy_CFLAGS = $(AM_CFLAGS) $(CMOCKA_CFLAGS)
tests_unit_test_occupancy_LDADD = libstriping.la $(CMOCKA_LIBS)
tests_unit_test_pairs_SOURCES = tests/unit/test_pairs.c
tests_unit_test_pairs_CFLAGS = $(AM_CFLAGS) $(CMOCKA_CFLAGS)
tests_unit_test_pairs_LDADD = libstriping.la $(CMOCKA_LIBS) -lm
tests_unit_test_partner_SOURCES = tests/unit/test_partner.c
tests_unit_test_partner_CFLAGS = $(AM_CFLAGS) $(CMOCKA_CFLAGS)
tests_unit_test_partner_LDADD = libstriping.la $(CMOCKA_LIBS)
tests_unit_test_choice_SOURCES = tests/unit/test_choice.c
tests_unit_test_choice_CFLAGS = $(AM_CFLAGS) $(CMOCKA_CFLAGS)
tests_unit_test_choice_LDADD = libstriping.la $(CMOCKA_LIBS) -lm
tests_unit_test_vacancy_SOURCES = tests/unit/test_vacancy.c
tests_unit_test_vacancy_CFLAGS = $(AM_CFLAGS) $(CMOCKA_CFLAGS)
tests_unit_test_vacancy_LDADD = libstriping.la $(CMOCKA_LIBS)
