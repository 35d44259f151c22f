# SPDX-License-Identifier: GPL-2.0-or-later
# What src/heartbeat builds: the library with which an application publishes its progress, its Fortran
# module, and the library that does it for MPI programs.
lib_LTLIBRARIES += libpoppa-heartbeat.la
noinst_LTLIBRARIES += libheartbeat.la
include_HEADERS += src/heartbeat/poppa_heartbeat.h
dist_man_MANS += src/heartbeat/poppa_heartbeat.3
# Its example names the library, which is where this build puts it: see etc/local.mk.
man_MANS = src/heartbeat/installed/poppa-heartbeat-mpi.7
EXTRA_DIST += src/heartbeat/poppa-heartbeat-mpi.7
CLEANFILES += src/heartbeat/installed/poppa-heartbeat-mpi.7

src/heartbeat/installed/%: $(top_srcdir)/src/heartbeat/% Makefile
	$(AM_V_GEN)$(MKDIR_P) src/heartbeat/installed && $(SET_PREFIX) $< >$@.new && mv $@.new $@
# Compiled modules belong to one release of one compiler, so the source is what is installed.
include_HEADERS += src/heartbeat/poppa_heartbeat.f90
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

# One file that needs no other of ours, nor an MPI library, so that anything can preload it.
lib_LTLIBRARIES += libpoppa-heartbeat-mpi.la
libpoppa_heartbeat_mpi_la_SOURCES = src/heartbeat/heartbeat_mpi.c src/heartbeat/heartbeat.c \
	src/heartbeat/poppa_heartbeat.h
libpoppa_heartbeat_mpi_la_CFLAGS = $(AM_CFLAGS) -ftls-model=initial-exec
libpoppa_heartbeat_mpi_la_LIBADD = -lpthread -ldl
libpoppa_heartbeat_mpi_la_LDFLAGS = $(AM_LDFLAGS) -avoid-version -no-undefined \
	-export-symbols-regex '^P?MPI_' -Wl,-z,nodelete
