# SPDX-License-Identifier: GPL-2.0-or-later
# poppa gpu.
poppa_SOURCES += \
	src/cli/gpu/cmd_gpu.c \
	src/cli/gpu/sweep.c src/cli/gpu/sweep.h
