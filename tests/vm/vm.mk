# SPDX-License-Identifier: GPL-2.0-or-later
# Emulated machines of two sockets: the programs that their jobs run, and what is shipped.
noinst_PROGRAMS += tests/vm/spin
tests_vm_spin_SOURCES = tests/vm/spin.c
tests_vm_spin_LDADD = -lpthread
if HAVE_MPICC
noinst_PROGRAMS += tests/vm/rank
endif
tests_vm_rank_SOURCES = tests/vm/rank.c
tests_vm_rank_CFLAGS = $(AM_CFLAGS) $(MPI_CFLAGS)
tests_vm_rank_LDADD = libheartbeat.la libpoppacommon.la $(MPI_LIBS)
EXTRA_DIST += tests/vm/image.sh \
	tests/vm/machines.sh \
	tests/vm/packages \
	tests/vm/run \
	tests/vm/guest/cheats.sh \
	tests/vm/guest/check \
	tests/vm/guest/cluster.sh \
	tests/vm/guest/init \
	tests/vm/guest/map.sh \
	tests/vm/guest/neighbours.sh \
	tests/vm/guest/node \
	tests/vm/guest/on \
	tests/vm/guest/ranks.sh \
	tests/vm/guest/stub
