# SPDX-License-Identifier: GPL-2.0-or-later
# What decides whether a program is given the heartbeat of MPI programs. It links nothing: slurmstepd loads it.
noinst_LTLIBRARIES += libpreload.la
libpreload_la_SOURCES = \
	src/preload/offer.c src/preload/offer.h \
	src/preload/program.c src/preload/program.h
