# SPDX-License-Identifier: GPL-2.0-or-later
# Registration: the files with which slurmd tells poppad of jobs and of the cluster, for both sides.
noinst_LTLIBRARIES += libregistration.la
libregistration_la_SOURCES = \
	src/registration/ask_pace.c src/registration/ask_pace.h \
	src/registration/registration.c src/registration/registration.h
