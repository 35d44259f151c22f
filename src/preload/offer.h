/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Which programs of co-located jobs are given the heartbeat of MPI programs, and how. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "common/errmsg.h"
#include "preload/program.h"

/* heartbeat=... in plugstack.conf */
enum preload_use {
	PRELOAD_OFF,  /* off, the default: to none */
	PRELOAD_AUTO, /* auto: to all that can load it; it finds out by itself which MPI is there */
	PRELOAD_OPENMPI, /* openmpi: not to programs that are linked with MPICH or its family */
	PRELOAD_MPICH,   /* mpich: not to programs that are linked with Open MPI */
};

/* Reads the arguments of the plugin's line in plugstack.conf. Returns 0, or -1 with *use off and
 * err, which names the argument. */
int preload_read_arguments(
	int count, char *const *arguments, enum preload_use *use, struct errmsg *err);

bool preload_suits(enum preload_use use, enum program_kind kind);

/*
 * Writes what LD_PRELOAD becomes into buf: `before` (NULL or "": none), and this library behind it.
 * Returns false where it stays as it is: a library of that name is there already, or there is no
 * room.
 */
bool preload_add(const char *before, const char *library, char *buf, size_t size);
