/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Serves poppad's socket, and bounds what each user may ask of it. */
#include "poppa/report/status.h"

#include <errno.h>
#include <limits.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/time.h>
#include <sys/un.h>
#include <time.h>
#include <unistd.h>
#include <event2/buffer.h>
#include <event2/bufferevent.h>
#include <event2/listener.h>

#include "common/askers.h"
#include "common/log.h"

#define MAX_REQUEST 4096
/* Connections at a time, so that no user blocks the others. Root has a limit of its own. */
#define MAX_CONNECTIONS 32
#define MAX_OF_USER 8
#define MAX_OF_ROOT 16
#define IDLE_S 10
/* poppad has a higher priority than jobs, so a user who is not root gets no more answers. */
#define MAX_ANSWERS_PER_S 50
/* How many bytes of answers may wait for a slow reader before its next request is read. */
#define MAX_OUTPUT 65536

struct connection {
	struct connection *next;
	struct status *status;
	struct bufferevent *bev;
	struct event *resume; /* reads on when the user may have more answers */
	uid_t uid;
	bool closing; /* it is closed when its answer is written */
};

struct status {
	struct evconnlistener *listener;
	struct event *listen_again; /* pending after a connection could not be accepted */
	bool told;                  /* that was logged, and no connection was accepted since */
	char path[PATH_MAX];
	status_fn fn;
	void *arg;
	int count;
	struct connection *first;
	struct askers askers;
};

static void drop(struct connection *c)
{
	struct connection **at = &c->status->first;

	while (*at != c)
		at = &(*at)->next;
	*at = c->next;
	c->status->count--;
	event_free(c->resume);
	bufferevent_free(c->bev);
	free(c);
}

static bool had_enough(struct status *s, uid_t uid)
{
	return uid && askers_had_enough(&s->askers, uid, MAX_ANSWERS_PER_S);
}

static void answer(struct connection *c, json_t *reply)
{
	char *text = reply ? json_dumps(reply, JSON_COMPACT | JSON_REAL_PRECISION(9)) : NULL;

	if (text) {
		bufferevent_write(c->bev, text, strlen(text));
		bufferevent_write(c->bev, "\n", 1);
	}
	free(text);
	json_decref(reply);
}

static void take_line(struct connection *c, const char *line, size_t len)
{
	json_t *request = json_loadb(line, len, 0, NULL);

	if (c->uid)
		askers_count(&c->status->askers, c->uid);
	if (json_is_object(request))
		answer(c, c->status->fn(request, c->uid, c->status->arg));
	else
		answer(c, json_pack("{s:s}", "error", "the request is not a JSON object"));
	json_decref(request);
}

static void on_read(struct bufferevent *bev, void *arg)
{
	static const struct timeval second = {.tv_sec = 1};
	struct evbuffer *in = bufferevent_get_input(bev), *out = bufferevent_get_output(bev);
	struct connection *c = arg;

	while (evbuffer_get_length(out) < MAX_OUTPUT) {
		size_t len;
		char *line;

		if (had_enough(c->status, c->uid)) {
			bufferevent_disable(bev, EV_READ);
			evtimer_add(c->resume, &second);
			return;
		}
		line = evbuffer_readln(in, &len, EVBUFFER_EOL_LF);
		if (!line) {
			if (evbuffer_get_length(in) <= MAX_REQUEST)
				return;
			answer(c, json_pack("{s:s}", "error", "the request is too long"));
			c->closing = true;
			break;
		}
		take_line(c, line, len);
		free(line);
	}
	bufferevent_disable(bev, EV_READ);
	if (c->closing && !evbuffer_get_length(out))
		drop(c); /* out of memory: no answer will be written */
}

static void read_on(struct connection *c)
{
	if (!evtimer_pending(c->resume, NULL) && !(bufferevent_get_enabled(c->bev) & EV_READ)) {
		bufferevent_enable(c->bev, EV_READ);
		on_read(c->bev, c);
	}
}

static void on_resume(evutil_socket_t fd, short what, void *arg)
{
	(void)fd;
	(void)what;
	read_on(arg);
}

/* All answers so far are written. */
static void on_written(struct bufferevent *bev, void *arg)
{
	struct connection *c = arg;

	(void)bev;
	if (c->closing)
		drop(c);
	else
		read_on(c);
}

static void on_event(struct bufferevent *bev, short what, void *arg)
{
	struct connection *c = arg;

	/* A client that closes its side for writing after its request still gets the answer. */
	if (what & BEV_EVENT_EOF && evbuffer_get_length(bufferevent_get_output(bev))) {
		c->closing = true;
		return;
	}
	drop(c);
}

static bool too_many(struct status *s, uid_t uid)
{
	int own = 0;

	if (had_enough(s, uid))
		return true;
	for (const struct connection *c = s->first; c; c = c->next)
		own += c->uid == uid;
	if (!uid)
		return own >= MAX_OF_ROOT;
	return own >= MAX_OF_USER || s->count >= MAX_CONNECTIONS;
}

/* The text fits into the socket's empty buffer; if not, poppad does not wait for room. */
static void turn_away(evutil_socket_t fd)
{
	static const char text[] = "{\"error\":\"too many ask at once: try again\"}\n";
	ssize_t n = send(fd, text, sizeof(text) - 1, MSG_NOSIGNAL | MSG_DONTWAIT);

	(void)n;
	close(fd);
}

static void on_connection(struct evconnlistener *l, evutil_socket_t fd, struct sockaddr *addr,
	int addr_len, void *arg)
{
	const struct timeval idle = {.tv_sec = IDLE_S};
	struct status *s = arg;
	struct ucred peer;
	socklen_t size = sizeof(peer);
	struct connection *c;

	(void)addr;
	(void)addr_len;
	s->told = false;
	if (getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &peer, &size)) {
		close(fd);
		return;
	}
	if (too_many(s, peer.uid)) {
		turn_away(fd);
		return;
	}
	c = calloc(1, sizeof(*c));
	if (c)
		c->resume = evtimer_new(evconnlistener_get_base(l), on_resume, c);
	if (c && c->resume)
		c->bev = bufferevent_socket_new(
			evconnlistener_get_base(l), fd, BEV_OPT_CLOSE_ON_FREE);
	if (!c || !c->bev) {
		if (c && c->resume)
			event_free(c->resume);
		free(c);
		close(fd);
		return;
	}
	c->status = s;
	c->uid = peer.uid;
	c->next = s->first;
	s->first = c;
	s->count++;
	bufferevent_setcb(c->bev, on_read, on_written, on_event, c);
	bufferevent_set_timeouts(c->bev, &idle, &idle);
	bufferevent_enable(c->bev, EV_READ | EV_WRITE);
}

/* The usual cause is that no descriptors are left. The client still waits, so trying again at once
 * would be a busy loop: poppad listens again a second later. */
static void on_accept_error(struct evconnlistener *l, void *arg)
{
	static const struct timeval second = {.tv_sec = 1};
	struct status *s = arg;

	if (!s->told)
		plog_error("cannot answer \"poppa status\" for now: %s", strerror(errno));
	s->told = true;
	evconnlistener_disable(l);
	evtimer_add(s->listen_again, &second);
}

static void on_listen_again(evutil_socket_t fd, short what, void *arg)
{
	struct status *s = arg;

	(void)fd;
	(void)what;
	evconnlistener_enable(s->listener);
}

struct status *status_open(
	struct event_base *base, const char *path, status_fn fn, void *arg, struct errmsg *err)
{
	struct sockaddr_un a = {.sun_family = AF_UNIX};
	struct status *s;
	int fd;

	if (strlen(path) >= sizeof(a.sun_path)) {
		errmsg_set(err,
			"%s is longer than a socket's path may be (%zu characters): set a "
			"shorter RunDir",
			path, sizeof(a.sun_path) - 1);
		return NULL;
	}
	s = calloc(1, sizeof(*s));
	fd = socket(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
	if (!s || fd < 0) {
		errmsg_set(err, "cannot make a socket: %s", strerror(errno));
		goto broken;
	}
	strcpy(a.sun_path, path);
	strcpy(s->path, path);
	s->fn = fn;
	s->arg = arg;
	unlink(path); /* an earlier poppad's: the lock says that no other poppad runs */
	if (bind(fd, (struct sockaddr *)&a, sizeof(a)) || chmod(path, 0666)) {
		errmsg_set(err, "cannot listen at %s: %s", path, strerror(errno));
		goto broken;
	}
	s->listener = evconnlistener_new(
		base, on_connection, s, LEV_OPT_CLOSE_ON_FREE | LEV_OPT_CLOSE_ON_EXEC, 16, fd);
	s->listen_again = s->listener ? evtimer_new(base, on_listen_again, s) : NULL;
	if (s->listen_again) {
		evconnlistener_set_error_cb(s->listener, on_accept_error);
		return s;
	}
	errmsg_set(err, "cannot listen at %s", path);
broken:
	if (s && s->listener)
		evconnlistener_free(s->listener);
	else if (fd >= 0)
		close(fd);
	free(s);
	return NULL;
}

void status_close(struct status *s)
{
	if (!s)
		return;
	while (s->first)
		drop(s->first);
	event_free(s->listen_again);
	evconnlistener_free(s->listener);
	unlink(s->path);
	free(s);
}
