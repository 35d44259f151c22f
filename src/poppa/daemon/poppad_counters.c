/* SPDX-License-Identifier: GPL-2.0-or-later */
/* poppad --counters: says which counter backends this build can use on this host. */
#include "poppa/daemon/poppad.h"

#include <stdio.h>

#include "poppa/counter/counter.h"

int poppad_counters(const struct nodeconf *conf)
{
	json_t *all = json_array();
	int rc;

	for (int b = COUNTER_AUTO + 1; b < COUNTER_NONE; b++) {
		struct errmsg err = {""};
		bool usable = counter_available(b, conf, &err);

		json_array_append_new(
			all, json_pack("{s:s, s:s, s:b, s:s*}", "name", counter_backend_name(b),
				     "counts", counter_backend_counts(b), "usable", usable, "why",
				     usable ? NULL : err.text));
	}
	rc = json_dumpf(all, stdout, JSON_COMPACT) || putchar('\n') < 0 || fflush(stdout);
	json_decref(all);
	return rc ? -1 : 0;
}
