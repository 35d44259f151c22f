# SPDX-License-Identifier: GPL-2.0-or-later
# How programs use caches: poppa profile.
poppa_SOURCES += \
	src/cli/profile/cmd_profile.c \
	src/cli/profile/compare.c src/cli/profile/compare.h \
	src/cli/profile/keep.c src/cli/profile/keep.h \
	src/cli/profile/read_histogram.c src/cli/profile/read_histogram.h \
	src/cli/profile/trace.c src/cli/profile/trace.h
