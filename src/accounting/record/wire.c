/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Packs JSON into MUNGE credentials and takes it out again. */
#include "accounting/record/wire.h"

#include <errno.h>
#include <munge.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>

static enum wire_fault fault_of(munge_err_t e)
{
	switch (e) {
	case EMUNGE_CRED_REPLAYED:
		return WIRE_REPLAYED;
	case EMUNGE_CRED_EXPIRED:
	case EMUNGE_CRED_REWOUND:
		return WIRE_EXPIRED;
	case EMUNGE_SNAFU:
	case EMUNGE_BAD_ARG:
	case EMUNGE_NO_MEMORY:
	case EMUNGE_SOCKET:
	case EMUNGE_TIMEOUT:
		return WIRE_TROUBLE;
	default:
		return WIRE_INVALID;
	}
}

static munge_ctx_t new_context(const struct wire_auth *a, struct errmsg *err)
{
	munge_ctx_t ctx = munge_ctx_create();

	if (!ctx) {
		errmsg_set(err, "out of memory");
		return NULL;
	}
	if (a->munge_socket && *a->munge_socket &&
		munge_ctx_set(ctx, MUNGE_OPT_SOCKET, a->munge_socket) != EMUNGE_SUCCESS) {
		errmsg_set(err, "munge: %s", munge_ctx_strerror(ctx));
		munge_ctx_destroy(ctx);
		return NULL;
	}
	return ctx;
}

/* libmunge may have left a better message in the context. */
static int munge_failed(munge_ctx_t ctx, munge_err_t e, const char *what, struct errmsg *err)
{
	const char *detail = munge_ctx_strerror(ctx);

	return errmsg_set(err, "munge: cannot %s: %s", what, detail ? detail : munge_strerror(e));
}

static int munge_seal(const struct wire_auth *a, const char *payload, size_t len, uid_t reader,
	char **cred, struct errmsg *err)
{
	munge_ctx_t ctx = new_context(a, err);
	munge_err_t e = EMUNGE_SUCCESS;
	int rc = 0;

	if (!ctx)
		return -1;
	if (reader != WIRE_ANYBODY)
		e = munge_ctx_set(ctx, MUNGE_OPT_UID_RESTRICTION, reader);
	if (e == EMUNGE_SUCCESS)
		e = munge_encode(cred, ctx, payload, (int)len);
	if (e != EMUNGE_SUCCESS)
		rc = munge_failed(ctx, e, "make a credential", err);
	munge_ctx_destroy(ctx);
	return rc;
}

static int munge_open(const struct wire_auth *a, const char *cred, char **payload, size_t *len,
	uid_t *from, struct errmsg *err)
{
	munge_ctx_t ctx = new_context(a, err);
	munge_err_t e;
	void *data = NULL;
	int size = 0, rc = 0;
	gid_t gid;

	if (!ctx)
		return -1;
	e = munge_decode(cred, ctx, &data, &size, from, &gid);
	if (e != EMUNGE_SUCCESS) {
		/* The payload of an expired or replayed credential comes, too: drop it. */
		munge_failed(ctx, e, "accept the credential", err);
		rc = -(int)fault_of(e);
		free(data);
	} else if (!data) {
		rc = errmsg_set(err, "the credential is empty");
	} else {
		*payload = data; /* libmunge ends it with a zero byte, which size leaves out */
		*len = (size_t)size;
	}
	munge_ctx_destroy(ctx);
	return rc;
}

struct wire_auth wire_munge(const char *munge_socket)
{
	return (struct wire_auth){munge_seal, munge_open, munge_socket};
}

char *wire_encode(
	const struct wire_auth *a, const json_t *message, uid_t reader, struct errmsg *err)
{
	char *text = json_dumps(message, JSON_COMPACT), *cred = NULL, *line;
	size_t len;
	int rc;

	if (!text) {
		errmsg_set(err, "out of memory");
		return NULL;
	}
	if (strlen(text) >= WIRE_MAX_LINE) {
		errmsg_set(err, "a message of %zu bytes is longer than the limit of %d",
			strlen(text), WIRE_MAX_LINE);
		free(text);
		return NULL;
	}
	rc = a->seal(a, text, strlen(text), reader, &cred, err);
	free(text);
	if (rc)
		return NULL;
	len = strlen(cred);
	if (len + 1 > WIRE_MAX_LINE) {
		errmsg_set(err, "a line of %zu bytes is longer than the limit of %d", len + 1,
			WIRE_MAX_LINE);
		free(cred);
		return NULL;
	}
	line = realloc(cred, len + 2);
	if (!line) {
		errmsg_set(err, "out of memory");
		free(cred);
		return NULL;
	}
	strcpy(line + len, "\n");
	return line;
}

json_t *wire_decode_fault(const struct wire_auth *a, const char *line, size_t len, uid_t *from,
	enum wire_fault *fault, struct errmsg *err)
{
	char *cred, *payload = NULL;
	json_error_t why;
	json_t *message;
	size_t size = 0;
	int rc;

	*fault = WIRE_MALFORMED;
	while (len && (line[len - 1] == '\n' || line[len - 1] == '\r'))
		len--;
	if (!len || len >= WIRE_MAX_LINE) {
		errmsg_set(err, "a line must have 1 to %d bytes", WIRE_MAX_LINE - 1);
		*fault = len ? WIRE_OVERSIZED : WIRE_MALFORMED;
		return NULL;
	}
	if (memchr(line, '\0', len) || strncmp(line, "MUNGE:", len < 6 ? len : 6)) {
		errmsg_set(err, "the line is not a MUNGE credential");
		return NULL;
	}
	cred = strndup(line, len);
	if (!cred) {
		errmsg_set(err, "out of memory");
		*fault = WIRE_TROUBLE;
		return NULL;
	}
	rc = a->open(a, cred, &payload, &size, from, err);
	free(cred);
	if (rc) {
		*fault = -rc > WIRE_FINE && -rc < WIRE_FAULTS ? (enum wire_fault) - rc
							      : WIRE_INVALID;
		return NULL;
	}
	message = json_loadb(payload, size, JSON_REJECT_DUPLICATES, &why);
	free(payload);
	if (json_is_object(message)) {
		*fault = WIRE_FINE;
		return message;
	}
	if (message)
		errmsg_set(err, "not a JSON object");
	else
		errmsg_set(err, "not JSON: %s", why.text);
	json_decref(message);
	return NULL;
}

json_t *wire_decode(
	const struct wire_auth *a, const char *line, size_t len, uid_t *from, struct errmsg *err)
{
	enum wire_fault fault;

	return wire_decode_fault(a, line, len, from, &fault, err);
}

int wire_nonce(char out[33], struct errmsg *err)
{
	unsigned char bytes[16];
	ssize_t n;

	do
		n = getrandom(bytes, sizeof(bytes), 0);
	while (n < 0 && errno == EINTR);
	if (n != (ssize_t)sizeof(bytes))
		return errmsg_set(err, "no random numbers: %s", strerror(errno));
	for (size_t i = 0; i < sizeof(bytes); i++)
		snprintf(out + 2 * i, 3, "%02x", bytes[i]);
	return 0;
}
