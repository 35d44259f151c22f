# SPDX-License-Identifier: GPL-2.0-or-later
# Whether it is worth it to run two programs at once: poppa trial.

# Its page: src/cli/page has the style. Who links it links PAGE_SOURCES, too.
noinst_LTLIBRARIES += libtrialpage.la
libtrialpage_la_SOURCES = \
	src/cli/trial/trial_page.c src/cli/trial/trial_page.h \
	src/cli/trial/trial_plots.c src/cli/trial/trial_plots.h \
	src/cli/trial/trial_rounds.c
nodist_libtrialpage_la_SOURCES = src/cli/trial/trial_page_template.c
CLEANFILES += src/cli/trial/trial_page_template.c
EXTRA_DIST += src/cli/trial/page/trial.html
src/cli/trial/trial_page_template.c: $(PAGE_STYLE) src/cli/trial/page/trial.html src/cli/page/embed.awk
	$(AM_V_GEN)$(MKDIR_P) src/cli/trial && \
	$(EMBED_PAGE) -v header=cli/trial/trial_page.h -v constant=trial_page_template $(srcdir)/$(PAGE_STYLE) \
		$(srcdir)/src/cli/trial/page/trial.html >$@.tmp && mv $@.tmp $@

# What poppa trial executes. The command itself needs no library that counters need.
pkglibexec_PROGRAMS += poppa-trial
poppa_trial_SOURCES = \
	src/cli/trial/trial.h \
	src/cli/trial/trial_json.c \
	src/cli/trial/trial_main.c \
	src/cli/trial/trial_options.c \
	src/cli/trial/trial_price.c \
	src/cli/trial/trial_text.c \
	src/cli/ask/cli.c \
	$(PAGE_SOURCES)
poppa_trial_LDADD = \
	libtrialpage.la \
	libtrial.la \
	libtopology.la \
	liblanes.la \
	libcounter.la \
	libestimate.la \
	libhold.la \
	libheld.la \
	librecord.la \
	libpoppacommon.la \
	$(JANSSON_LIBS) \
	-lm
