# SPDX-License-Identifier: GPL-2.0-or-later
# What the subcommands share: options, output, and questions to Slurm, to poppad and to the ledger.
poppa_SOURCES += \
	src/cli/ask/ask_poppad.c src/cli/ask/ask_poppad.h \
	src/cli/ask/cli.c src/cli/ask/cli.h \
	src/cli/ask/find_ledger.c src/cli/ask/find_ledger.h \
	src/cli/ask/number_text.c src/cli/ask/number_text.h \
	src/cli/ask/real_or_null.h \
	src/cli/ask/run_program.c src/cli/ask/run_program.h \
	src/cli/ask/sacct.c src/cli/ask/sacct.h \
	src/cli/ask/scontrol.c src/cli/ask/scontrol.h \
	src/cli/ask/shorten_text.c src/cli/ask/shorten_text.h \
	src/cli/ask/squeue.c src/cli/ask/squeue.h \
	src/cli/ask/state_file.c src/cli/ask/state_file.h \
	src/cli/ask/value_text.c src/cli/ask/value_text.h \
	src/cli/ask/wrap_text.c src/cli/ask/wrap_text.h
