# SPDX-License-Identifier: GPL-2.0-or-later
# Clusters of a slurmctld alone, to see how jobs are placed: a program, and what is shipped.
noinst_PROGRAMS += tests/scale/solve
tests_scale_solve_SOURCES = tests/scale/solve.c
tests_scale_solve_LDADD = libpartners.la libreuse.la libhistory.la libpoppacommon.la -lm
EXTRA_DIST += tests/scale/cloud.sh \
	tests/scale/preempt \
	tests/scale/preempt_report.py \
	tests/scale/run \
	tests/scale/scale_report.py
