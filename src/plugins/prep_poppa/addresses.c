/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Resolves nodes' names and remembers the addresses for a while. */
#include "plugins/compat/slurm_compat.h"

#include <string.h>
#include <time.h>

#include "src/slurmctld/locks.h"
#include "src/slurmctld/slurmctld.h"

#include "accounting/origin.h"

#include "addresses.h"

#define KEEP_S 600
#define RETRY_S 60
/* A job's nodes may take so long, so that a dead name server does not hold prices up. */
#define BUDGET_S 2

struct known {
	struct known *next;
	char *node;
	json_t *addresses;
	time_t until;
};

static struct known *all;

static time_t now_s(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return now.tv_sec;
}

static json_t *resolve(char *node)
{
	slurmctld_lock_t read_nodes = {.node = READ_LOCK};
	char *address = NULL, *host = NULL;
	const node_record_t *record;
	json_t *list = json_array();

	lock_slurmctld(read_nodes);
	record = find_node_record(node);
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

static json_t *addresses_of_node(char *node, bool may_wait)
{
	struct known *k = all;

	while (k && strcmp(k->node, node))
		k = k->next;
	if (k && (k->until > now_s() || !may_wait))
		return json_incref(k->addresses);
	if (!may_wait)
		return json_array();
	if (!k) {
		k = xmalloc(sizeof(*k));
		k->node = xstrdup(node);
		k->next = all;
		all = k;
	}
	json_decref(k->addresses);
	k->addresses = resolve(node);
	k->until = now_s() + (json_array_size(k->addresses) ? KEEP_S : RETRY_S);
	return json_incref(k->addresses);
}

json_t *addresses_of(const struct facts *f)
{
	time_t end = now_s() + BUDGET_S;
	json_t *list = json_array();

	for (int i = 0; list && i < f->node_count; i++)
		json_array_append_new(
			list, json_pack("{s:s, s:o}", "name", f->node[i].name, "addresses",
				      addresses_of_node(f->node[i].name, now_s() < end)));
	return list;
}

void addresses_forget(void)
{
	for (struct known *k = all, *next; k; k = next) {
		next = k->next;
		json_decref(k->addresses);
		xfree(k->node);
		xfree(k);
	}
	all = NULL;
}
