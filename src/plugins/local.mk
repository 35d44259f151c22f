# SPDX-License-Identifier: GPL-2.0-or-later
# What src/plugins builds: Slurm plugins, which only translate between Slurm and the libraries.
#
# A plugin NAME adds itself to poppaplugin_LTLIBRARIES and has
#   NAME_la_CPPFLAGS = $(MODULE_CPPFLAGS)
#   NAME_la_LDFLAGS = $(PLUGIN_LDFLAGS)
#   NAME_la_LIBADD = libsubmit.la ... $(LAZY_BINDING)
#   EXTRA_NAME_la_DEPENDENCIES = $(PLUGIN_MAP)
# Functions of slurmctld and slurmd are left undefined and bound when they are first called, so a
# plugin also loads into clients that lack them. Data of the daemons is declared with SLURM_WEAK()
# (compat/slurm_compat.h): a plugin never has a copy of its own.
PLUGIN_MAP = $(top_srcdir)/src/plugins/plugin.map
PLUGIN_LDFLAGS = $(MODULE_FLAGS) -Wl,--version-script=$(PLUGIN_MAP)
EXTRA_DIST += src/plugins/plugin.map

if HAVE_SLURM
include src/plugins/spank_colocate/local.mk
include src/plugins/job_submit_colocate/local.mk
include src/plugins/prep_poppa/local.mk
include src/plugins/select_stripe/local.mk
endif

# For tests/release/compile.
.PHONY: plugins
plugins: $(poppaplugin_LTLIBRARIES)
