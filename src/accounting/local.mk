# SPDX-License-Identifier: GPL-2.0-or-later
# What src/accounting builds: records, prices, the ledger and its daemon.
noinst_LTLIBRARIES += libledger.la
libledger_la_SOURCES = \
	src/accounting/client.c src/accounting/client.h \
	src/accounting/decay.c src/accounting/decay.h \
	src/accounting/fields.c src/accounting/fields.h \
	src/accounting/ledger.c src/accounting/ledger.h \
	src/accounting/ledger_file.c src/accounting/ledger_file.h \
	src/accounting/ledger_impl.h src/accounting/ledger_records.c \
	src/accounting/ledger_schema.c src/accounting/ledger_schema.h \
	src/accounting/ledger_settlements.c src/accounting/ledger_status.c \
	src/accounting/origin.c src/accounting/origin.h \
	src/accounting/price.c src/accounting/price.h \
	src/accounting/record.c src/accounting/record.h \
	src/accounting/refunds.c src/accounting/refunds.h \
	src/accounting/service.c src/accounting/service.h \
	src/accounting/settle.c src/accounting/settle.h \
	src/accounting/settlement.c src/accounting/settlement.h \
	src/accounting/waiting.c src/accounting/waiting.h \
	src/accounting/wire.c src/accounting/wire.h
# libpoppacommon.la is left to whoever links this: a plugin that links several of these libraries
# must have it once.
libledger_la_LIBADD = $(MUNGE_LIBS) $(SQLITE_LIBS) $(GCRYPT_LIBS) $(JANSSON_LIBS) -lm

# What people see of prices; no plugin or daemon needs it.
noinst_LTLIBRARIES += libbill.la
libbill_la_SOURCES = \
	src/accounting/bill.c src/accounting/bill.h \
	src/accounting/explain.c src/accounting/explain.h \
	src/accounting/summary.c src/accounting/summary.h

sbin_PROGRAMS += poppa-ledgerd
poppa_ledgerd_SOURCES = \
	src/accounting/poppa_ledgerd.c \
	src/accounting/server.c src/accounting/server.h
poppa_ledgerd_LDADD = libledger.la libpoppacommon.la $(LIBEVENT_LIBS)
dist_man_MANS += src/accounting/poppa-ledgerd.8
