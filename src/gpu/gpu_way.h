/* SPDX-License-Identifier: GPL-2.0-or-later */
/* How a program is told how many units of a graphics processor it may use. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "common/errmsg.h"

/* An environment variable, which the program's libraries read when it starts. */
struct gpu_way {
	const char *name;     /* for messages */
	const char *variable; /* of the environment */
	const char *unit;     /* what is counted */
	bool mask;            /* its value names units, "0:0-15"; else it is their number */
	double most;          /* 0: not known */
};

/*
 * cuda: per cent of the threads, which CUDA's MPS daemon keeps to. amd: compute units of the first
 * device, by AMD's runtime. Anything else is the name of a variable that the program reads itself.
 * text NULL: what this machine has. Returns 0, or -1 with err. *way points into text for a
 * variable.
 */
int gpu_way_find(const char *text, struct gpu_way *way, struct errmsg *err);

/* Whether something here sees to it that programs keep to the way: false where CUDA's MPS daemon
 * does not run, without which all runs use the whole board. Of other ways nobody knows. */
bool gpu_way_is_kept(const struct gpu_way *way);

/* Writes the variable's value for so many units; returns buf. */
char *gpu_way_value(const struct gpu_way *way, double units, char *buf, size_t size);
