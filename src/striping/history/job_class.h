/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The class of a job in the pair history, by what jobs of its name have run. */
#pragma once

#include "striping/history/pairs.h"

/* What is known of a job. */
struct job_kind {
	const char *class_name; /* of --colocate=class:; NULL or "" = none */
	bool shared;            /* stripe_classes=shared */
	unsigned int uid;
	const char *job_name; /* may be NULL */
	const char *program;  /* that it has run; NULL or "": the history tells by the name */
	unsigned int nodes;   /* of the job; 0: not known, as 1 */
	/* class_node_type() of its nodes; NULL or "": all nodes of the cluster are alike, or the
	 * job's are not. */
	const char *node_type;
};

/*
 * Writes the class of the job into buf, of PAIRS_CLASS_MAX bytes. With class: it is UID:CLASS, or
 * CLASS where that is shared. Else it is UID@PROGRAM, or UID/NAME, with "#" for each run of digits,
 * where no program is known or it is an interpreter, which says nothing of what it runs. Then it
 * returns false: the job may have another class once its program is known. The size of the job and
 * the type of its nodes make it a variant of that (class_name.h). history may be NULL.
 */
bool job_class(const struct pairs *history, const struct job_kind *job, char *buf);

/* The class that a name stands for: "UID/NAME" may be a job's name, of which the history knows what
 * such jobs run; all else is a class as it is. The suffix of a variant stays. Writes it into buf,
 * of PAIRS_CLASS_MAX bytes, which may be `name`. */
void job_class_named(const struct pairs *history, const char *name, char *buf);
