/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Serves the ledger's protocol over TCP with libevent. */
#include "accounting/ledgerd/server.h"

#include <errno.h>
#include <netdb.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>
#include <event2/buffer.h>
#include <event2/bufferevent.h>
#include <event2/util.h>

#include "accounting/ledgerd/line_order.h"
#include "accounting/ledgerd/peer.h"
#include "accounting/record/origin.h"
#include "common/clock.h"
#include "common/log.h"
#include "common/units.h"

#define MAX_SOCKETS 8
#define BACKLOG 1024
/* A connection must complete a line, and take its reply, within this time. */
#define LINE_TIMEOUT_S 30
/* Bytes of replies that may wait for a slow reader; above it no further request of it is read. */
#define MAX_OUTPUT (1024 * 1024)
/* Most requests in one group. */
#define MAX_GROUP 256
/* Connections that are accepted before other events have their turn. They are more than lines,
 * because it costs less to let one in, and whoever waits in the kernel's queue has no place. */
#define ACCEPT_AT_ONCE 64
/* How long a group of replies may wait while others connect without an end. */
#define FLUSH_AFTER_NS (2 * NS_PER_MS)

struct connection {
	struct waiter place; /* it comes first: line_order.c knows nothing else of a connection */
	struct server *server;
	struct bufferevent *bev;
	struct event *deadline;
	struct connection *prev, *next;
	struct peer peer;
	bool closing; /* close it when its output is written */
	bool opened;  /* a line of it was opened */
	uid_t uid;    /* by the kernel or by the last line; valid for a TRUSTED and a STRANGER */
	size_t room;  /* how many bytes of a line are read */
	size_t seen;  /* how many of them hold no end of a line */
};

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
	struct event *listener[MAX_SOCKETS];
	int listener_count, connection_count;
	struct connection *connections;
	time_t full_minute; /* when too many connections were last logged */
	bool check_origin;
	/* The replies of the ledger's open group. Without a reply there is no group. */
	struct waiting_reply *waiting, **waiting_end;
	int waiting_count;
	int64_t waiting_since; /* CLOCK_MONOTONIC, ns */
	struct event *flush;   /* its priority is the lowest: it runs when no line waits */
	/* One line is taken in each round of the event loop: so nobody has a second turn before
	 * everybody else of the same standing had one. */
	struct line_order *order;
	struct event *take_turn;
};

static const struct timeval line_timeout = {LINE_TIMEOUT_S, 0};
static const struct timeval at_once = {0, 0}, a_second = {1, 0};

static void set_listening(struct server *s, bool on)
{
	for (int i = 0; i < s->listener_count; i++) {
		if (on)
			event_add(s->listener[i], NULL);
		else
			event_del(s->listener[i]);
	}
}

static void complain(struct connection *c, const char *text)
{
	service_complain(c->server->service, c->peer.name, text);
}

static void drop(struct connection *c)
{
	struct server *s = c->server;

	for (struct waiting_reply *h = s->waiting; h; h = h->next)
		if (h->to == c)
			h->to = NULL;
	line_order_leave(s->order, &c->place);
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

/* What came over the connection is no request, or one of a stranger. */
static void suspect(struct connection *c)
{
	if (!c->opened && !c->peer.known)
		line_order_suspect(c->server->order, c->peer.origin);
}

static void refuse(struct connection *c, enum wire_fault fault, const char *why)
{
	if (fault != WIRE_TROUBLE)
		suspect(c);
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
	if (!s->waiting)
		s->waiting_since = clock_now();
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

/* counted: the turn that it had was counted as its user's. */
static bool answer(struct connection *c, const json_t *request, bool counted)
{
	struct server *s = c->server;
	struct errmsg err = {""};

	/* It had its turn before its user was known. */
	if (line_order_standing(&c->place) == STRANGER && !counted) {
		if (line_order_had_enough(s->order, c->uid))
			return reply_error(
				c, request, "you ask too often: ask again a second later");
		line_order_count(s->order, c->uid);
	}
	if (ledger_group(s->service->ledger, &err)) {
		plog_error("%s", err.text);
		return reply_error(c, request, err.text);
	}
	s->service->origin = s->check_origin ? c->peer.origin : NULL;
	return reply_later(c, service_answer(s->service, request, c->uid), c->uid);
}

static bool output_full(struct connection *c)
{
	return evbuffer_get_length(bufferevent_get_output(c->bev)) > MAX_OUTPUT;
}

/* Whether there is a whole line. What was looked at before is not looked at again. */
static bool has_line(struct connection *c)
{
	struct evbuffer *input = bufferevent_get_input(c->bev);
	size_t len = evbuffer_get_length(input);
	struct evbuffer_ptr from;

	if (c->seen >= len || evbuffer_ptr_set(input, &from, c->seen, EVBUFFER_PTR_SET))
		return false;
	if (evbuffer_search_eol(input, &from, NULL, EVBUFFER_EOL_LF).pos >= 0)
		return true;
	c->seen = len;
	return false;
}

/* Puts the connection in line if it has sent a line, or as much of one as is read of it for now,
 * and takes its replies. It may close it. */
static void line_up(struct connection *c)
{
	size_t len = evbuffer_get_length(bufferevent_get_input(c->bev));

	if (c->place.in_line || c->closing)
		return;
	if (output_full(c)) {
		bufferevent_disable(c->bev, EV_READ);
	} else if (has_line(c) || (len >= c->room && len < WIRE_MAX_LINE)) {
		line_order_line_up(c->server->order, &c->place);
		evtimer_add(c->server->take_turn, &at_once);
	} else if (len >= WIRE_MAX_LINE) {
		refuse(c, WIRE_OVERSIZED, "a line is too long");
	}
}

static void set_room(struct connection *c, size_t room)
{
	c->room = room < WIRE_MAX_LINE ? room : WIRE_MAX_LINE;
	bufferevent_setwatermark(c->bev, EV_READ, 0, c->room);
}

static void on_read(struct bufferevent *bev, void *arg)
{
	(void)bev;
	line_up(arg);
}

/* It has just had its place in line. */
static void take_line(struct connection *c)
{
	struct evbuffer *input = bufferevent_get_input(c->bev);
	struct server *s = c->server;
	bool stranger = line_order_standing(&c->place) == STRANGER, trusted, answered;
	struct errmsg err = {""};
	uid_t was = c->uid;
	enum wire_fault fault;
	json_t *request;
	size_t len;
	char *line;

	/* Whoever it turns out to be, the turn was this user's. */
	if (stranger)
		line_order_count(s->order, was);
	if (!has_line(c) && c->room < WIRE_MAX_LINE) {
		set_room(c, 4 * c->room);
		return;
	}
	line = evbuffer_readln(input, &len, EVBUFFER_EOL_LF);
	c->seen = 0;
	evtimer_add(c->deadline, &line_timeout);
	request = wire_decode_fault(s->auth, line ? line : "", len, &c->uid, &fault, &err);
	free(line);
	if (!request) {
		refuse(c, fault, err.text);
		return;
	}
	trusted = service_trusts(s->service, c->uid);
	if (!trusted)
		suspect(c);
	c->opened = true;
	set_room(c, WIRE_MAX_LINE);
	answered = !line_order_join_user(s->order, &c->place, c->uid, trusted) &&
		   answer(c, request, stranger && c->uid == was);
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

/* Its event does not come while other events do: what only strangers can cause must not keep the
 * others' replies back. */
static void flush_in_time(struct server *s)
{
	if (s->waiting && !line_order_urgent(s->order) &&
		clock_now() - s->waiting_since > FLUSH_AFTER_NS)
		flush(s);
}

static void on_turn(evutil_socket_t fd, short what, void *arg)
{
	struct server *s = arg;
	struct waiter *next = NULL;
	bool done = true;

	(void)fd;
	(void)what;
	/* No reply waits for the lines of suspects and strangers. */
	if (s->waiting && !line_order_urgent(s->order))
		flush(s);
	else if ((next = line_order_next(s->order)))
		take_line((struct connection *)next);
	else
		done = false;
	if (line_order_waiting(s->order))
		evtimer_add(s->take_turn, done ? &at_once : &a_second);
	/* Now one may be known for a stranger, whose place is somebody else's. */
	if (s->connection_count >= SERVER_MAX_CONNECTIONS && line_order_victim(s->order))
		set_listening(s, true);
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
	if (c->place.in_line)
		complain(c, "asks more often than it is answered: closed");
	else if (evbuffer_get_length(bufferevent_get_input(c->bev)) ||
		 evbuffer_get_length(bufferevent_get_output(c->bev)))
		complain(c, "too slow: closed");
	drop(c);
}

/*
 * Where all places are taken, whoever comes gets that of a stranger or a suspect, or else of the
 * oldest connection over which nothing has come yet: nobody keeps the nodes out by holding
 * connections. Where there is no such connection, the next one has to wait.
 */
static struct connection *whose_place(struct server *s)
{
	struct connection *c = (struct connection *)line_order_victim(s->order);

	if (s->full_minute != time(NULL) / 60)
		plog_warn("%d connections: %s", SERVER_MAX_CONNECTIONS,
			c ? "those of strangers are closed" : "more have to wait");
	s->full_minute = time(NULL) / 60;
	return c;
}

/* Gives a new connection its place. */
static int settle_in(struct connection *c)
{
	struct server *s = c->server;
	bool controls = origin_controls(s->service->controllers, c->peer.origin);

	if (!c->peer.known)
		return line_order_join_address(s->order, &c->place, c->peer.origin, controls);
	c->uid = c->peer.uid;
	return line_order_join_user(s->order, &c->place, c->uid,
		c->uid != PEER_GONE && service_trusts(s->service, c->uid));
}

static void let_in(struct server *s, int fd, const struct sockaddr *address, socklen_t len)
{
	struct connection *c = calloc(1, sizeof(*c));
	struct waiter *surplus;

	if (!c) {
		close(fd);
		return;
	}
	c->server = s;
	peer_look(fd, address, len, &c->peer);
	c->next = s->connections;
	if (c->next)
		c->next->prev = c;
	s->connections = c;
	s->connection_count++;
	c->bev = bufferevent_socket_new(s->base, fd, BEV_OPT_CLOSE_ON_FREE);
	c->deadline = evtimer_new(s->base, on_deadline, c);
	if (!c->bev || !c->deadline || settle_in(c)) {
		if (!c->bev)
			close(fd);
		drop(c);
		return;
	}
	bufferevent_setcb(c->bev, on_read, on_written, on_event, c);
	set_room(c, line_order_standing(&c->place) == TRUSTED ? WIRE_MAX_LINE : SERVER_FIRST_ROOM);
	evtimer_add(c->deadline, &line_timeout);
	bufferevent_enable(c->bev, EV_READ | EV_WRITE);
	/* Where addresses are translated, one of them may be a whole cluster's. */
	surplus = c->peer.known || s->check_origin ? line_order_surplus(s->order, &c->place) : NULL;
	if (surplus)
		drop((struct connection *)surplus);
}

/* The usual reason is that no descriptors are left: wait until a connection ends. */
static void cannot_accept(struct server *s)
{
	plog_error("cannot accept: %s", strerror(errno));
	if (s->connection_count)
		set_listening(s, false);
	else
		usleep(10000);
}

static void on_connect(evutil_socket_t listener, short what, void *arg)
{
	struct server *s = arg;

	(void)what;
	flush_in_time(s);
	for (int i = 0; i < ACCEPT_AT_ONCE; i++) {
		struct connection *gone = NULL;
		struct sockaddr_storage address;
		socklen_t len = sizeof(address);
		int fd;

		if (s->connection_count >= SERVER_MAX_CONNECTIONS && !(gone = whose_place(s))) {
			set_listening(s, false);
			return;
		}
		fd = accept4(
			listener, (struct sockaddr *)&address, &len, SOCK_NONBLOCK | SOCK_CLOEXEC);
		if (fd < 0) {
			if (errno != EAGAIN && errno != EINTR && errno != ECONNABORTED)
				cannot_accept(s);
			return;
		}
		if (gone)
			drop(gone);
		let_in(s, fd, (struct sockaddr *)&address, len);
	}
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
		event_new(s->base, fd, EV_READ | EV_PERSIST, on_connect, s);
	if (!s->listener[s->listener_count] || event_add(s->listener[s->listener_count], NULL)) {
		if (s->listener[s->listener_count])
			event_free(s->listener[s->listener_count]);
		close(fd);
		errno = ENOMEM;
		return -1;
	}
	s->listener_count++;
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
	s->order = line_order_new();
	s->take_turn = evtimer_new(base, on_turn, s);
	s->flush = event_new(base, -1, 0, on_flush, s);
	if (!s->order || !s->take_turn || !s->flush ||
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
	for (int i = 0; i < s->listener_count; i++) {
		close(event_get_fd(s->listener[i]));
		event_free(s->listener[i]);
	}
	line_order_free(s->order);
	free(s);
}

void server_check_origin(struct server *s, bool check)
{
	s->check_origin = check;
}
