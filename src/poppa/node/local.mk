# SPDX-License-Identifier: GPL-2.0-or-later
# The node: which co-located jobs are here, what they run, and what has been measured of each.
noinst_LTLIBRARIES += libnode.la
libnode_la_SOURCES = \
	src/poppa/node/jobs.c src/poppa/node/jobs.h \
	src/poppa/node/jobs_account.c \
	src/poppa/node/jobs_block.c \
	src/poppa/node/jobs_impl.h \
	src/poppa/node/jobs_map.c \
	src/poppa/node/jobs_plan.c \
	src/poppa/node/jobs_scan.c \
	src/poppa/node/jobs_status.c \
	src/poppa/node/jobs_sync.c \
	src/poppa/node/jobs_table.c \
	src/poppa/node/jobs_turns.c \
	src/poppa/node/leftovers.c src/poppa/node/leftovers.h \
	src/poppa/node/programs.c src/poppa/node/programs.h \
	src/poppa/node/run_dir_watch.c src/poppa/node/run_dir_watch.h \
	src/poppa/node/tally.c src/poppa/node/tally.h
libnode_la_LIBADD = $(JANSSON_LIBS) -lm
