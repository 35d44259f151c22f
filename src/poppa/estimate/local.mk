# SPDX-License-Identifier: GPL-2.0-or-later
# Estimating: from the blocks of a shutter, or of a shutter log, to a job's degradation.
noinst_LTLIBRARIES += libestimate.la
libestimate_la_SOURCES = \
	src/poppa/estimate/attribution.c src/poppa/estimate/attribution.h \
	src/poppa/estimate/blockfit.c src/poppa/estimate/blockfit.h \
	src/poppa/estimate/blockrate.c src/poppa/estimate/blockrate.h \
	src/poppa/estimate/blocksum.c src/poppa/estimate/blocksum.h \
	src/poppa/estimate/clipmean.c src/poppa/estimate/clipmean.h \
	src/poppa/estimate/estimator.c src/poppa/estimate/estimator.h \
	src/poppa/estimate/estimator_impl.h \
	src/poppa/estimate/estimator_robust.c \
	src/poppa/estimate/estimator_series.c src/poppa/estimate/estimator_series.h \
	src/poppa/estimate/estimator_state.c src/poppa/estimate/estimator_state.h \
	src/poppa/estimate/estimator_tau.c src/poppa/estimate/estimator_tau.h \
	src/poppa/estimate/estimator_thesis.c \
	src/poppa/estimate/miss_model.c src/poppa/estimate/miss_model.h \
	src/poppa/estimate/sham.c src/poppa/estimate/sham.h \
	src/poppa/estimate/shutterlog.c src/poppa/estimate/shutterlog.h \
	src/poppa/estimate/shutterlog_blocks.c src/poppa/estimate/shutterlog_blocks.h \
	src/poppa/estimate/shutterlog_read.c \
	src/poppa/estimate/slow_refill.c src/poppa/estimate/slow_refill.h \
	src/poppa/estimate/spin.c src/poppa/estimate/spin.h
libestimate_la_LIBADD = $(JANSSON_LIBS) -lm
