/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What is expected of three classes, for tests of choices among them. */
#pragma once

#include "striping/partners/expectation.h"

/* Two that fight, each with itself most, and one that feels nobody. */
static struct expectation *three(void)
{
	static const char *const name[] = {"7/calm", "7/mem", "7/net"};
	static const double d[3][3] = {{0, 0.02, 0.02}, {0.05, 0.3, 0.1}, {0.05, 0.1, 0.2}};
	struct pairs *p = pairs_new();
	struct expectation *e;

	for (int run = 0; run < 20; run++)
		for (int i = 0; i < 3; i++)
			for (int j = 0; j < 3; j++)
				assert_int_equal(
					pairs_learn(p, name[i], name[j], d[i][j], 3600, 1), 0);
	e = expectation_fit(p, NULL);
	assert_non_null(e);
	pairs_free(p);
	return e;
}
