/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Unit tests of src/accounting/record/origin.c. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <arpa/inet.h>
#include <netinet/in.h>
#include <stdio.h>
#include <string.h>

#include "accounting/record/origin.h"

/* How the other end of a connection is called, and whether it may speak for a node. */
static void origins(void **state)
{
	static const struct {
		const char *peer, *own, *name;
	} cases[] = {
		{"10.1.2.3", "10.1.2.1", "10.1.2.3"},
		{"127.0.0.1", "127.0.0.1", "local"},
		{"127.3.3.3", "127.0.0.1", "local"},
		{"10.1.2.1", "10.1.2.1", "local"},
	};
	json_t *nodes = json_pack("[{s:s, s:[s]}, {s:s, s:[s]}]", "name", "n1", "addresses",
		"127.0.1.1", "name", "n2", "addresses", "203.0.113.9");
	char name[ORIGIN_SIZE];

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct sockaddr_in peer = {.sin_family = AF_INET}, own = {.sin_family = AF_INET};

		inet_pton(AF_INET, cases[i].peer, &peer.sin_addr);
		inet_pton(AF_INET, cases[i].own, &own.sin_addr);
		assert_string_equal(origin_name((struct sockaddr *)&peer, sizeof(peer),
					    (struct sockaddr *)&own, sizeof(own), name),
			cases[i].name);
	}
	assert_true(origin_allowed(nodes, "n1", "local"));
	assert_true(origin_allowed(nodes, "n1", "127.0.1.1"));
	assert_false(origin_allowed(nodes, "n1", "203.0.113.9"));
	assert_true(origin_allowed(nodes, "n2", "203.0.113.9"));
	/* The ledger's host does not have that address. */
	assert_false(origin_allowed(nodes, "n2", "local"));
	assert_false(origin_allowed(nodes, "n3", ""));
	json_decref(nodes);
}

/* Where origins are not looked at every one passes. But nobody passes because a name server is
 * away: any host could speak for the node then. */
static void unknown_origins(void **state)
{
	json_t *nodes = json_pack("[{s:s, s:[]}, {s:s}]", "name", "n1", "addresses", "name", "n2");
	char name[ORIGIN_SIZE] = "before";
	struct sockaddr nobody = {.sa_family = AF_UNSPEC};

	(void)state;
	assert_false(origin_allowed(nodes, "n1", "203.0.113.9"));
	assert_false(origin_allowed(nodes, "n2", "local"));
	assert_true(origin_allowed(nodes, "n1", ""));
	assert_false(origin_allowed(nodes, "n", ""));
	assert_false(origin_allowed(NULL, "n1", "local"));
	assert_string_equal(
		origin_name(&nobody, sizeof(nobody), &nobody, sizeof(nobody), name), "");
	json_decref(nodes);
}

static void addresses_of_hosts(void **state)
{
	json_t *addresses = json_array();

	(void)state;
	assert_true(origin_resolve(addresses, "192.0.2.7"));
	assert_true(origin_resolve(addresses, "2001:db8::7"));
	assert_false(origin_resolve(addresses, "no host at all"));
	assert_int_equal(json_array_size(addresses), 2);
	assert_true(origin_controls(addresses, "192.0.2.7"));
	assert_true(origin_controls(addresses, "2001:db8::7"));
	assert_true(origin_controls(addresses, "local"));
	assert_false(origin_controls(addresses, "192.0.2.8"));
	assert_false(origin_controls(NULL, "192.0.2.7"));
	assert_false(origin_controls(addresses, ""));
	json_decref(addresses);
}

static int resolved;
static bool server_is_away;

/* A node whose name begins with "un" has none. */
static json_t *resolve_made_up(const char *node)
{
	resolved++;
	return server_is_away || !strncmp(node, "un", 2) ? json_array() : json_pack("[s]", node);
}

/* How often a node had to be resolved for an answer with so many addresses. */
static int asked(json_t *known, const char *node, int64_t now_s, bool may_wait, size_t count)
{
	int before = resolved;
	json_t *addresses = origin_remembered(known, node, now_s, may_wait, resolve_made_up);

	assert_true(json_is_array(addresses));
	assert_int_equal(json_array_size(addresses), count);
	if (count)
		assert_string_equal(json_string_value(json_array_get(addresses, 0)), node);
	json_decref(addresses);
	return resolved - before;
}

static void addresses_are_remembered(void **state)
{
	json_t *known = json_object();
	char node[32];

	(void)state;
	assert_int_equal(asked(known, "n1", 1000, false, 0), 0);
	assert_int_equal(asked(known, "n1", 1000, true, 1), 1);
	assert_int_equal(asked(known, "n1", 1599, true, 1), 0);
	/* Old ones are better than none. */
	assert_int_equal(asked(known, "n1", 1600, false, 1), 0);
	assert_int_equal(asked(known, "n1", 1600, true, 1), 1);
	assert_int_equal(asked(known, "n1", 2199, true, 1), 0);
	assert_int_equal(asked(known, "unknown", 1000, true, 0), 1);
	assert_int_equal(asked(known, "unknown", 1014, true, 0), 0);
	assert_int_equal(asked(known, "unknown", 1015, true, 0), 1);
	/* Nor does a node lose what it has, while the name server is away. */
	server_is_away = true;
	assert_int_equal(asked(known, "n1", 2200, true, 1), 1);
	assert_int_equal(asked(known, "n1", 2214, true, 1), 0);
	assert_int_equal(asked(known, "n1", 2215, true, 1), 1);
	server_is_away = false;
	assert_int_equal(asked(known, "n1", 2230, true, 1), 1);
	assert_int_equal(asked(known, "n1", 2829, true, 1), 0);
	for (int round = 0; round < 2; round++)
		for (int i = 0; i < 10000; i++) {
			snprintf(node, sizeof(node), "node%05d", i);
			assert_int_equal(asked(known, node, 1000, true, 1), round == 0);
		}
	json_decref(known);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(origins),
		cmocka_unit_test(unknown_origins),
		cmocka_unit_test(addresses_of_hosts),
		cmocka_unit_test(addresses_are_remembered),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
