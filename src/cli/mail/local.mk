# SPDX-License-Identifier: GPL-2.0-or-later
# What slurmctld calls for mails, and what it adds to the mail of a co-located job that has ended: poppa-mail.
pkglibexec_PROGRAMS += poppa-mail
poppa_mail_SOURCES = \
	src/cli/mail/mail_call.c src/cli/mail/mail_call.h \
	src/cli/mail/mail_main.c \
	src/cli/mail/mail_price.c src/cli/mail/mail_price.h \
	src/cli/mail/mail_send.c src/cli/mail/mail_send.h \
	src/cli/ask/run_program.c src/cli/ask/wrap_text.c
poppa_mail_LDADD = libpoppacommon.la $(JANSSON_LIBS)
dist_man_MANS += src/cli/mail/poppa-mail.8
