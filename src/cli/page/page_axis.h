/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The numbers of a plot's axis. */
#pragma once

/* The least of 1, 2, 2.5 and 5 times a power of ten that makes at most so many steps of the range,
 * which is more than 0. */
double page_axis_step(double range, int steps);

/* The decimal places, at most 6, without which two numbers of an axis with that step, or a number
 * and its place, would not agree: 3 for 0.025. */
int page_axis_digits(double step);
