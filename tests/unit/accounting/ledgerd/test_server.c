/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Unit tests of src/accounting/ledgerd/server.c: who is let in, when, and who is answered first. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <arpa/inet.h>
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include "accounting/ledgerd/server.h"
#include "common/log.h"

#include "unit/accounting/ledger_fixture.h"

#define PATIENCE_S 60

static struct event_base *base;
static struct sockaddr_in address = {.sin_family = AF_INET};

/* How many credentials were opened. */
static int opened;

static int seal(const struct wire_auth *a, const char *payload, size_t len, uid_t reader,
	char **cred, struct errmsg *err)
{
	(void)a;
	(void)reader;
	(void)err;
	*cred = strndup(payload, len);
	return 0;
}

/* Nothing here is sealed: "MUNGE:UID:PAYLOAD". */
static int unseal(const struct wire_auth *a, const char *cred, char **payload, size_t *len,
	uid_t *from, struct errmsg *err)
{
	int at = 0;

	(void)a;
	(void)err;
	opened++;
	assert_int_equal(sscanf(cred, "MUNGE:%u:%n", from, &at), 1);
	*payload = strdup(cred + at);
	*len = strlen(*payload);
	return 0;
}

static const struct wire_auth auth = {seal, unseal, ""};

/* A port that nobody has. */
static int free_port(void)
{
	socklen_t size = sizeof(address);
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

	address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
	address.sin_port = 0;
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
static int answered(int fd, const char *line)
{
	time_t end = time(NULL) + PATIENCE_S;
	char reply[256];
	ssize_t n;

	assert_int_equal(write(fd, line, strlen(line)), strlen(line));
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
	assert_true(answered(first, "hello\n")); /* and then closed */
	close(first);
	assert_true(answered(second, "hello\n"));
	close(second);
	server_free(s);
}

static int compare(const void *a, const void *b)
{
	return *(const int *)a - *(const int *)b;
}

/*
 * How many credentials are opened until a question of slurmctld is answered, which comes over a
 * connection of its own; the median of some questions. Each of the others sends more before each.
 */
static int work_for_slurmctld(const int *other, int others)
{
	enum { QUESTIONS = 21, LINES = 4 };
	static const char line[] = "MUNGE:1000:{\"op\":\"fly\",\"nonce\":\"n\"}\n";
	int work[QUESTIONS];

	for (int i = 0; i < QUESTIONS; i++) {
		int fd = join();

		for (int k = 0; k < others * LINES; k++)
			assert_int_equal(send(other[k % others], line, strlen(line), MSG_DONTWAIT),
				strlen(line));
		work[i] = opened;
		assert_true(answered(fd, "MUNGE:64:{\"op\":\"fly\",\"nonce\":\"n\"}\n"));
		work[i] = opened - work[i];
		close(fd);
	}
	qsort(work, QUESTIONS, sizeof(work[0]), compare);
	return work[QUESTIONS / 2];
}

/* A user with as many connections as there may be, and many requests over each of them. */
static void one_user_delays_nobody(void **state)
{
	enum { OTHERS = 500 };
	struct service service = {.ledger = open_ledger(), .ledger_uid = 64};
	struct errmsg err = {""};
	struct server *s = server_new(base, &service, &auth, "127.0.0.1", free_port(), &err);
	struct rlimit files;
	int other[OTHERS], alone, beside;

	(void)state;
	assert_non_null(s);
	assert_int_equal(getrlimit(RLIMIT_NOFILE, &files), 0);
	files.rlim_cur = files.rlim_max;
	assert_int_equal(setrlimit(RLIMIT_NOFILE, &files), 0);
	alone = work_for_slurmctld(NULL, 0);
	for (int i = 0; i < OTHERS; i++)
		other[i] = join();
	beside = work_for_slurmctld(other, OTHERS);
	print_message("credentials opened for a question of slurmctld: %d alone, %d beside a user "
		      "with %d connections\n",
		alone, beside, OTHERS);
	assert_true(beside <= 2 * alone);
	/* Nor is the user forgotten. */
	assert_true(answered(other[0], ""));
	for (int i = 0; i < OTHERS; i++)
		close(other[i]);
	server_free(s);
	ledger_close(service.ledger);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(listens_again),
		LEDGER_TEST(one_user_delays_nobody),
	};
	int rc;

	alarm(3 * PATIENCE_S); /* one that spins does not come back */
	plog_set_sink(quiet);
	base = event_base_new();
	if (!base || event_base_priority_init(base, 3))
		return 1;
	rc = cmocka_run_group_tests(tests, NULL, NULL);
	event_base_free(base);
	return rc;
}
