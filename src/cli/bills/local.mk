# SPDX-License-Identifier: GPL-2.0-or-later
# What jobs are charged: poppa job, price, report, why, settle and ledger.
poppa_SOURCES += \
	src/cli/bills/cmd_job.c \
	src/cli/bills/cmd_ledger.c \
	src/cli/bills/cmd_price.c \
	src/cli/bills/cmd_report.c \
	src/cli/bills/cmd_settle.c \
	src/cli/bills/cmd_why.c \
	src/cli/bills/find_run.c src/cli/bills/find_run.h \
	src/cli/bills/job.h \
	src/cli/bills/job_usage.c src/cli/bills/job_usage.h \
	src/cli/bills/job_words.c \
	src/cli/bills/ledger_rebuild.c src/cli/bills/ledger_rebuild.h \
	src/cli/bills/report.h \
	src/cli/bills/report_gains.c \
	src/cli/bills/report_heat.c \
	src/cli/bills/report_json.c \
	src/cli/bills/report_page.c \
	src/cli/bills/report_plot.c \
	src/cli/bills/report_text.c \
	src/cli/bills/report_what_if.c \
	src/cli/bills/why.h \
	src/cli/bills/why_facts.c \
	src/cli/bills/why_words.c

# The page of poppa report: src/cli/page has the style.
nodist_poppa_SOURCES = src/cli/bills/report_page_template.c
CLEANFILES += src/cli/bills/report_page_template.c
EXTRA_DIST += src/cli/bills/page/report.html
src/cli/bills/report_page_template.c: $(PAGE_STYLE) src/cli/bills/page/report.html src/cli/page/embed.awk
	$(AM_V_GEN)$(MKDIR_P) src/cli/bills && \
	$(EMBED_PAGE) -v header=cli/bills/report.h -v constant=report_page_template $(srcdir)/$(PAGE_STYLE) \
		$(srcdir)/src/cli/bills/page/report.html >$@.tmp && mv $@.tmp $@
