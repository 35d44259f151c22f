/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Unit tests of the ledger's wire format, with a stand-in for MUNGE. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "accounting/record/wire.h"

/* "MUNGE:" FROM "/" READER "/" hexadecimal payload ":"; opens once, and only for `me`. */
static uid_t me = 1000;
static char opened[4][WIRE_MAX_LINE];
static int opened_count;

static int fake_seal(const struct wire_auth *a, const char *payload, size_t len, uid_t reader,
	char **cred, struct errmsg *err)
{
	char *out = malloc(2 * len + 64);
	int n = snprintf(out, 64, "MUNGE:%u/%u/", (unsigned)me, (unsigned)reader);

	(void)a;
	(void)err;
	for (size_t i = 0; i < len; i++)
		n += snprintf(out + n, 3, "%02x", (unsigned char)payload[i]);
	strcpy(out + n, ":");
	*cred = out;
	return 0;
}

static int fake_open(const struct wire_auth *a, const char *cred, char **payload, size_t *len,
	uid_t *from, struct errmsg *err)
{
	unsigned sender, reader, byte;
	int used = 0, n;

	(void)a;
	if (sscanf(cred, "MUNGE:%u/%u/%n", &sender, &reader, &used) != 2 || !used)
		return errmsg_set(err, "forged");
	for (int i = 0; i < opened_count; i++)
		if (!strcmp(opened[i], cred))
			return errmsg_set(err, "replayed");
	if (reader != (unsigned)WIRE_ANYBODY && reader != me)
		return errmsg_set(err, "not for you");
	strcpy(opened[opened_count++ % 4], cred);
	*payload = malloc(strlen(cred));
	*from = sender;
	for (n = 0; sscanf(cred + used + 2 * n, "%2x", &byte) == 1; n++)
		(*payload)[n] = (char)byte;
	(*payload)[n] = '\0';
	*len = n;
	return 0;
}

static const struct wire_auth fake = {fake_seal, fake_open, ""};

static int forget(void **state)
{
	(void)state;
	me = 1000;
	opened_count = 0;
	return 0;
}

static void there_and_back(void **state)
{
	json_t *message = json_pack("{s:s, s:i}", "op", "status", "n", 7), *back;
	struct errmsg err = {""};
	char *line = wire_encode(&fake, message, 0, &err);
	uid_t from = 1;

	(void)state;
	assert_non_null(line);
	assert_int_equal(strchr(line, '\n') - line, strlen(line) - 1);
	me = 0;
	back = wire_decode(&fake, line, strlen(line), &from, &err);
	assert_non_null(back);
	assert_true(json_equal(message, back));
	assert_int_equal(from, 1000);
	json_decref(back);
	/* The credential itself refuses a second opening. */
	assert_null(wire_decode(&fake, line, strlen(line), &from, &err));
	assert_string_equal(err.text, "replayed");
	free(line);
	json_decref(message);
}

static void only_for_its_reader(void **state)
{
	json_t *message = json_pack("{s:s}", "op", "status");
	struct errmsg err = {""};
	char *line = wire_encode(&fake, message, 64, &err);
	uid_t from;

	(void)state;
	assert_null(wire_decode(&fake, line, strlen(line), &from, &err));
	assert_string_equal(err.text, "not for you");
	free(line);
	json_decref(message);
}

static void bad_lines(void **state)
{
	static const char *const bad[] = {"", "\n", "\r\n", "hello\n", "{\"op\":\"status\"}\n",
		"MUNGE:\n", "MUNGE:x\n", "munge:1/2/3:\n", "MUNGE:1000/1000/6e6f:\n",
		"MUNGE:1000/1000/5b5d:\n", "MUNGE:1000/1000/:\n",
		/* {"op":1,"op":2} */ "MUNGE:1000/1000/7b226f70223a312c226f70223a327d:\n"};
	char with_zero[] = "MUNGE:1000/1000/7b7d\0:\n";
	struct errmsg err;
	uid_t from;
	char *big;

	(void)state;
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		opened_count = 0;
		err.text[0] = '\0';
		assert_null(wire_decode(&fake, bad[i], strlen(bad[i]), &from, &err));
		assert_true(*err.text);
	}
	assert_null(wire_decode(&fake, with_zero, sizeof(with_zero) - 1, &from, &err));
	big = malloc(WIRE_MAX_LINE + 10);
	memset(big, 'a', WIRE_MAX_LINE + 10);
	memcpy(big, "MUNGE:", 6);
	assert_null(wire_decode(&fake, big, WIRE_MAX_LINE + 10, &from, &err));
	free(big);
}

static void too_long_a_message(void **state)
{
	json_t *message = json_object();
	struct errmsg err = {""};
	char *text = malloc(WIRE_MAX_LINE), *line;

	(void)state;
	/* Fits as text, not as the credential, which is longer. */
	memset(text, 'x', WIRE_MAX_LINE);
	text[WIRE_MAX_LINE / 2] = '\0';
	json_object_set_new(message, "a", json_string(text));
	assert_null(wire_encode(&fake, message, 0, &err));
	assert_non_null(strstr(err.text, "limit"));
	json_object_set_new(message, "b", json_string(text));
	assert_null(wire_encode(&fake, message, 0, &err));
	json_object_clear(message);
	text[WIRE_MAX_LINE / 4] = '\0';
	json_object_set_new(message, "a", json_string(text));
	line = wire_encode(&fake, message, 0, &err);
	assert_non_null(line);
	free(line);
	free(text);
	json_decref(message);
}

static void nonces_differ(void **state)
{
	struct errmsg err = {""};
	char a[33], b[33];

	(void)state;
	assert_int_equal(wire_nonce(a, &err), 0);
	assert_int_equal(wire_nonce(b, &err), 0);
	assert_int_equal(strlen(a), 32);
	assert_int_equal(strspn(a, "0123456789abcdef"), 32);
	assert_string_not_equal(a, b);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup(there_and_back, forget),
		cmocka_unit_test_setup(only_for_its_reader, forget),
		cmocka_unit_test_setup(bad_lines, forget),
		cmocka_unit_test_setup(too_long_a_message, forget),
		cmocka_unit_test(nonces_differ),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
