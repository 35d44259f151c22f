/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The power that a graphics processor takes of which only some compute units are on. */
#pragma once

#include "common/errmsg.h"

/*
 * After the thesis, section 4.2.1: what is always on, the memory, and the compute units that are
 * on: what each takes idle, and what its vector units take by the share of lanes that work. Units
 * that are off take nothing (power gating).
 *
 * The thesis' equation 4.1 and its constants are not in the published text. Ours follow from what
 * the text says of it: the units take 56 % of the idle power without memory, 23 to 30 % of all, and
 * each four units that are off save 2 to 3 %.
 */
struct gpu_power {
	double units;     /* that there are */
	double other_w;   /* idle, of all that is neither unit nor memory */
	double memory_w;  /* of the memory */
	double idle_w;    /* of all units together, idle */
	double dynamic_w; /* of all units together, when all lanes work, beyond idle */
};

extern const struct gpu_power gpu_power_default; /* of a board with 44 units */

/* Reads "units=44,other=30,memory=50,idle=38,dynamic=147"; what is not named stays. Returns 0, or
 * -1 with err. */
int gpu_power_parse(struct gpu_power *p, const char *text, struct errmsg *err);

/* Watts with so many units on, of whose lanes a share works, from 0 to 1. */
double gpu_power_w(const struct gpu_power *p, double units_on, double activity);
