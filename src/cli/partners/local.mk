# SPDX-License-Identifier: GPL-2.0-or-later
# What the pair history knows: poppa pairs and plan.
poppa_SOURCES += \
	src/cli/partners/cmd_pairs.c \
	src/cli/partners/cmd_plan.c \
	src/cli/partners/import_trial.c src/cli/partners/import_trial.h \
	src/cli/partners/known_pairs.c src/cli/partners/known_pairs.h \
	src/cli/partners/plan_jobs.c src/cli/partners/plan.h \
	src/cli/partners/plan_why.c \
	src/cli/partners/read_trial.c src/cli/partners/read_trial.h \
	src/cli/partners/show_trials.c src/cli/partners/show_trials.h
