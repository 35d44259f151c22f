# SPDX-License-Identifier: GPL-2.0-or-later
# Lines of comma-separated values: what poppa gpu and poppa map read.
noinst_LTLIBRARIES += libcolumns.la
libcolumns_la_SOURCES = src/columns/columns.c src/columns/columns.h
