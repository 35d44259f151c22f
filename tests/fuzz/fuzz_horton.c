/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Fuzzes Horton tables: three bytes are one change, and a plain array says what should be there. */
#include <stdlib.h>
#include <string.h>

#include "fuzz.h"
#include "horton/poppa_horton.h"

#define KEYS 256

static void check(const struct horton *t, const bool *there, const uint32_t *value)
{
	uint64_t items = 0;

	MUST(horton_check(t));
	for (uint32_t key = 0; key < KEYS; key++) {
		uint32_t found = 0;

		MUST(horton_lookup(t, key, &found) == there[key]);
		MUST(!there[key] || found == value[key]);
		items += there[key];
	}
	MUST(horton_items(t) == items);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	bool there[KEYS] = {false};
	uint32_t value[KEYS];
	struct horton *t;

	if (size < 2)
		return 0;
	t = horton_create(1 + data[0] % 24, data[1]);
	MUST(t);
	for (size_t i = 2; i + 3 <= size; i += 3) {
		uint32_t key = data[i], v = (uint32_t)data[i + 2] << 24 | key;

		if (data[i + 1] % 3 == 0) {
			MUST(horton_erase(t, key) == there[key]);
			there[key] = false;
		} else {
			enum horton_result result = horton_insert(t, key, v);

			MUST(result == HORTON_FULL || (result == HORTON_REPLACED) == there[key]);
			if (result != HORTON_FULL) {
				there[key] = true;
				value[key] = v;
			}
		}
		if (data[i + 1] == 255)
			MUST(!horton_resize(t, 1 + data[i + 2] % 24));
	}
	check(t, there, value);
	horton_destroy(t);
	return 0;
}
