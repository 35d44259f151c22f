# SPDX-License-Identifier: GPL-2.0-or-later
# Partner choice: who may share a node, who suits whom, and from when on.
noinst_LTLIBRARIES += libpartners.la
libpartners_la_SOURCES = \
	src/striping/partners/expected_end.c src/striping/partners/expected_end.h \
	src/striping/partners/expectation.c src/striping/partners/expectation.h \
	src/striping/partners/expectation_hints.c src/striping/partners/expectation_model.h \
	src/striping/partners/expectation_parameters.c src/striping/partners/expectation_table.c \
	src/striping/partners/exploration.c src/striping/partners/exploration.h \
	src/striping/partners/exploratory_start.c src/striping/partners/exploratory_start.h \
	src/striping/partners/lane_yield.c src/striping/partners/lane_yield.h \
	src/striping/partners/node_choice.c src/striping/partners/node_choice.h \
	src/striping/partners/outlook.c src/striping/partners/outlook.h \
	src/striping/partners/partner.c src/striping/partners/partner.h \
	src/striping/partners/partner_times.c src/striping/partners/partner_times.h \
	src/striping/partners/profile_hints.h \
	src/striping/partners/random_bits.c src/striping/partners/random_bits.h \
	src/striping/partners/separation.c src/striping/partners/separation.h \
	src/striping/partners/user_weight.c src/striping/partners/user_weight.h
libpartners_la_LIBADD = -lm
