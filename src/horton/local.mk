# SPDX-License-Identifier: GPL-2.0-or-later
# What src/horton builds: the library of Horton tables.
lib_LTLIBRARIES += libpoppa-horton.la
noinst_LTLIBRARIES += libhorton.la
include_HEADERS += src/horton/poppa_horton.h
dist_man_MANS += src/horton/poppa_horton.3
pkgconfig_DATA += src/horton/poppa-horton.pc

HORTON_SOURCES = \
	src/horton/bucket.h src/horton/memory.h src/horton/pipeline.h src/horton/poppa_horton.h \
	src/horton/change.c \
	src/horton/lookup.c \
	src/horton/table.c
# For the programs and tests of this tree, which link it statically.
libhorton_la_SOURCES = $(HORTON_SOURCES)
libpoppa_horton_la_SOURCES = $(HORTON_SOURCES)
libpoppa_horton_la_LDFLAGS = $(AM_LDFLAGS) -version-info 0:0:0 -no-undefined -export-symbols-regex '^horton_'
EXTRA_DIST += src/horton/COPYING.BSD-2-Clause
