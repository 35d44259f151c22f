/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Unit tests of src/common/hostport.c: hosts, ports, and what is neither. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "common/hostport.h"

static void hosts_and_ports(void **state)
{
	static const char *const bad[] = {"", ":7", "[::1", "[::1]x", "::1]", "a b", "a/b", "[]",
		"[]:7", "a:", "a:0", "a:65536"};
	struct errmsg err = {""};
	char host[64] = "before";
	int port = 6824;

	(void)state;
	assert_int_equal(hostport_parse("ctl", host, sizeof(host), &port, &err), 0);
	assert_string_equal(host, "ctl");
	assert_int_equal(port, 6824);
	assert_int_equal(hostport_parse("[::1]:7000", host, sizeof(host), &port, &err), 0);
	assert_string_equal(host, "::1");
	assert_int_equal(port, 7000);
	assert_int_equal(hostport_parse("fe80::1", host, sizeof(host), &port, &err), 0);
	assert_string_equal(host, "fe80::1");
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		*err.text = '\0';
		assert_int_equal(hostport_parse(bad[i], host, sizeof(host), &port, &err), -1);
		assert_true(*err.text);
		assert_string_equal(host, "fe80::1");
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(hosts_and_ports),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
