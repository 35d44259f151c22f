# SPDX-License-Identifier: GPL-2.0-or-later
# The node selection plugin, under the name of the plugin that it stands in front of.
poppaplugin_LTLIBRARIES += select_cons_tres.la
select_cons_tres_la_SOURCES = \
	src/plugins/compat/select_compat.h \
	src/plugins/compat/slurm_compat.h \
	src/plugins/select_stripe/ask_cons_tres.c src/plugins/select_stripe/ask_cons_tres.h \
	src/plugins/select_stripe/candidates.c src/plugins/select_stripe/candidates.h \
	src/plugins/select_stripe/ends.c src/plugins/select_stripe/ends.h \
	src/plugins/select_stripe/exploratory_starts.c src/plugins/select_stripe/exploratory_starts.h \
	src/plugins/select_stripe/history.c src/plugins/select_stripe/history.h \
	src/plugins/select_stripe/job_option.c src/plugins/select_stripe/job_option.h \
	src/plugins/select_stripe/layout.c src/plugins/select_stripe/layout.h \
	src/plugins/select_stripe/load_cons_tres.c src/plugins/select_stripe/load_cons_tres.h \
	src/plugins/select_stripe/paces.c src/plugins/select_stripe/paces.h \
	src/plugins/select_stripe/place.c src/plugins/select_stripe/place.h \
	src/plugins/select_stripe/place_other.c \
	src/plugins/select_stripe/select_stripe.c \
	src/plugins/select_stripe/stripe.h \
	src/plugins/select_stripe/tracker.c src/plugins/select_stripe/tracker.h
select_cons_tres_la_CPPFLAGS = $(MODULE_CPPFLAGS)
select_cons_tres_la_LDFLAGS = $(PLUGIN_LDFLAGS)
select_cons_tres_la_LIBADD = libpartners.la libhistory.la libreuse.la libsubmit.la liblanes.la libpoppacommon.la -ldl -lpthread $(LAZY_BINDING)
EXTRA_select_cons_tres_la_DEPENDENCIES = $(PLUGIN_MAP)
dist_man_MANS += src/plugins/select_stripe/poppa-striping.8
