# SPDX-License-Identifier: GPL-2.0-or-later
# The PrEp plugin: registers jobs on the nodes, settles them on the controller.
poppaplugin_LTLIBRARIES += prep_poppa.la
prep_poppa_la_SOURCES = \
	src/plugins/compat/accounting_compat.h \
	src/plugins/compat/job_info_compat.h \
	src/plugins/compat/prep_compat.h \
	src/plugins/prep_poppa/prep_poppa.c \
	src/plugins/prep_poppa/addresses.c src/plugins/prep_poppa/addresses.h \
	src/plugins/prep_poppa/arrivals.c src/plugins/prep_poppa/arrivals.h \
	src/plugins/prep_poppa/controller.c src/plugins/prep_poppa/controller.h \
	src/plugins/prep_poppa/fairshare.c src/plugins/prep_poppa/fairshare.h \
	src/plugins/prep_poppa/find_runs.c src/plugins/prep_poppa/find_runs.h \
	src/plugins/prep_poppa/node_side.c src/plugins/prep_poppa/node_side.h \
	src/plugins/prep_poppa/node_watch.c src/plugins/prep_poppa/node_watch.h \
	src/plugins/prep_poppa/price_to_ledger.c src/plugins/prep_poppa/price_to_ledger.h \
	src/plugins/prep_poppa/price_to_slurm.c src/plugins/prep_poppa/price_to_slurm.h \
	src/plugins/prep_poppa/run_segments.c src/plugins/prep_poppa/run_segments.h \
	src/plugins/prep_poppa/run_snapshot.c src/plugins/prep_poppa/run_snapshot.h \
	src/plugins/prep_poppa/run_store.c src/plugins/prep_poppa/run_store.h \
	src/plugins/prep_poppa/settler.c src/plugins/prep_poppa/settler.h \
	src/plugins/prep_poppa/settler_context.c src/plugins/prep_poppa/settler_context.h \
	src/plugins/prep_poppa/settler_worker.c src/plugins/prep_poppa/settler_worker.h \
	src/plugins/prep_poppa/slurmdbd_rows.c src/plugins/prep_poppa/slurmdbd_rows.h \
	src/plugins/prep_poppa/time_limits.c src/plugins/prep_poppa/time_limits.h \
	src/plugins/prep_poppa/usage_journal.c src/plugins/prep_poppa/usage_journal.h \
	src/plugins/prep_poppa/write_back.c src/plugins/prep_poppa/write_back.h
prep_poppa_la_CPPFLAGS = $(MODULE_CPPFLAGS)
# nodelete: the settler may outlive a fini() that holds locks it waits for.
prep_poppa_la_LDFLAGS = $(PLUGIN_LDFLAGS) -Wl,-z,nodelete
prep_poppa_la_LIBADD = libsettle.la librecord.la libregistration.la libpartners.la libhistory.la libreuse.la libsubmit.la liblanes.la libpoppacommon.la $(LAZY_BINDING)
EXTRA_prep_poppa_la_DEPENDENCIES = $(PLUGIN_MAP)
