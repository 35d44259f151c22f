/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Finds the program of a task, and which MPI it is linked with. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

enum program_kind {
	/* A script, a launcher, a program that names no MPI, or what cannot be read. It may load an
	 * MPI library later, or start programs that use one. */
	PROGRAM_UNKNOWN,
	PROGRAM_OPENMPI, /* linked with Open MPI */
	PROGRAM_MPICH,   /* linked with MPICH or one of its family, such as Intel MPI */
	PROGRAM_FOREIGN, /* of another word size or byte order: it cannot load our libraries */
};

/*
 * Looks for the program as a shell does: a name with '/' as it is, any other in the directories of
 * path (NULL: none). Returns 0 and the file's path in buf, or -1 where there is none.
 */
int program_find(const char *name, const char *path, char *buf, size_t size);

/*
 * Reads what a program is linked with (DT_NEEDED), with the rights of the caller. The file may be
 * anything and may change meanwhile: only a regular one is opened, nothing of it is mapped, and no
 * more than some 100 KB are read. It waits for nothing but the file system.
 */
enum program_kind program_kind(const char *file);
