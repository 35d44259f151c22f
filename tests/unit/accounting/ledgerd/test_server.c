/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Unit tests of src/accounting/ledgerd/server.c: who is let in, and when. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <arpa/inet.h>
#include <netinet/in.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include "accounting/ledgerd/server.h"
#include "common/log.h"

#define PATIENCE_S 60

static struct event_base *base;
static struct sockaddr_in address = {.sin_family = AF_INET};

/* Nothing here is sealed: each request is refused, which answers it. */
static int seal(const struct wire_auth *a, const char *payload, size_t len, uid_t reader,
	char **cred, struct errmsg *err)
{
	(void)a;
	(void)reader;
	(void)err;
	*cred = strndup(payload, len);
	return 0;
}

static int refuse_all(const struct wire_auth *a, const char *cred, char **payload, size_t *len,
	uid_t *from, struct errmsg *err)
{
	(void)a;
	(void)cred;
	(void)payload;
	(void)len;
	(void)from;
	return errmsg_set(err, "forged");
}

static const struct wire_auth auth = {seal, refuse_all, ""};

static void say_nothing(enum plog_level level, const char *line)
{
	(void)level;
	(void)line;
}

/* A port that nobody has. */
static int free_port(void)
{
	socklen_t size = sizeof(address);
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

	address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
	assert_int_equal(bind(fd, (struct sockaddr *)&address, sizeof(address)), 0);
	assert_int_equal(getsockname(fd, (struct sockaddr *)&address, &size), 0);
	close(fd);
	return ntohs(address.sin_port);
}

static int join(void)
{
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

	assert_int_equal(connect(fd, (struct sockaddr *)&address, sizeof(address)), 0);
	return fd;
}

static void loop(int rounds)
{
	for (int i = 0; i < rounds; i++) {
		event_base_loop(base, EVLOOP_NONBLOCK);
		usleep(1000);
	}
}

/* Whether a line that is sent is answered. */
static int answered(int fd)
{
	time_t end = time(NULL) + PATIENCE_S;
	char reply[256];
	ssize_t n;

	assert_int_equal(write(fd, "hello\n", 6), 6);
	do
		loop(1);
	while ((n = recv(fd, reply, sizeof(reply), MSG_DONTWAIT)) < 0 && time(NULL) < end);
	return n > 0;
}

/* Who came while there was no descriptor left is let in when somebody has gone. */
static void listens_again(void **state)
{
	struct service service = {.ledger_uid = 64};
	struct rlimit all, none;
	struct errmsg err = {""};
	struct server *s = server_new(base, &service, &auth, "127.0.0.1", free_port(), &err);
	int first, second;

	(void)state;
	assert_non_null(s);
	first = join();
	loop(10);
	second = join();
	assert_int_equal(getrlimit(RLIMIT_NOFILE, &all), 0);
	none = (struct rlimit){0, all.rlim_max};
	assert_int_equal(setrlimit(RLIMIT_NOFILE, &none), 0);
	loop(10);
	assert_int_equal(setrlimit(RLIMIT_NOFILE, &all), 0);
	assert_true(answered(first)); /* and then closed */
	close(first);
	assert_true(answered(second));
	close(second);
	server_free(s);
}

int main(void)
{
	const struct CMUnitTest tests[] = {cmocka_unit_test(listens_again)};
	int rc;

	alarm(3 * PATIENCE_S); /* one that spins does not come back */
	plog_set_sink(say_nothing);
	base = event_base_new();
	if (!base || event_base_priority_init(base, 3))
		return 1;
	rc = cmocka_run_group_tests(tests, NULL, NULL);
	event_base_free(base);
	return rc;
}
