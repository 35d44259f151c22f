# SPDX-License-Identifier: GPL-2.0-or-later
# What contrib/workloads builds: sample programs, and meters of true degradation, of what comes after a stop, and of cost.
noinst_PROGRAMS += contrib/workloads/truth contrib/workloads/response contrib/workloads/cost
METER_SOURCES = contrib/workloads/meter.c contrib/workloads/meter.h
WATCHDOG_SOURCES = contrib/workloads/watchdog.c contrib/workloads/watchdog.h
contrib_workloads_truth_SOURCES = contrib/workloads/truth.c $(METER_SOURCES) $(WATCHDOG_SOURCES)
contrib_workloads_truth_LDADD = $(POPPAD_LIBS)
contrib_workloads_response_SOURCES = contrib/workloads/response.c $(METER_SOURCES) $(WATCHDOG_SOURCES)
contrib_workloads_response_LDADD = $(POPPAD_LIBS)
contrib_workloads_cost_SOURCES = contrib/workloads/cost.c $(METER_SOURCES)
contrib_workloads_cost_LDADD = $(POPPAD_LIBS)
noinst_LTLIBRARIES += librecommend.la
librecommend_la_SOURCES = \
	contrib/workloads/graph_options.c contrib/workloads/graph_options.h contrib/workloads/workload_number.h \
	contrib/workloads/recommend_graph.c contrib/workloads/recommend_graph.h \
	contrib/workloads/recommend_query.c contrib/workloads/recommend_query.h
noinst_PROGRAMS += contrib/workloads/recommend
contrib_workloads_recommend_SOURCES = contrib/workloads/recommend.c
contrib_workloads_recommend_LDADD = librecommend.la libpoppacommon.la

if HAVE_OPENCL
noinst_PROGRAMS += contrib/workloads/device_units
endif
contrib_workloads_device_units_SOURCES = contrib/workloads/device_units.c
contrib_workloads_device_units_CFLAGS = $(AM_CFLAGS) $(OPENCL_CFLAGS)
contrib_workloads_device_units_LDADD = libpoppacommon.la $(OPENCL_LIBS)

if HAVE_MPICC
noinst_PROGRAMS += \
	contrib/workloads/contend \
	contrib/workloads/llc \
	contrib/workloads/null \
	contrib/workloads/probe \
	contrib/workloads/stream
endif
WORKLOAD_SOURCES = contrib/workloads/workload.c contrib/workloads/workload.h contrib/workloads/workload_number.h
WORKLOAD_CFLAGS = $(AM_CFLAGS) $(MPI_CFLAGS)
WORKLOAD_LIBS = libheartbeat.la libpoppacommon.la $(MPI_LIBS) -lm
contrib_workloads_contend_SOURCES = contrib/workloads/contend.c $(WORKLOAD_SOURCES)
contrib_workloads_contend_CFLAGS = $(WORKLOAD_CFLAGS)
contrib_workloads_contend_LDADD = $(WORKLOAD_LIBS)
contrib_workloads_llc_SOURCES = contrib/workloads/llc.c $(WORKLOAD_SOURCES)
contrib_workloads_llc_CFLAGS = $(WORKLOAD_CFLAGS)
contrib_workloads_llc_LDADD = $(WORKLOAD_LIBS)
contrib_workloads_null_SOURCES = contrib/workloads/null.c $(WORKLOAD_SOURCES)
contrib_workloads_null_CFLAGS = $(WORKLOAD_CFLAGS)
contrib_workloads_null_LDADD = $(WORKLOAD_LIBS)
contrib_workloads_probe_SOURCES = contrib/workloads/probe.c $(WORKLOAD_SOURCES)
contrib_workloads_probe_CFLAGS = $(WORKLOAD_CFLAGS)
contrib_workloads_probe_LDADD = libhorton.la $(WORKLOAD_LIBS)
contrib_workloads_stream_SOURCES = contrib/workloads/stream.c $(WORKLOAD_SOURCES)
contrib_workloads_stream_CFLAGS = $(WORKLOAD_CFLAGS)
contrib_workloads_stream_LDADD = $(WORKLOAD_LIBS)
EXTRA_DIST += contrib/workloads/README.md contrib/workloads/degradation-table contrib/workloads/response-table contrib/workloads/heat.f90
