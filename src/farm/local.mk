# SPDX-License-Identifier: GPL-2.0-or-later
# Many small tasks on the processors of one job: poppa-farm.
noinst_LTLIBRARIES += libfarm.la
libfarm_la_SOURCES = \
	src/farm/farm_job.h \
	src/farm/farm_input.c src/farm/farm_input.h \
	src/farm/farm_journal.c src/farm/farm_journal.h \
	src/farm/farm_keys.c src/farm/farm_keys.h \
	src/farm/farm_limit.c src/farm/farm_limit.h \
	src/farm/farm_run.c src/farm/farm_run.h \
	src/farm/farm_schedule.c src/farm/farm_schedule.h \
	src/farm/farm_worker.c src/farm/farm_worker.h
libfarm_la_LIBADD = libhorton.la libheartbeat.la libpoppacommon.la

bin_PROGRAMS += poppa-farm
poppa_farm_SOURCES = src/farm/farm_main.c
poppa_farm_LDADD = libfarm.la $(JANSSON_LIBS) -lm
dist_man_MANS += src/farm/poppa-farm.1
