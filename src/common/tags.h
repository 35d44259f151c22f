/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Tagged parts of a comment field that several writers share, such as a job's SystemComment. */
#pragma once

/*
 * A comment has parts separated by "; "; those of the suite begin with "TAG: ". Replaces or appends
 * the part with this tag; a NULL text removes it. Everything else stays byte for byte. comment may
 * be NULL. Returns a new text that the caller frees, or NULL with ENOMEM.
 */
char *tags_set(const char *comment, const char *tag, const char *text);

/* Returns the text of the part with this tag, which the caller frees, or NULL. */
char *tags_get(const char *comment, const char *tag);
