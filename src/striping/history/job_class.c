/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Names the class of a job. */
#include "striping/history/job_class.h"

#include <ctype.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "striping/history/job_names.h"

/* The class without the suffix of a variant. */
static bool base_class(const struct pairs *history, const struct job_kind *job, char *buf)
{
	char what[JOB_NAMES_PROGRAM_MAX], name[JOB_NAMES_NAME_MAX];
	const char *program = NULL;

	if (job->class_name && *job->class_name) {
		class_by_names(job->class_name, job->shared, job->uid, job->job_name, buf);
		return true;
	}
	if (job->program && *job->program) {
		class_copy(job->program, what, sizeof(what));
		program = job_names_interprets(what) ? NULL : what;
	} else if (history) {
		program = job_names_kind(pairs_names(history), job->uid, job->job_name);
	}
	if (program) {
		snprintf(buf, PAIRS_CLASS_MAX, "%u@%s", job->uid, program);
		return true;
	}
	class_copy(job->job_name, name, sizeof(name));
	class_generalize(name);
	class_by_names(NULL, false, job->uid, name, buf);
	return false;
}

bool job_class(const struct pairs *history, const struct job_kind *job, char *buf)
{
	bool known = base_class(history, job, buf);

	class_add_variant(class_guard(buf), job->nodes, job->node_type);
	return known;
}

void job_class_named(const struct pairs *history, const char *name, char *buf)
{
	char *rest, base[PAIRS_CLASS_MAX], class[PAIRS_CLASS_MAX];
	const char *suffix = name + class_base(name);
	unsigned long uid;
	struct job_kind kind;

	snprintf(base, sizeof(base), "%.*s", (int)class_base(name), name);
	uid = strtoul(base, &rest, 10);
	kind = (struct job_kind){.uid = (unsigned int)uid, .job_name = rest + 1};
	strcpy(class, base);
	if (isdigit((unsigned char)*base) && *rest == '/' && uid <= UINT_MAX)
		job_class(history, &kind, class);
	if (strlen(class) + strlen(suffix) < sizeof(class))
		strcat(class, suffix);
	strcpy(buf, class);
}
