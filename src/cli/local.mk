# SPDX-License-Identifier: GPL-2.0-or-later
# What src/cli builds: the poppa command, one file a subcommand.
bin_PROGRAMS += poppa
poppa_SOURCES = \
	src/cli/cli.c \
	src/cli/cli.h \
	src/cli/cmd_doctor.c \
	src/cli/cmd_estimate.c \
	src/cli/cmd_lanes.c \
	src/cli/cmd_ledger.c \
	src/cli/cmd_metrics.c \
	src/cli/cmd_overhead.c \
	src/cli/cmd_price.c \
	src/cli/cmd_report.c \
	src/cli/cmd_settle.c \
	src/cli/cmd_status.c \
	src/cli/cmd_top.c \
	src/cli/cmd_why.c \
	src/cli/daemon.c \
	src/cli/daemon.h \
	src/cli/doctor.h \
	src/cli/doctor_ledger.c \
	src/cli/doctor_node.c \
	src/cli/doctor_partitions.c \
	src/cli/doctor_slurm.c \
	src/cli/doctor_state.c \
	src/cli/find_ledger.c \
	src/cli/find_ledger.h \
	src/cli/ledger_rebuild.c \
	src/cli/ledger_rebuild.h \
	src/cli/metrics.c \
	src/cli/metrics.h \
	src/cli/poppa.c \
	src/cli/program.c \
	src/cli/program.h \
	src/cli/report.h \
	src/cli/report_heat.c \
	src/cli/report_html.c \
	src/cli/report_json.c \
	src/cli/report_name.c \
	src/cli/report_plot.c \
	src/cli/report_text.c \
	src/cli/sacct.c \
	src/cli/sacct.h \
	src/cli/scontrol.c \
	src/cli/scontrol.h \
	src/cli/show.c \
	src/cli/show.h \
	src/cli/top_page.c \
	src/cli/top_page.h \
	src/cli/top_screen.c \
	src/cli/top_screen.h \
	src/cli/why_facts.c \
	src/cli/why_words.c \
	src/cli/why.h
poppa_LDADD = \
	libtopology.la \
	libstriping.la \
	libbill.la \
	libledger.la \
	libpoppacore.la \
	libpoppacommon.la \
	$(JANSSON_LIBS) \
	$(NCURSES_LIBS) \
	-lm
poppa_CFLAGS = $(AM_CFLAGS) $(NCURSES_CFLAGS)
dist_man_MANS += src/cli/poppa.1
