/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Fuzzes a user's program, in which poppad as root looks for a function to probe, and slurmstepd
 * for what it is linked with. */
#include <string.h>

#include "fuzz.h"
#include "preload/program.h"
/* The look into the file, without the task that has mapped it. */
#include "../../src/poppa/counter/symbol.c"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct symbol_place place = {.offset = 0};
	struct errmsg err = {""};
	unsigned int skip;
	const char *file = fuzz_file(data, size);
	int pin = open(file, O_PATH | O_CLOEXEC);

	MUST(pin >= 0);
	MUST(program_kind(file) <= PROGRAM_FOREIGN);
	if (look_up(pin, "a program", "main", &place, &err))
		MUST(*err.text && errno == ENODATA);
	close(pin);
	symbol_is_dear(data, size, &skip);
	MUST(skip <= size);
	return 0;
}
