# SPDX-License-Identifier: GPL-2.0-or-later
# Settling: what a run is charged, what is given back in Slurm, and what must outlive slurmctld; for prep/poppa, and for poppa doctor.
noinst_LTLIBRARIES += libsettle.la
libsettle_la_SOURCES = \
	src/accounting/settle/decay.c src/accounting/settle/decay.h \
	src/accounting/settle/pass_order.c src/accounting/settle/pass_order.h \
	src/accounting/settle/refunds.c src/accounting/settle/refunds.h \
	src/accounting/settle/settle.c src/accounting/settle/settle.h \
	src/accounting/settle/time_limit.c src/accounting/settle/time_limit.h \
	src/accounting/settle/waiting_runs.c src/accounting/settle/waiting_runs.h
libsettle_la_LIBADD = $(JANSSON_LIBS) -lm
