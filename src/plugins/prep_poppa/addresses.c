/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Resolves nodes' names and remembers the addresses for a while. */
#include "plugins/compat/slurm_compat.h"

#include "src/slurmctld/locks.h"
#include "src/slurmctld/slurmctld.h"

#include "accounting/record/origin.h"
#include "common/clock.h"
#include "common/units.h"

#include "addresses.h"

/* Resolving a run's nodes stops after this time: a dead name server must not delay prices. */
#define BUDGET_S 2

static json_t *known; /* addresses by node (origin_remembered()); the worker's alone */

static json_t *resolve(const char *node)
{
	slurmctld_lock_t read_nodes = {.node = READ_LOCK};
	char *address = NULL, *host = NULL;
	const node_record_t *record;
	json_t *list = json_array();

	lock_slurmctld(read_nodes);
	record = find_node_record((char *)node);
	if (record) {
		address = xstrdup(record->comm_name);
		host = xstrdup(record->node_hostname);
	}
	unlock_slurmctld(read_nodes);
	if (address)
		origin_resolve(list, address);
	if (host && xstrcmp(address, host))
		origin_resolve(list, host);
	xfree(address);
	xfree(host);
	return list;
}

static json_t *addresses_of(const struct run_snapshot *run, bool *all)
{
	int64_t end = clock_now() / NS_PER_S + BUDGET_S;
	json_t *list = json_array();

	if (!known)
		known = json_object();
	*all = list != NULL;
	for (int i = 0; list && i < run->node_count; i++) {
		const char *node = run->node[i].name;
		int64_t now = clock_now() / NS_PER_S;
		json_t *addresses = origin_remembered(known, node, now, now < end, resolve);

		*all &= json_array_size(addresses) > 0;
		json_array_append_new(
			list, json_pack("{s:s, s:o}", "name", node, "addresses", addresses));
	}
	return list;
}

struct client_run addresses_question(const struct run_snapshot *run, bool *all)
{
	return (struct client_run){.cluster = run->cluster,
		.job_id = run->job_id,
		.restart = run->restart,
		.start_unix = run->start,
		.nodes = addresses_of(run, all)};
}

void addresses_forget(void)
{
	json_decref(known);
	known = NULL;
}
