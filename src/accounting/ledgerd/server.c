/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Serves the ledger's protocol over TCP with libevent. */
#include "accounting/ledgerd/server.h"

#include <errno.h>
#include <netdb.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/queue.h>
#include <sys/socket.h>
#include <unistd.h>
#include <event2/buffer.h>
#include <event2/bufferevent.h>
#include <event2/listener.h>
#include <event2/util.h>

#include "accounting/record/origin.h"
#include "common/askers.h"
#include "common/log.h"

#define MAX_SOCKETS 8
#define BACKLOG 1024
/* A connection must complete a line, and take its reply, within this time. */
#define LINE_TIMEOUT_S 30
/* Bytes of replies that may wait for a slow reader; above it no further request of it is read. */
#define MAX_OUTPUT (1024 * 1024)
/* Most requests in one group. */
#define MAX_GROUP 256
/* A user who is neither root nor LedgerUser gets no more answers; further lines wait unread. */
#define MAX_ANSWERS_PER_S 20

/* Opening a line is most of the work, and only an opened line tells who has sent it. */
enum standing {
	TRUSTED,         /* root or LedgerUser has sent the last line */
	FROM_CONTROLLER, /* no line yet; it comes from where slurmctld runs */
	NEW,             /* no line yet */
	STRANGER,        /* anybody else has sent the last line */
	STANDINGS,
};

struct connection {
	struct server *server;
	struct bufferevent *bev;
	struct event *deadline;
	struct connection *prev, *next;
	char peer[96], origin[ORIGIN_SIZE];
	bool closing; /* close it when its output is written */
	enum standing standing;
	uid_t uid;    /* of a STRANGER */
	bool in_line; /* in a list of the server: it has sent a line whose turn will come */
	TAILQ_ENTRY(connection) turn;
};

TAILQ_HEAD(turns, connection);

/* A reply that waits until what it says is on disk. The list is in the order of the requests. */
struct waiting_reply {
	struct waiting_reply *next;
	struct connection *to; /* NULL: that connection is closed */
	json_t *reply;
	uid_t reader;
};

struct server {
	struct event_base *base;
	struct service *service;
	const struct wire_auth *auth;
	struct evconnlistener *listener[MAX_SOCKETS];
	int listener_count, connection_count;
	struct connection *connections;
	time_t full_minute; /* when too many connections were last logged */
	bool check_origin;
	/* The replies of the ledger's open group. Without a reply there is no group. */
	struct waiting_reply *waiting, **waiting_end;
	int waiting_count;
	struct event *flush; /* its priority is the lowest: it runs when no line waits */
	/* The connections with a line that waits. One line is taken in each round of the event
	 * loop: so nobody has a second turn before everybody else of the same standing had one. */
	struct turns turns[STANDINGS];
	int last_turn; /* the standing of who had it */
	struct event *take_turn;
	struct askers strangers;
};

static const struct timeval line_timeout = {LINE_TIMEOUT_S, 0};
static const struct timeval at_once = {0, 0}, a_second = {1, 0};

static void set_listening(struct server *s, bool on)
{
	for (int i = 0; i < s->listener_count; i++) {
		if (on)
			evconnlistener_enable(s->listener[i]);
		else
			evconnlistener_disable(s->listener[i]);
	}
}

static void complain(struct connection *c, const char *text)
{
	service_complain(c->server->service, c->peer, text);
}

static void drop(struct connection *c)
{
	struct server *s = c->server;

	for (struct waiting_reply *h = s->waiting; h; h = h->next)
		if (h->to == c)
			h->to = NULL;
	if (c->in_line)
		TAILQ_REMOVE(&s->turns[c->standing], c, turn);
	if (c->prev)
		c->prev->next = c->next;
	else
		s->connections = c->next;
	if (c->next)
		c->next->prev = c->prev;
	if (c->deadline)
		event_free(c->deadline);
	if (c->bev)
		bufferevent_free(c->bev);
	free(c);
	s->connection_count--;
	/* Now there is room, whether connections or descriptors had run out. */
	set_listening(s, true);
}

/* Closes the connection when its output is written. */
static void finish(struct connection *c)
{
	c->closing = true;
	bufferevent_disable(c->bev, EV_READ);
	if (!evbuffer_get_length(bufferevent_get_output(c->bev)))
		drop(c);
}

/* Takes the reply's reference. Returns false where no reply can be made. */
static bool reply_to(struct connection *c, json_t *reply, uid_t reader)
{
	struct errmsg err = {""};
	char *line = reply ? wire_encode(c->server->auth, reply, reader, &err) : NULL;

	json_decref(reply);
	if (!line) {
		complain(c, *err.text ? err.text : "out of memory");
		return false;
	}
	bufferevent_write(c->bev, line, strlen(line));
	free(line);
	return true;
}

static void refuse(struct connection *c, enum wire_fault fault, const char *why)
{
	service_refused_line(c->server->service, fault);
	complain(c, why);
	if (reply_to(c, json_pack("{s:b, s:s}", "ok", 0, "error", why), WIRE_ANYBODY))
		finish(c);
	else
		drop(c);
}

/* Ends the ledger's group and sends the replies that waited for that. Where the group was not
 * stored, the error replaces each "ok". It may close any connection. */
static void flush(struct server *s)
{
	struct waiting_reply *list;
	struct errmsg err = {""};
	bool stored;

	if (!s->waiting)
		return;
	stored = !ledger_commit(s->service->ledger, &err);
	if (!stored)
		plog_error("%s", err.text);
	s->waiting_count = 0;
	while ((list = s->waiting)) {
		s->waiting = list->next;
		if (list->to && !stored && json_is_true(json_object_get(list->reply, "ok"))) {
			json_object_set_new(list->reply, "ok", json_false());
			json_object_set_new(list->reply, "error", json_string(err.text));
		}
		if (!list->to)
			json_decref(list->reply);
		else if (!reply_to(list->to, list->reply, list->reader))
			drop(list->to);
		free(list);
	}
	s->waiting_end = &s->waiting;
}

static void on_flush(evutil_socket_t fd, short what, void *arg)
{
	(void)fd;
	(void)what;
	flush(arg);
}

/* Takes the reply's reference. Returns false without memory. */
static bool reply_later(struct connection *c, json_t *reply, uid_t reader)
{
	struct waiting_reply *h = malloc(sizeof(*h));
	struct server *s = c->server;

	if (!reply || !h) {
		json_decref(reply);
		free(h);
		return false;
	}
	*h = (struct waiting_reply){.to = c, .reply = reply, .reader = reader};
	*s->waiting_end = h;
	s->waiting_end = &h->next;
	s->waiting_count++;
	return true;
}

static bool reply_error(struct connection *c, const json_t *request, const char *text)
{
	return reply_to(c,
		json_pack("{s:b, s:s, s:O?}", "ok", 0, "error", text, "nonce",
			json_object_get(request, "nonce")),
		c->uid);
}

static bool had_enough(struct server *s, const struct connection *c)
{
	return c->standing == STRANGER &&
	       askers_had_enough(&s->strangers, c->uid, MAX_ANSWERS_PER_S);
}

static bool answer(struct connection *c, const json_t *request)
{
	struct server *s = c->server;
	struct errmsg err = {""};

	/* A new connection: it had its turn before it was known to be one of many. */
	if (had_enough(s, c))
		return reply_error(c, request, "you ask too often: ask again a second later");
	if (c->standing == STRANGER)
		askers_count(&s->strangers, c->uid);
	if (ledger_group(s->service->ledger, &err)) {
		plog_error("%s", err.text);
		return reply_error(c, request, err.text);
	}
	s->service->origin = s->check_origin ? c->origin : NULL;
	return reply_later(c, service_answer(s->service, request, c->uid), c->uid);
}

static bool output_full(struct connection *c)
{
	return evbuffer_get_length(bufferevent_get_output(c->bev)) > MAX_OUTPUT;
}

/* Puts the connection in line if it has sent a line and takes its replies. It may close it. */
static void line_up(struct connection *c)
{
	struct evbuffer *input = bufferevent_get_input(c->bev);

	if (c->in_line || c->closing)
		return;
	if (output_full(c)) {
		bufferevent_disable(c->bev, EV_READ);
	} else if (evbuffer_search_eol(input, NULL, NULL, EVBUFFER_EOL_LF).pos >= 0) {
		c->in_line = true;
		TAILQ_INSERT_TAIL(&c->server->turns[c->standing], c, turn);
		evtimer_add(c->server->take_turn, &at_once);
	} else if (evbuffer_get_length(input) >= WIRE_MAX_LINE) {
		refuse(c, WIRE_OVERSIZED, "a line is too long");
	}
}

static void on_read(struct bufferevent *bev, void *arg)
{
	(void)bev;
	line_up(arg);
}

static void take_line(struct connection *c)
{
	struct server *s = c->server;
	struct errmsg err = {""};
	enum wire_fault fault;
	json_t *request;
	bool answered;
	size_t len;
	char *line = evbuffer_readln(bufferevent_get_input(c->bev), &len, EVBUFFER_EOL_LF);

	TAILQ_REMOVE(&s->turns[c->standing], c, turn);
	c->in_line = false;
	evtimer_add(c->deadline, &line_timeout);
	request = wire_decode_fault(s->auth, line ? line : "", len, &c->uid, &fault, &err);
	free(line);
	if (!request) {
		refuse(c, fault, err.text);
		return;
	}
	c->standing = service_trusts(s->service, c->uid) ? TRUSTED : STRANGER;
	answered = answer(c, request);
	json_decref(request);
	if (!answered) {
		drop(c);
		return;
	}
	line_up(c);
	/* The group grows while other lines wait, up to this size. */
	if (s->waiting_count >= MAX_GROUP)
		flush(s);
	event_active(s->flush, EV_TIMEOUT, 0);
}

/* Strangers come last. The others take turns, so that no kind of them keeps another one out. */
static struct connection *whose_turn(struct server *s)
{
	struct connection *c;

	for (int i = 0; i < STRANGER; i++) {
		s->last_turn = (s->last_turn + 1) % STRANGER;
		c = TAILQ_FIRST(&s->turns[s->last_turn]);
		if (c)
			return c;
	}
	TAILQ_FOREACH(c, &s->turns[STRANGER], turn)
	if (!had_enough(s, c))
		return c;
	return NULL;
}

static void on_turn(evutil_socket_t fd, short what, void *arg)
{
	struct server *s = arg;
	struct connection *c = whose_turn(s);

	(void)fd;
	(void)what;
	/* No reply waits for the lines of strangers. */
	if (c && c->standing == STRANGER && s->waiting)
		flush(s);
	else if (c)
		take_line(c);
	for (int i = 0; i < STANDINGS; i++)
		if (!TAILQ_EMPTY(&s->turns[i]))
			evtimer_add(s->take_turn, c ? &at_once : &a_second);
}

/* The output has drained. */
static void on_written(struct bufferevent *bev, void *arg)
{
	struct connection *c = arg;

	if (c->closing) {
		drop(c);
		return;
	}
	if (!(bufferevent_get_enabled(bev) & EV_READ)) {
		bufferevent_enable(bev, EV_READ);
		line_up(c);
	}
}

static void on_event(struct bufferevent *bev, short what, void *arg)
{
	(void)bev;
	(void)what;
	drop(arg);
}

static void on_deadline(evutil_socket_t fd, short what, void *arg)
{
	struct connection *c = arg;

	(void)fd;
	(void)what;
	if (c->in_line)
		complain(c, "asks more often than it is answered: closed");
	else if (evbuffer_get_length(bufferevent_get_input(c->bev)) ||
		 evbuffer_get_length(bufferevent_get_output(c->bev)))
		complain(c, "too slow: closed");
	drop(c);
}

/*
 * Called when the last free connection is taken. Closes the oldest one of a stranger, or else the
 * oldest one over which nothing has come yet, so that nobody keeps the nodes out by holding
 * connections. Where there is no such connection, the next one has to wait.
 */
static void make_room(struct server *s)
{
	struct connection *oldest = NULL;

	for (struct connection *c = s->connections->next; c; c = c->next)
		if (c->standing == STRANGER || (c->standing != TRUSTED && !c->in_line &&
						       !(oldest && oldest->standing == STRANGER)))
			oldest = c;
	if (s->full_minute != time(NULL) / 60)
		plog_warn("%d connections: %s", SERVER_MAX_CONNECTIONS,
			oldest ? "those of strangers are closed" : "more have to wait");
	s->full_minute = time(NULL) / 60;
	if (oldest)
		drop(oldest);
	else
		set_listening(s, false);
}

static void name_peer(const struct sockaddr *address, int len, char *buf, size_t size)
{
	char host[64], port[16];

	if (getnameinfo(address, len, host, sizeof(host), port, sizeof(port),
		    NI_NUMERICHOST | NI_NUMERICSERV))
		snprintf(buf, size, "somebody");
	else
		snprintf(buf, size, "%s port %s", host, port);
}

static void on_accept(struct evconnlistener *listener, evutil_socket_t fd, struct sockaddr *address,
	int len, void *arg)
{
	struct connection *c = calloc(1, sizeof(*c));
	struct sockaddr_storage own;
	socklen_t own_len = sizeof(own);
	struct server *s = arg;

	(void)listener;
	if (!c) {
		close(fd);
		return;
	}
	c->server = s;
	name_peer(address, len, c->peer, sizeof(c->peer));
	if (!getsockname(fd, (struct sockaddr *)&own, &own_len))
		origin_name(address, (socklen_t)len, (struct sockaddr *)&own, own_len, c->origin);
	c->standing = origin_controls(s->service->controllers, c->origin) ? FROM_CONTROLLER : NEW;
	c->next = s->connections;
	if (c->next)
		c->next->prev = c;
	s->connections = c;
	if (++s->connection_count == SERVER_MAX_CONNECTIONS)
		make_room(s);
	c->bev = bufferevent_socket_new(s->base, fd, BEV_OPT_CLOSE_ON_FREE);
	c->deadline = evtimer_new(s->base, on_deadline, c);
	if (!c->bev || !c->deadline) {
		if (!c->bev)
			close(fd);
		drop(c);
		return;
	}
	bufferevent_setcb(c->bev, on_read, on_written, on_event, c);
	bufferevent_setwatermark(c->bev, EV_READ, 0, WIRE_MAX_LINE);
	evtimer_add(c->deadline, &line_timeout);
	bufferevent_enable(c->bev, EV_READ | EV_WRITE);
}

/* The usual reason is that no descriptors are left: wait until a connection ends. */
static void on_accept_error(struct evconnlistener *listener, void *arg)
{
	struct server *s = arg;

	plog_error("cannot accept: %s", strerror(errno));
	if (s->connection_count) {
		evconnlistener_disable(listener);
		return;
	}
	usleep(10000);
}

static int listen_on(struct server *s, const struct addrinfo *a)
{
	int fd = socket(a->ai_family, a->ai_socktype | SOCK_NONBLOCK | SOCK_CLOEXEC, 0), on = 1;

	if (fd < 0)
		return -1;
	setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on));
	if (a->ai_family == AF_INET6)
		setsockopt(fd, IPPROTO_IPV6, IPV6_V6ONLY, &on, sizeof(on));
	if (bind(fd, a->ai_addr, a->ai_addrlen) || listen(fd, BACKLOG)) {
		int saved = errno;

		close(fd);
		errno = saved;
		return -1;
	}
	s->listener[s->listener_count] =
		evconnlistener_new(s->base, on_accept, s, LEV_OPT_CLOSE_ON_FREE, 0, fd);
	if (!s->listener[s->listener_count]) {
		close(fd);
		errno = ENOMEM;
		return -1;
	}
	evconnlistener_set_error_cb(s->listener[s->listener_count++], on_accept_error);
	return 0;
}

struct server *server_new(struct event_base *base, struct service *service,
	const struct wire_auth *auth, const char *host, int port, struct errmsg *err)
{
	const struct addrinfo hints = {
		.ai_socktype = SOCK_STREAM, .ai_flags = AI_PASSIVE | AI_NUMERICSERV};
	struct server *s = calloc(1, sizeof(*s));
	struct addrinfo *found = NULL;
	char service_port[16];
	int rc, saved = 0;

	if (!s) {
		errmsg_set(err, "out of memory");
		return NULL;
	}
	s->base = base;
	s->service = service;
	s->auth = auth;
	s->waiting_end = &s->waiting;
	for (int i = 0; i < STANDINGS; i++)
		TAILQ_INIT(&s->turns[i]);
	s->take_turn = evtimer_new(base, on_turn, s);
	s->flush = event_new(base, -1, 0, on_flush, s);
	if (!s->take_turn || !s->flush ||
		event_priority_set(s->flush, event_base_get_npriorities(base) - 1)) {
		errmsg_set(err, "cannot make an event");
		goto failed;
	}
	snprintf(service_port, sizeof(service_port), "%d", port);
	rc = getaddrinfo(host, service_port, &hints, &found);
	if (rc) {
		errmsg_set(err, "cannot listen on %s: %s", host ? host : "any address",
			gai_strerror(rc));
		goto failed;
	}
	for (const struct addrinfo *a = found; a && s->listener_count < MAX_SOCKETS; a = a->ai_next)
		if (listen_on(s, a))
			saved = errno;
	freeaddrinfo(found);
	/* IPv4 alone is enough on a host without IPv6. A port that is in use is an error. */
	if (!s->listener_count || saved == EADDRINUSE) {
		errmsg_set(err, "cannot listen on %s port %d: %s", host ? host : "any address",
			port, strerror(saved));
		goto failed;
	}
	return s;
failed:
	server_free(s);
	return NULL;
}

void server_free(struct server *s)
{
	if (!s)
		return;
	flush(s);
	if (s->flush)
		event_free(s->flush);
	if (s->take_turn)
		event_free(s->take_turn);
	while (s->connections)
		drop(s->connections);
	for (int i = 0; i < s->listener_count; i++)
		evconnlistener_free(s->listener[i]);
	free(s);
}

void server_check_origin(struct server *s, bool check)
{
	s->check_origin = check;
}
