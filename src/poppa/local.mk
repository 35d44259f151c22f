# SPDX-License-Identifier: GPL-2.0-or-later
# poppad, poppa-guard and their parts, a room each; each uses only those before it.
include src/poppa/hold/local.mk
include src/poppa/estimate/local.mk
include src/poppa/counter/local.mk
include src/poppa/map/local.mk
include src/poppa/measure/local.mk
include src/poppa/report/local.mk
include src/poppa/node/local.mk
include src/poppa/daemon/local.mk

# All that poppad is made of but its main program, in the order in which it links, for tests and tools.
POPPAD_LIBS = libnode.la libreport.la libmap.la libshutter.la libschedule.la libcounter.la libestimate.la libhold.la libheld.la \
	libregistration.la librecord.la libmapper.la libcolumns.la libpoppacommon.la $(JANSSON_LIBS) $(LIBEVENT_LIBS) -lm
