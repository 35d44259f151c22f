/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Fuzzes the value of --colocate. */
#include <stdlib.h>
#include <string.h>

#include "fuzz.h"
#include "striping/submit/colocate_option.h"

/* What the canonical text may hold: safe in a variable, in a comment and in a Name=Value file. */
static const char safe[] =
	"abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._+-@:/=,%";

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	char *text = fuzz_text(data, size), form[COLOCATE_TEXT_MAX], again[COLOCATE_TEXT_MAX];
	struct colocate c, read;
	struct errmsg err = {""};

	if (colocate_parse(text, &c, &err)) {
		MUST(*err.text);
	} else if (!c.help) {
		colocate_format(&c, form);
		MUST(strlen(form) < COLOCATE_TEXT_MAX);
		MUST(!form[strspn(form, safe)]);
		MUST(!colocate_parse(form, &read, &err));
		MUST(!strcmp(colocate_format(&read, again), form));
		MUST(c.not_count >= 0 && c.not_count <= COLOCATE_NAMES_MAX);
		for (int i = 0; i < c.not_count; i++)
			MUST(colocate_excludes(&read, c.not_name[i]));
		MUST(!colocate_excludes(&c, ""));
	}
	free(text);
	return 0;
}
