/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Unit tests of src/poppa/map/map_source.c: recordings. Its PMU: test_thread_counter. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/fsio.h"
#include "mapper/recording.h"
#include "poppa/map/map_source.h"

static struct nodeconf conf;

static struct map_source *play(const char *rows, struct errmsg *err)
{
	char path[] = "/tmp/test_map_source.XXXXXX", *text;
	struct map_source *s;
	int fd = mkstemp(path);

	assert_true(fd >= 0);
	close(fd);
	assert_true(asprintf(&text, RECORDING_COLUMNS "\n%s", rows) > 0);
	assert_int_equal(fsio_write(path, text, strlen(text), 0600, 0, NULL), 0);
	free(text);
	nodeconf_defaults(&conf);
	strcpy(conf.map_replay, path);
	s = map_source_new(&conf, err);
	unlink(path);
	return s;
}

static void roles_are_played_in_order(void **state)
{
	struct errmsg err;
	struct map_source *s = play("1,70,3,0,1,10,0,0,0,0,0\n"
				    "1,70,4,0,2,10,0,0,0,0,0\n"
				    "1,60,5,0,3,10,0,0,0,0,0\n"
				    "2,70,3,0,4,10,0,0,0,0,0\n",
		&err);
	struct mapper_sample sample[6];
	static const struct {
		int64_t task, app;
		uint64_t plays[2];
	} rows[] = {{101, 100, {1, 4}}, {102, 100, {2, 4}}, {201, 200, {3, 4}}, {103, 100, {1, 4}},
		{202, 200, {3, 4}}, {301, 300, {1, 4}}};
	struct map_counter c = {.open = false};

	(void)state;
	assert_non_null(s);
	assert_int_equal(map_counter_open(s, getpid(), &c, &err), 0);
	assert_true(c.open);
	map_counter_start(s, &c);
	for (int interval = 0; interval < 3; interval++) {
		for (int i = 0; i < 6; i++) {
			sample[i] = (struct mapper_sample){
				.task = rows[i].task, .app = rows[i].app, .pu = i};
			assert_int_equal(map_counter_stop(s, &c, &sample[i]), 1);
		}
		map_source_play(s, sample, 6);
		for (int i = 0; i < 6; i++) {
			assert_int_equal(sample[i].instructions, rows[i].plays[interval % 2]);
			assert_true(sample[i].task == rows[i].task &&
				    sample[i].app == rows[i].app && sample[i].pu == i);
		}
	}
	map_counter_close(&c);
	map_source_free(s);
}

static void wrong_sources(void **state)
{
	struct errmsg err = {""};
	char *many = calloc(300, 64), *at = many;

	(void)state;
	assert_null(play("", &err));
	assert_non_null(strstr(err.text, "MapReplay: "));
	assert_null(play("1,2,3\n", &err));
	assert_non_null(strstr(err.text, "MapReplay: "));
	for (int i = 0; i < MAP_THREADS_MAX + 1; i++)
		at += sprintf(at, "7,1,%d,0,1,1,0,0,0,0,0\n", i);
	assert_null(play(many, &err));
	assert_non_null(strstr(err.text, "interval 7 has more than 256 tasks"));
	free(many);
	nodeconf_defaults(&conf);
	assert_null(map_source_new(&conf, &err));
	assert_string_equal(err.text, "MapEvents: poppa.conf names no events of this processor");
	strcpy(conf.map_replay, "/nowhere/recording.csv");
	assert_null(map_source_new(&conf, &err));
	assert_non_null(strstr(err.text, "/nowhere/recording.csv"));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(roles_are_played_in_order),
		cmocka_unit_test(wrong_sources),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
