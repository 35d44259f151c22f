/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Unit tests of src/poppa/report/status.c. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <time.h>
#include <unistd.h>

#include "common/log.h"
#include "poppa/report/status.h"

#define PATIENCE_S 60
#define ROUNDS 200

static char dir[] = "/tmp/test_status.XXXXXX", path[64];
static struct event_base *base;
static int logged, questions, libevent_said;

static void count_line(enum plog_level level, const char *line)
{
	(void)level;
	(void)line;
	logged++;
}

static void count_libevent(int severity, const char *text)
{
	(void)severity;
	(void)text;
	libevent_said++;
}

static json_t *answer(const json_t *request, uid_t uid, void *arg)
{
	(void)arg;
	questions++;
	return json_pack(
		"{s:I, s:O?}", "uid", (json_int_t)uid, "op", json_object_get(request, "op"));
}

/* Asks without waiting for anybody to listen; the socket. */
static int ask(void)
{
	static const char request[] = "{\"op\":\"hello\"}\n";
	struct sockaddr_un a = {.sun_family = AF_UNIX};
	int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);

	strcpy(a.sun_path, path);
	assert_int_equal(connect(fd, (struct sockaddr *)&a, sizeof(a)), 0);
	assert_int_equal(write(fd, request, strlen(request)), strlen(request));
	return fd;
}

static void take_reply(int fd)
{
	time_t end = time(NULL) + PATIENCE_S;
	char wanted[64], reply[256] = "";

	while (read(fd, reply, sizeof(reply) - 1) < 0 && time(NULL) < end)
		event_base_loop(base, EVLOOP_NONBLOCK);
	snprintf(wanted, sizeof(wanted), "{\"uid\":%u,\"op\":\"hello\"}\n", (unsigned)getuid());
	assert_string_equal(reply, wanted);
	close(fd);
}

static void answers(void **state)
{
	struct errmsg err = {""};
	struct status *s = status_open(base, path, answer, NULL, &err);

	(void)state;
	assert_non_null(s);
	take_reply(ask());
	status_close(s);
	assert_int_equal(access(path, F_OK), -1);
}

/* Where poppad has no descriptor left, who asks waits, and poppad neither spins nor fills its log.
 */
static void waits_for_a_descriptor(void **state)
{
	struct errmsg err = {""};
	struct status *s = status_open(base, path, answer, NULL, &err);
	struct rlimit all, none;
	int fd;

	(void)state;
	assert_non_null(s);
	fd = ask();
	assert_int_equal(getrlimit(RLIMIT_NOFILE, &all), 0);
	none = (struct rlimit){0, all.rlim_max};
	assert_int_equal(setrlimit(RLIMIT_NOFILE, &none), 0);
	logged = questions = 0;
	for (int i = 0; i < ROUNDS; i++)
		event_base_loop(base, EVLOOP_NONBLOCK);
	assert_int_equal(setrlimit(RLIMIT_NOFILE, &all), 0);
	assert_int_equal(questions, 0);
	assert_int_equal(logged, 1);
	assert_int_equal(libevent_said, 0);
	take_reply(fd);
	assert_int_equal(logged, 1);
	status_close(s);
}

static int prepare(void **state)
{
	(void)state;
	alarm(3 * PATIENCE_S); /* one that spins does not come back */
	plog_set_sink(count_line);
	event_set_log_callback(count_libevent);
	base = event_base_new();
	if (!base || !mkdtemp(dir))
		return -1;
	snprintf(path, sizeof(path), "%s/socket", dir);
	return 0;
}

static int clean_up(void **state)
{
	(void)state;
	event_base_free(base);
	return rmdir(dir);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(answers),
		cmocka_unit_test(waits_for_a_descriptor),
	};

	return cmocka_run_group_tests(tests, prepare, clean_up);
}
