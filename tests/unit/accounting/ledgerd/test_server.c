/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Unit tests of src/accounting/ledgerd/server.c, line_order.c and peer.c: who is let in, when, and
 * who is answered first. */
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
#include <sys/ioctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include "accounting/ledgerd/peer.h"
#include "accounting/ledgerd/server.h"
#include "common/log.h"

#include "unit/accounting/ledger_fixture.h"

#define PATIENCE_S 60

static struct event_base *base;
static struct sockaddr_in address = {.sin_family = AF_INET};

/* How many credentials were opened, and how many when the last reply to this user was sealed. */
static int opened, opened_by_then;
static uid_t watched;
/* When so many are opened, what is unread of this connection is noted. */
static int note_at, noted_fd, noted;

static int unread(int fd);

static int seal(const struct wire_auth *a, const char *payload, size_t len, uid_t reader,
	char **cred, struct errmsg *err)
{
	(void)a;
	(void)err;
	if (reader == watched)
		opened_by_then = opened;
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
	if (++opened == note_at)
		noted = unread(noted_fd);
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

/* Each address of the loopback stands for somebody else. */
enum who { SLURMCTLD = 1, USER, REMOTE, NODE, OTHER_NODE };

static void look_at_address(const struct sockaddr *from, struct peer *peer)
{
	enum who who = ntohl(((const struct sockaddr_in *)from)->sin_addr.s_addr) & 0xff;

	*peer = (struct peer){.known = who <= USER, .uid = who == USER ? 1000 : 64};
	snprintf(peer->origin, sizeof(peer->origin), who <= USER ? ORIGIN_LOCAL : "10.0.0.%d",
		(int)who);
}

/* The kernel says nothing of the local users, and all are from the controller. */
static void look_in_vain(const struct sockaddr *from, struct peer *peer)
{
	(void)from;
	*peer = (struct peer){.origin = ORIGIN_LOCAL};
}

/* How the server finds out who has connected; NULL = as it does. */
static void (*look)(const struct sockaddr *from, struct peer *peer);

void __wrap_peer_look(int fd, const struct sockaddr *from, socklen_t len, struct peer *peer);
void __real_peer_look(int fd, const struct sockaddr *from, socklen_t len, struct peer *peer);

void __wrap_peer_look(int fd, const struct sockaddr *from, socklen_t len, struct peer *peer)
{
	if (look)
		look(from, peer);
	else
		__real_peer_look(fd, from, len, peer);
}

static int join_as(enum who who)
{
	struct sockaddr_in own = {.sin_family = AF_INET};
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

	own.sin_addr.s_addr = htonl(INADDR_LOOPBACK - 1 + who);
	assert_int_equal(bind(fd, (struct sockaddr *)&own, sizeof(own)), 0);
	assert_int_equal(connect(fd, (struct sockaddr *)&address, sizeof(address)), 0);
	return fd;
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
	look = look_in_vain;
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

static const char of_slurm[] = "MUNGE:64:{\"op\":\"fly\",\"nonce\":\"n\"}\n";
static const char of_a_user[] = "MUNGE:1000:{\"op\":\"fly\",\"nonce\":\"n\"}\n";
static const char of_root[] = "MUNGE:0:{\"op\":\"fly\",\"nonce\":\"n\"}\n";

/* One round of the event loop. */
static void one_round(void)
{
	event_base_loop(base, EVLOOP_ONCE | EVLOOP_NONBLOCK);
}

/* How many credentials are opened until this line is answered, its own among them. */
static int work_until_answered(int fd, const char *line)
{
	time_t end = time(NULL) + PATIENCE_S;
	int before = opened;
	char reply[256];

	assert_int_equal(write(fd, line, strlen(line)), strlen(line));
	do
		one_round();
	while (recv(fd, reply, sizeof(reply), MSG_DONTWAIT) <= 0 && time(NULL) < end);
	assert_true(time(NULL) < end);
	return opened_by_then - before;
}

/* Leaves without a word to be waited for, and sends a line over a new connection. */
static void reconnect(int *fd, enum who who)
{
	const struct linger at_once = {1, 0};

	if (*fd >= 0) {
		setsockopt(*fd, SOL_SOCKET, SO_LINGER, &at_once, sizeof(at_once));
		close(*fd);
	}
	*fd = join_as(who);
	assert_int_equal(send(*fd, of_a_user, strlen(of_a_user), MSG_DONTWAIT | MSG_NOSIGNAL),
		strlen(of_a_user));
}

/* The most credentials that are opened until a question of `who` is answered, over a connection of
 * its own, while others connect anew for each line. */
static int most_work(enum who who, const char *question, int *other, int others, enum who from)
{
	const int questions = others > SERVER_MAX_CONNECTIONS ? 5 : 21;
	int most = 0;

	for (int i = 0; i < questions; i++) {
		int fd, work;

		for (int k = 0; k < others; k++) {
			reconnect(&other[k], from);
			/* They come faster than they are served. */
			if (k % 32 == 0)
				one_round();
		}
		fd = join_as(who);
		work = work_until_answered(fd, question);
		most = work > most ? work : most;
		close(fd);
	}
	return most;
}

/* Nobody gains by a new connection for each line: neither a user of the ledger's host, nor somebody
 * elsewhere, and more of them than there is room for keep nobody out. While slurmctld's line comes
 * in, one of theirs is opened in each of the few rounds of the event loop that this takes. */
static void who_reconnects_delays_nobody(void **state)
{
	enum { MANY = 500, MORE = 1500, ROUNDS = 2 };
	static const struct {
		enum who who, beside;
		const char *line;
		int others;
	} cases[] = {
		{SLURMCTLD, USER, of_slurm, MANY},
		{SLURMCTLD, REMOTE, of_slurm, MANY},
		{SLURMCTLD, REMOTE, of_slurm, MORE},
		{NODE, USER, of_root, MANY},
		{NODE, REMOTE, of_root, MANY},
		{NODE, REMOTE, of_root, MORE},
	};
	struct service service = {.ledger = open_ledger(), .ledger_uid = 64};
	struct rlimit files;

	(void)state;
	assert_int_equal(getrlimit(RLIMIT_NOFILE, &files), 0);
	files.rlim_cur = files.rlim_max;
	assert_int_equal(setrlimit(RLIMIT_NOFILE, &files), 0);
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct errmsg err = {""};
		struct server *s =
			server_new(base, &service, &auth, "127.0.0.1", free_port(), &err);
		int other[MORE], alone, beside;

		if (cases[i].others > MANY && files.rlim_cur < 2 * MORE) {
			server_free(s);
			continue;
		}
		assert_non_null(s);
		look = look_at_address;
		server_check_origin(s, true);
		for (int k = 0; k < MORE; k++)
			other[k] = -1;
		watched = cases[i].who == SLURMCTLD ? 64 : 0;
		alone = most_work(cases[i].who, cases[i].line, NULL, 0, 0);
		beside = most_work(
			cases[i].who, cases[i].line, other, cases[i].others, cases[i].beside);
		print_message("case %zu: at most %d credentials opened alone, %d beside %d that "
			      "reconnect\n",
			i, alone, beside, cases[i].others);
		assert_true(beside <= alone + ROUNDS);
		for (int k = 0; k < cases[i].others; k++)
			close(other[k]);
		server_free(s);
	}
	ledger_close(service.ledger);
}

/* How many bytes that were sent over fd the server has not read. */
static int unread(int fd)
{
	struct sockaddr_in own, peer;
	socklen_t len = sizeof(own);

	assert_int_equal(getsockname(fd, (struct sockaddr *)&own, &len), 0);
	for (int other = 0; other < 4096; other++) {
		int n = 0;

		len = sizeof(peer);
		if (getpeername(other, (struct sockaddr *)&peer, &len) ||
			memcmp(&peer, &own, sizeof(peer)) || ioctl(other, FIONREAD, &n))
			continue;
		return n;
	}
	return -1;
}

/* Until a line of a connection is opened, more of it is read only when it has its turn. */
static void reads_little_of_whom_it_does_not_know(void **state)
{
	enum { SIZE = 100000, LINES = 100 };
	struct service service = {.ledger = open_ledger(), .ledger_uid = 64};
	struct errmsg err = {""};
	struct server *s = server_new(base, &service, &auth, "127.0.0.1", free_port(), &err);
	char *line = malloc(SIZE + 256);
	int before, sent, slurmctld;
	time_t end = time(NULL) + PATIENCE_S;

	(void)state;
	assert_non_null(s);
	assert_non_null(line);
	look = look_at_address;
	noted_fd = join_as(REMOTE);
	assert_true(answered(noted_fd, of_a_user));
	close(noted_fd);
	sent = sprintf(line, "MUNGE:0:{\"op\":\"fly\",\"nonce\":\"n\",\"more\":\"");
	memset(line + sent, 'x', SIZE);
	strcpy(line + sent + SIZE, "\"}\n");
	noted_fd = join_as(REMOTE);
	slurmctld = join_as(SLURMCTLD);
	sent = (int)send(noted_fd, line, SIZE, MSG_DONTWAIT);
	assert_true(sent > 2 * SERVER_FIRST_ROOM);
	before = opened;
	note_at = before + LINES;
	for (int i = 0; i < LINES; i++)
		assert_int_equal(send(slurmctld, of_slurm, strlen(of_slurm), 0), strlen(of_slurm));
	while (opened < before + LINES && time(NULL) < end)
		one_round();
	print_message(
		"%d bytes read of %d, beside %d lines of slurmctld's\n", sent - noted, sent, LINES);
	assert_in_range(sent - noted, 1, SERVER_FIRST_ROOM);
	/* The whole of it, now that nobody else waits. */
	for (size_t len = strlen(line); (size_t)sent < len; loop(1)) {
		ssize_t n = send(noted_fd, line + sent, len - (size_t)sent, MSG_DONTWAIT);

		sent += n > 0 ? (int)n : 0;
	}
	assert_true(answered(noted_fd, ""));
	close(slurmctld);
	close(noted_fd);
	free(line);
	server_free(s);
	ledger_close(service.ledger);
}

/* The kernel knows whose a socket is, as long as that user has it. */
static void the_kernel_knows_local_users(void **state)
{
	int listener = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0), fd, accepted;
	const bool root = !geteuid();
	struct sockaddr_in from;
	socklen_t len = sizeof(address);
	struct peer peer;

	(void)state;
	look = NULL;
	address.sin_port = 0;
	assert_int_equal(bind(listener, (struct sockaddr *)&address, sizeof(address)), 0);
	assert_int_equal(getsockname(listener, (struct sockaddr *)&address, &len), 0);
	assert_int_equal(listen(listener, 2), 0);
	if (root)
		assert_int_equal(seteuid(1000), 0);
	fd = join();
	if (root)
		assert_int_equal(seteuid(0), 0);
	len = sizeof(from);
	accepted = accept(listener, (struct sockaddr *)&from, &len);
	assert_true(accepted >= 0);
	peer_look(accepted, (struct sockaddr *)&from, len, &peer);
	assert_string_equal(peer.origin, ORIGIN_LOCAL);
	if (!peer.known) {
		print_message("skipped: this kernel does not say whose a socket is\n");
	} else {
		assert_int_equal(peer.uid, root ? 1000 : geteuid());
		/* A socket that was left behind is not root's. */
		close(fd);
		fd = -1;
		peer_look(accepted, (struct sockaddr *)&from, len, &peer);
		assert_true(peer.known);
		assert_int_equal(peer.uid, PEER_GONE);
	}
	if (fd >= 0)
		close(fd);
	close(accepted);
	close(listener);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(listens_again),
		LEDGER_TEST(one_user_delays_nobody),
		LEDGER_TEST(who_reconnects_delays_nobody),
		LEDGER_TEST(reads_little_of_whom_it_does_not_know),
		cmocka_unit_test(the_kernel_knows_local_users),
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
