/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Fuzzes what reaches poppa-ledgerd's port: a line, its message, and the ledger's answer to it. */
#include <stdlib.h>
#include <string.h>

#include "accounting/ledgerd/service.h"
#include "accounting/record/wire.h"
#include "common/log.h"
#include "fuzz.h"

/* An input is "MUNGE:", a digit that says who sends, and the message. */
enum { SENDER = 6, MESSAGE = 7 };
#define LEDGER_UID 64030
#define OWNER 1000

static int fake_seal(const struct wire_auth *a, const char *payload, size_t len, uid_t reader,
	char **cred, struct errmsg *err)
{
	(void)a;
	(void)reader;
	*cred = malloc(MESSAGE + len + 1);
	if (!*cred)
		return errmsg_set(err, "out of memory");
	memcpy(*cred, "MUNGE:0", MESSAGE);
	memcpy(*cred + MESSAGE, payload, len);
	(*cred)[MESSAGE + len] = '\0';
	return 0;
}

static int fake_open(const struct wire_auth *a, const char *cred, char **payload, size_t *len,
	uid_t *from, struct errmsg *err)
{
	(void)a;
	if (strlen(cred) < MESSAGE)
		return errmsg_set(err, "no sender");
	*from = cred[SENDER] == '0' ? 0 : cred[SENDER] == '1' ? LEDGER_UID : OWNER;
	*payload = strdup(cred + MESSAGE);
	*len = strlen(cred + MESSAGE);
	return *payload ? 0 : errmsg_set(err, "out of memory");
}

static const struct wire_auth auth = {fake_seal, fake_open, NULL};

static void no_log(enum plog_level level, const char *line)
{
	(void)level;
	(void)line;
}

/* What is accepted is written and read back as the same. */
static void round_trip(const json_t *message)
{
	const json_t *item;
	struct settlement s, s_again;
	struct errmsg err;
	size_t i;

	json_array_foreach(json_object_get(message, "records"), i, item)
	{
		struct ledger_record r, again;
		json_t *out, *twice;

		if (record_from_json(item, &r, &err))
			continue;
		out = record_to_json(&r);
		MUST(out);
		MUST(!record_from_json(out, &again, &err));
		twice = record_to_json(&again);
		MUST(json_equal(out, twice));
		json_decref(out);
		json_decref(twice);
	}
	if (!settlement_from_json(json_object_get(message, "settlement"), &s, &err)) {
		json_t *out = settlement_to_json(&s), *twice;

		MUST(out);
		MUST(!settlement_from_json(out, &s_again, &err));
		twice = settlement_to_json(&s_again);
		MUST(json_equal(out, twice));
		json_decref(out);
		json_decref(twice);
	}
}

/* Who is neither root nor LedgerUser changes nothing, whatever he asks. */
static void answer(const json_t *request, uid_t from)
{
	struct service service = {.ledger_uid = LEDGER_UID};
	json_t *reply, *before, *after, *back;
	struct errmsg err = {""};
	char aside[64], *line;
	uid_t reader;

	service.ledger = ledger_open(":memory:", aside, sizeof(aside), &err);
	MUST(service.ledger);
	before = ledger_counts(service.ledger, &err);
	reply = service_answer(&service, request, from);
	MUST(json_is_object(reply));
	if (json_is_string(json_object_get(request, "nonce")) &&
		json_is_string(json_object_get(request, "op")))
		MUST(json_equal(
			json_object_get(reply, "nonce"), json_object_get(request, "nonce")));
	/* The same once more finds what the first time left. */
	json_decref(service_answer(&service, request, from));
	after = ledger_counts(service.ledger, &err);
	MUST(before && after);
	if (from == OWNER)
		MUST(json_equal(before, after));
	line = wire_encode(&auth, reply, from, &err);
	if (line) {
		back = wire_decode(&auth, line, strlen(line), &reader, &err);
		MUST(json_equal(back, reply));
		json_decref(back);
		free(line);
	}
	json_decref(before);
	json_decref(after);
	json_decref(reply);
	ledger_close(service.ledger);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct errmsg err = {""};
	json_t *message;
	uid_t from;

	/* A refusal is a line of the log, which would be most of the time. */
	plog_set_sink(no_log);
	message = wire_decode(&auth, (const char *)data, size, &from, &err);
	if (!message) {
		MUST(*err.text);
		return 0;
	}
	round_trip(message);
	answer(message, from);
	json_decref(message);
	return 0;
}
