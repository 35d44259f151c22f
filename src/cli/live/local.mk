# SPDX-License-Identifier: GPL-2.0-or-later
# What poppad does now: poppa status, top and metrics.
poppa_SOURCES += \
	src/cli/live/cmd_metrics.c \
	src/cli/live/cmd_status.c \
	src/cli/live/cmd_top.c \
	src/cli/live/metrics.c src/cli/live/metrics.h \
	src/cli/live/top_page.c src/cli/live/top_page.h \
	src/cli/live/top_screen.c src/cli/live/top_screen.h
