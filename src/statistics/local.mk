# SPDX-License-Identifier: GPL-2.0-or-later
# Statistics that estimates, trials and bills share. They are in the library that every part links.
libpoppacommon_la_SOURCES += \
	src/statistics/statistics.c src/statistics/statistics.h
