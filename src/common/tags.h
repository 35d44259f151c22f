/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Tagged parts of a comment field that several writers share, such as a job's SystemComment. */
#pragma once

/*
 * A comment is "; "-separated parts; ours begin with "TAG: ". Returns a new text (caller frees) in
 * which the part with this tag is replaced or appended, everything else is kept byte for byte, or
 * NULL with ENOMEM. comment may be NULL. text NULL removes the part.
 */
char *tags_set(const char *comment, const char *tag, const char *text);

/* The text of the part with this tag, newly allocated, or NULL where there is none. */
char *tags_get(const char *comment, const char *tag);
