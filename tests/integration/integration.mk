# SPDX-License-Identifier: GPL-2.0-or-later
# The programs and modules that the integration tests use.
noinst_PROGRAMS += tests/integration/beat
tests_integration_beat_SOURCES = tests/integration/beat.c
tests_integration_beat_LDADD = libheartbeat.la

noinst_PROGRAMS += tests/integration/crowd
tests_integration_crowd_SOURCES = tests/integration/crowd.c

# Needs root and a freezer; tests/integration/42-guard.t runs it. The module sets poppad's wall clock.
noinst_PROGRAMS += tests/integration/poppad_kill
tests_integration_poppad_kill_SOURCES = tests/integration/poppad_kill.c \
	tests/integration/witness.c tests/integration/witness.h
tests_integration_poppad_kill_LDADD = libheld.la libheartbeat.la libpoppacommon.la -lpthread
noinst_LTLIBRARIES += tests/integration/wallclock.la
tests_integration_wallclock_la_SOURCES = tests/integration/wallclock.c
tests_integration_wallclock_la_LDFLAGS = -module -avoid-version -shared -rpath /nowhere

# Two jobs that slow each other down, for tests/integration/turns.sh.
noinst_PROGRAMS += tests/integration/quarrel
tests_integration_quarrel_SOURCES = tests/integration/quarrel.c
tests_integration_quarrel_LDADD = libheartbeat.la

# Two ranks that talk all the time, for tests/integration/44-turns-mpi.t.
if HAVE_MPICC
noinst_PROGRAMS += tests/integration/pingpong
endif
tests_integration_pingpong_SOURCES = tests/integration/pingpong.c
tests_integration_pingpong_CFLAGS = $(AM_CFLAGS) $(MPI_CFLAGS)
tests_integration_pingpong_LDADD = $(MPI_LIBS)

# Needs root and a freezer; tests/integration/42-guard.t runs it.
noinst_PROGRAMS += tests/integration/turns_kill
tests_integration_turns_kill_SOURCES = tests/integration/turns_kill.c
tests_integration_turns_kill_LDADD = $(POPPAD_LIBS) -ldl -lpthread

# A file system that is slow or stands still, for tests/integration/slowfs.sh.
if HAVE_FUSE
noinst_PROGRAMS += tests/integration/slowfs
endif
tests_integration_slowfs_SOURCES = tests/integration/slowfs.c
tests_integration_slowfs_CFLAGS = $(AM_CFLAGS) $(FUSE_CFLAGS)
tests_integration_slowfs_LDADD = $(FUSE_LIBS)

# A co-runner that cheats, and its victim; tests/integration/cheats.sh plays them.
noinst_PROGRAMS += tests/integration/cheat tests/integration/victim
tests_integration_cheat_SOURCES = tests/integration/cheat.c
tests_integration_cheat_LDADD = libheartbeat.la -lpthread
tests_integration_victim_SOURCES = tests/integration/victim.c
tests_integration_victim_LDADD = libheartbeat.la

# A user's own SPANK plugin, which 20-submit.t and 56-security.t let sbatch load.
if HAVE_SLURM
check_LTLIBRARIES += spank_forge.la
endif
spank_forge_la_SOURCES = tests/integration/spank_forge.c
spank_forge_la_CPPFLAGS = $(MODULE_CPPFLAGS)
spank_forge_la_LDFLAGS = $(PLUGIN_LDFLAGS) -rpath /nowhere
spank_forge_la_LIBADD = $(LAZY_BINDING)
