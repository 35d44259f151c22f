/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Breaks paragraphs into lines. */
#pragma once

#include <stdio.h>

/* Writes a paragraph and breaks its lines at blanks, so that none is longer than so many bytes
 * unless one word is. */
void wrap_text(FILE *out, const char *text, size_t width);
