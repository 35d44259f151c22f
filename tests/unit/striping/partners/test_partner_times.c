/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Unit tests of striping/vacancy: against a search through every moment, too. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "striping/partners/partner_times.h"

#define MOST 64

struct plan {
	struct poppa_settings s;
	struct vacancy v[MOST];
	int count;
};

static void plan(struct plan *p, const char *match)
{
	struct errmsg err = {""};

	memset(p, 0, sizeof(*p));
	settings_defaults(&p->s);
	assert_int_equal(settings_parse(match, &p->s, &err), 0);
}

/* A lane of the node beside the partners `group` (0: none). */
static void lane(struct plan *p, int node, char group, time_t from, time_t until)
{
	struct candidate c = {
		.node = node, .group = (uint64_t)group, .shared = group, .when = from};

	p->v[p->count++] = (struct vacancy){c, until};
}

static void is_starts(struct plan *p, int nodes, time_t alone, const char *expected)
{
	time_t start[3];
	int n = partner_times_starts(&p->s, p->v, p->count, nodes, nodes, alone, start, 3);
	char text[64] = "";

	for (int i = 0; i < n; i++)
		sprintf(text + strlen(text), "%s%ld", i ? " " : "", (long)start[i]);
	assert_string_equal(text, expected);
}

/* Two nodes on which the lane beside b is free before b ends; two that are left as a whole. */
static void four_nodes(struct plan *p, const char *match)
{
	plan(p, match);
	for (int n = 0; n < 2; n++) {
		lane(p, n, 'b', 50, 300);
		lane(p, n, 0, 300, 0);
	}
	lane(p, 2, 'd', 100, 200);
	lane(p, 2, 0, 200, 0);
	lane(p, 3, 'd', 120, 200);
	lane(p, 3, 0, 200, 0);
}

static void a_lane_beside_a_match(void **state)
{
	struct plan p;

	(void)state;
	four_nodes(&p, "stripe_match=exact");
	is_starts(&p, 2, 0, "50 120 300");
	is_starts(&p, 4, 0, "300");
	is_starts(&p, 5, 0, "");
	four_nodes(&p, "stripe_match=within:50%");
	/* Beside b and on the two that are empty from 200 on. */
	is_starts(&p, 4, 0, "200 300");
	is_starts(&p, 3, 0, "200 300");
	p.count = 0;
	is_starts(&p, 1, 0, "");
}

static void a_group_must_be_whole_at_once(void **state)
{
	struct plan p;

	(void)state;
	plan(&p, "stripe_match=exact");
	lane(&p, 0, 'a', 10, 20);
	lane(&p, 1, 'a', 20, 30);
	lane(&p, 2, 'a', 20, 30);
	is_starts(&p, 2, 0, "20");
	plan(&p, "stripe_match=exact");
	lane(&p, 0, 'a', 10, 20);
	lane(&p, 1, 'a', 20, 30);
	is_starts(&p, 2, 0, "");
}

static void a_partner_that_is_asked_for(void **state)
{
	struct plan p;

	(void)state;
	plan(&p, "stripe_match=exact");
	lane(&p, 0, 'a', 50, 300);
	lane(&p, 0, 0, 300, 0);
	lane(&p, 1, 0, 0, 0);
	lane(&p, 2, 0, 0, 0);
	p.v[0].c.named = true;
	/* Whatever its size, and with empty nodes beside it, but not on these alone while it runs.
	 */
	is_starts(&p, 2, 300, "50 300");
	is_starts(&p, 2, 0, "0 50 300");
	plan(&p, "stripe_match=exact");
	lane(&p, 1, 0, 0, 0);
	lane(&p, 2, 0, 0, 0);
	is_starts(&p, 2, 70, "70");
}

/* Whether a job of so many nodes could start at t, looked up node by node. */
static bool could_start(const struct plan *p, int nodes, time_t alone, time_t t)
{
	int size[256] = {0}, empty = 0;

	for (int i = 0; i < p->count; i++) {
		const struct vacancy *v = &p->v[i];

		if (t < v->c.when || (v->until && t >= v->until))
			continue;
		if (v->c.shared)
			size[v->c.group]++;
		else
			empty++;
	}
	if (empty >= nodes && t >= alone)
		return true;
	for (int g = 1; g < 256; g++)
		if (size[g] >= nodes ||
			(size[g] && p->s.stripe_match == MATCH_WITHIN && size[g] + empty >= nodes))
			return true;
	return false;
}

static void the_first_is_the_earliest(void **state)
{
	static const char *const match[] = {"stripe_match=exact", "stripe_match=within:25%"};

	(void)state;
	srand(5);
	for (int round = 0; round < 2000; round++) {
		int nodes = rand() % 5 + 1;
		time_t start[2], first = -1, alone = rand() % 3 ? 0 : rand() % 60;
		struct plan p;
		int n;

		plan(&p, match[round % 2]);
		for (int node = 0; node < 12; node++) {
			time_t t = rand() % 20;

			for (int k = rand() % 3; k > 0; k--) {
				time_t until = t + 1 + rand() % 20;

				if (rand() % 4)
					lane(&p, node, (char)('a' + rand() % 4), t, until);
				t = until;
			}
			lane(&p, node, 0, t, 0);
		}
		for (time_t t = 0; t < 100 && first < 0; t++)
			if (could_start(&p, nodes, alone, t))
				first = t;
		n = partner_times_starts(&p.s, p.v, p.count, nodes, nodes, alone, start, 2);
		assert_true(n > 0);
		assert_int_equal(start[0], first);
		for (int i = 0; i < n; i++)
			assert_true(could_start(&p, nodes, alone, start[i]));
		assert_true(n < 2 || start[0] < start[1]);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_lane_beside_a_match),
		cmocka_unit_test(a_group_must_be_whole_at_once),
		cmocka_unit_test(a_partner_that_is_asked_for),
		cmocka_unit_test(the_first_is_the_earliest),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
