# SPDX-License-Identifier: GPL-2.0-or-later
# What jobs are charged: poppa price, report, why, settle and ledger.
poppa_SOURCES += \
	src/cli/bills/cmd_ledger.c \
	src/cli/bills/cmd_price.c \
	src/cli/bills/cmd_report.c \
	src/cli/bills/cmd_settle.c \
	src/cli/bills/cmd_why.c \
	src/cli/bills/ledger_rebuild.c \
	src/cli/bills/ledger_rebuild.h \
	src/cli/bills/report.h \
	src/cli/bills/report_heat.c \
	src/cli/bills/report_html.c \
	src/cli/bills/report_json.c \
	src/cli/bills/report_name.c \
	src/cli/bills/report_plot.c \
	src/cli/bills/report_text.c \
	src/cli/bills/why.h \
	src/cli/bills/why_facts.c \
	src/cli/bills/why_words.c
