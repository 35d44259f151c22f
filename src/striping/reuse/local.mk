# SPDX-License-Identifier: GPL-2.0-or-later
# Reuse distances: what caches programs need, and which of them suit one cache.
noinst_LTLIBRARIES += libreuse.la
libreuse_la_SOURCES = \
	src/striping/reuse/balance_set.c src/striping/reuse/balance_set.h \
	src/striping/reuse/cache_forecast.c src/striping/reuse/cache_forecast.h \
	src/striping/reuse/forecast.c src/striping/reuse/forecast.h \
	src/striping/reuse/group_overlap.c src/striping/reuse/group_overlap.h \
	src/striping/reuse/histogram.c src/striping/reuse/histogram.h \
	src/striping/reuse/miss_rate.c src/striping/reuse/miss_rate.h \
	src/striping/reuse/profiles.c src/striping/reuse/profiles.h \
	src/striping/reuse/sampler.c src/striping/reuse/sampler.h \
	src/striping/reuse/shared_cache.c src/striping/reuse/shared_cache.h
libreuse_la_LIBADD = -lm
