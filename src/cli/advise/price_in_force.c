/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Asks the running Slurm for the price policy. */
#include "cli/advise/price_in_force.h"

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/ask/scontrol.h"
#include "common/price_rules.h"

/* What PrEpPlugins has where jobs are priced. */
#define PLUGIN "prep/poppa"

static int read_rules(struct price_rules *rules, struct errmsg *err)
{
	char plugins[1024], value[SETTINGS_MAX_TEXT], *text = scontrol_show("config", 0, err);
	struct poppa_settings settings;
	struct errmsg why = {""};

	if (!text)
		return -1;
	scontrol_value(text, "PrEpPlugins", plugins, sizeof(plugins));
	scontrol_value(text, "PrEpParameters", value, sizeof(value));
	free(text);
	if (!strstr(plugins, PLUGIN))
		return errmsg_set(err, "this cluster does not price co-located jobs: PrEpPlugins "
				       "has no " PLUGIN);
	if (settings_parse(value, &settings, &why) || price_rules_parse(&settings, rules, &why))
		return errmsg_set(err, "PrEpParameters: %s", why.text);
	return 0;
}

/* Writes the name of the partition that jobs go to by default; "" = not known. */
static void find_default(char *name, size_t size)
{
	static const char key[] = "PartitionName=";
	struct errmsg ignored;
	char *text = scontrol_show("partition", 1, &ignored), *save = NULL;

	*name = '\0';
	for (char *line = text ? strtok_r(text, "\n", &save) : NULL; line;
		line = strtok_r(NULL, "\n", &save))
		if (!strncmp(line, key, sizeof(key) - 1) && strstr(line, " Default=YES"))
			snprintf(name, size, "%.*s", (int)strcspn(line + sizeof(key) - 1, " "),
				line + sizeof(key) - 1);
	free(text);
}

static bool of_partitions(const struct price_rules *rules)
{
	for (int i = 0; i < rules->count; i++)
		if (!rules->rule[i].qos)
			return true;
	return false;
}

int price_in_force(
	const char *partition, const char *qos, struct price_policy *policy, struct errmsg *err)
{
	const struct price_policy *chosen = NULL, *other;
	char names[1024], *save = NULL;
	struct price_rules rules;
	int rc = read_rules(&rules, err);

	if (rc)
		return rc;
	*names = '\0';
	if (of_partitions(&rules) && partition)
		snprintf(names, sizeof(names), "%s", partition);
	else if (of_partitions(&rules))
		find_default(names, sizeof(names));
	if (of_partitions(&rules) && !*names)
		return errmsg_set(err, "partitions have prices of their own: name one, with -p");
	for (char *name = strtok_r(names, ",", &save); !rc && name;
		name = strtok_r(NULL, ",", &save)) {
		other = price_rules_choose(&rules, name, qos);
		if (chosen && other != chosen)
			rc = errmsg_set(err, "the partitions have different policies: name one");
		chosen = other;
	}
	if (!rc)
		*policy = chosen ? *chosen : *price_rules_choose(&rules, NULL, qos);
	return rc;
}
