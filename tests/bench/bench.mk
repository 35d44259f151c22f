# SPDX-License-Identifier: GPL-2.0-or-later
# The experiments of tests/bench/run: programs of their own and what is shipped.
noinst_PROGRAMS += tests/bench/loop
tests_bench_loop_SOURCES = tests/bench/loop.c \
	tests/bench/block_timer.c tests/bench/block_timer.h \
	tests/bench/cpu_stage.c tests/bench/cpu_stage.h \
	tests/bench/straight.c tests/bench/straight.h
tests_bench_loop_LDADD = $(POPPAD_LIBS) libheartbeat.la
tests_bench_loop_LDFLAGS = $(AM_LDFLAGS) \
	-Wl,--wrap=counter_read,--wrap=counter_sys_read,--wrap=counter_sys_perf_open,--wrap=clock_nanosleep,--wrap=sched_setaffinity,--wrap=write \
	-Wl,--wrap=pause_stop,--wrap=pause_stands_still,--wrap=pause_resume,--wrap=counter_task_state
noinst_PROGRAMS += tests/bench/ledger_load
tests_bench_ledger_load_SOURCES = tests/bench/ledger_load.c
tests_bench_ledger_load_LDADD = libsettle.la librecord.la libpoppacommon.la -lpthread
noinst_PROGRAMS += tests/bench/tables/lookups
tests_bench_tables_lookups_SOURCES = tests/bench/tables/lookups.c \
	tests/bench/tables/cuckoo.c tests/bench/tables/cuckoo.h \
	tests/bench/tables/probing.c tests/bench/tables/probing.h
tests_bench_tables_lookups_LDADD = libhorton.la
EXTRA_DIST += tests/integration/43-cost.t \
	tests/bench/ledger \
	tests/bench/bench_ledger.py \
	tests/bench/alone.sh \
	tests/bench/farm \
	tests/bench/bench_farm.py \
	tests/bench/gpu \
	tests/bench/bench_gpu.py \
	tests/bench/horton \
	tests/bench/bench_horton.py \
	tests/bench/run \
	tests/bench/bench.py \
	tests/bench/bench_campaign.py \
	tests/bench/bench_ch2.py \
	tests/bench/bench_cost.py \
	tests/bench/bench_idle.py \
	tests/bench/bench_loop.py \
	tests/bench/bench_model.py \
	tests/bench/bench_pairs.py \
	tests/bench/bench_long.py \
	tests/bench/bench_trial.py \
	tests/bench/bench_turns.py \
	tests/bench/bench_refill.py \
	tests/bench/bench_self.py \
	tests/bench/bench_sweep.py \
	tests/bench/blockcost.py \
	tests/bench/cluster.py \
	tests/bench/made_up.py \
	tests/unit/scenario/test_bench.sh \
	tests/bench/throughput.py \
	tests/bench/report.py
TESTS += tests/unit/scenario/test_bench.sh
# All results that there are.
EXTRA_DIST += docs/results
