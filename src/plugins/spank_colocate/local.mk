# SPDX-License-Identifier: GPL-2.0-or-later
# The SPANK plugin that adds --colocate to sbatch, srun and salloc and offers MPI programs their heartbeat, and the option's manual page.
poppaplugin_LTLIBRARIES += spank_colocate.la
spank_colocate_la_SOURCES = \
	src/plugins/compat/job_info_compat.h \
	src/plugins/spank_colocate/on_node.c src/plugins/spank_colocate/on_node.h \
	src/plugins/spank_colocate/spank_colocate.c
spank_colocate_la_CPPFLAGS = $(MODULE_CPPFLAGS)
spank_colocate_la_LDFLAGS = $(PLUGIN_LDFLAGS)
spank_colocate_la_LIBADD = libgpu.la libpreload.la libregistration.la libsubmit.la libpoppacommon.la $(LAZY_BINDING)
EXTRA_spank_colocate_la_DEPENDENCIES = $(PLUGIN_MAP)
dist_man_MANS += src/plugins/spank_colocate/poppa-colocate.7
