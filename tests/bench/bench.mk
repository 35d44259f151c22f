# SPDX-License-Identifier: GPL-2.0-or-later
# The experiments of tests/bench/run: programs of their own and what is shipped.
noinst_PROGRAMS += tests/bench/loop
tests_bench_loop_SOURCES = tests/bench/loop.c tests/bench/straight.c tests/bench/straight.h
tests_bench_loop_LDADD = libpoppacore.la libheartbeat.la
tests_bench_loop_LDFLAGS = $(AM_LDFLAGS) \
	-Wl,--wrap=counter_read,--wrap=counter_sys_perf_open,--wrap=clock_nanosleep,--wrap=sched_setaffinity,--wrap=write \
	-Wl,--wrap=pause_stop,--wrap=pause_settled,--wrap=pause_resume
