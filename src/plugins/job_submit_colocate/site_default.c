/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Compares a job's partitions and QOS with stripe_default. */
#include "site_default.h"

#include "common/stripe_default.h"
#include "job_qos.h"

SLURM_WEAK(default_part_loc)

/* *first: the name of the first of the job's partitions, which stays Slurm's; NULL: none is known.
 */
static bool all_partitions(const char *list, char *names, char **first)
{
	list_t *parts = names ? compat_part_list(names) : NULL;
	part_record_t *part = names ? NULL : default_part_loc;
	list_itr_t *iter;
	bool all = true;

	*first = part ? part->name : NULL;
	if (!parts)
		return part && stripe_default_has(list, false, part->name);
	iter = list_iterator_create(parts);
	while ((part = list_next(iter))) {
		if (!*first)
			*first = part->name;
		all = all && stripe_default_has(list, false, part->name);
	}
	list_iterator_destroy(iter);
	list_destroy(parts);
	return all && *first;
}

static bool names_qos(const char *list)
{
	struct stripe_default element;
	bool found = false;

	for (const char *at = list; at && !found; found = element.qos)
		at = stripe_default_next(at, &element);
	return found;
}

bool site_default_wants(const char *list, const job_desc_msg_t *d)
{
	char *partition, *qos;
	bool wants;

	if (!*list)
		return false;
	wants = all_partitions(list, d->partition, &partition);
	if (wants || !names_qos(list))
		return wants;
	qos = job_qos_name(d, partition);
	wants = qos && stripe_default_has(list, true, qos);
	xfree(qos);
	return wants;
}
