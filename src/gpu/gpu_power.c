/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The model of power, and its constants as a setting. */
#include "gpu/gpu_power.h"

#include <string.h>

#include "common/keyval.h"
#include "common/units.h"

const struct gpu_power gpu_power_default = {
	.units = 44,
	.other_w = 30,
	.memory_w = 50,
	.idle_w = 38,
	.dynamic_w = 147,
};

static int constant(const char *key, const char *value, int line, void *arg, struct errmsg *err)
{
	struct gpu_power *p = arg;
	const struct {
		const char *key;
		double *at;
		double min;
	} rows[] = {
		{"units", &p->units, 1},
		{"other", &p->other_w, 0},
		{"memory", &p->memory_w, 0},
		{"idle", &p->idle_w, 0},
		{"dynamic", &p->dynamic_w, 0},
	};

	(void)line;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct errmsg why;

		if (strcmp(key, rows[i].key))
			continue;
		if (!value)
			return errmsg_set(err, "%s: give it a number", key);
		if (units_parse_double(value, rows[i].min, 1e6, rows[i].at, &why))
			return errmsg_set(err, "%s: %s", key, why.text);
		return 0;
	}
	return keyval_unknown(key, rows, sizeof(rows[0]), sizeof(rows) / sizeof(rows[0]), err);
}

int gpu_power_parse(struct gpu_power *p, const char *text, struct errmsg *err)
{
	return keyval_list(text, constant, p, err);
}

double gpu_power_w(const struct gpu_power *p, double units_on, double activity)
{
	return p->other_w + p->memory_w +
	       units_on / p->units * (p->idle_w + p->dynamic_w * activity);
}
