/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Expects what programs do that share a cache, and prints the groups, the best one first. */
#include "cli/profile/compare.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/ask/cli.h"
#include "cli/profile/read_histogram.h"
#include "common/printable.h"
#include "striping/reuse/balance_set.h"
#include "striping/reuse/forecast.h"

#define KIB 1024.0
/* What a miss of the last cache takes, roughly, on today's processors. */
#define MISS_CYCLES 200
#define NAME_MAX_SHOWN 100

struct comparison {
	int programs, lanes;
	struct reuse_histogram h[REUSE_GROUP_MAX];
	char name[REUSE_GROUP_MAX][NAME_MAX_SHOWN]; /* made printable */
	double alone[REUSE_GROUP_MAX];              /* miss rate, and references per cycle */
	double alone_rate[REUSE_GROUP_MAX];
	struct forecast_machine machine;
};

static int read_all(struct comparison *c, char *const *files)
{
	for (int i = 0; i < c->programs; i++) {
		struct errmsg err;

		if (read_histogram(files[i], &c->h[i], &err))
			return cli_error("%s", plain_text(err.text));
		snprintf(c->name[i], sizeof(c->name[i]), "%s", files[i]);
		plain_text(c->name[i]);
	}
	return CLI_OK;
}

static double expect(const struct comparison *c, const int *member, int size,
	enum miss_rate_method method, struct miss_rate_member *m)
{
	for (int i = 0; i < size; i++)
		m[i].h = &c->h[member[i]];
	return forecast_group(&c->machine, m, size, method, NULL);
}

static double group_rate(const int *member, int size, void *arg)
{
	struct miss_rate_member m[REUSE_GROUP_MAX];

	return expect(arg, member, size, MISS_COMB, m);
}

static void show_group(const struct comparison *c, const struct balance_group *g, json_t *groups)
{
	json_t *files = groups ? json_array() : NULL, *speeds = groups ? json_array() : NULL;
	struct miss_rate_member m[REUSE_GROUP_MAX];
	int member[REUSE_GROUP_MAX], n = 0;
	double avg;

	for (int p = 0; p < c->programs; p++)
		if (g->members >> p & 1)
			member[n++] = p;
	avg = expect(c, member, n, MISS_AVG, m);
	expect(c, member, n, MISS_COMB, m);
	if (!groups)
		printf("%7.2f%% %7.2f%% ", 100 * g->miss_rate, 100 * avg);
	for (int i = 0; i < n; i++) {
		double speed = m[i].rate / c->alone_rate[member[i]];

		if (groups) {
			json_array_append_new(files, json_string(c->name[member[i]]));
			json_array_append_new(speeds, json_real(speed));
		} else {
			printf(" %s %.2f", c->name[member[i]], speed);
		}
	}
	if (groups)
		json_array_append_new(
			groups, json_pack("{s:o, s:f, s:f, s:o}", "files", files, "comb",
					g->miss_rate, "avg", avg, "speed", speeds));
	else
		putchar('\n');
}

static int print(const struct comparison *c, struct balance_set *set, int cache_kib, bool json)
{
	json_t *programs = json ? json_array() : NULL, *groups = json ? json_array() : NULL;
	const struct balance_group *g;

	if (!json)
		printf("   ALONE  PROGRAM\n");
	for (int p = 0; p < c->programs; p++)
		if (json)
			json_array_append_new(programs,
				json_pack("{s:s, s:f}", "file", c->name[p], "alone", c->alone[p]));
		else
			printf("%7.2f%%  %s\n", 100 * c->alone[p], c->name[p]);
	if (!json)
		printf("    COMB      AVG  PROGRAMS AND THEIR SPEEDS\n");
	for (int i = 0; (g = balance_set_group(set, i)); i++)
		show_group(c, g, groups);
	if (json)
		return cli_print_json(json_pack("{s:i, s:i, s:o, s:o, s:f}", "cache_kib", cache_kib,
			"lanes", c->lanes, "programs", programs, "groups", groups, "threshold",
			balance_set_threshold(set)));
	printf("Each program is in a group with at most %.2f%%.\n",
		100 * balance_set_threshold(set));
	return CLI_OK;
}

int compare_programs(char *const *files, int count, int lanes, int cache_kib, bool json)
{
	struct comparison c = {.programs = count,
		.lanes = lanes,
		.machine = {.levels = 1, .level = {{cache_kib * KIB / REUSE_LINE, MISS_CYCLES}}}};
	struct balance_set *set;
	struct errmsg err;
	int rc;

	if (count > REUSE_GROUP_MAX)
		return cli_error("at most %d programs are compared", REUSE_GROUP_MAX);
	if (read_all(&c, files))
		return CLI_FAILURE;
	for (int p = 0; p < count; p++) {
		struct miss_rate_member m;

		c.alone[p] = expect(&c, &p, 1, MISS_COMB, &m);
		c.alone_rate[p] = m.rate;
	}
	set = balance_set_new(count, lanes, group_rate, &c, &err);
	if (!set)
		return cli_error("%s", err.text);
	rc = print(&c, set, cache_kib, json);
	balance_set_free(set);
	return rc;
}
