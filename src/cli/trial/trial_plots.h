/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What the plots of a trial's page show, with the places, for page/trial.html, which draws them. */
#pragma once

#include <jansson.h>

/* A plot has at most so many lines, and at most so many pairs have their rounds drawn. */
#define TRIAL_PLOT_ROWS 66
#define TRIAL_PLOT_PAIRS 12

/*
 * The facts of a pair or a program as trial_page.c prepares them: {"v", "lo", "hi"} is a figure
 * with its interval, null where it is not known. All these functions return new references.
 *
 * trial_plot_time() is the time of an hour of work of each program, one after the other and
 * together; null where nothing is known of it. units are what runs together, one after the other:
 * [{"programs": [letter, letter], "minutes": [estimate, least, most]}].
 * trial_plot_stp() and trial_plot_losses() have a line for each pair, and for each program of it.
 * trial_plot_rounds() is how the rounds of the pairs went.
 */
json_t *trial_plot_time(const json_t *units, size_t programs);
json_t *trial_plot_stp(const json_t *pairs);
json_t *trial_plot_losses(const json_t *pairs);
json_t *trial_plot_rounds(const json_t *pairs);
