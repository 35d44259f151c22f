# SPDX-License-Identifier: GPL-2.0-or-later
# Partner choice: who may share a node, who suits whom, and from when on.
noinst_LTLIBRARIES += libpartners.la
libpartners_la_SOURCES = \
	src/striping/partners/node_choice.c src/striping/partners/node_choice.h \
	src/striping/partners/pairs.c src/striping/partners/pairs.h \
	src/striping/partners/partner.c src/striping/partners/partner.h \
	src/striping/partners/partner_times.c src/striping/partners/partner_times.h
libpartners_la_LIBADD = -lm
