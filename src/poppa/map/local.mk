# SPDX-License-Identifier: GPL-2.0-or-later
# map:auto: where the threads of a job that asks for it run.
noinst_LTLIBRARIES += libmap.la
libmap_la_SOURCES = \
	src/poppa/map/affinity.c src/poppa/map/affinity.h \
	src/poppa/map/map_job.c src/poppa/map/map_job.h \
	src/poppa/map/map_source.c src/poppa/map/map_source.h \
	src/poppa/map/thread_counter.c src/poppa/map/thread_counter.h
