# SPDX-License-Identifier: GPL-2.0-or-later
# Bills: what people see of prices. No plugin or daemon needs it.
noinst_LTLIBRARIES += libbill.la
libbill_la_SOURCES = \
	src/accounting/bill/bill.c src/accounting/bill/bill.h \
	src/accounting/bill/compact.c src/accounting/bill/compact.h \
	src/accounting/bill/explain.c src/accounting/bill/explain.h \
	src/accounting/bill/gains.c src/accounting/bill/gains.h \
	src/accounting/bill/past_runs.c src/accounting/bill/past_runs.h \
	src/accounting/bill/spread.c src/accounting/bill/spread.h \
	src/accounting/bill/student.c src/accounting/bill/student.h \
	src/accounting/bill/summary.c src/accounting/bill/summary.h \
	src/accounting/bill/what_if.c src/accounting/bill/what_if.h
libbill_la_LIBADD = -lm
