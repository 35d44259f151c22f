/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What the files of poppa-trial share: the options, and the forms of a result. */
#pragma once

#include <stdbool.h>
#include <stdio.h>
#include <jansson.h>

#include "common/price_policy.h"
#include "trial/outcome.h"
#include "trial/self.h"

struct trial_command_line {
	bool json;
	bool self;        /* one program, whose own tasks may be too many */
	const char *html; /* or NULL */
	double time_s;
	int lanes, rounds; /* lanes 0: as many as a node has by default */
	int programs;
	struct {
		char **argv; /* NULL-terminated, owned here with all words */
		char *name;
	} program[TRIAL_PROGRAMS_MAX];
};

/* Reads the command line. A wrong one ends the process with CLI_USAGE. Free with
 * trial_options_free(). */
void trial_options(int argc, char **argv, struct trial_command_line *c);
void trial_options_free(struct trial_command_line *c);

/* The part of its full price that a program with this loss would pay under the example of a kind of
 * price (price_kinds[]); NAN where the loss is not known. */
double trial_price(enum price_kind kind, const struct trial_figure *loss);

/* The result as --json prints it, and as the page needs it; poppa(1) names its members. A new
 * reference; NULL where memory is short. */
json_t *trial_json(const struct trial *t, int lanes);

/* The same as text for people. */
void trial_text(const struct trial *t, FILE *out);

/* The result of --self, likewise; name: of the program. */
json_t *trial_self_json(const struct self_result *r, const char *name);
void trial_self_text(const struct self_result *r, const char *name, FILE *out);
