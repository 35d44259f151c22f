/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Checks of "poppa doctor" on the running Slurm's settings and plugin files. */
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <unistd.h>

#include "accounting/price_rules.h"
#include "cli/doctor.h"
#include "cli/scontrol.h"
#include "common/fsio.h"

#define PLUGSTACK_MAX (1 << 20)

/* Whether a comma list has the item. */
static bool lists(const char *list, const char *item)
{
	size_t len = strlen(item);

	for (const char *p = list; p; p = strchr(p, ',')) {
		p += *p == ',';
		p += strspn(p, " ");
		if (!strncasecmp(p, item, len) &&
			(p[len] == '\0' || p[len] == ',' || p[len] == ' '))
			return true;
	}
	return false;
}

static void check_list(
	struct doctor *d, const char *text, const char *key, const char *item, const char *mend)
{
	char value[4096];

	if (lists(scontrol_value(text, key, value, sizeof(value)), item))
		doctor_say(d, DOCTOR_OK, key, NULL, "has %s", item);
	else
		doctor_say(d, DOCTOR_FAIL, key, mend, "lacks %s: it is \"%s\"", item, value);
}

static void check_parameters(struct doctor *d, const char *text)
{
	char value[4096], canonical[SETTINGS_MAX_TEXT];
	struct price_rules rules;
	struct errmsg err;

	scontrol_value(text, "PrEpParameters", value, sizeof(value));
	d->settings_good = settings_parse(value, &d->settings, &err) == 0 &&
			   price_rules_parse(&d->settings, &rules, &err) == 0;
	if (d->settings_good)
		doctor_say(d, DOCTOR_OK, "PrEpParameters", NULL, "%s",
			settings_format(&d->settings, canonical, sizeof(canonical)));
	else
		doctor_say(d, DOCTOR_FAIL, "PrEpParameters",
			"correct it in slurm.conf, then scontrol reconfigure", "%s", err.text);
}

/* First directory of a colon list that holds the file; "" without one. */
static const char *first_with(const char *dirs, const char *file, char *dir, size_t size)
{
	char path[PATH_MAX];

	for (const char *p = dirs; *p;) {
		size_t len = strcspn(p, ":");

		if (len < size &&
			snprintf(path, sizeof(path), "%.*s/%s", (int)len, p, file) <
				(int)sizeof(path) &&
			access(path, R_OK) == 0) {
			memcpy(dir, p, len);
			dir[len] = '\0';
			return dir;
		}
		p += len + (p[len] == ':');
	}
	*dir = '\0';
	return dir;
}

/* The suite's own files, and that its select wrapper comes before Slurm's plugin of that name. */
static void check_plugin_files(struct doctor *d, const char *text)
{
	static const char *const files[] = {
		"prep_poppa.so", "job_submit_colocate.so", "spank_colocate.so"};
	static const char mend[] = "put the suite's plugin directory (PREFIX/lib/poppa/slurm) "
				   "before Slurm's own in PluginDir, on every host";
	char dirs[4096], ours[PATH_MAX], select_dir[PATH_MAX], dir[PATH_MAX];
	bool complete = true;

	scontrol_value(text, "PluginDir", dirs, sizeof(dirs));
	first_with(dirs, files[0], ours, sizeof(ours));
	for (size_t i = 0; i < sizeof(files) / sizeof(files[0]); i++) {
		if (*first_with(dirs, files[i], dir, sizeof(dir)))
			continue;
		complete = false;
		doctor_say(d, DOCTOR_FAIL, "plugin files", mend,
			"%s is in no directory of PluginDir=%s", files[i], dirs);
	}
	if (complete)
		doctor_say(d, DOCTOR_OK, "plugin files", NULL, "all in %s", ours);
	first_with(dirs, "select_cons_tres.so", select_dir, sizeof(select_dir));
	if (*ours && !strcmp(ours, select_dir))
		doctor_say(d, DOCTOR_OK, "select wrapper", NULL, "stands before Slurm's plugin");
	else
		doctor_say(d, DOCTOR_FAIL, "select wrapper", mend,
			"the first select_cons_tres.so is in \"%s\", so jobs get no lanes",
			select_dir);
}

static void check_select(struct doctor *d, const char *text)
{
	char value[256];

	scontrol_value(text, "SelectType", value, sizeof(value));
	if (!strcasecmp(value, "select/cons_tres"))
		doctor_say(d, DOCTOR_OK, "SelectType", NULL, "%s", value);
	else
		doctor_say(d, DOCTOR_FAIL, "SelectType",
			"set SelectType=select/cons_tres and SelectTypeParameters=CR_Core_Memory",
			"is %s, which cannot give out lanes", value);
}

static void check_spank(struct doctor *d, const char *text)
{
	char path[PATH_MAX];
	struct errmsg err;
	char *stack;

	scontrol_value(text, "PlugStackConfig", path, sizeof(path));
	stack = *path ? fsio_read(path, PLUGSTACK_MAX, NULL, &err) : NULL;
	if (!stack)
		doctor_say(d, DOCTOR_WARN, "plugstack.conf",
			"see that it names spank_colocate.so on hosts where jobs are submitted",
			"\"%s\" cannot be read here", path);
	else if (strstr(stack, "spank_colocate.so"))
		doctor_say(d, DOCTOR_OK, "plugstack.conf", NULL, "names spank_colocate.so");
	else
		doctor_say(d, DOCTOR_FAIL, "plugstack.conf",
			"add the line: required spank_colocate.so",
			"%s does not name spank_colocate.so, so sbatch has no --colocate", path);
	free(stack);
}

/* A billing of a few SU leaves no room for a discount, as it is a whole number. */
static void check_billing(struct doctor *d, const char *text)
{
	char value[1024];

	if (strcasestr(scontrol_value(text, "AccountingStorageType", value, sizeof(value)),
		    "slurmdbd"))
		doctor_say(d, DOCTOR_OK, "accounting", NULL, "%s", value);
	else
		doctor_say(d, DOCTOR_FAIL, "accounting",
			"set AccountingStorageType=accounting_storage/slurmdbd",
			"without slurmdbd there is no bill to discount: it is \"%s\"", value);
}

void doctor_slurm(struct doctor *d)
{
	const char *why = "";
	char *text = scontrol_show("config", 0, &why);

	settings_defaults(&d->settings);
	if (!text) {
		doctor_say(d, DOCTOR_WARN, "Slurm",
			"start slurmctld, or run this where scontrol works, to have Slurm's "
			"settings checked",
			"%s", why);
		return;
	}
	scontrol_value(text, "SlurmctldHost[0]", d->controllers, sizeof(d->controllers));
	check_select(d, text);
	check_plugin_files(d, text);
	check_list(d, text, "JobSubmitPlugins", "colocate", "add JobSubmitPlugins=colocate");
	check_list(d, text, "PrEpPlugins", "prep/poppa", "set PrEpPlugins=prep/script,prep/poppa");
	check_parameters(d, text);
	check_spank(d, text);
	check_billing(d, text);
	free(text);
}
