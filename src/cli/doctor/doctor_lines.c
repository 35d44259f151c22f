/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The lines of "poppa doctor": the outcome of each check, as text or as JSON. */
#include <stdarg.h>
#include <stdio.h>

#include "cli/ask/cli.h"
#include "cli/doctor/doctor.h"
#include "common/printable.h"

static const char *const verdict_names[] = {"OK", "WARN", "FAIL"};
static const char *const verdict_keys[] = {"ok", "warn", "fail"};

void doctor_say(struct doctor *d, enum doctor_verdict verdict, const char *check, const char *fix,
	const char *fmt, ...)
{
	char detail[1024];
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(detail, sizeof(detail), fmt, ap);
	va_end(ap);
	plain_text(detail);
	d->count[verdict]++;
	json_array_append_new(
		d->checks, json_pack("{s:s, s:s, s:s, s:s?}", "check", check, "status",
				   verdict_keys[verdict], "detail", detail, "fix", fix));
	if (d->asked.json)
		return;
	printf("%-4s  %-22s %s", verdict_names[verdict], check, detail);
	if (fix)
		printf(" -> %s", fix);
	putchar('\n');
}

enum doctor_verdict doctor_on_node(const struct doctor *d)
{
	return d->is_node ? DOCTOR_FAIL : DOCTOR_WARN;
}

int doctor_end(struct doctor *d)
{
	int rc = CLI_OK;

	json_decref(d->status);
	if (d->asked.json)
		rc = cli_print_json(json_pack("{s:o, s:i, s:i, s:i}", "checks", d->checks,
			verdict_keys[DOCTOR_OK], d->count[DOCTOR_OK], verdict_keys[DOCTOR_WARN],
			d->count[DOCTOR_WARN], verdict_keys[DOCTOR_FAIL], d->count[DOCTOR_FAIL]));
	else
		json_decref(d->checks);
	return rc ? rc : d->count[DOCTOR_FAIL] ? CLI_FAILURE : CLI_OK;
}
