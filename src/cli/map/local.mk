# SPDX-License-Identifier: GPL-2.0-or-later
# poppa map.
poppa_SOURCES += \
	src/cli/map/cmd_map.c
