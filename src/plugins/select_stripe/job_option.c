/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Reads a job's option and shows it in SystemComment. */
#include "plugins/select_stripe/job_option.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/tags.h"
#include "plugins/select_stripe/stripe.h"
#include "striping/history/job_class.h"
#include "striping/history/job_names.h"

const char *job_option_find(const job_record_t *job_ptr)
{
	return colocate_request(job_ptr->spank_job_env, job_ptr->spank_job_env_size);
}

bool job_option_read(const job_record_t *job_ptr, struct colocate *request)
{
	static uint32_t complained;
	const char *text = job_option_find(job_ptr);
	struct errmsg err = {""};

	if (!text)
		return false;
	memset(request, 0, sizeof(*request));
	if (colocate_parse(text, request, &err) && complained != job_ptr->job_id) {
		error(STRIPE "%pJ: %s; it is placed as plain --colocate", job_ptr, err.text);
		complained = job_ptr->job_id;
	}
	return true;
}

const char *job_option_class(const job_record_t *job_ptr, const struct colocate *request,
	const struct poppa_settings *settings, const struct pairs *history, uint32_t nodes,
	const char *type, char *buf)
{
	const struct job_kind kind = {.class_name = request->class_name,
		.shared = settings->stripe_classes == CLASSES_SHARED,
		.uid = job_ptr->user_id,
		.job_name = job_ptr->name,
		.nodes = nodes,
		.node_type = type};

	job_class(history, &kind, buf);
	return buf;
}

double job_option_usual_s(const job_record_t *job_ptr, const struct pairs *history)
{
	return history ? job_names_usual_s(pairs_names(history), job_ptr->user_id, job_ptr->name)
		       : 0;
}

bool job_option_shows(const job_record_t *job_ptr, const char *details)
{
	char *shown = tags_get(job_ptr->system_comment, COLOCATE_TAG);
	bool found = shown && strstr(shown, details);

	free(shown);
	return found;
}

uint32_t job_option_behind(const job_record_t *job_ptr)
{
	char *shown = tags_get(job_ptr->system_comment, COLOCATE_TAG);
	const char *at = shown ? strstr(shown, " " COLOCATE_BEHIND) : NULL;
	uint32_t id = at ? (uint32_t)strtoul(at + sizeof(COLOCATE_BEHIND), NULL, 10) : 0;

	free(shown);
	return id;
}

bool job_option_show(job_record_t *job_ptr, const struct colocate *request, const char *details)
{
	char text[COLOCATE_TEXT_MAX + 256];
	char *shown = tags_get(job_ptr->system_comment, COLOCATE_TAG), *comment = NULL;
	bool changed;

	colocate_format(request, text);
	if (colocate_by_site(job_ptr->spank_job_env, job_ptr->spank_job_env_size))
		strcat(text, " " COLOCATE_BY_SITE);
	if (details)
		snprintf(text + strlen(text), sizeof(text) - strlen(text), " %s", details);
	if (!shown || strcmp(shown, text))
		comment = tags_set(job_ptr->system_comment, COLOCATE_TAG, text);
	if (comment) {
		xfree(job_ptr->system_comment);
		job_ptr->system_comment = xstrdup(comment);
	}
	changed = comment;
	free(comment);
	free(shown);
	return changed;
}
