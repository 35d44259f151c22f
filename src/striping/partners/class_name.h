/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The texts that name classes of jobs in the pair history. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#define PAIRS_CLASS_MAX 256

/* Makes bytes that would break the history's lines "_", and all else that is not to be shown, half
 * a character at the end of a text that was cut included, "?", in place. Returns text. */
char *class_plain(char *text);

/* Writes as much of a text as there is room for into buf, plain; NULL is "". Returns buf. */
char *class_copy(const char *text, char *buf, size_t size);

/* Writes "#" for each run of digits, in place. false where there is none. */
bool class_generalize(char *name);

/*
 * A class by names alone: UID/JOBNAME or, where the user gave a `class_name`, UID:CLASS. With
 * `shared`, a class of that name is everybody's, and is CLASS alone. job_class() has the class of a
 * job. Returns buf, of PAIRS_CLASS_MAX bytes, plain; longer names are cut.
 */
char *class_by_names(
	const char *class_name, bool shared, unsigned int uid, const char *job_name, char *buf);
