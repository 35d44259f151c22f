# SPDX-License-Identifier: GPL-2.0-or-later
# Reporting: what poppad keeps on disk, sends to the ledger, and answers on its socket.
noinst_LTLIBRARIES += libreport.la
libreport_la_SOURCES = \
	src/poppa/report/node_type.c src/poppa/report/node_type.h \
	src/poppa/report/sender.c src/poppa/report/sender.h \
	src/poppa/report/spool.c src/poppa/report/spool.h \
	src/poppa/report/status.c src/poppa/report/status.h
libreport_la_LIBADD = $(JANSSON_LIBS) $(LIBEVENT_LIBS) -lpthread
