# SPDX-License-Identifier: GPL-2.0-or-later
# The ledger: its file and poppa-ledgerd, which serves it.
noinst_LTLIBRARIES += libledger.la
libledger_la_SOURCES = \
	src/accounting/ledgerd/ledger.c src/accounting/ledgerd/ledger.h \
	src/accounting/ledgerd/ledger_columns.c src/accounting/ledgerd/ledger_columns.h \
	src/accounting/ledgerd/ledger_file.c src/accounting/ledgerd/ledger_file.h \
	src/accounting/ledgerd/ledger_impl.h \
	src/accounting/ledgerd/ledger_records.c \
	src/accounting/ledgerd/ledger_prior.c \
	src/accounting/ledgerd/ledger_schema.c src/accounting/ledgerd/ledger_schema.h \
	src/accounting/ledgerd/ledger_settlements.c \
	src/accounting/ledgerd/ledger_status.c \
	src/accounting/ledgerd/service.c src/accounting/ledgerd/service.h
libledger_la_LIBADD = $(SQLITE_LIBS) $(GCRYPT_LIBS) $(JANSSON_LIBS)

sbin_PROGRAMS += poppa-ledgerd
poppa_ledgerd_SOURCES = \
	src/accounting/ledgerd/peer.c src/accounting/ledgerd/peer.h \
	src/accounting/ledgerd/poppa_ledgerd.c \
	src/accounting/ledgerd/server.c src/accounting/ledgerd/server.h \
	src/accounting/ledgerd/line_order.c src/accounting/ledgerd/line_order.h
poppa_ledgerd_LDADD = libledger.la librecord.la libpoppacommon.la $(LIBEVENT_LIBS)
dist_man_MANS += src/accounting/ledgerd/poppa-ledgerd.8
