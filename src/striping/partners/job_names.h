/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The class of a job in the pair history, by the program that jobs of its name have run. */
#pragma once

#include <stdbool.h>
#include <stdio.h>

#include "striping/partners/pairs.h"

/* Begins a line of the history's file that says what jobs of a name have run. */
#define JOB_NAMES_LINE "#ran\t"

/*
 * What jobs of which names have run, a part of the pair history (pairs_names()). Of a user the last
 * 50 names are kept, and of all users 5,000: one more takes the place of an old one of the user who
 * has the most. A name with digits counts twice, as it is and with "#" for each run of digits, so
 * that a new "step-18" is known by "step-17".
 */
struct job_names;

struct job_names *job_names_new(void); /* NULL with ENOMEM */
void job_names_free(struct job_names *n);

/* Notes that a job of the user ran this program, at `now` (unix time). Returns 1; 0 where that was
 * known, and was noted in the last hour; -1 with EINVAL (no program) or ENOMEM. */
int job_names_ran(struct job_names *n, unsigned int uid, const char *job_name, const char *program,
	long long now);

/* What the user's last job of that name ran, or of a name that differs in its numbers only; ""
 * where that is not known. The text is the table's. */
const char *job_names_program(const struct job_names *n, unsigned int uid, const char *job_name);

/* Takes a line of the file, without its end; it changes it. false where it cannot be read. The
 * second writes all lines. */
bool job_names_read(struct job_names *n, char *line);
void job_names_write(const struct job_names *n, FILE *f);

/* What is known of a job. */
struct job_kind {
	const char *class_name; /* of --colocate=class:; NULL or "" = none */
	bool shared;            /* stripe_classes=shared */
	unsigned int uid;
	const char *job_name; /* may be NULL */
	const char *program;  /* that it has run; NULL or "": the history tells by the name */
};

/*
 * Writes the class of the job into buf, of PAIRS_CLASS_MAX bytes. With class: it is UID:CLASS, or
 * CLASS where that is shared. Else it is UID@PROGRAM, or UID/NAME, with "#" for each run of digits,
 * where no program is known or it is an interpreter, which says nothing of what it runs. Then it
 * returns false: the job may have another class once its program is known. history may be NULL.
 */
bool job_class(const struct pairs *history, const struct job_kind *job, char *buf);
