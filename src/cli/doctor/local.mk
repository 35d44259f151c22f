# SPDX-License-Identifier: GPL-2.0-or-later
# poppa doctor: one file for each part of the system that it looks at.
poppa_SOURCES += \
	src/cli/doctor/cmd_doctor.c \
	src/cli/doctor/doctor.h \
	src/cli/doctor/doctor_ledger.c \
	src/cli/doctor/doctor_lines.c \
	src/cli/doctor/doctor_node.c \
	src/cli/doctor/doctor_partitions.c \
	src/cli/doctor/doctor_process.c src/cli/doctor/doctor_process.h \
	src/cli/doctor/doctor_slurm.c \
	src/cli/doctor/doctor_state.c \
	src/cli/doctor/doctor_turns.c
