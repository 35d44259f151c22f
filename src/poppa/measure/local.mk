# SPDX-License-Identifier: GPL-2.0-or-later
# Measuring: when shutters open, and what one does: stops all but one job, reads the counters, resumes.
noinst_LTLIBRARIES += libshutter.la
libshutter_la_SOURCES = \
	src/poppa/measure/shutter.c src/poppa/measure/shutter.h \
	src/poppa/measure/shutter_block.c src/poppa/measure/shutter_block.h \
	src/poppa/measure/shutter_plan.c src/poppa/measure/shutter_plan.h \
	src/poppa/measure/shutter_slice.c src/poppa/measure/shutter_slice.h
libshutter_la_LIBADD = -lpthread

# What works out when shutters open, how they hold and what they cost; it reads no counter.
noinst_LTLIBRARIES += libschedule.la
libschedule_la_SOURCES = \
	src/poppa/measure/hold_way.c src/poppa/measure/hold_way.h \
	src/poppa/measure/long_credit.c src/poppa/measure/long_credit.h \
	src/poppa/measure/overhead_limit.c src/poppa/measure/overhead_limit.h \
	src/poppa/measure/overhead_model.c src/poppa/measure/overhead_model.h \
	src/poppa/measure/pace.c src/poppa/measure/pace.h \
	src/poppa/measure/schedule.c src/poppa/measure/schedule.h \
	src/poppa/measure/turns.c src/poppa/measure/turns.h
libschedule_la_LIBADD = -lm
