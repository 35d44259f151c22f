/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Reads key=value texts: comma lists as in slurm.conf's parameters, and Name=Value files. */
#pragma once

#include <stddef.h>

#include "common/errmsg.h"

/*
 * Called for each pair; key and value are terminated and valid for the call only; value is NULL for
 * a key without "=". line is the line number in a file, 0 in a list. A non-zero return stops the
 * reading and becomes the result; the callback has then written err.
 */
typedef int (*keyval_fn)(
	const char *key, const char *value, int line, void *arg, struct errmsg *err);

/* Reads "a=1,b,c=x". Blanks around items are ignored, and empty items are skipped. */
int keyval_list(const char *text, keyval_fn fn, void *arg, struct errmsg *err);

/*
 * Reads lines "Name=Value". "#" starts a comment; a value may be in double quotes. A line that is
 * neither empty nor Name=Value is an error, and err has the text's name and the line.
 */
int keyval_text(const char *name, const char *text, keyval_fn fn, void *arg, struct errmsg *err);

/* Reads such lines from a file. Returns -1 with errno ENOENT and err where it is missing. */
int keyval_file(const char *path, keyval_fn fn, void *arg, struct errmsg *err);

/* Copies a value into out. Returns 0, or -1 with an err that names the key where it is too long. */
int keyval_copy(const char *key, const char *value, char *out, size_t size, struct errmsg *err);

/* Finds value among names, in upper or lower case. Returns its number, or -1 with err. */
int keyval_choice(const char *key, const char *value, const char *const *names, int count,
	struct errmsg *err);

/* Says in err that a key is unknown, and which there are. rows is a table of count rows of size
 * bytes, each of which begins with a pointer to its key. Returns -1. */
int keyval_unknown(
	const char *key, const void *rows, size_t size, size_t count, struct errmsg *err);
