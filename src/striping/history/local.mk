# SPDX-License-Identifier: GPL-2.0-or-later
# What jobs have taught: pairs of classes, programs by job names, gains from spreading, costs of a miss, trials.
noinst_LTLIBRARIES += libhistory.la
libhistory_la_SOURCES = \
	src/striping/history/aged_mean.c src/striping/history/aged_mean.h \
	src/striping/history/class_name.c src/striping/history/class_name.h \
	src/striping/history/imported_trial.c src/striping/history/imported_trial.h \
	src/striping/history/job_class.c src/striping/history/job_class.h \
	src/striping/history/job_names.c src/striping/history/job_names.h \
	src/striping/history/line_fields.c src/striping/history/line_fields.h \
	src/striping/history/miss_cost.c src/striping/history/miss_cost.h \
	src/striping/history/pair_evidence.c src/striping/history/pair_evidence.h \
	src/striping/history/pair_told.c src/striping/history/pair_told.h \
	src/striping/history/pairs.c src/striping/history/pairs.h \
	src/striping/history/pairs_trials.c src/striping/history/pairs_trials.h \
	src/striping/history/plain_queue.c src/striping/history/plain_queue.h \
	src/striping/history/spread_gain.c src/striping/history/spread_gain.h \
	src/striping/history/user_rows.c src/striping/history/user_rows.h
libhistory_la_LIBADD = -lm
