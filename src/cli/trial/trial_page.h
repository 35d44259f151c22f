/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The page of "poppa trial": what a trial found, as HTML that needs no network and no scripts. */
#pragma once

#include <stdio.h>
#include <jansson.h>

/*
 * Writes the page of a trial's result, the object that "poppa trial --json" prints. A figure that
 * is null or missing is shown as not known. Returns 0, or -1 without memory or where the file takes
 * no more.
 */
int trial_page(const json_t *result, FILE *out);

/* page/trial.html with src/cli/page/page.css in it, as the build embeds them. */
extern const char trial_page_template[];
