# SPDX-License-Identifier: GPL-2.0-or-later
# The job_submit plugin: the submit policy of co-located jobs.
poppaplugin_LTLIBRARIES += job_submit_colocate.la
job_submit_colocate_la_SOURCES = \
	src/plugins/compat/slurm_compat.h \
	src/plugins/job_submit_colocate/asked.c src/plugins/job_submit_colocate/asked.h \
	src/plugins/job_submit_colocate/job_submit_colocate.c \
	src/plugins/job_submit_colocate/offered.c src/plugins/job_submit_colocate/offered.h
job_submit_colocate_la_CPPFLAGS = $(MODULE_CPPFLAGS)
job_submit_colocate_la_LDFLAGS = $(PLUGIN_LDFLAGS)
job_submit_colocate_la_LIBADD = libstriping.la
job_submit_colocate_la_DEPENDENCIES = $(job_submit_colocate_la_LIBADD) $(PLUGIN_MAP)
