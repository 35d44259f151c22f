# SPDX-License-Identifier: GPL-2.0-or-later
# Partner choice: who may share a node, who suits whom, and from when on.
noinst_LTLIBRARIES += libpartners.la
libpartners_la_SOURCES = \
	src/striping/partners/aged_mean.c src/striping/partners/aged_mean.h \
	src/striping/partners/class_name.c src/striping/partners/class_name.h \
	src/striping/partners/expected_end.c src/striping/partners/expected_end.h \
	src/striping/partners/expectation.c src/striping/partners/expectation.h \
	src/striping/partners/expectation_hints.c src/striping/partners/expectation_model.h \
	src/striping/partners/expectation_parameters.c src/striping/partners/expectation_table.c \
	src/striping/partners/exploration.c src/striping/partners/exploration.h \
	src/striping/partners/job_class.c src/striping/partners/job_class.h \
	src/striping/partners/job_names.c src/striping/partners/job_names.h \
	src/striping/partners/lane_yield.c src/striping/partners/lane_yield.h \
	src/striping/partners/node_choice.c src/striping/partners/node_choice.h \
	src/striping/partners/outlook.c src/striping/partners/outlook.h \
	src/striping/partners/pair_evidence.c src/striping/partners/pair_evidence.h \
	src/striping/partners/pairs.c src/striping/partners/pairs.h \
	src/striping/partners/pair_told.c src/striping/partners/pair_told.h \
	src/striping/partners/partner.c src/striping/partners/partner.h \
	src/striping/partners/partner_times.c src/striping/partners/partner_times.h \
	src/striping/partners/plain_queue.c src/striping/partners/plain_queue.h \
	src/striping/partners/profile_hints.h \
	src/striping/partners/separation.c src/striping/partners/separation.h \
	src/striping/partners/spread_gain.c src/striping/partners/spread_gain.h \
	src/striping/partners/trial.c src/striping/partners/trial.h
libpartners_la_LIBADD = -lm
