/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Fuzzes a user's program, in which poppad as root looks for a function to probe. */
#include <string.h>

#include "fuzz.h"
/* The look into the file, without the task that has mapped it. */
#include "../../src/poppa/counter/symbol.c"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct symbol_place place = {.offset = 0};
	struct errmsg err = {""};
	unsigned int skip;
	int pin = open(fuzz_file(data, size), O_PATH | O_CLOEXEC);

	MUST(pin >= 0);
	if (look_up(pin, "a program", "main", &place, &err))
		MUST(*err.text && errno == ENODATA);
	close(pin);
	symbol_is_dear(data, size, &skip);
	MUST(skip <= size);
	return 0;
}
