/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Asks poppa-ledgerd, with a new connection for each request. */
#include "accounting/record/client.h"

#include <errno.h>
#include <netdb.h>
#include <poll.h>
#include <pwd.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "accounting/record/wire.h"
#include "common/clock.h"

#define DEFAULT_TIMEOUT_MS 10000
#define NO_NODE "~" /* comes after the names of all nodes */

int client_init(struct client *c, const struct poppa_settings *settings,
	const struct nodeconf *conf, const char *controller, struct errmsg *err)
{
	char names[4096];
	struct passwd pw, *found = NULL;

	memset(c, 0, sizeof(*c));
	c->port = settings->ledger_port;
	c->timeout_ms = DEFAULT_TIMEOUT_MS;
	strcpy(c->munge_socket, conf->munge_socket);
	if (*settings->ledger_host) {
		strcpy(c->host, settings->ledger_host);
	} else {
		const char *first = controller ? controller : "";
		size_t len = strcspn(first, ",(");

		if (first[len] == '(') {
			first += len + 1;
			len = strcspn(first, "),");
		}
		if (!len || len >= sizeof(c->host))
			return errmsg_set(err, "the ledger's host is unknown: set poppa_ledger in "
					       "PrEpParameters");
		snprintf(c->host, sizeof(c->host), "%.*s", (int)len, first);
	}
	if (getpwnam_r(conf->ledger_user, &pw, names, sizeof(names), &found) || !found)
		return errmsg_set(err, "LedgerUser=%s is no user of this host", conf->ledger_user);
	c->ledger_uid = found->pw_uid;
	return 0;
}

/* Returns 0 when fd is ready, or -1 with errno (ETIMEDOUT at the deadline). */
static int wait_for(int fd, short events, int64_t deadline)
{
	for (;;) {
		struct pollfd p = {.fd = fd, .events = events};
		int64_t left = deadline - clock_now_ms();
		int n = left > 0 ? poll(&p, 1, (int)left) : 0;

		if (n > 0)
			return 0;
		if (n < 0 && errno == EINTR)
			continue;
		if (n == 0)
			errno = ETIMEDOUT;
		return -1;
	}
}

static int connect_one(const struct addrinfo *a, int64_t deadline)
{
	int fd = socket(a->ai_family, a->ai_socktype | SOCK_NONBLOCK | SOCK_CLOEXEC, 0), saved;
	socklen_t len = sizeof(saved);

	if (fd < 0)
		return -1;
	if (!connect(fd, a->ai_addr, a->ai_addrlen))
		return fd;
	if (errno == EINPROGRESS && !wait_for(fd, POLLOUT, deadline) &&
		!getsockopt(fd, SOL_SOCKET, SO_ERROR, &saved, &len)) {
		if (!saved)
			return fd;
		errno = saved;
	}
	saved = errno;
	close(fd);
	errno = saved;
	return -1;
}

static int connect_to(const struct client *c, int64_t deadline, struct errmsg *err)
{
	const struct addrinfo hints = {.ai_socktype = SOCK_STREAM, .ai_flags = AI_NUMERICSERV};
	struct addrinfo *found;
	char port[16];
	int rc, fd = -1;

	snprintf(port, sizeof(port), "%d", c->port);
	rc = getaddrinfo(c->host, port, &hints, &found);
	if (rc)
		return errmsg_set(err, "ledger %s: %s", c->host, gai_strerror(rc));
	for (const struct addrinfo *a = found; a && fd < 0; a = a->ai_next)
		fd = connect_one(a, deadline);
	if (fd < 0)
		errmsg_set(err, "ledger %s port %d: %s", c->host, c->port, strerror(errno));
	freeaddrinfo(found);
	return fd;
}

static int send_line(int fd, const char *line, int64_t deadline)
{
	size_t len = strlen(line);

	while (len) {
		ssize_t n = send(fd, line, len, MSG_NOSIGNAL);

		if (n < 0 && errno == EAGAIN) {
			if (wait_for(fd, POLLOUT, deadline))
				return -1;
		} else if (n < 0 && errno != EINTR) {
			return -1;
		} else if (n > 0) {
			line += n;
			len -= n;
		}
	}
	return 0;
}

/* Reads a line; *len is without its newline. The caller frees it. NULL with errno. */
static char *receive_line(int fd, size_t *len, int64_t deadline)
{
	char *buf = malloc(WIRE_MAX_LINE);
	size_t used = 0;

	while (buf && used < WIRE_MAX_LINE) {
		ssize_t n = recv(fd, buf + used, WIRE_MAX_LINE - used, 0);

		if (n < 0 && errno == EAGAIN) {
			if (wait_for(fd, POLLIN, deadline))
				break;
		} else if (n < 0 && errno != EINTR) {
			break;
		} else if (n == 0) {
			errno = ECONNRESET;
			break;
		} else if (n > 0) {
			char *end = memchr(buf + used, '\n', n);

			used += n;
			if (end) {
				*len = end - buf;
				return buf;
			}
			errno = EMSGSIZE;
		}
	}
	free(buf);
	return NULL;
}

/* Returns the reply if it comes from the ledger, answers this request and reports success; else
 * NULL with err. */
static json_t *check_reply(const struct client *c, const struct wire_auth *auth, const char *line,
	size_t len, const char *nonce, struct errmsg *err)
{
	struct errmsg why = {""};
	uid_t from;
	json_t *reply = wire_decode(auth, line, len, &from, &why);
	const char *echoed, *error;

	if (!reply) {
		errmsg_set(err, "ledger %s: bad reply: %s", c->host, why.text);
		return NULL;
	}
	echoed = json_string_value(json_object_get(reply, "nonce"));
	error = json_string_value(json_object_get(reply, "error"));
	if (from != 0 && from != c->ledger_uid)
		errmsg_set(err, "ledger %s: the reply comes from uid %u, not from LedgerUser",
			c->host, (unsigned)from);
	else if (error)
		errmsg_set(err, "ledger %s: %s", c->host, error);
	else if (!echoed || strcmp(echoed, nonce))
		errmsg_set(err, "ledger %s: the reply answers another question", c->host);
	else if (!json_is_true(json_object_get(reply, "ok")))
		errmsg_set(err, "ledger %s: the reply is not understood", c->host);
	else
		return reply;
	json_decref(reply);
	return NULL;
}

/* Sends a request, whose reference it takes. Returns the reply, a new reference, or NULL. */
static json_t *ask(const struct client *c, json_t *request, struct errmsg *err)
{
	struct wire_auth auth = wire_munge(c->munge_socket);
	int64_t deadline = clock_now_ms() + c->timeout_ms;
	char nonce[33], *line = NULL, *answer = NULL;
	json_t *reply = NULL;
	size_t len;
	int fd = -1;

	if (wire_nonce(nonce, err))
		goto done;
	if (!request || json_object_set_new(request, "nonce", json_string(nonce))) {
		errmsg_set(err, "a request cannot be made: out of memory, or a text that is not "
				"UTF-8");
		goto done;
	}
	line = wire_encode(&auth, request, c->ledger_uid, err);
	if (!line)
		goto done;
	fd = connect_to(c, deadline, err);
	if (fd < 0)
		goto done;
	if (send_line(fd, line, deadline) || !(answer = receive_line(fd, &len, deadline)))
		errmsg_set(err, "ledger %s port %d: %s", c->host, c->port, strerror(errno));
	else
		reply = check_reply(c, &auth, answer, len, nonce, err);
done:
	if (fd >= 0)
		close(fd);
	free(line);
	free(answer);
	json_decref(request);
	return reply;
}

static void take_news(const json_t *reply, struct client_news *news)
{
	const char *id = json_string_value(json_object_get(reply, "ledger"));

	snprintf(news->ledger, sizeof(news->ledger), "%s", id ? id : "");
	news->has_prior = !slow_prior_from_json(json_object_get(reply, "prior"), &news->prior);
}

static int send_batch(const struct client *c, const struct ledger_record *records, int n,
	enum client_ack *ack, struct client_news *news, struct errmsg *err)
{
	json_t *list = json_array(), *request, *reply, *results;

	for (int i = 0; list && i < n; i++)
		json_array_append_new(list, record_to_json(&records[i]));
	request = json_pack("{s:s, s:o}", "op", "record", "records", list);
	if (*c->node_type)
		json_object_set_new(request, "node_type", json_string(c->node_type));
	reply = ask(c, request, err);
	if (!reply)
		return -1;
	results = json_object_get(reply, "results");
	if ((int)json_array_size(results) != n) {
		json_decref(reply);
		return errmsg_set(err, "ledger %s: the reply does not match the records", c->host);
	}
	for (int i = 0; i < n; i++) {
		const json_t *result = json_array_get(results, i);
		const char *why = json_string_value(json_object_get(result, "error"));

		ack[i] =
			json_is_true(json_object_get(result, "ok")) ? CLIENT_ACKED : CLIENT_REFUSED;
		if (ack[i] == CLIENT_REFUSED)
			errmsg_set(err, "ledger %s: job %u: %s", c->host, records[i].job_id,
				why ? why : "refused");
	}
	if (news)
		take_news(reply, news);
	json_decref(reply);
	return 0;
}

int client_send_records(const struct client *c, const struct ledger_record *records, int n,
	enum client_ack *ack, struct client_news *news, struct errmsg *err)
{
	err->text[0] = '\0';
	for (int i = 0; i < n; i++)
		ack[i] = CLIENT_PENDING;
	for (int i = 0; i < n || i == 0; i += CLIENT_MAX_BATCH) {
		int batch = n - i < CLIENT_MAX_BATCH ? n - i : CLIENT_MAX_BATCH;

		if (send_batch(c, records + i, batch, ack + i, news, err))
			return -1;
	}
	return 0;
}

static int add_records(struct client_answer *answer, const json_t *list, struct errmsg *err)
{
	size_t n = (size_t)answer->record_count + json_array_size(list), i;
	struct ledger_record *more = reallocarray(answer->records, n + 1, sizeof(*more));
	const json_t *record;

	if (!more)
		return errmsg_set(err, "out of memory");
	answer->records = more;
	json_array_foreach(list, i, record)
	{
		if (record_from_json(record, &more[answer->record_count], err))
			return -1;
		answer->record_count++;
	}
	return 0;
}

/* Adds one reply to the answer. Every reply says the same about the run as a whole. */
static int add_part(struct client_answer *answer, const json_t *reply, struct errmsg *err)
{
	const json_t *settlement = json_object_get(reply, "settlement");
	const char *id = json_string_value(json_object_get(reply, "ledger"));

	if (add_records(answer, json_object_get(reply, "records"), err))
		return -1;
	if (json_is_object(settlement)) {
		if (settlement_from_json(settlement, &answer->settlement, err))
			return -1;
		answer->settled = true;
	}
	json_decref(answer->changes);
	answer->changes = json_incref(json_object_get(reply, "changes"));
	snprintf(answer->ledger, sizeof(answer->ledger), "%s", id ? id : "");
	return 0;
}

/* Asks about the nodes whose names come after `after` and not after `upto` (NULL: to the last),
 * with as many requests as the ledger needs to answer. */
static int ask_part(const struct client *c, const struct client_run *run, json_t *nodes,
	const char *after, const char *upto, struct client_answer *answer, struct errmsg *err)
{
	char next[64];
	int rc;

	snprintf(next, sizeof(next), "%s", after);
	do {
		json_t *request = json_pack("{s:s, s:s, s:I, s:I, s:I, s:O?, s:s}", "op", "job",
			"cluster", run->cluster, "job", (json_int_t)run->job_id, "restart",
			(json_int_t)run->restart, "start", (json_int_t)run->start_unix, "nodes",
			nodes, "after", next);
		json_t *reply;
		const char *more;

		if (upto)
			json_object_set_new(request, "upto", json_string(upto));
		reply = ask(c, request, err);
		more = json_string_value(json_object_get(reply, "more"));
		if (!reply)
			return -1;
		rc = add_part(answer, reply, err);
		if (more && strcmp(more, next) <= 0)
			rc = errmsg_set(err, "ledger %s: the reply is not understood", c->host);
		snprintf(next, sizeof(next), "%s", more ? more : "");
		json_decref(reply);
	} while (!rc && *next);
	return rc;
}

static const char *name_of(const json_t *node)
{
	const char *name = json_string_value(json_object_get(node, "name"));

	return name ? name : "";
}

static int compare_names(const void *a, const void *b)
{
	return strcmp(name_of(*(json_t *const *)a), name_of(*(json_t *const *)b));
}

/* The nodes by name, the order in which the ledger has them. The caller frees the list. */
static json_t **sorted(const json_t *nodes)
{
	size_t n = json_array_size(nodes);
	json_t **list = calloc(n + 1, sizeof(*list));

	for (size_t i = 0; list && i < n; i++)
		list[i] = json_array_get(nodes, i);
	if (list)
		qsort(list, n, sizeof(*list), compare_names);
	return list;
}

/* The addresses of many nodes do not fit into one line. The parts together cover every possible
 * name, so the ledger also looks at records in the names of nodes that are not in the list. */
static int ask_in_parts(const struct client *c, const struct client_run *run,
	struct client_answer *answer, struct errmsg *err)
{
	size_t n = json_array_size(run->nodes);
	json_t **node = sorted(run->nodes);
	const char *after = "";
	int rc = node ? 0 : errmsg_set(err, "out of memory");

	for (size_t i = 0; !rc && i < n; i += WIRE_NODES_AT_ONCE) {
		bool last = n - i <= WIRE_NODES_AT_ONCE;
		size_t end = last ? n : i + WIRE_NODES_AT_ONCE;
		const char *upto = last ? NULL : name_of(node[end - 1]);
		json_t *part = json_array();

		for (size_t k = i; k < end; k++)
			json_array_append(part, node[k]);
		rc = ask_part(c, run, part, after, upto, answer, err);
		json_decref(part);
		after = upto;
	}
	free(node);
	return rc;
}

int client_job(const struct client *c, const struct client_run *run, struct client_answer *answer,
	struct errmsg *err)
{
	int rc;

	memset(answer, 0, sizeof(*answer));
	if (json_array_size(run->nodes) > WIRE_NODES_AT_ONCE)
		rc = ask_in_parts(c, run, answer, err);
	else
		rc = ask_part(c, run, run->nodes, "", NULL, answer, err);
	if (rc)
		client_answer_free(answer);
	return rc;
}

int client_settlement(const struct client *c, const struct client_run *run, struct settlement *s,
	struct errmsg *err)
{
	struct client_answer answer = {.records = NULL};
	int rc = ask_part(c, run, NULL, NO_NODE, NO_NODE, &answer, err);

	if (!rc && answer.settled) {
		*s = answer.settlement;
		rc = 1;
	}
	client_answer_free(&answer);
	return rc;
}

void client_answer_free(struct client_answer *answer)
{
	free(answer->records);
	json_decref(answer->changes);
	memset(answer, 0, sizeof(*answer));
}

static int put_settlement(const struct client *c, const char *op, const struct settlement *s,
	struct settlement *stored, bool *first, struct errmsg *err)
{
	json_t *reply =
		ask(c, json_pack("{s:s, s:o}", "op", op, "settlement", settlement_to_json(s)), err);
	int rc;

	if (!reply)
		return -1;
	rc = settlement_from_json(json_object_get(reply, "settlement"), stored, err);
	*first = json_is_true(json_object_get(reply, "first"));
	json_decref(reply);
	return rc;
}

/* Asks about a cluster. Returns the array in the reply, a new reference; NULL with err. */
static json_t *list_of(const struct client *c, const char *op, const char *cluster,
	const char *member, struct errmsg *err)
{
	json_t *reply = ask(c, json_pack("{s:s, s:s}", "op", op, "cluster", cluster), err);
	json_t *list = json_incref(json_object_get(reply, member));

	if (reply && !json_is_array(list)) {
		errmsg_set(err, "ledger %s: the reply is not understood", c->host);
		json_decref(list);
		list = NULL;
	}
	json_decref(reply);
	return list;
}

int client_settle(const struct client *c, const struct settlement *s, struct settlement *stored,
	bool *first, struct errmsg *err)
{
	return put_settlement(c, "settle", s, stored, first, err);
}

int client_restore(const struct client *c, const struct settlement *s, struct settlement *stored,
	bool *first, struct errmsg *err)
{
	return put_settlement(c, "restore", s, stored, first, err);
}

int client_change(
	const struct client *c, const struct settlement *s, const char *reason, struct errmsg *err)
{
	json_t *reply = ask(c,
		json_pack("{s:s, s:s, s:o}", "op", "change", "reason", reason, "settlement",
			settlement_to_json(s)),
		err);

	json_decref(reply);
	return reply ? 0 : -1;
}

json_t *client_changes(const struct client *c, const char *cluster, struct errmsg *err)
{
	return list_of(c, "changes", cluster, "changes", err);
}

int client_changed(const struct client *c, const struct settlement *s, bool written, bool *first,
	struct errmsg *err)
{
	json_t *reply = ask(c,
		json_pack("{s:s, s:b, s:o}", "op", "changed", "written", written, "settlement",
			settlement_to_json(s)),
		err);

	*first = json_is_true(json_object_get(reply, "first"));
	json_decref(reply);
	return reply ? 0 : -1;
}

json_t *client_unsettled(const struct client *c, const char *cluster, struct errmsg *err)
{
	return list_of(c, "unsettled", cluster, "runs", err);
}

json_t *client_status(const struct client *c, struct errmsg *err)
{
	json_t *reply = ask(c, json_pack("{s:s}", "op", "status"), err);

	if (reply)
		json_object_del(reply, "nonce");
	return reply;
}
