# SPDX-License-Identifier: GPL-2.0-or-later
# What src/heartbeat builds: the library with which an application publishes its progress.
lib_LTLIBRARIES += libpoppa-heartbeat.la
noinst_LTLIBRARIES += libheartbeat.la
include_HEADERS += src/heartbeat/poppa_heartbeat.h
dist_man_MANS += src/heartbeat/poppa_heartbeat.3
pkgconfigdir = $(libdir)/pkgconfig
pkgconfig_DATA = src/heartbeat/poppa-heartbeat.pc

# The part that the sample workloads and the tests link statically.
libheartbeat_la_SOURCES = src/heartbeat/heartbeat.c src/heartbeat/poppa_heartbeat.h
libheartbeat_la_LIBADD = -lpthread

# It stays loaded: threads and fork handlers point into it.
libpoppa_heartbeat_la_SOURCES = src/heartbeat/heartbeat.c src/heartbeat/poppa_heartbeat.h
libpoppa_heartbeat_la_LIBADD = -lpthread
libpoppa_heartbeat_la_LDFLAGS = $(AM_LDFLAGS) -version-info 0:0:0 -no-undefined \
	-export-symbols-regex '^poppa_heartbeat_' -Wl,-z,nodelete
EXTRA_DIST += src/heartbeat/COPYING.BSD-2-Clause
