# SPDX-License-Identifier: GPL-2.0-or-later
# Submissions: the grammar of --colocate, and which co-located jobs can ever run.
noinst_LTLIBRARIES += libsubmit.la
libsubmit_la_SOURCES = \
	src/striping/submit/apart.c src/striping/submit/apart.h \
	src/striping/submit/constraint.c src/striping/submit/constraint.h \
	src/striping/submit/colocate_option.c src/striping/submit/colocate_option.h \
	src/striping/submit/submission.c src/striping/submit/submission.h
