# SPDX-License-Identifier: GPL-2.0-or-later
# The poppa command, one file a subcommand; each room adds its files to it.
bin_PROGRAMS += poppa
poppa_SOURCES = \
	src/cli/cmd_estimate.c \
	src/cli/cmd_lanes.c \
	src/cli/cmd_overhead.c \
	src/cli/cmd_trial.c \
	src/cli/poppa.c
poppa_LDADD = \
	libtopology.la \
	libpartners.la \
	libhistory.la \
	libreuse.la \
	libsubmit.la \
	liblanes.la \
	libbill.la \
	libsettle.la \
	libledger.la \
	libschedule.la \
	libestimate.la \
	libgpu.la \
	libkeeper.la \
	libmapper.la \
	libcolumns.la \
	libheld.la \
	librecord.la \
	libpoppacommon.la \
	$(JANSSON_LIBS) \
	$(NCURSES_LIBS) \
	-ldl \
	-lm
poppa_CFLAGS = $(AM_CFLAGS) $(NCURSES_CFLAGS)
dist_man_MANS += src/cli/poppa.1

include src/cli/ask/local.mk
include src/cli/page/local.mk
include src/cli/live/local.mk
include src/cli/doctor/local.mk
include src/cli/bills/local.mk
include src/cli/partners/local.mk
include src/cli/profile/local.mk
include src/cli/trial/local.mk
include src/cli/advise/local.mk
include src/cli/gpu/local.mk
include src/cli/map/local.mk
include src/cli/mail/local.mk
