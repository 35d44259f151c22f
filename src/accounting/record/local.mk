# SPDX-License-Identifier: GPL-2.0-or-later
# Records and settlements: what they are, how they travel to the ledger, and the formulas of prices.
noinst_LTLIBRARIES += librecord.la
librecord_la_SOURCES = \
	src/accounting/record/client.c src/accounting/record/client.h \
	src/accounting/record/fields.c src/accounting/record/fields.h \
	src/accounting/record/origin.c src/accounting/record/origin.h \
	src/accounting/record/price.c src/accounting/record/price.h \
	src/accounting/record/record.c src/accounting/record/record.h \
	src/accounting/record/settlement.c src/accounting/record/settlement.h \
	src/accounting/record/slow_prior.c src/accounting/record/slow_prior.h \
	src/accounting/record/wire.c src/accounting/record/wire.h
librecord_la_LIBADD = $(MUNGE_LIBS) $(JANSSON_LIBS) -lm
