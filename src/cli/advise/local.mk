# SPDX-License-Identifier: GPL-2.0-or-later
# Advice before a job is submitted: poppa advise.
poppa_SOURCES += \
	src/cli/advise/advice.c src/cli/advise/advice.h \
	src/cli/advise/cmd_advise.c \
	src/cli/advise/planned_start.c src/cli/advise/planned_start.h \
	src/cli/advise/price_in_force.c src/cli/advise/price_in_force.h \
	src/cli/advise/sbatch_job.c src/cli/advise/sbatch_job.h
