/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What a job asked for, and how its record shows it. */
#ifndef POPPA_PLUGINS_SELECT_STRIPE_JOB_OPTION_H
#define POPPA_PLUGINS_SELECT_STRIPE_JOB_OPTION_H

#include "plugins/compat/select_compat.h"
#include "striping/submit/option.h"

/* The value of COLOCATE in the job's environment for the prolog, or NULL: the job did not opt in.
 */
const char *mark_find(const job_record_t *job_ptr);

/*
 * Reads it. Returns true and fills *request for a co-located job. A text that cannot be read (it
 * was checked at submission) is logged once a job and counts as the plain form.
 */
bool mark_read(const job_record_t *job_ptr, struct colocate *request);

/*
 * Puts "colocate: TEXT" into the job's SystemComment, TEXT being the canonical option followed by
 * details (NULL for none), where it does not say so already.
 */
void mark_show(job_record_t *job_ptr, const struct colocate *request, const char *details);

#endif
