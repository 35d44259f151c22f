/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Takes typed fields out of a JSON object that a stranger may have written. */
#ifndef POPPA_ACCOUNTING_RECORD_FIELDS_H
#define POPPA_ACCOUNTING_RECORD_FIELDS_H

#include <stddef.h>
#include <stdint.h>
#include <jansson.h>

#include "common/errmsg.h"

/*
 * Each returns 0, or -1 with err "WHAT: "FIELD" must be ..." and *out untouched.
 * A text must fit into size bytes with its end.
 */
int field_text(const char *what, const json_t *json, const char *field, char *out, size_t size,
	struct errmsg *err);
int field_int(const char *what, const json_t *json, const char *field, int64_t min, int64_t max,
	int64_t *out, struct errmsg *err);
/* null is NAN. */
int field_real(
	const char *what, const json_t *json, const char *field, double *out, struct errmsg *err);

/* A new reference: the number, or null for one that JSON cannot write. */
json_t *field_real_or_null(double value);

#endif
