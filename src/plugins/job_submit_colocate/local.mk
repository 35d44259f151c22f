# SPDX-License-Identifier: GPL-2.0-or-later
# The job_submit plugin: the submit policy of co-located jobs.
poppaplugin_LTLIBRARIES += job_submit_colocate.la
job_submit_colocate_la_SOURCES = \
	src/plugins/compat/slurm_compat.h \
	src/plugins/job_submit_colocate/job_request.c src/plugins/job_submit_colocate/job_request.h \
	src/plugins/job_submit_colocate/job_submit_colocate.c \
	src/plugins/job_submit_colocate/job_qos.c src/plugins/job_submit_colocate/job_qos.h \
	src/plugins/job_submit_colocate/partition_offer.c src/plugins/job_submit_colocate/partition_offer.h \
	src/plugins/job_submit_colocate/site_default.c src/plugins/job_submit_colocate/site_default.h
job_submit_colocate_la_CPPFLAGS = $(MODULE_CPPFLAGS)
job_submit_colocate_la_LDFLAGS = $(PLUGIN_LDFLAGS)
job_submit_colocate_la_LIBADD = libsubmit.la liblanes.la libpoppacommon.la $(LAZY_BINDING)
EXTRA_job_submit_colocate_la_DEPENDENCIES = $(PLUGIN_MAP)
