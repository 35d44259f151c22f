# SPDX-License-Identifier: GPL-2.0-or-later
# The tests of the heartbeat in Fortran and of MPI programs.
AM_TESTS_ENVIRONMENT += CC='$(CC)' FC='$(FC)' MPICC='$(MPICC)' MPIFC='$(MPIFC)'; export CC FC MPICC MPIFC;
TESTS += tests/unit/test_heartbeat_mpi.sh tests/unit/test_mpi_wait.sh
EXTRA_DIST += tests/unit/test_heartbeat_mpi.sh tests/unit/test_mpi_wait.sh \
	tests/unit/heartbeat/fake_mpi.c tests/unit/heartbeat/fake_mpi_user.c \
	tests/unit/heartbeat/fortran.f90 \
	tests/unit/heartbeat/module.c tests/unit/heartbeat/module_user.c \
	tests/unit/heartbeat/mpi_calls.F90 \
	tests/unit/heartbeat/own_page.f90 tests/unit/heartbeat/tool.c

if HAVE_MPICC
noinst_PROGRAMS += tests/unit/heartbeat/mpi_calls tests/unit/heartbeat/waiting tests/unit/heartbeat/waiting_meter
endif
tests_unit_heartbeat_mpi_calls_SOURCES = tests/unit/heartbeat/mpi_calls.c
tests_unit_heartbeat_mpi_calls_CFLAGS = $(AM_CFLAGS) $(MPI_CFLAGS)
tests_unit_heartbeat_mpi_calls_LDADD = libpoppacore.la $(MPI_LIBS) -ldl -lpthread
tests_unit_heartbeat_waiting_SOURCES = tests/unit/heartbeat/waiting.c tests/unit/heartbeat/waiting.h
tests_unit_heartbeat_waiting_CFLAGS = $(AM_CFLAGS) $(MPI_CFLAGS)
tests_unit_heartbeat_waiting_LDADD = $(MPI_LIBS)
tests_unit_heartbeat_waiting_meter_SOURCES = tests/unit/heartbeat/waiting_meter.c tests/unit/heartbeat/waiting.h $(METER_SOURCES)
tests_unit_heartbeat_waiting_meter_CPPFLAGS = $(AM_CPPFLAGS) -I$(top_srcdir)
tests_unit_heartbeat_waiting_meter_LDADD = libpoppacore.la
