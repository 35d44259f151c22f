# SPDX-License-Identifier: GPL-2.0-or-later
# Unit tests of src/accounting.
if HAVE_CMOCKA
check_PROGRAMS += tests/unit/test_bill tests/unit/test_decay tests/unit/test_summary tests/unit/test_ledger tests/unit/test_ledger_file tests/unit/test_price tests/unit/test_record \
	tests/unit/test_refunds tests/unit/test_server tests/unit/test_service tests/unit/test_settle tests/unit/test_waiting tests/unit/test_wire
endif
accounting_test_ldadd = libledger.la libpoppacommon.la $(CMOCKA_LIBS) -lm
tests_unit_test_bill_SOURCES = tests/unit/test_bill.c
tests_unit_test_bill_CFLAGS = $(AM_CFLAGS) $(CMOCKA_CFLAGS)
tests_unit_test_bill_LDADD = libbill.la $(accounting_test_ldadd)
tests_unit_test_summary_SOURCES = tests/unit/test_summary.c
tests_unit_test_summary_CFLAGS = $(AM_CFLAGS) $(CMOCKA_CFLAGS)
tests_unit_test_summary_LDADD = libbill.la $(accounting_test_ldadd)
tests_unit_test_decay_SOURCES = tests/unit/test_decay.c
tests_unit_test_decay_CFLAGS = $(AM_CFLAGS) $(CMOCKA_CFLAGS)
tests_unit_test_decay_LDADD = $(accounting_test_ldadd)
tests_unit_test_ledger_SOURCES = tests/unit/test_ledger.c tests/unit/ledger_fixture.c tests/unit/ledger_fixture.h
tests_unit_test_ledger_CFLAGS = $(AM_CFLAGS) $(CMOCKA_CFLAGS)
tests_unit_test_ledger_LDADD = $(accounting_test_ldadd)
tests_unit_test_ledger_file_SOURCES = tests/unit/test_ledger_file.c tests/unit/ledger_fixture.c tests/unit/ledger_fixture.h
tests_unit_test_ledger_file_CFLAGS = $(AM_CFLAGS) $(CMOCKA_CFLAGS)
tests_unit_test_ledger_file_LDADD = $(accounting_test_ldadd)
tests_unit_test_price_SOURCES = tests/unit/test_price.c
tests_unit_test_price_CFLAGS = $(AM_CFLAGS) $(CMOCKA_CFLAGS)
tests_unit_test_price_LDADD = $(accounting_test_ldadd)
tests_unit_test_record_SOURCES = tests/unit/test_record.c
tests_unit_test_record_CFLAGS = $(AM_CFLAGS) $(CMOCKA_CFLAGS)
tests_unit_test_record_LDADD = $(accounting_test_ldadd)
tests_unit_test_refunds_SOURCES = tests/unit/test_refunds.c tests/unit/ledger_fixture.c tests/unit/ledger_fixture.h
tests_unit_test_refunds_CFLAGS = $(AM_CFLAGS) $(CMOCKA_CFLAGS)
tests_unit_test_refunds_LDADD = $(accounting_test_ldadd)
tests_unit_test_server_SOURCES = tests/unit/test_server.c src/accounting/server.c
tests_unit_test_server_CFLAGS = $(AM_CFLAGS) $(CMOCKA_CFLAGS)
tests_unit_test_server_LDADD = $(accounting_test_ldadd) $(LIBEVENT_LIBS)
tests_unit_test_service_SOURCES = tests/unit/test_service.c tests/unit/ledger_fixture.c tests/unit/ledger_fixture.h
tests_unit_test_service_CFLAGS = $(AM_CFLAGS) $(CMOCKA_CFLAGS)
tests_unit_test_service_LDADD = $(accounting_test_ldadd)
tests_unit_test_settle_SOURCES = tests/unit/test_settle.c
tests_unit_test_settle_CFLAGS = $(AM_CFLAGS) $(CMOCKA_CFLAGS)
tests_unit_test_settle_LDADD = $(accounting_test_ldadd)
tests_unit_test_waiting_SOURCES = tests/unit/test_waiting.c
tests_unit_test_waiting_CFLAGS = $(AM_CFLAGS) $(CMOCKA_CFLAGS)
tests_unit_test_waiting_LDADD = $(accounting_test_ldadd)
tests_unit_test_wire_SOURCES = tests/unit/test_wire.c
tests_unit_test_wire_CFLAGS = $(AM_CFLAGS) $(CMOCKA_CFLAGS)
tests_unit_test_wire_LDADD = $(accounting_test_ldadd)
