/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Serves poppad's socket. */
#include "poppa/status.h"

#include <errno.h>
#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/time.h>
#include <sys/un.h>
#include <unistd.h>
#include <event2/buffer.h>
#include <event2/bufferevent.h>
#include <event2/listener.h>

#include "common/log.h"

#define MAX_REQUEST 4096
/* Nobody keeps others from asking; root can always ask. */
#define MAX_CONNECTIONS 32
#define MAX_OF_USER 8
#define MAX_OF_ROOT 16
#define IDLE_S 10

struct connection {
	struct connection *next;
	struct status *status;
	struct bufferevent *bev;
	uid_t uid;
	bool closing; /* after the answer has gone out */
};

struct status {
	struct evconnlistener *listener;
	char path[PATH_MAX];
	status_fn fn;
	void *arg;
	int count;
	struct connection *first;
};

static void drop(struct connection *c)
{
	struct connection **at = &c->status->first;

	while (*at != c)
		at = &(*at)->next;
	*at = c->next;
	c->status->count--;
	bufferevent_free(c->bev);
	free(c);
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

static void on_read(struct bufferevent *bev, void *arg)
{
	struct evbuffer *in = bufferevent_get_input(bev);
	struct connection *c = arg;
	size_t len;
	char *line;

	while ((line = evbuffer_readln(in, &len, EVBUFFER_EOL_LF))) {
		json_t *request = json_loadb(line, len, 0, NULL);

		if (json_is_object(request))
			answer(c, c->status->fn(request, c->uid, c->status->arg));
		else
			answer(c, json_pack("{s:s}", "error", "the request is not a JSON object"));
		json_decref(request);
		free(line);
	}
	if (evbuffer_get_length(in) > MAX_REQUEST) {
		answer(c, json_pack("{s:s}", "error", "the request is too long"));
		bufferevent_disable(bev, EV_READ);
		c->closing = true;
	}
}

static void on_written(struct bufferevent *bev, void *arg)
{
	struct connection *c = arg;

	(void)bev;
	if (c->closing)
		drop(c);
}

static void on_event(struct bufferevent *bev, short what, void *arg)
{
	struct connection *c = arg;

	/* A client that has sent its line and closed that side still wants the answer. */
	if (what & BEV_EVENT_EOF && evbuffer_get_length(bufferevent_get_output(bev))) {
		c->closing = true;
		return;
	}
	drop(c);
}

static bool too_many(const struct status *s, uid_t uid)
{
	int own = 0;

	for (const struct connection *c = s->first; c; c = c->next)
		own += c->uid == uid;
	if (!uid)
		return own >= MAX_OF_ROOT;
	return own >= MAX_OF_USER || s->count >= MAX_CONNECTIONS;
}

/* What does not fit into the socket's buffer, which is empty, is not worth waiting for. */
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
		c->bev = bufferevent_socket_new(
			evconnlistener_get_base(l), fd, BEV_OPT_CLOSE_ON_FREE);
	if (!c || !c->bev) {
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
	unlink(path); /* an earlier poppad's; the lock says that none runs */
	if (bind(fd, (struct sockaddr *)&a, sizeof(a)) || chmod(path, 0666)) {
		errmsg_set(err, "cannot listen at %s: %s", path, strerror(errno));
		goto broken;
	}
	s->listener = evconnlistener_new(
		base, on_connection, s, LEV_OPT_CLOSE_ON_FREE | LEV_OPT_CLOSE_ON_EXEC, 16, fd);
	if (s->listener)
		return s;
	errmsg_set(err, "cannot listen at %s", path);
broken:
	if (fd >= 0)
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
	evconnlistener_free(s->listener);
	unlink(s->path);
	free(s);
}
