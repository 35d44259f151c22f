# SPDX-License-Identifier: GPL-2.0-or-later
# The programs that the integration tests run.
noinst_PROGRAMS += tests/integration/beat
tests_integration_beat_SOURCES = tests/integration/beat.c
tests_integration_beat_LDADD = libheartbeat.la

# Needs root and a freezer; tests/integration/42-guard.t runs it. The module sets poppad's wall clock.
noinst_PROGRAMS += tests/integration/poppad_kill
tests_integration_poppad_kill_SOURCES = tests/integration/poppad_kill.c \
	tests/integration/witness.c tests/integration/witness.h
tests_integration_poppad_kill_LDADD = libheld.la libheartbeat.la libpoppacommon.la -lpthread
noinst_LTLIBRARIES += tests/integration/wallclock.la
tests_integration_wallclock_la_SOURCES = tests/integration/wallclock.c
tests_integration_wallclock_la_LDFLAGS = -module -avoid-version -shared -rpath /nowhere
