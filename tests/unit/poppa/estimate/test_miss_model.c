/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Unit tests of src/poppa/estimate/miss_model.c: lines that are there are found, no others are. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <math.h>
#include <string.h>

#include "poppa/estimate/miss_model.h"
#include "../noisy_block.h"

#define WINDOWS 12
#define B 0.8
#define M 150.0

/* Errors of a window's numbers, relative. */
struct blur {
	double instructions, cycles, misses;
};

static const struct blur exact = {0, 0, 0};

/* A window of a program whose CPI is b + m x. */
static struct miss_window window(double b, double m, double x, struct blur e)
{
	double n = 2e6;

	return (struct miss_window){n * (1 + noise(e.instructions)),
		n * (b + m * x) * (1 + noise(e.cycles)), fmax(n * x * (1 + noise(e.misses)), 0)};
}

/* Blocks whose co-runners are held in the middle windows, where x is lower, and which differ a
 * little by themselves. */
static void add_blocks(
	struct miss_model *model, int blocks, double b, double m, double x, struct blur e)
{
	for (int i = 0; i < blocks; i++) {
		struct miss_window w[WINDOWS];
		double here = x * (1 + 0.1 * sin(i));

		for (int k = 0; k < WINDOWS; k++)
			w[k] = window(b, m, k >= 4 && k < 8 ? 0.3 * here : here, e);
		assert_true(miss_model_add(model, w, WINDOWS));
	}
}

static struct miss_fit line_of(const struct miss_model *model)
{
	struct miss_fit l;

	miss_model_line(model, &l);
	return l;
}

static void finds_the_line(void **state)
{
	struct miss_model model = {0};
	struct miss_fit l;

	(void)state;
	add_blocks(&model, 40, B, M, 0.004, exact);
	l = line_of(&model);
	assert_true(l.accepted);
	assert_int_equal(l.blocks, 40);
	assert_float_equal(l.b, B, 1e-9);
	assert_float_equal(l.m, M, 1e-6);
	assert_float_equal(l.r2, 1, 1e-9);
	assert_true(l.m_error < 1e-6 && l.b_error < 1e-9);
}

/* Many jobs with noise: the lines that are told are right, and their errors are honest. */
static void noise_is_no_matter(void **state)
{
	double off = 0, told = 0;

	(void)state;
	for (int job = 0; job < 200; job++) {
		struct miss_model model = {0};
		struct miss_fit l;

		add_blocks(&model, 60, B, M, 0.004, (struct blur){0.01, 0.03, 0.03});
		l = line_of(&model);
		assert_true(l.accepted);
		assert_float_equal(l.m, M, 0.06 * M);
		assert_float_equal(l.b, B, 0.1);
		off += (l.m - M) * (l.m - M) / 200;
		told += l.m_error * l.m_error / 200;
	}
	assert_in_range(100 * off / told, 50, 250);
}

static void noisy_cycles_are_no_line(void **state)
{
	struct miss_model model = {0};

	(void)state;
	add_blocks(&model, 200, B, M, 0.001, (struct blur){0, 0.15, 0});
	assert_true(line_of(&model).r2 < MISS_LEAST_R2);
	assert_false(line_of(&model).accepted);
}

/* Errors of x flatten the line, and whatever is told is too flat by a tenth at most. */
static void noisy_misses_make_no_flat_line(void **state)
{
	int told = 0, refused = 0;

	(void)state;
	for (int step = 0; step < 60; step++) {
		struct miss_model model = {0};
		struct miss_fit l;

		add_blocks(&model, 200, B, M, 0.004, (struct blur){0, 0, 0.01 * step});
		l = line_of(&model);
		told += l.accepted;
		refused += !l.accepted;
		if (l.accepted)
			assert_true(l.m > 0.88 * M && l.m < 1.02 * M && l.m / l.r2 > 0.98 * M);
	}
	assert_true(told >= 10 && refused >= 20);
}

/* Where only the instructions vary, both ratios do: that line goes through the origin. */
static void loops_that_wait_are_no_misses(void **state)
{
	(void)state;
	for (int step = 0; step < 20; step++) {
		struct blur e = {0.2, 0.002 * step, 0.004 * step};
		struct miss_model model = {0};

		for (int i = 0; i < 100; i++) {
			struct miss_window w[WINDOWS];

			for (int k = 0; k < WINDOWS; k++)
				w[k] = window(1, 0, 0.005, e);
			assert_true(miss_model_add(&model, w, WINDOWS));
		}
		if (step == 10)
			assert_true(line_of(&model).r2 > MISS_LEAST_R2);
		assert_false(line_of(&model).accepted);
	}
}

static void few_blocks(void **state)
{
	struct miss_model model = {0};

	(void)state;
	assert_false(line_of(&model).accepted);
	assert_true(isnan(line_of(&model).m));
	for (int blocks = 1; blocks <= MISS_LEAST_BLOCKS; blocks++) {
		add_blocks(&model, 1, B, M, 0.004, exact);
		assert_int_equal(line_of(&model).blocks, blocks);
		assert_int_equal(line_of(&model).accepted, blocks == MISS_LEAST_BLOCKS);
	}
}

static void misses_that_never_change(void **state)
{
	static const double x[] = {0, 0.004, 1.0 / 3};

	(void)state;
	for (size_t i = 0; i < sizeof(x) / sizeof(x[0]); i++) {
		for (int noisy = 0; noisy < 2; noisy++) {
			struct miss_model model = {0};

			for (int k = 0; k < 100; k++) {
				struct miss_window w[2] = {
					{1e6, 1e6 * (1 + noise(0.1 * noisy)), 1e6 * x[i]},
					{3e6, 3e6 * (1 + noise(0.1 * noisy)), 3e6 * x[i]}};

				assert_true(miss_model_add(&model, w, 2));
			}
			assert_false(line_of(&model).accepted);
		}
	}
}

static void lines_that_cannot_be(void **state)
{
	static const struct {
		double b, m, x;
	} cases[] = {
		{1.5, -100, 0.004},               /* faster by misses */
		{-0.2, 300, 0.004},               /* no cycles without misses */
		{0.002, 300, 0.03},               /* all but through the origin, with noise */
		{1, 10 * MISS_MOST_CYCLES, 1e-4}, /* no memory is so slow */
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct miss_model model = {0};

		add_blocks(&model, 100, cases[i].b, cases[i].m, cases[i].x,
			(struct blur){0, 0.01, 0.01});
		assert_true(line_of(&model).r2 > MISS_LEAST_R2);
		assert_false(line_of(&model).accepted);
	}
}

/* What one moment shows is no line, whatever its weight. */
static void one_block_far_off(void **state)
{
	struct miss_window far[2] = {{2e6, 40e6, 2e5}, {2e6, 40e6, 2e5}};
	struct miss_model model = {0};

	(void)state;
	add_blocks(&model, 60, B, 0, 0.0002, (struct blur){0, 0.02, 0.02});
	assert_true(miss_model_add(&model, far, 2));
	assert_true(line_of(&model).r2 > MISS_LEAST_R2);
	assert_false(line_of(&model).accepted);
}

/* A window that is four times as long weighs as four. */
static void long_windows_count_by_their_length(void **state)
{
	struct miss_model in_one = {0}, in_parts = {0};

	(void)state;
	for (int i = 0; i < 40; i++) {
		struct miss_window w[5];

		w[0] = window(B, M, 0.004, (struct blur){0.1, 0.05, 0.05});
		w[1] = window(B, M, 0.001, (struct blur){0.1, 0.05, 0.05});
		w[2] = w[3] = w[4] = w[1];
		miss_model_add(&in_parts, w, 5);
		w[1].instructions *= 4;
		w[1].cycles *= 4;
		w[1].misses *= 4;
		miss_model_add(&in_one, w, 2);
	}
	assert_float_equal(line_of(&in_one).m, line_of(&in_parts).m, 1e-6);
	assert_float_equal(line_of(&in_one).b, line_of(&in_parts).b, 1e-9);
	assert_float_equal(line_of(&in_one).r2, line_of(&in_parts).r2, 1e-9);
}

static void garbage(void **state)
{
	static const struct miss_window bad[] = {
		{0, 1e6, 0},
		{0, 0, 0},
		{1e6, 0, 10},
		{1e6, 1e6, 1e6 + 1},
		{1e6, 2e9, 1e3},
		{-1e6, 1e6, 10},
		{1e6, -1e6, 10},
		{1e6, 1e6, -10},
		{18446744073709551615.0, 18446744073709551615.0, 18446744073709551615.0},
		{NAN, 1e6, 10},
		{1e6, NAN, 10},
		{1e6, 1e6, NAN},
		{INFINITY, 1e6, 10},
		{1e6, INFINITY, 10},
		{1e6, 1e6, INFINITY},
		{INFINITY, INFINITY, INFINITY},
		{1e-320, 1e6, 0},
	};
	const int all = (int)(sizeof(bad) / sizeof(bad[0]));
	struct miss_model model = {0}, clean = {0};
	struct miss_window w[4];

	(void)state;
	assert_false(miss_model_add(&model, bad, all));
	assert_false(miss_model_add(&model, NULL, 0));
	w[0] = window(B, M, 0.004, exact);
	assert_false(miss_model_add(&model, w, 1));
	assert_memory_equal(&model, &clean, sizeof(model));
	for (int i = 0; i < 64; i++) {
		w[0] = window(B, M, 0.004, exact);
		w[1] = bad[i % all];
		w[2] = window(B, M, 0.001, exact);
		w[3] = bad[(i + 7) % all];
		assert_true(miss_model_add(&model, w, 4));
	}
	assert_true(line_of(&model).accepted);
	assert_float_equal(line_of(&model).m, M, 1e-6);
}

static void checkpoints(void **state)
{
	static const char *const broken[] = {"{}", "[]", "{\"blocks\": [40], \"group\": [1, 2]}",
		"{\"blocks\": [-1], \"group\": []}"};
	struct miss_model model = {0}, back, kept;
	json_t *json, *group;

	(void)state;
	add_blocks(&model, 45, B, M, 0.004, (struct blur){0.01, 0.03, 0.03});
	json = miss_model_save(&model);
	assert_int_equal(miss_model_load(&back, json), 0);
	assert_memory_equal(&model, &back, sizeof(model));
	add_blocks(&back, 5, B, M, 0.004, exact);
	assert_int_equal(line_of(&back).blocks, 50);
	kept = back;
	/* No state: sums that no windows can have. */
	group = json_object_get(json, "group");
	for (int i = 0; i < 6; i++) {
		json_t *was = json_copy(json_array_get(group, (size_t)i));

		json_array_set_new(group, (size_t)i, json_real(i == 4 ? 1e30 : -1));
		assert_int_equal(miss_model_load(&back, json), -1);
		json_array_set_new(group, (size_t)i, was);
	}
	assert_int_equal(miss_model_load(&back, json), 0);
	json_decref(json);
	back = kept;
	for (size_t i = 0; i < sizeof(broken) / sizeof(broken[0]); i++) {
		json = json_loads(broken[i], 0, NULL);
		assert_non_null(json);
		assert_int_equal(miss_model_load(&back, json), -1);
		json_decref(json);
	}
	assert_int_equal(miss_model_load(&back, NULL), -1);
	assert_memory_equal(&back, &kept, sizeof(back));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(finds_the_line),
		cmocka_unit_test(noise_is_no_matter),
		cmocka_unit_test(noisy_cycles_are_no_line),
		cmocka_unit_test(noisy_misses_make_no_flat_line),
		cmocka_unit_test(loops_that_wait_are_no_misses),
		cmocka_unit_test(few_blocks),
		cmocka_unit_test(misses_that_never_change),
		cmocka_unit_test(lines_that_cannot_be),
		cmocka_unit_test(one_block_far_off),
		cmocka_unit_test(long_windows_count_by_their_length),
		cmocka_unit_test(garbage),
		cmocka_unit_test(checkpoints),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
