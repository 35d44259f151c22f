/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Counts each user's answers by the second. */
#include "common/askers.h"

#include "common/clock.h"
#include "common/units.h"

/* The user's entry. A new user takes the place of the one whose last question is the oldest. */
static struct asker *find(struct askers *a, uid_t uid)
{
	struct asker *found = &a->asker[0];
	const time_t now = clock_now() / NS_PER_S;

	for (int i = 0; i < ASKERS; i++) {
		struct asker *one = &a->asker[i];

		if (one->uid == uid && one->second) {
			found = one;
			break;
		}
		if (one->second < found->second)
			found = one;
	}
	if (found->uid != uid || found->second != now)
		*found = (struct asker){uid, now, 0};
	return found;
}

void askers_count(struct askers *a, uid_t uid)
{
	find(a, uid)->answers++;
}

bool askers_had_enough(struct askers *a, uid_t uid, int answers)
{
	return find(a, uid)->answers >= answers;
}
