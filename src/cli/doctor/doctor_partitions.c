/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Checks of "poppa doctor" on the partitions that may have co-located jobs. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "cli/doctor/doctor.h"
#include "cli/ask/run_program.h"
#include "cli/ask/scontrol.h"
#include "common/stripe_default.h"
#include "common/text_append.h"
#include "striping/submit/submission.h"

/* The weight of CPU in one line of "scontrol --oneliner show partition"; 1 without any. */
static double cpu_weight(const char *line, size_t len)
{
	const char *at = memmem(line, len, " TRESBillingWeights=", 20), *end;

	if (!at)
		return 1;
	at += 20;
	end = at + strcspn(at, " \n");
	for (; at < end; at += strcspn(at, ", \n") + 1)
		if (!strncasecmp(at, "CPU=", 4))
			return strtod(at + 4, NULL);
	return 0;
}

static const char *next_line(const char *line)
{
	line += strcspn(line, "\n");
	return line + (*line == '\n');
}

/* Takes the name from a line of "scontrol --oneliner show partition"; false for another line. */
static bool partition_name(const char *line, char *name, size_t size)
{
	static const char key[] = "PartitionName=";

	if (strncmp(line, key, strlen(key)))
		return false;
	line += strlen(key);
	snprintf(name, size, "%.*s", (int)strcspn(line, " \n"), line);
	return true;
}

/* A bill is a whole number. When a core costs only a few SU, rounding hides most discounts. */
static void check_billing(struct doctor *d, const char *text)
{
	int partitions = 0;
	char coarse[512] = "";

	for (const char *line = text; *line; line = next_line(line)) {
		char name[256];
		struct errmsg why;

		if (!partition_name(line, name, sizeof(name)) ||
			submission_check_open(name, d->settings.stripe_partitions, &why))
			continue;
		partitions++;
		if (cpu_weight(line, strcspn(line, "\n")) < 100)
			text_append(coarse, sizeof(coarse), "%s%s", *coarse ? ", " : "", name);
	}
	if (!partitions)
		doctor_say(d, DOCTOR_WARN, "TRESBillingWeights",
			"see that it is CPU=1000 or so in partitions for co-located jobs",
			"not seen: there is no such partition");
	else if (*coarse)
		doctor_say(d, DOCTOR_WARN, "TRESBillingWeights",
			"set TRESBillingWeights=CPU=1000 (milli-SU) where co-located jobs run",
			"gives less than 100 a core in partition %s: bills are whole numbers, so a "
			"discount is rounded away",
			coarse);
	else
		doctor_say(d, DOCTOR_OK, "TRESBillingWeights", NULL,
			"leaves room for discounts in %d partition%s", partitions,
			partitions == 1 ? "" : "s");
}

static bool has_partition(const char *text, const char *wanted)
{
	char name[256];

	for (const char *line = text; *line; line = next_line(line))
		if (partition_name(line, name, sizeof(name)) && !strcmp(name, wanted))
			return true;
	return false;
}

/* When a name in stripe_partition is misspelt, the right partition takes no co-located jobs. */
static void check_stripe_partitions(struct doctor *d, const char *text)
{
	const char *names = d->settings.stripe_partitions;
	char unknown[512] = "";

	if (!*names)
		return;
	for (const char *at = names; *at; at += strcspn(at, ","), at += *at == ',') {
		char wanted[256];

		snprintf(wanted, sizeof(wanted), "%.*s", (int)strcspn(at, ","), at);
		if (!has_partition(text, wanted))
			text_append(unknown, sizeof(unknown), "%s%s", *unknown ? ", " : "", wanted);
	}
	if (*unknown)
		doctor_say(d, DOCTOR_FAIL, "stripe_partition",
			"correct it in PrEpParameters, then scontrol reconfigure",
			"there is no partition %s: its co-located jobs are refused", unknown);
	else
		doctor_say(d, DOCTOR_OK, "stripe_partition", NULL, "co-located jobs may run in %s",
			names);
}

/* text: a name a line. */
static bool has_qos(const char *text, const char *wanted)
{
	const size_t len = strlen(wanted);

	for (const char *line = text; *line; line = next_line(line))
		if (strcspn(line, "\n") == len && !strncasecmp(line, wanted, len))
			return true;
	return false;
}

/* Names the partitions and QOS whose jobs are co-located by default, and those of them that do not
 * exist: their jobs would stay plain, and nobody would be told. qos: NULL where it is not known. */
static void check_stripe_default(struct doctor *d, const char *partitions, const char *qos)
{
	char unknown[512] = "", closed[512] = "";
	struct stripe_default element;
	struct errmsg ignored;

	if (!*d->settings.stripe_defaults)
		return;
	for (const char *at = d->settings.stripe_defaults; at;) {
		char name[256];

		at = stripe_default_next(at, &element);
		snprintf(name, sizeof(name), "%.*s", (int)element.len, element.name);
		if (element.qos ? qos && !has_qos(qos, name) : !has_partition(partitions, name))
			text_append(unknown, sizeof(unknown), "%s%s%s", *unknown ? ", " : "",
				element.qos ? "QOS " : "partition ", name);
		else if (!element.qos &&
			 submission_check_open(name, d->settings.stripe_partitions, &ignored))
			text_append(closed, sizeof(closed), "%s%s", *closed ? ", " : "", name);
	}
	if (*unknown)
		doctor_say(d, DOCTOR_WARN, "stripe_default",
			"correct it in PrEpParameters, then scontrol reconfigure",
			"there is no %s: no job is co-located by default for it", unknown);
	else if (*closed)
		doctor_say(d, DOCTOR_WARN, "stripe_default",
			"name it in stripe_partition, too, or take it out of stripe_default",
			"stripe_partition keeps co-located jobs out of %s, so its jobs stay plain",
			closed);
	else
		doctor_say(d, DOCTOR_OK, "stripe_default", NULL,
			"jobs of %s are co-located unless they say --colocate=no",
			d->settings.stripe_defaults);
}

static void check_defaults(struct doctor *d, const char *partitions)
{
	const char *const argv[] = {
		"sacctmgr", "--noheader", "--parsable2", "show", "qos", "format=name", NULL};
	struct errmsg ignored;
	char *qos =
		strstr(d->settings.stripe_defaults, "qos:")
			? run_program((char *const *)argv, SACCTMGR_MAX, SACCTMGR_WAIT_MS, &ignored)
			: NULL;

	check_stripe_default(d, partitions, qos);
	free(qos);
}

void doctor_partitions(struct doctor *d)
{
	struct errmsg err;
	char *text = scontrol_show("partition", 1, &err);

	if (text) {
		check_stripe_partitions(d, text);
		check_defaults(d, text);
		check_billing(d, text);
	} else {
		doctor_say(d, DOCTOR_WARN, "partitions",
			"see that TRESBillingWeights is CPU=1000 or so where co-located jobs run",
			"not seen: %s", err.text);
	}
	free(text);
}
