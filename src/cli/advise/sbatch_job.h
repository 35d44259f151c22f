/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What a command line of sbatch asks for, as far as advice needs it. */
#pragma once

#include <stdbool.h>

#include "common/errmsg.h"

/* Where the job's name comes from. */
enum sbatch_name { NAME_OF_OPTION, NAME_OF_ENVIRONMENT, NAME_OF_SCRIPT_LINE, NAME_OF_FILE };

/*
 * The texts are as users wrote them and belong to the words, the environment or the job. NULL = not
 * given.
 */
struct sbatch_job {
	int words; /* of the command line without "sbatch" */
	char **word;
	bool *colocates;    /* of each word, whether it is a --colocate */
	const char *script; /* NULL with --wrap */
	const char *name;   /* never NULL */
	enum sbatch_name named_by;
	const char *partition, *qos;
	const char *colocate;  /* what --colocate says; "" = nothing beyond that */
	bool script_colocates; /* a line of the script says it */
	char *text;            /* private: of the script */
	char **line_word;      /* private: the words of its lines */
};

/*
 * Reads the words, the lines of the script that begin with #SBATCH, and the environment, of which
 * the first that has an option counts, in the order words, environment, script (sbatch(1)). A word
 * that no known option explains is taken for sbatch's all the same. Returns an exit status: CLI_OK,
 * and the caller frees the job with sbatch_job_free(); or another one with err and nothing to free,
 * where there is no script, it cannot be read, or it is a heterogeneous job.
 */
int sbatch_job_read(int words, char **word, struct sbatch_job *job, struct errmsg *err);
void sbatch_job_free(struct sbatch_job *job);
