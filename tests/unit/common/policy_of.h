/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A price policy by its text, for tests that take it for granted. Include it after cmocka.h. */
#pragma once

#include "common/price_policy.h"

static inline struct price_policy policy_of(const char *text)
{
	struct price_policy p;
	struct errmsg err = {""};

	if (price_policy_parse(text, &p, &err))
		fail_msg("%s: %s", text, err.text);
	return p;
}
