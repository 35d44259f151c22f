/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Checks of "poppa doctor" on the running Slurm's settings and plugin files. */
#include "poppa_config.h"

#include <dlfcn.h>
#include <glob.h>
#include <limits.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <unistd.h>

#include "cli/doctor/doctor.h"
#include "cli/ask/run_program.h"
#include "cli/ask/scontrol.h"
#include "common/fsio.h"

#define PLUGSTACK_MAX (1 << 20)
#define PLUGSTACK_DEPTH 4 /* how deep files may include files */

/* Whether a list with commas has the item. */
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
	struct doctor *d, const char *text, const char *key, const char *item, const char *fix)
{
	char value[4096];

	if (lists(scontrol_value(text, key, value, sizeof(value)), item))
		doctor_say(d, DOCTOR_OK, key, NULL, "has %s", item);
	else
		doctor_say(d, DOCTOR_FAIL, key, fix, "lacks %s: it is \"%s\"", item, value);
}

/* Slurm loads prep/script by itself only where PrEpPlugins is not given. */
static void check_prep(struct doctor *d, const char *text)
{
	static const char fix[] = "set PrEpPlugins=prep/script,prep/poppa and restart slurmctld "
				  "and the slurmds";
	char value[4096], prolog[1024], epilog[1024];

	check_list(d, text, "PrEpPlugins", "prep/poppa", fix);
	if (lists(scontrol_value(text, "PrEpPlugins", value, sizeof(value)), "prep/script"))
		return;
	scontrol_value(text, "Prolog", prolog, sizeof(prolog));
	scontrol_value(text, "Epilog", epilog, sizeof(epilog));
	if (*prolog || *epilog)
		doctor_say(d, DOCTOR_FAIL, "Prolog and Epilog", fix,
			"are not run: PrEpPlugins is \"%s\" and lacks prep/script", value);
}

/* The first directory in a list with colons that holds the file; "" where none does. */
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

/*
 * The release of Slurm for which the suite's plugin in one of the directories was built, by what it
 * tells Slurm; else, where none can be loaded here, that for which this program was built, ""
 * without Slurm.
 */
static const char *built_for(const char *dirs, char *buf, size_t size)
{
	/* The others name data of Slurm's daemons, which is not here, so they do not load. */
	static const char file[] = "spank_colocate.so";
	char dir[PATH_MAX], path[PATH_MAX + sizeof(file)];
	const uint32_t *version;
	void *plugin;

	snprintf(buf, size, "%s", POPPA_SLURM_VERSION);
	if (!*first_with(dirs, file, dir, sizeof(dir)))
		return buf;
	snprintf(path, sizeof(path), "%s/%s", dir, file);
	plugin = dlopen(path, RTLD_LAZY | RTLD_LOCAL);
	version = plugin ? dlsym(plugin, "plugin_version") : NULL;
	if (version)
		snprintf(buf, size, "%u.%02u.%u", *version >> 16, *version >> 8 & 255,
			*version & 255);
	if (plugin)
		dlclose(plugin);
	return buf;
}

/* Slurm loads a plugin only when it was built for the same release. */
static void check_release(struct doctor *d, const char *text)
{
	char value[64], dirs[4096], built[64];

	scontrol_value(text, "SLURM_VERSION", value, sizeof(value));
	scontrol_value(text, "PluginDir", dirs, sizeof(dirs));
	built_for(dirs, built, sizeof(built));
	if (!*built)
		doctor_say(d, DOCTOR_WARN, "Slurm",
			"install the plugins here, or run it on a host that has them",
			"slurmctld is %s; this poppa was built without Slurm and cannot tell "
			"whether the plugins fit",
			value);
	else if (!strcmp(value, built))
		doctor_say(d, DOCTOR_OK, "Slurm", NULL, "%s, for which the suite was built", value);
	else
		doctor_say(d, DOCTOR_FAIL, "Slurm",
			"install the suite's plugins for the Slurm that runs, or build them "
			"against its source",
			"slurmctld is %s, and the suite was built for %s: its plugins do not load",
			*value ? value : "of an unknown release", built);
}

/* poppad finds a job's tasks in its cgroups, and TaskPlugin keeps the tasks on their lane. */
static void check_cgroups(struct doctor *d, const char *text)
{
	char track[256], task[1024], gather[256], cores[16];

	scontrol_value(text, "ProctrackType", track, sizeof(track));
	scontrol_value(text, "TaskPlugin", task, sizeof(task));
	if (!strcasecmp(track, "proctrack/cgroup"))
		doctor_say(d, DOCTOR_OK, "ProctrackType", NULL, "%s", track);
	else
		doctor_say(d, DOCTOR_FAIL, "ProctrackType", "set ProctrackType=proctrack/cgroup",
			"is \"%s\": poppad finds a job's tasks in its cgroups", track);
	if (lists(task, "task/cgroup") || lists(task, "task/affinity") || lists(task, "cgroup") ||
		lists(task, "affinity"))
		doctor_say(d, DOCTOR_OK, "TaskPlugin", NULL, "%s", task);
	else
		doctor_say(d, DOCTOR_FAIL, "TaskPlugin",
			"set TaskPlugin=task/cgroup,task/affinity and ConstrainCores=yes in "
			"cgroup.conf",
			"is \"%s\": nothing keeps tasks on their lane", task);
	/* What slurmctld's cgroup.conf says; some releases do not tell it. */
	scontrol_value(text, "ConstrainCores", cores, sizeof(cores));
	if (*cores && strcasecmp(cores, "yes"))
		doctor_say(d, DOCTOR_FAIL, "ConstrainCores",
			"set ConstrainCores=yes in cgroup.conf, and task/cgroup in TaskPlugin",
			"is \"%s\": a job's tasks can move to the cores of its co-runner", cores);
	/* Slurm makes no directory of cpuacct else; v2 counts everywhere. */
	scontrol_value(text, "JobAcctGatherType", gather, sizeof(gather));
	if (access(CGROUPS "/cgroup.controllers", F_OK) &&
		strcasecmp(gather, "jobacct_gather/cgroup"))
		doctor_say(d, DOCTOR_WARN, "JobAcctGatherType",
			"set JobAcctGatherType=jobacct_gather/cgroup",
			"is \"%s\": with cgroup v1 nothing counts the processor time of a whole job, "
			"so one that hides from shutters is seen late, and beside one of very many "
			"processes nobody is measured",
			gather);
}

/* Only with a prolog that slurmd runs at the job's allocation a node learns for certain that a job
 * is co-located, and its seed, a secret that decides when shutters open. */
static void check_prolog_flags(struct doctor *d, const char *text)
{
	char value[256];

	scontrol_value(text, "PrologFlags", value, sizeof(value));
	if (lists(value, "Alloc") || lists(value, "Contain"))
		doctor_say(d, DOCTOR_OK, "PrologFlags", NULL, "%s", value);
	else
		doctor_say(d, DOCTOR_FAIL, "PrologFlags", "set PrologFlags=Alloc or Contain",
			"is \"%s\": --colocate is refused, and stripe_default co-locates no job, as "
			"nodes would learn from a step's user which job is co-located",
			value);
}

static void check_parameters(struct doctor *d, const char *text)
{
	char value[SETTINGS_MAX_TEXT], canonical[SETTINGS_MAX_TEXT];
	struct errmsg err;

	scontrol_value(text, "PrEpParameters", value, sizeof(value));
	d->ledger_known = true;
	if (settings_parse(value, &d->settings, &err) == 0) {
		doctor_say(d, DOCTOR_OK, "PrEpParameters", NULL, "%s",
			settings_format(&d->settings, canonical, sizeof(canonical)));
		if (!d->settings.period_ns)
			doctor_say(d, DOCTOR_WARN, "shutters",
				"nothing to do if that is meant; else take it out of "
				"PrEpParameters, then scontrol reconfigure",
				"are off by poppa_period=0: no job is measured, so none has a "
				"discount");
		return;
	}
	doctor_say(d, DOCTOR_FAIL, "PrEpParameters",
		"correct it in slurm.conf, then scontrol reconfigure", "%s", err.text);
	d->ledger_known = !settings_parse_ledger(value, &d->settings, &err);
}

/* Whether PluginDir has the suite's files, and finds its select wrapper before Slurm's plugin of
 * the same name. */
static void check_plugin_files(struct doctor *d, const char *text)
{
	static const char *const files[] = {
		"prep_poppa.so", "job_submit_colocate.so", "spank_colocate.so"};
	static const char fix[] =
		"set PluginDir=PREFIX/lib/poppa/slurm:PREFIX/lib/poppa/slurm-own, on every host";
	char dirs[4096], ours[PATH_MAX], select_dir[PATH_MAX], dir[PATH_MAX];
	bool complete = true;

	scontrol_value(text, "PluginDir", dirs, sizeof(dirs));
	first_with(dirs, files[0], ours, sizeof(ours));
	for (size_t i = 0; i < sizeof(files) / sizeof(files[0]); i++) {
		if (*first_with(dirs, files[i], dir, sizeof(dir)))
			continue;
		complete = false;
		doctor_say(d, DOCTOR_FAIL, "plugin files", fix,
			"%s is in no directory of PluginDir=%s", files[i], dirs);
	}
	if (complete)
		doctor_say(d, DOCTOR_OK, "plugin files", NULL, "all in %s", ours);
	first_with(dirs, "select_cons_tres.so", select_dir, sizeof(select_dir));
	if (*ours && !strcmp(ours, select_dir))
		doctor_say(d, DOCTOR_OK, "select wrapper", NULL, "stands before Slurm's plugin");
	else
		doctor_say(d, DOCTOR_FAIL, "select wrapper", fix,
			"the first select_cons_tres.so is in \"%s\", so jobs get no lanes",
			select_dir);
}

static void check_select(struct doctor *d, const char *text)
{
	char value[256], unit[256];

	scontrol_value(text, "SelectType", value, sizeof(value));
	scontrol_value(text, "SelectTypeParameters", unit, sizeof(unit));
	if (strcasecmp(value, "select/cons_tres"))
		doctor_say(d, DOCTOR_FAIL, "SelectType",
			"set SelectType=select/cons_tres and SelectTypeParameters=CR_Core_Memory",
			"is %s, which cannot give out lanes", value);
	else if (!lists(unit, "CR_CORE") && !lists(unit, "CR_CORE_MEMORY") &&
		 !lists(unit, "CR_CPU") && !lists(unit, "CR_CPU_MEMORY"))
		doctor_say(d, DOCTOR_FAIL, "SelectTypeParameters",
			"set SelectTypeParameters=CR_Core_Memory",
			"is \"%s\": a lane is given out in whole cores", unit);
	else
		doctor_say(d, DOCTOR_OK, "SelectType", NULL, "%s, %s", value, unit);
}

static bool stack_has_plugin(const char *path, int depth);

/* For the line "include PATTERN" of the file at path: whether a file that it names has the
 * plugin. */
static bool included_has_plugin(const char *path, const char *pattern, int len, int depth)
{
	const char *slash = strrchr(path, '/');
	char full[2 * PATH_MAX];
	bool found = false;
	glob_t files;

	snprintf(full, sizeof(full), "%.*s%.*s",
		*pattern == '/' || !slash ? 0 : (int)(slash + 1 - path), path, len, pattern);
	if (glob(full, 0, NULL, &files))
		return false;
	for (size_t i = 0; i < files.gl_pathc && !found; i++)
		found = stack_has_plugin(files.gl_pathv[i], depth + 1);
	globfree(&files);
	return found;
}

/* Whether a line of the file, or of one that it includes, loads the plugin. */
static bool stack_has_plugin(const char *path, int depth)
{
	static const char blanks[] = " \t\r", include[] = "include";
	struct errmsg err;
	char *text = depth < PLUGSTACK_DEPTH ? fsio_read(path, PLUGSTACK_MAX, NULL, &err) : NULL;
	char *save = NULL;
	bool found = false;

	for (char *line = text ? strtok_r(text, "\n", &save) : NULL; line && !found;
		line = strtok_r(NULL, "\n", &save)) {
		line[strcspn(line, "#")] = '\0';
		line += strspn(line, blanks);
		if (!strncasecmp(line, include, strlen(include)) &&
			strspn(line + strlen(include), blanks)) {
			line += strlen(include);
			line += strspn(line, blanks);
			found = included_has_plugin(path, line, (int)strcspn(line, blanks), depth);
		} else {
			found = strstr(line, "spank_colocate.so") != NULL;
		}
	}
	free(text);
	return found;
}

/* Where slurm.conf does not say it, Slurm takes the plugstack.conf beside slurm.conf. */
static void plugstack_path(const char *text, char *path, size_t size)
{
	static const char name[] = "plugstack.conf";
	char *slash;

	scontrol_value(text, "PlugStackConfig", path, size);
	if (*path)
		return;
	scontrol_value(text, "SLURM_CONF", path, size);
	slash = strrchr(path, '/');
	if (slash && size - (size_t)(slash + 1 - path) >= sizeof(name))
		strcpy(slash + 1, name);
	else
		*path = '\0';
}

static void check_spank(struct doctor *d, const char *text)
{
	char path[PATH_MAX];

	plugstack_path(text, path, sizeof(path));
	if (!*path || access(path, R_OK))
		doctor_say(d, DOCTOR_WARN, "plugstack.conf",
			"see that it names spank_colocate.so on hosts where jobs are submitted",
			"\"%s\" cannot be read here", path);
	else if (stack_has_plugin(path, 0))
		doctor_say(d, DOCTOR_OK, "plugstack.conf", NULL, "names spank_colocate.so");
	else
		doctor_say(d, DOCTOR_FAIL, "plugstack.conf",
			"add the line: optional spank_colocate.so",
			"%s does not name spank_colocate.so, so sbatch has no --colocate", path);
}

/* The suite's programs do not read AuthInfo, as nodes may have no slurm.conf that they could read.
 */
static void check_munge_socket(struct doctor *d, const char *text)
{
	static const char usual[] = "/run/munge/munge.socket.2", key[] = "socket=";
	const char *ours = *d->conf.munge_socket ? d->conf.munge_socket : usual;
	char value[PATH_MAX + sizeof(key)], *slurms;

	scontrol_value(text, "AuthInfo", value, sizeof(value));
	slurms = strcasestr(value, key);
	if (!slurms)
		return;
	slurms += strlen(key);
	slurms[strcspn(slurms, ",")] = '\0';
	if (!strcmp(slurms, ours))
		return;
	doctor_say(d, DOCTOR_FAIL, "munge's socket",
		"put MungeSocket=, with the socket that AuthInfo names, into poppa.conf on each "
		"host, and restart poppa-ledgerd and poppad",
		"slurm.conf has AuthInfo=socket=%s, which the suite does not read: it uses %s",
		slurms, ours);
}

static void check_accounting(struct doctor *d, const char *text)
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

/* sacct and sreport show a price only after slurmdbd has stored it. */
static void check_slurmdbd(struct doctor *d)
{
	const char *const argv[] = {
		"sacctmgr", "--noheader", "--parsable2", "show", "cluster", "format=cluster", NULL};
	struct errmsg err;
	char *text = run_program((char *const *)argv, SACCTMGR_MAX, SACCTMGR_WAIT_MS, &err);
	bool listed = false;

	for (const char *line = text; line && *line && !listed; line += *line == '\n') {
		size_t len = strcspn(line, "\n");

		listed = len == strlen(d->cluster) && !strncmp(line, d->cluster, len);
		line += len;
	}
	if (listed)
		doctor_say(d, DOCTOR_OK, "slurmdbd", NULL, "answers, and knows cluster %s",
			d->cluster);
	else
		doctor_say(d, DOCTOR_WARN, "slurmdbd",
			text ? "add it with sacctmgr add cluster"
			     : "start slurmdbd; until it answers no new price is in sacct",
			text ? "does not list cluster %s" : "not seen: %s",
			text ? d->cluster : err.text);
	free(text);
}

void doctor_slurm(struct doctor *d)
{
	struct errmsg err;
	char *text = scontrol_show("config", 0, &err);

	settings_defaults(&d->settings);
	if (!text) {
		doctor_say(d, DOCTOR_WARN, "Slurm",
			d->munge_good ? "start slurmctld, or run this where scontrol works, to "
					"have Slurm's settings checked"
				      : "fix munge first, see its line",
			"%s", err.text);
		return;
	}
	scontrol_value(text, "SlurmctldHost[0]", d->controllers, sizeof(d->controllers));
	scontrol_value(text, "ClusterName", d->cluster, sizeof(d->cluster));
	scontrol_value(text, "StateSaveLocation", d->state_dir, sizeof(d->state_dir));
	check_release(d, text);
	check_select(d, text);
	check_plugin_files(d, text);
	check_list(d, text, "JobSubmitPlugins", "colocate", "add JobSubmitPlugins=colocate");
	check_prep(d, text);
	check_parameters(d, text);
	check_spank(d, text);
	check_cgroups(d, text);
	check_prolog_flags(d, text);
	check_munge_socket(d, text);
	check_accounting(d, text);
	check_slurmdbd(d);
	doctor_partitions(d);
	free(text);
}
