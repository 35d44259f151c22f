/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Which program jobs of a name have run, and for how long. */
#pragma once

#include <stdbool.h>
#include <stdio.h>

#include "striping/history/class_name.h"

/* Begins a line of the history's file that says what jobs of a name have run. */
#define JOB_NAMES_LINE "#ran\t"

/* Longer names are cut; with a user's id and its end each is a class. */
#define JOB_NAMES_NAME_MAX 224
#define JOB_NAMES_PROGRAM_MAX 64

/*
 * What jobs of which names have run, a part of the pair history (pairs_names()). Of a user the last
 * 50 names are kept, and of all users 5,000: one more takes the place of an old one of the user who
 * has the most. A name with digits counts with "#" for each run of digits, so that a new "step-18"
 * is known by "step-17"; and as it is where the last of the others ran another program. How long
 * such jobs take is the geometric mean of their times: in it later jobs outweigh those before the
 * last ten, and one long job does not hide many short ones.
 */
struct job_names;

struct job_names *job_names_new(void); /* NULL with ENOMEM */
void job_names_free(struct job_names *n);

/* What a job has run. */
struct job_ran {
	const char *program;
	double seconds; /* from its start to its end; 0: it did not do what such jobs do */
};

/* Notes what a job of the user ran, at `now` (unix time). Returns 1; 0 where that was known, and
 * was noted in the last hour; -1 with EINVAL (no program, or a time that is none) or ENOMEM. */
int job_names_ran(struct job_names *n, unsigned int uid, const char *job_name,
	const struct job_ran *ran, long long now);

/* What the user's last job of that name ran, or of a name that differs in its numbers only; ""
 * where that is not known. The text is the table's. */
const char *job_names_program(const struct job_names *n, unsigned int uid, const char *job_name);

/* The same, but NULL where that is not known, or is an interpreter. */
const char *job_names_kind(const struct job_names *n, unsigned int uid, const char *job_name);

/* How long the user's jobs of that name usually run, seconds; 0 = that is not known. */
double job_names_usual_s(const struct job_names *n, unsigned int uid, const char *job_name);

/* Whether what the program does is in its input, so that all such jobs of a user have no more in
 * common than that. */
bool job_names_interprets(const char *program);

/* Notes of later times are of that time: the clock was wrong. */
void job_names_no_later(struct job_names *n, long long now);

/* Takes a line of the file, without its end; it changes it. false where it cannot be read. The
 * second writes all lines. */
bool job_names_read(struct job_names *n, char *line);
void job_names_write(const struct job_names *n, FILE *f);
