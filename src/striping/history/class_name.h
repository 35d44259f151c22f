/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The texts that name classes of jobs in the pair history. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define PAIRS_CLASS_MAX 256

/*
 * A variant of a class is the class for jobs of a size, or on nodes of a type, and has a suffix:
 * "1000@lmp+4n" for 4 to 7 nodes, "1000@lmp+4n+2x8x1" for these on nodes of 2 sockets with 8 cores
 * of 1 thread each, "1000@lmp+2x8x1s" where lanes of these are whole sockets. Sizes are powers of
 * two; one node, and the type of stripes where all nodes are alike, have no suffix: that is the
 * class itself. Its parent is the class, and that of a class its user, whom
 * CLASS_OF_USER and the user id name ("#1000"), which can be no class in a history's file.
 */
#define CLASS_OF_USER '#'
#define CLASS_LEVELS 3
#define CLASS_TYPE_MAX 36
#define CLASS_VARIANT_MAX (CLASS_TYPE_MAX + 16)

/* Whether the text can be a class in the lines of a file. */
bool class_valid(const char *class);

/* How many bytes of a class name its user: the digits before "/", ":" or "@"; 0: it is everybody's.
 */
size_t class_user(const char *class);

/* Writes the user's id that a class begins with. Returns where it ends in the class; NULL: it is
 * everybody's, or that is no id. */
const char *class_owner(const char *class, uint32_t *uid);

/* How many bytes of a class are the class itself, without the suffix of a variant. */
size_t class_base(const char *class);

/* Makes "_" of each "+" that would make a class look like a variant, in place, as a user may name a
 * job or a program like one. Returns class. */
char *class_guard(char *class);

/* Adds the suffix for so many nodes (0: not known) of that type (NULL, "": all are alike) to a
 * class in PAIRS_CLASS_MAX bytes. Where there is no room for it, the class stays as it is. Returns
 * class.
 */
char *class_add_variant(char *class, unsigned int nodes, const char *type);

/* Writes the type of a node, by the cores of each socket, the threads of each core and whether its
 * lanes are whole sockets, into buf, of CLASS_TYPE_MAX bytes. Returns buf. */
char *class_node_type(
	unsigned int sockets, unsigned int cores, unsigned int threads, bool of_sockets, char *buf);

/* Whether a class is a variant for lanes of whole sockets. */
bool class_of_sockets(const char *class);

/* Writes the parent of a variant or class into buf, of PAIRS_CLASS_MAX bytes. false: it has none,
 * as a user, or a class that is everybody's. */
bool class_parent(const char *class, char *buf);

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
