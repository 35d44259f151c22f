/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Finds the cluster's ledger from what Slurm and poppa.conf say. */
#include "cli/ask/find_ledger.h"

#include <stdlib.h>

#include "cli/ask/scontrol.h"

int find_ledger(const char *conf_path, struct client *client, char cluster[64], struct errmsg *err)
{
	char path[PATH_MAX], value[SETTINGS_MAX_TEXT], hosts[1024];
	struct poppa_settings settings;
	struct nodeconf conf;
	struct errmsg why = {""};
	char *text;
	int rc;

	if (nodeconf_load(conf_path ? conf_path : nodeconf_path(path, sizeof(path)), &conf, err))
		return -1;
	text = scontrol_show("config", 0, &why);
	if (!text)
		return errmsg_set(err, "where the ledger is is not known: %s", why.text);
	scontrol_value(text, "PrEpParameters", value, sizeof(value));
	scontrol_value(text, "SlurmctldHost[0]", hosts, sizeof(hosts));
	scontrol_value(text, "ClusterName", cluster, 64);
	rc = settings_parse_ledger(value, &settings, &why);
	free(text);
	return rc ? errmsg_set(err, "PrEpParameters: %s", why.text)
		  : client_init(client, &settings, &conf, hosts, err);
}
