/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Asks this node's poppad over its Unix socket. */
#include "cli/ask/ask_poppad.h"

#include <errno.h>
#include <glob.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <sys/un.h>
#include <unistd.h>

#include "cli/ask/cli.h"

#define SOCKET_NAME "poppad.sock"
#define REQUEST "{\"op\":\"status\"}\n"
#define REPLY_MAX (4 << 20)
#define TIMEOUT_S 5

error_t ask_poppad_parse_rest(int key, const char *arg, struct ask_poppad_options *o)
{
	switch (key) {
	case 'N':
		o->node = arg;
		return 0;
	case 'c':
		o->conf = cli_path("--conf", arg);
		return 0;
	default:
		return cli_parse_rest(key, arg, &o->json);
	}
}

static int socket_in(
	const struct nodeconf *conf, const char *node, char *path, size_t size, struct errmsg *err)
{
	char dir[PATH_MAX];
	int len;

	nodeconf_expand(conf->run_dir, node, dir, sizeof(dir));
	len = snprintf(path, size, "%s/" SOCKET_NAME, dir);
	if (len < 0 || (size_t)len >= size)
		return errmsg_set(err, "RunDir %s: path is too long", conf->run_dir);
	return 0;
}

/* The socket of the only poppad on this host, whose node may have any name. */
static int only_socket(const struct nodeconf *conf, char *path, size_t size, struct errmsg *err)
{
	char pattern[PATH_MAX];
	glob_t found = {.gl_pathc = 0};
	int rc;

	if (socket_in(conf, "*", pattern, sizeof(pattern), err))
		return -1;
	glob(pattern, 0, NULL, &found);
	if (found.gl_pathc == 1 && strlen(found.gl_pathv[0]) < size) {
		strcpy(path, found.gl_pathv[0]);
		rc = 0;
	} else if (found.gl_pathc > 1) {
		rc = errmsg_set(err, "%zu poppad run on this host: choose a node with --node",
			found.gl_pathc);
	} else {
		rc = errmsg_set(err, "poppad does not run here: there is no %s", pattern);
	}
	globfree(&found);
	return rc;
}

int ask_poppad_socket(
	const struct nodeconf *conf, const char *node, char *path, size_t size, struct errmsg *err)
{
	char host[256];

	if (!node)
		node = getenv("SLURMD_NODENAME");
	if (node)
		return socket_in(conf, node, path, size, err);
	if (socket_in(conf, nodeconf_host(host, sizeof(host)), path, size, err))
		return -1;
	if (!strstr(conf->run_dir, "%n") || access(path, F_OK) == 0)
		return 0;
	return only_socket(conf, path, size, err);
}

static int connect_to(const char *path, struct errmsg *err)
{
	struct sockaddr_un addr = {.sun_family = AF_UNIX};
	struct timeval timeout = {.tv_sec = TIMEOUT_S};
	int fd;

	if (strlen(path) >= sizeof(addr.sun_path))
		return errmsg_set(err, "%s: path is too long for a socket", path);
	strcpy(addr.sun_path, path);
	fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
	if (fd < 0)
		return errmsg_set(err, "socket: %s", strerror(errno));
	setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &timeout, sizeof(timeout));
	setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &timeout, sizeof(timeout));
	if (connect(fd, (struct sockaddr *)&addr, sizeof(addr)) == 0)
		return fd;
	if (errno == ENOENT || errno == ECONNREFUSED)
		errmsg_set(err, "poppad does not answer at %s: is it running? (poppad(8))", path);
	else
		errmsg_set(err, "poppad at %s: %s", path, strerror(errno));
	close(fd);
	return -1;
}

/* Reads up to the newline or the end of the stream. The caller frees the text; NULL on errors. */
static char *receive_line(int fd)
{
	size_t size = 4096, len = 0;
	char *buf = malloc(size);

	while (buf && len < REPLY_MAX) {
		ssize_t n = recv(fd, buf + len, size - len - 1, 0);

		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			break;
		len += (size_t)n;
		buf[len] = '\0';
		if (n == 0 || strchr(buf, '\n'))
			return buf;
		if (len + 1 == size) {
			char *grown = realloc(buf, size *= 2);

			if (!grown)
				break;
			buf = grown;
		}
	}
	free(buf);
	return NULL;
}

json_t *ask_poppad(const char *socket_path, struct errmsg *err)
{
	int fd = connect_to(socket_path, err);
	json_t *reply = NULL;
	char *line;

	if (fd < 0)
		return NULL;
	/* A poppad that refuses this user answers before it reads the request, so a failed send is
	 * no error yet. So short a text goes whole into the empty buffer of a new socket. */
	send(fd, REQUEST, strlen(REQUEST), MSG_NOSIGNAL);
	line = receive_line(fd);
	close(fd);
	if (line)
		reply = json_loads(line, 0, NULL);
	free(line);
	if (json_is_object(reply))
		return reply;
	json_decref(reply);
	errmsg_set(err, "poppad at %s gave no answer within %d s: look at its log", socket_path,
		TIMEOUT_S);
	return NULL;
}

static int by_id(const void *a, const void *b)
{
	json_int_t x = json_integer_value(json_object_get(*(json_t *const *)a, "job"));
	json_int_t y = json_integer_value(json_object_get(*(json_t *const *)b, "job"));

	return (x > y) - (x < y);
}

/* Sorts the jobs by their ids: poppad sends them in the order in which it found them. */
static void sort_jobs(json_t *status)
{
	json_t *jobs = json_object_get(status, "jobs"), **list;
	size_t n = json_array_size(jobs);

	list = n ? calloc(n, sizeof(*list)) : NULL;
	if (!list)
		return;
	for (size_t i = 0; i < n; i++)
		list[i] = json_incref(json_array_get(jobs, i));
	qsort(list, n, sizeof(*list), by_id);
	for (size_t i = 0; i < n; i++)
		json_array_set_new(jobs, i, list[i]);
	free(list);
}

json_t *ask_poppad_status(const struct ask_poppad_options *o, char *path, struct errmsg *err)
{
	const json_t *problem;
	json_t *reply;
	char found[PATH_MAX];
	struct nodeconf conf;

	*path = '\0';
	if (nodeconf_load(o->conf ? o->conf : nodeconf_path(found, sizeof(found)), &conf, err) ||
		ask_poppad_socket(&conf, o->node, path, PATH_MAX, err))
		return NULL;
	reply = ask_poppad(path, err);
	problem = json_object_get(reply, "error");
	if (problem) {
		errmsg_set(err, "poppad at %s: %s", path,
			json_is_string(problem) ? json_string_value(problem) : "it refuses");
		json_decref(reply);
		return NULL;
	}
	sort_jobs(reply);
	return reply;
}
