# SPDX-License-Identifier: GPL-2.0-or-later
# The trial: runs programs together and one after the other, and tells which is better.
noinst_LTLIBRARIES += libtrial.la
libtrial_la_SOURCES = \
	src/trial/busy.c src/trial/busy.h \
	src/trial/matching.c src/trial/matching.h \
	src/trial/outcome.c src/trial/outcome.h \
	src/trial/rounds.c src/trial/rounds.h \
	src/trial/runner.c src/trial/runner.h \
	src/trial/runner_tasks.c src/trial/runner_tasks.h \
	src/trial/self.c src/trial/self.h src/trial/stretch.h
libtrial_la_LIBADD = libkeeper.la -lm

# What starts programs, and ends all that they have started, however this ends: for poppa gpu, too.
noinst_LTLIBRARIES += libkeeper.la
libkeeper_la_SOURCES = \
	src/trial/keeper.c src/trial/keeper.h \
	src/trial/launch.c src/trial/launch.h \
	src/trial/tagged.c src/trial/tagged.h
