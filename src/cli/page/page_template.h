/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Fills the values of a JSON object into a page of HTML. */
#pragma once

#include <stdio.h>
#include <jansson.h>

/*
 * Writes the template with its tags replaced:
 *
 *   {{PATH}}               the value, with all characters escaped that mean something in HTML
 *   {{PATH|FORMAT}}        a number as people read it; "-" where it is null or missing
 *   {{#PATH}}...{{/PATH}}  for each element of an array; once for another value, unless it is
 *                          null, missing, false, 0 or ""
 *   {{^PATH}}...{{/PATH}}  once where {{#PATH}} has nothing to write
 *
 * A PATH is as in value_at(). Within a section it is looked up in the section's element or object
 * first, and then in what is around it. FORMAT is real N (so many digits), percent (of a fraction),
 * hours and plain_hours (of seconds, with and without a comma after thousands), short ("1.5k"),
 * short_hours (of seconds), minute (of seconds since 1970), or cut N (a text in so many columns).
 */
void page_template_fill(FILE *out, const char *template, const json_t *values);
