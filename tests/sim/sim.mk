# SPDX-License-Identifier: GPL-2.0-or-later
# The simulator of co-location policies. It links what is shipped: the choice of partners, turns and time limits.
noinst_LTLIBRARIES += libsim.la
libsim_la_SOURCES = tests/sim/sim.h \
	tests/sim/backfill.c tests/sim/backfill.h \
	tests/sim/engine.c tests/sim/engine.h \
	tests/sim/events.c tests/sim/events.h \
	tests/sim/learn.c tests/sim/learn.h \
	tests/sim/limits.c tests/sim/limits.h \
	tests/sim/machine.c tests/sim/machine.h \
	tests/sim/measures.c tests/sim/measures.h \
	tests/sim/pace.c tests/sim/pace.h \
	tests/sim/progress.c tests/sim/progress.h \
	tests/sim/policy/assign.c tests/sim/policy/assign.h \
	tests/sim/policy/policy.c tests/sim/policy/policy.h \
	tests/sim/policy/policy_ours.c \
	tests/sim/policy/policy_random.c \
	tests/sim/policy/policy_stable.c \
	tests/sim/policy/policy_truth.c \
	tests/sim/policy/window.c tests/sim/policy/window.h \
	tests/sim/world/controls.c tests/sim/world/controls.h \
	tests/sim/world/draw.c tests/sim/world/draw.h \
	tests/sim/world/input.c tests/sim/world/input.h \
	tests/sim/world/matrix.c tests/sim/world/matrix.h \
	tests/sim/world/trace.c tests/sim/world/trace.h \
	tests/sim/world/workload.c tests/sim/world/workload.h
libsim_la_LIBADD = libcolumns.la
SIM_LIBS = libsim.la libsettle.la libpartners.la libhistory.la libreuse.la libsubmit.la libschedule.la libshutter.la libestimate.la librecord.la \
	libpoppacommon.la $(JANSSON_LIBS) $(ZLIB_LIBS) -lm

noinst_PROGRAMS += tests/sim/simulate
tests_sim_simulate_SOURCES = tests/sim/simulate.c \
	tests/sim/options.c tests/sim/options.h \
	tests/sim/output.c tests/sim/output.h
tests_sim_simulate_LDADD = $(SIM_LIBS)
noinst_PROGRAMS += tests/sim/balance/balance
tests_sim_balance_balance_SOURCES = tests/sim/balance/balance.c \
	tests/sim/balance/chip.c tests/sim/balance/chip.h \
	tests/sim/balance/overlap.c tests/sim/balance/overlap.h \
	tests/sim/balance/program.c tests/sim/balance/program.h
tests_sim_balance_balance_LDADD = libsim.la libpartners.la libhistory.la libreuse.la libpoppacommon.la -lm
# It runs the queries of a workload in the order of poppa-farm.
noinst_LTLIBRARIES += libcaches.la
libcaches_la_SOURCES = tests/sim/farm/caches.c tests/sim/farm/caches.h
noinst_PROGRAMS += tests/sim/farm/farm
tests_sim_farm_farm_SOURCES = tests/sim/farm/farm.c
tests_sim_farm_farm_CPPFLAGS = $(AM_CPPFLAGS) -I$(top_srcdir)/contrib
tests_sim_farm_farm_LDADD = libcaches.la librecommend.la libfarm.la libpoppacommon.la -lm
# Mixes of applications that a mapper puts on simulated sockets and cores.
noinst_PROGRAMS += tests/sim/mapper/mapper
tests_sim_mapper_mapper_SOURCES = tests/sim/mapper/mapper.c \
	tests/sim/mapper/chips.c tests/sim/mapper/chips.h
tests_sim_mapper_mapper_LDADD = libmapper.la libpoppacommon.la -lm
# tests/sim/validate preloads it into slurmctld.
noinst_LTLIBRARIES += tests/sim/hurry.la
tests_sim_hurry_la_SOURCES = tests/sim/hurry.c
tests_sim_hurry_la_LDFLAGS = -module -avoid-version -shared -rpath /nowhere
EXTRA_DIST += tests/sim/balance-set tests/sim/evidence tests/sim/fairness tests/sim/mapper-mixes tests/sim/run tests/sim/slips tests/sim/validate tests/sim/validate_play.py docs/simulator.md
