/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Fuzzes the files that poppad reads: poppa.conf, a job's registration and cluster.conf. */
#include <stdlib.h>
#include <string.h>

#include "common/nodeconf.h"
#include "fuzz.h"
#include "registration/registration.h"

static void try_nodeconf(const char *path)
{
	struct nodeconf *c = malloc(sizeof(*c));
	struct errmsg err = {""};
	char where[PATH_MAX];

	MUST(c);
	if (nodeconf_load(path, c, &err)) {
		MUST(strstr(err.text, path));
	} else {
		MUST(c->run_dir[0] == '/' && c->spool_dir[0] == '/' && c->state_dir[0] == '/');
		MUST(c->uprobe_count >= 0 && c->uprobe_count <= NODECONF_MAX_UPROBES);
		MUST(c->launcher_count >= 0 && c->launcher_count <= NODECONF_MAX_LAUNCHERS);
		nodeconf_expand(c->run_dir, "a-node.of.some.length", where, sizeof(where));
		MUST(strlen(nodeconf_ledger(c, where)) < PATH_MAX);
	}
	free(c);
}

static void try_registration(const char *text)
{
	struct registration *r = calloc(2, sizeof(*r));
	struct errmsg err = {""};

	MUST(r);
	if (registration_parse("12.0", text, r, &err)) {
		MUST(*err.text);
	} else {
		MUST(r->job_id == 12 && r->restart == 0 && r->uid != (uid_t)-1);
		MUST(r->core_count >= 0 && r->core_count <= REGISTRATION_MAX_CORES);
		registration_lane(r, 2);
		/* The same text tells of the same run, and of no other user's. */
		MUST(!registration_parse("12.0", text, r + 1, &err));
		MUST(registration_same_run(r, r + 1));
		r[1].uid++;
		MUST(!registration_same_run(r, r + 1));
	}
	free(r);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	const char *path = fuzz_file(data, size);
	char *text = fuzz_text(data, size);
	struct errmsg err = {""};
	struct cluster_conf *c = malloc(sizeof(*c));

	MUST(c);
	try_nodeconf(path);
	try_registration(text);
	if (cluster_conf_read(path, c, &err))
		MUST(*err.text);
	else
		MUST(*c->cluster && *c->node);
	free(c);
	free(text);
	return 0;
}
