# SPDX-License-Identifier: GPL-2.0-or-later
# What jobs are charged: poppa price, report, why, settle and ledger.
poppa_SOURCES += \
	src/cli/bills/cmd_ledger.c \
	src/cli/bills/cmd_price.c \
	src/cli/bills/cmd_report.c \
	src/cli/bills/cmd_settle.c \
	src/cli/bills/cmd_why.c \
	src/cli/bills/ledger_rebuild.c src/cli/bills/ledger_rebuild.h \
	src/cli/bills/report.h \
	src/cli/bills/report_gains.c \
	src/cli/bills/report_heat.c \
	src/cli/bills/report_json.c \
	src/cli/bills/report_page.c \
	src/cli/bills/report_plot.c \
	src/cli/bills/report_shorten.c \
	src/cli/bills/report_template.c src/cli/bills/report_template.h \
	src/cli/bills/report_text.c \
	src/cli/bills/report_what_if.c \
	src/cli/bills/why.h \
	src/cli/bills/why_facts.c \
	src/cli/bills/why_words.c

# The page of poppa report: HTML and CSS of files of their own, put into one string constant.
REPORT_PAGE = src/cli/bills/page/report.css src/cli/bills/page/report.html
nodist_poppa_SOURCES = src/cli/bills/report_page_template.c
CLEANFILES += src/cli/bills/report_page_template.c
EXTRA_DIST += $(REPORT_PAGE) src/cli/bills/page/embed.awk
src/cli/bills/report_page_template.c: $(REPORT_PAGE) src/cli/bills/page/embed.awk
	$(AM_V_GEN)$(MKDIR_P) src/cli/bills && \
	$(AWK) -f $(srcdir)/src/cli/bills/page/embed.awk $(srcdir)/src/cli/bills/page/report.css \
		$(srcdir)/src/cli/bills/page/report.html >$@.tmp && mv $@.tmp $@
