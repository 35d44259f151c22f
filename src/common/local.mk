# SPDX-License-Identifier: GPL-2.0-or-later
# What every part links: units, settings, files, logs and clocks. It uses no other room.
noinst_LTLIBRARIES += libpoppacommon.la
libpoppacommon_la_SOURCES = \
	src/common/askers.c src/common/askers.h \
	src/common/clock.c src/common/clock.h \
	src/common/counter_backends.c src/common/counter_backends.h \
	src/common/errmsg.c src/common/errmsg.h \
	src/common/fnv1a.h \
	src/common/fsio.c src/common/fsio.h \
	src/common/hostport.c src/common/hostport.h \
	src/common/journal.c src/common/journal.h \
	src/common/keyval.c src/common/keyval.h \
	src/common/log.c src/common/log.h \
	src/common/log_limit.c src/common/log_limit.h \
	src/common/nodeconf.c src/common/nodeconf.h \
	src/common/price_policy.c src/common/price_policy.h \
	src/common/price_rules.c src/common/price_rules.h \
	src/common/printable.c src/common/printable.h \
	src/common/settings.c src/common/settings.h \
	src/common/settings_kept.c src/common/settings_kept.h \
	src/common/stripe_default.c src/common/stripe_default.h \
	src/common/tags.c src/common/tags.h \
	src/common/text_append.c src/common/text_append.h \
	src/common/units.c src/common/units.h \
	src/common/xorshift.h
libpoppacommon_la_LIBADD = -lm
