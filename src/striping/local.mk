# SPDX-License-Identifier: GPL-2.0-or-later
# What src/striping builds: lanes, the --colocate option and partner choice, without Slurm.
noinst_LTLIBRARIES += libstriping.la
libstriping_la_SOURCES = \
	src/striping/choice.c src/striping/choice.h \
	src/striping/colocate.c src/striping/colocate.h \
	src/striping/constraint.c src/striping/constraint.h \
	src/striping/lanes.c src/striping/lanes.h \
	src/striping/occupancy.c src/striping/occupancy.h \
	src/striping/pairs.c src/striping/pairs.h \
	src/striping/partner.c src/striping/partner.h \
	src/striping/request.c src/striping/request.h \
	src/striping/vacancy.c src/striping/vacancy.h
libstriping_la_LIBADD = libpoppacommon.la -lm

# On its own, so that no plugin brings hwloc into Slurm's daemons.
noinst_LTLIBRARIES += libtopology.la
libtopology_la_SOURCES = \
	src/striping/topology.c src/striping/topology.h
libtopology_la_LIBADD = $(HWLOC_LIBS)
