# SPDX-License-Identifier: GPL-2.0-or-later
# Which tasks of which applications belong on one socket or core: poppa map.
noinst_LTLIBRARIES += libmapper.la
libmapper_la_SOURCES = \
	src/mapper/mapper.c src/mapper/mapper.h src/mapper/mapper_state.h \
	src/mapper/mapper_classify.c \
	src/mapper/mapper_place.c \
	src/mapper/recording.c src/mapper/recording.h
libmapper_la_LIBADD = -lm
