/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Reads the arguments and the environment that slurmctld gives its MailProg. */
#include "cli/mail/mail_call.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* slurmctld puts "SPANK_" before the names in a job's SPANK environment. */
#define OPTION_ENV "SPANK_COLOCATE"
#define OPTION_NONE "no"
/* One mail for all tasks of an array: each of them has a price of its own. */
#define SUMMARY "Slurm Array Summary "

static bool is_number(const char *text)
{
	return text && *text && strspn(text, "0123456789") == strlen(text);
}

static void make_plain(char *text)
{
	for (unsigned char *c = (unsigned char *)text; *c; c++)
		if (*c < ' ' || *c == 0x7f)
			*c = '?';
}

static bool has_ended(const char *type)
{
	return type && (!strcmp(type, "Ended") || !strcmp(type, "Failed"));
}

int mail_call_read(int argc, char **argv, struct mail_call *call, struct errmsg *err)
{
	const char *job = getenv("SLURM_JOB_ID"), *restart = getenv("SLURM_JOB_RESTART_COUNT");
	const char *option = getenv(OPTION_ENV), *subject = "";

	memset(call, 0, sizeof(*call));
	for (int i = 1; i < argc; i++) {
		make_plain(argv[i]);
		if (!strcmp(argv[i], "-s") && i + 1 < argc) {
			make_plain(argv[++i]);
			subject = argv[i];
		} else if (*argv[i] == '-') {
			return errmsg_set(err,
				"\"%.200s\" is no recipient: it would be taken for an option of "
				"the mail program",
				argv[i]);
		}
	}
	if (is_number(job) && strlen(job) <= 10)
		snprintf(call->run, sizeof(call->run), "%s.%s", job,
			is_number(restart) && strlen(restart) <= 10 ? restart : "0");
	call->priced = *call->run && option && strcmp(option, OPTION_NONE) &&
		       has_ended(getenv("SLURM_JOB_MAIL_TYPE")) &&
		       strncmp(subject, SUMMARY, strlen(SUMMARY));
	return 0;
}
