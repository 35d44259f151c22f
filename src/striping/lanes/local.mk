# SPDX-License-Identifier: GPL-2.0-or-later
# Lanes: which cores belong to which lane, and which job has which lanes of which nodes.
noinst_LTLIBRARIES += liblanes.la
liblanes_la_SOURCES = \
	src/striping/lanes/lanes.c src/striping/lanes/lanes.h \
	src/striping/lanes/occupancy.c src/striping/lanes/occupancy.h

# On its own, so that no plugin brings hwloc into Slurm's daemons.
noinst_LTLIBRARIES += libtopology.la
libtopology_la_SOURCES = \
	src/striping/lanes/topology.c src/striping/lanes/topology.h
libtopology_la_LIBADD = $(HWLOC_LIBS)
