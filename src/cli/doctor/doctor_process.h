/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What the checks of "poppa doctor" ask of /proc about processes of this host. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

/* Writes the name of a process, "" where it is gone; returns name. */
const char *process_name(pid_t pid, char *name, size_t size);

/* The first process of this name after pid `after` (0 = from the first), 0 where there is none. */
pid_t process_find(const char *name, pid_t after);

/* Whether the process has mapped a file of this name: 1 or 0; 2 where another file has taken its
 * place since; -1 where that cannot be seen. */
int process_maps(pid_t pid, const char *file);

/* Whether the argument that follows `option` in the process's command line is another than value.
 * False where the command line does not have the option. */
bool process_option_differs(pid_t pid, const char *option, const char *value);

/*
 * Who listens on a TCP port of this host: the pid; 0 where nobody does; -1 where somebody does who
 * cannot be named, because only root sees the descriptors of others.
 */
pid_t process_listening(int port);
