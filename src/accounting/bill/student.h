/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The mean of values that weigh differently, and how sure it is. */
#pragma once

/* One value: how much it weighs, and the half of its own 95 % interval (NAN = unknown). */
struct student_value {
	double value, weight, half;
};

struct student {
	int n;         /* values with a weight above 0 */
	double weight; /* their sum */
	double mean;   /* weighted; NAN without values */
	double lo, hi; /* 95 % interval of the mean; NAN where the values do not tell one */
};

/*
 * The interval is Student's. Where weights differ, the values count as (sum w)^2 / sum w^2 equal
 * ones (Kish 1965), so that one long run is not taken for many: one value tells no interval, nor do
 * several of which one weighs nearly all. It is never narrower than what the values' own intervals
 * make, as few values may agree by chance.
 */
struct student student_of(const struct student_value *v, int n);
