/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Unit tests of limits that count progress: their promises, with random losses and bounds. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdlib.h>

#include "accounting/settle/time_limit.h"

#define START 1000000

static struct time_limit usual(void)
{
	return (struct time_limit){.now = START + 300,
		.asked_end = START + 600,
		.asked_s = 600,
		.end = START + 600,
		.measured_s = 300};
}

static void plans_by_the_pace(void **state)
{
	struct time_limit t = usual();
	bool bounded;

	(void)state;
	assert_int_equal(time_limit_end(&t, &bounded), START + 600);
	assert_false(bounded);
	/* Half of the time is lost: it takes twice as long. */
	t.lost_s = 100;
	t.held_s = 50;
	assert_int_equal(time_limit_end(&t, &bounded), START + 1200);
	/* The partner is gone, so the pace gets better, and the end comes nearer. */
	t.end = START + 1200;
	t.now = START + 700;
	t.measured_s = 700;
	t.lost_s = 140;
	t.held_s = 0;
	assert_int_equal(time_limit_end(&t, &bounded), t.now + TIME_LIMIT_GRACE_S);
	/* Not into the past. */
	t.now = START + 1000;
	t.measured_s = 1000;
	assert_int_equal(time_limit_end(&t, &bounded), t.now + TIME_LIMIT_GRACE_S);
}

static void makes_no_small_moves(void **state)
{
	struct time_limit t = usual();
	bool bounded;

	(void)state;
	t.lost_s = 1;
	assert_int_equal(time_limit_end(&t, &bounded), t.end);
	t.lost_s = 9;
	assert_true(time_limit_end(&t, &bounded) > t.end);
}

static void unknown_moves_nothing(void **state)
{
	struct time_limit t = usual();
	bool bounded;

	(void)state;
	t.nodata = true;
	t.lost_s = 250;
	assert_int_equal(time_limit_end(&t, &bounded), t.end);
	t.end = START + 900;
	assert_int_equal(time_limit_end(&t, &bounded), t.end);
	t.nodata = false;
	t.measured_s = t.lost_s = 0;
	assert_int_equal(time_limit_end(&t, &bounded), t.end);
	/* A job that cheats is back at what it asked for, and stays there. */
	t = usual();
	t.lost_s = 250;
	t.refused = true;
	t.end = START + 1500;
	assert_int_equal(time_limit_end(&t, &bounded), t.asked_end);
	t.now = START + 650;
	t.end = time_limit_end(&t, &bounded);
	assert_int_equal(t.end, t.now + TIME_LIMIT_GRACE_S);
	t.now += 30;
	assert_int_equal(time_limit_end(&t, &bounded), t.end);
}

static void stops_at_bounds(void **state)
{
	struct time_limit t = usual();
	bool bounded;

	(void)state;
	t.lost_s = 150;
	t.bound = START + 800;
	assert_int_equal(time_limit_end(&t, &bounded), t.bound);
	assert_true(bounded);
	t.bound = START + 100;
	assert_int_equal(time_limit_end(&t, &bounded), t.asked_end);
	assert_true(bounded);
	t.bound = 0;
	t.lost_s = 299;
	assert_int_equal(
		time_limit_end(&t, &bounded), t.asked_end + TIME_LIMIT_MOST_TIMES * t.asked_s);
	assert_true(bounded);
}

static double part(void)
{
	return (double)rand() / RAND_MAX;
}

static void keeps_its_promises(void **state)
{
	(void)state;
	srand(17);
	for (int i = 0; i < 200000; i++) {
		int64_t limit = 60 * (1 + rand() % 1000);
		struct time_limit t = {.now = START + (int64_t)(part() * 3 * (double)limit),
			.asked_end = START + limit,
			.asked_s = limit,
			.end = START + limit +
			       (rand() % 2 ? (int64_t)(part() * 9 * (double)limit) : 0),
			.refused = rand() % 8 == 0,
			.nodata = rand() % 8 == 0};
		bool bounded, again;
		int64_t end, latest;

		t.now = t.now < t.end ? t.now : t.end - 1;
		t.measured_s = part() * (double)(t.now - START);
		t.lost_s = part() * t.measured_s;
		t.held_s = part() * 0.1 * t.measured_s;
		t.bound = rand() % 2 ? START + (int64_t)(part() * 8 * (double)limit) : 0;
		end = time_limit_end(&t, &bounded);
		latest = t.asked_end + TIME_LIMIT_MOST_TIMES * limit;
		if (t.bound && t.bound < latest)
			latest = t.bound > t.asked_end ? t.bound : t.asked_end;
		assert_true(end >= t.asked_end);
		assert_true(end > t.now);
		assert_true(end <= latest || end <= t.now + TIME_LIMIT_GRACE_S);
		assert_true(end <= latest || end <= t.end);
		if (t.refused || t.nodata)
			assert_true(end <= t.end || t.held_s > 0);
		if (t.refused)
			assert_true(end <= t.end);
		t.end = end;
		assert_int_equal(time_limit_end(&t, &again), end);
		assert_int_equal(again, bounded);
		/* Who has lost more ends no sooner. */
		t.lost_s += 0.1 * t.measured_s;
		assert_true(time_limit_end(&t, &again) >= end);
	}
}

static void reads_what_it_writes(void **state)
{
	static const char *const bad[] = {"", "asked=10",
		"asked=0 set=5 cap=0 restart=0 extended=1",
		"asked=10 set=9 cap=0 restart=0 extended=1",
		"asked=10 set=20 cap=0 restart=0 extended=-1",
		"asked=+10 set=20 cap=0 restart=0 extended=1",
		"asked=10 set=20 cap=0 restart=0 extended=1 ",
		"asked=10 set=20 cap=0 restart=0 extended=1 bound=",
		"asked=4294967306 set=20 cap=0 restart=0 extended=1",
		"asked=10 set=20 cap=0 restart=0 extended=1 bound=x;y",
		"asked=10  set=20 cap=0 restart=0 extended=1",
		"asked=10 set=20 cap=-1 restart=0 extended=1",
		"asked=10 set=20 cap=0 restart=0 extended=1 off=0",
		"asked=10 set=20 cap=0 restart=0 extended=1 off=91",
		"asked=10 set=20 cap=0 restart=0 extended=1 off=-9223372036854775808",
		"asked=10 set=20 cap=0 restart=0 extended=1 off=",
		"asked=10 set=20 cap=0 restart=0 extended=1 refused=5 off=5",
		"asked=10 set=20 cap=0 restart=0 extended=1 refused=-5",
		"asked=10 set=20 cap=0 restart=0 extended=1 refused=5x",
		"asked=10 set=20 cap=0 restart=0 extended=9999999999"};
	struct time_limit_state s = {.asked = 10, .set = 20, .restart = 3, .extended = 555}, got;
	char text[TIME_LIMIT_MAX_TEXT];

	(void)state;
	assert_string_equal(time_limit_format(&s, text, sizeof(text)),
		"asked=10 set=20 cap=0 restart=3 extended=555");
	assert_int_equal(time_limit_parse(text, &got), 0);
	assert_int_equal(got.asked, 10);
	assert_int_equal(got.restart, 3);
	assert_string_equal(got.bound, "");
	s = (struct time_limit_state){.asked = 1, .set = 1, .extended = 0, .bound = "reservation"};
	assert_int_equal(time_limit_parse(time_limit_format(&s, text, sizeof(text)), &got), 0);
	assert_string_equal(got.bound, "reservation");
	s = (struct time_limit_state){.asked = UINT32_MAX,
		.set = UINT32_MAX,
		.cap = INT64_MAX,
		.restart = UINT32_MAX,
		.extended = INT32_MAX,
		.off = -90,
		.refused = INT64_MAX,
		.bound = "abcdefghijklmno"};
	assert_int_equal(time_limit_parse(time_limit_format(&s, text, sizeof(text)), &got), 0);
	assert_memory_equal(&s, &got, sizeof(s));
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
		assert_int_equal(time_limit_parse(bad[i], &got), -1);
}

/* A limit of 10 minutes that was extended to 1055 s of 18 minutes. */
static const char extended[] = "asked=10 set=18 cap=0 restart=0 extended=455 refused=7 bound=most";

/* What is asked for after TimeLimit and EndTime became these, seconds; -1: the state goes on. */
static int64_t asked_after(uint32_t limit, int64_t end_s, int64_t ran_s)
{
	struct time_limit_state s;

	if (time_limit_asked(extended, limit, end_s, ran_s, &s))
		return -1;
	assert_int_equal(s.extended + s.cap + s.refused, 0);
	assert_string_equal(s.bound, "");
	assert_int_equal(s.asked, limit);
	assert_int_equal(s.set, limit);
	return time_limit_asked_s(&s);
}

static void knows_who_changed_it(void **state)
{
	struct time_limit_state s;

	(void)state;
	assert_false(time_limit_asked(NULL, 15, 900, 0, &s));
	assert_int_equal(time_limit_asked_s(&s), 900);
	assert_int_equal(s.off, 0);
	assert_false(time_limit_asked("nonsense", 15, 930, 0, &s));
	assert_int_equal(s.off, 30);
	/* Nobody has, or Slurm when it resumed the job. */
	assert_true(time_limit_asked(extended, 18, 1055, 100, &s));
	assert_int_equal(time_limit_set_s(&s), 1055);
	assert_int_equal(s.refused, 7);
	assert_string_equal(s.bound, "most");
	assert_true(time_limit_asked(extended, 18, 1080, 100, &s));
	assert_int_equal(time_limit_set_s(&s), 1055);
	/* A TimeLimit between the two is a cap: all of its minutes. */
	assert_true(time_limit_asked(extended, 15, 1055 - 180, 100, &s));
	assert_int_equal(s.cap, 900);
	assert_int_equal(s.set, 15);
	assert_int_equal(s.asked, 10);
	assert_int_equal(time_limit_set_s(&s), 900);
	/* Slurm has set no end in the past. */
	assert_true(time_limit_asked(extended, 15, 880, 880, &s));
	assert_int_equal(s.cap, 900);
	/* An EndTime between them. */
	assert_true(time_limit_asked(extended, 18, 1040, 100, &s));
	assert_int_equal(s.cap, 1040);
	assert_true(time_limit_asked(extended, 17, 1001, 100, &s));
	assert_int_equal(s.cap, 1001);
	assert_int_equal(s.set, 17);
	/* Others are asked for. */
	assert_int_equal(asked_after(10, 1055 - 480, 100), 600);
	assert_int_equal(asked_after(9, 1055 - 540, 100), 540);
	assert_int_equal(asked_after(5, 560, 560), 300);
	assert_int_equal(asked_after(10, 590, 100), 590);
	assert_int_equal(asked_after(20, 1055 + 120, 100), 1200);
	assert_int_equal(asked_after(18, 1070, 100), 1070);
	/* A part of a minute stays, and nothing is added to it twice. */
	assert_true(time_limit_asked(
		"asked=10 set=18 cap=0 restart=0 extended=455 off=-30", 18, 1025, 100, &s));
	assert_int_equal(time_limit_asked_s(&s), 570);
	/* A job that waits. */
	assert_int_equal(time_limit_asked_again(extended, 18), 10);
	assert_int_equal(time_limit_asked_again(extended, 15), 10);
	assert_int_equal(time_limit_asked_again(extended, 10), 10);
	assert_int_equal(time_limit_asked_again(extended, 9), 9);
	assert_int_equal(time_limit_asked_again(extended, 19), 19);
	assert_int_equal(time_limit_asked_again("nonsense", 19), 19);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(plans_by_the_pace),
		cmocka_unit_test(makes_no_small_moves),
		cmocka_unit_test(unknown_moves_nothing),
		cmocka_unit_test(stops_at_bounds),
		cmocka_unit_test(keeps_its_promises),
		cmocka_unit_test(reads_what_it_writes),
		cmocka_unit_test(knows_who_changed_it),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
