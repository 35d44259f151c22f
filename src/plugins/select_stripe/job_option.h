/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Reads what a job asked for with --colocate, and shows it in the job's record. */
#pragma once

#include "plugins/compat/select_compat.h"
#include "common/settings.h"
#include "striping/history/pairs.h"
#include "striping/submit/colocate_option.h"

/* The value of COLOCATE in the job's SPANK environment; NULL: the job did not opt in. */
const char *job_option_find(const job_record_t *job_ptr);

/*
 * Reads that value. Returns true and fills *request for a co-located job. A text that cannot be
 * read (it was checked at submission) is logged once a job and counts as the plain form.
 */
bool job_option_read(const job_record_t *job_ptr, struct colocate *request);

/* Writes the job's class, by what the history knows of its name, into buf, of PAIRS_CLASS_MAX
 * bytes, and returns it: that for so many nodes of a type (layout_type()). history may be NULL. */
const char *job_option_class(const job_record_t *job_ptr, const struct colocate *request,
	const struct poppa_settings *settings, const struct pairs *history, uint32_t nodes,
	const char *type, char *buf);

/* How long jobs of its name usually run, seconds; 0 = that is not known. history may be NULL. */
double job_option_usual_s(const job_record_t *job_ptr, const struct pairs *history);

/* Whether these details are in what job_option_show() has put into the job's SystemComment. */
bool job_option_shows(const job_record_t *job_ptr, const char *details);

/* The job for whose start this one waits, as its SystemComment says by COLOCATE_BEHIND; 0 = none.
 */
uint32_t job_option_behind(const job_record_t *job_ptr);

/*
 * Puts "colocate: TEXT" into the job's SystemComment, TEXT being the canonical option followed by
 * details (NULL for none). Returns false where the comment says so already, and is left as it is.
 */
bool job_option_show(job_record_t *job_ptr, const struct colocate *request, const char *details);
