/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Checks of "poppa doctor" on poppad and on what this host's kernel allows. */
#include "poppa_config.h"

#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cli/ask/ask_poppad.h"
#include "cli/doctor/doctor.h"
#include "cli/doctor/doctor_process.h"
#include "cli/ask/run_program.h"
#include "cli/ask/value_text.h"
#include "common/fsio.h"

/* Limits on the time and on the output of poppad --counters. */
#define COUNTERS_WAIT_MS 10000
#define COUNTERS_BYTES 65536
#define PARANOID "/proc/sys/kernel/perf_event_paranoid"

static void check_guard(struct doctor *d)
{
	json_int_t pid = value_whole(d->status, "guard_pid");
	char name[64] = "";

	if (pid > 0 && !strcmp(process_name((pid_t)pid, name, sizeof(name)), "poppa-guard"))
		doctor_say(
			d, DOCTOR_OK, "guard", NULL, "watches as pid %" JSON_INTEGER_FORMAT, pid);
	else
		doctor_say(d, DOCTOR_FAIL, "guard",
			"see poppad's log; poppa-guard must be in " POPPA_LIBEXECDIR,
			"does not run, so poppad opens no shutters");
	if (json_is_true(json_object_get(d->status, "waiting_for_slurmd")))
		doctor_say(d, DOCTOR_FAIL, "slurmd to poppad",
			"see that slurmd has prep/poppa loaded, and the same poppa.conf; restart "
			"it after changing PrEpPlugins",
			"slurmd has not told poppad about the cluster");
	else
		doctor_say(d, DOCTOR_OK, "slurmd to poppad", NULL,
			"slurmd has told poppad about the cluster");
}

/* Whether poppad was allowed to use SCHED_FIFO when it started: one of its threads has it then. */
static void check_priority(struct doctor *d)
{
	char path[64];
	const struct dirent *e;
	bool found = false;
	DIR *tasks;

	snprintf(path, sizeof(path), "/proc/%" JSON_INTEGER_FORMAT "/task",
		value_whole(d->status, "pid"));
	tasks = opendir(path);
	if (!tasks)
		return;
	while (!found && (e = readdir(tasks)))
		found = isdigit((unsigned char)*e->d_name) &&
			(sched_getscheduler(atoi(e->d_name)) & ~SCHED_RESET_ON_FORK) == SCHED_FIFO;
	closedir(tasks);
	if (found)
		doctor_say(d, DOCTOR_OK, "priority of poppad", NULL,
			"its shutter runs in real time (SCHED_FIFO)");
	else
		doctor_say(d, DOCTOR_FAIL, "priority of poppad",
			"see the line on SCHED_FIFO. If that one is OK, poppad's unit or cgroup "
			"does not allow it (CAP_SYS_NICE, cpu.rt_runtime_us). Then restart poppad",
			"its shutter does not run in real time: windows come late and jobs are "
			"held for longer");
}

static void check_version(struct doctor *d, const char *path)
{
	const char *version = value_text(d->status, "version");

	if (strcmp(version, POPPA_VERSION))
		doctor_say(d, DOCTOR_WARN, "poppad",
			"restart poppad, or install the same version everywhere",
			"answers at %s and is version %s, this is " POPPA_VERSION, path, version);
	else
		doctor_say(d, DOCTOR_OK, "poppad", NULL, "%s answers at %s", version, path);
}

static void check_poppad(struct doctor *d)
{
	const char *node;
	char path[PATH_MAX];
	struct errmsg err;

	if (ask_poppad_socket(&d->conf, d->asked.node, path, sizeof(path), &err) == 0)
		d->status = ask_poppad(path, &err);
	if (!d->status) {
		doctor_say(d, doctor_on_node(d), "poppad",
			d->is_node ? "start poppad" : "start poppad, if this is a compute node",
			"%s", err.text);
		return;
	}
	d->is_node = true;
	node = json_string_value(json_object_get(d->status, "node"));
	if (node)
		snprintf(d->node_name, sizeof(d->node_name), "%s", node);
	check_version(d, path);
	check_guard(d);
	check_priority(d);
}

/* slurmd loads its plugins when it starts. One that was not restarted since leaves poppad without
 * the registrations of jobs, whatever an earlier slurmd has left in RunDir. */
static void check_slurmd(struct doctor *d)
{
	int loaded = 0;

	for (pid_t pid = 0; (pid = process_find("slurmd", pid));) {
		int has = process_maps(pid, "prep_poppa.so");

		if (has < 0 || (*d->node_name && process_option_differs(pid, "-N", d->node_name)))
			continue;
		loaded += has == 1;
		if (has == 2)
			doctor_say(d, DOCTOR_WARN, "slurmd",
				"restart slurmd; jobs that run go on and stay registered",
				"pid %d runs a prep/poppa that has been replaced since it started",
				(int)pid);
		if (!has)
			doctor_say(d, DOCTOR_FAIL, "slurmd",
				"restart slurmd; PrEpPlugins must list prep/poppa before",
				"pid %d has not loaded prep/poppa: co-located jobs get lanes here "
				"and are never measured, and ended ones stay listed as waiting",
				(int)pid);
	}
	if (loaded)
		doctor_say(d, DOCTOR_OK, "slurmd", NULL, "has loaded prep/poppa");
}

/* Asks the poppad beside this program, else the installed one, about the counter backends, because
 * only poppad is linked with their libraries. */
static json_t *ask_counters(const struct doctor *d, struct errmsg *err)
{
	char poppad[PATH_MAX] = "", *text, *slash;
	char *argv[] = {poppad, (char *)"--counters", (char *)"--conf",
		(char *)(d->conf_good ? d->conf_path : "/dev/null"), NULL};
	json_t *all;

	if (readlink("/proc/self/exe", poppad, sizeof(poppad) - sizeof("poppad")) < 0)
		*poppad = '\0';
	slash = strrchr(poppad, '/');
	strcpy(slash ? slash + 1 : poppad, "poppad");
	if (!slash || access(poppad, X_OK))
		strcpy(poppad, POPPA_SBINDIR "/poppad");
	text = run_program(argv, COUNTERS_BYTES, COUNTERS_WAIT_MS, err);
	all = text ? json_loads(text, 0, NULL) : NULL;
	if (text && !all)
		errmsg_set(err, "%s --counters prints no JSON", poppad);
	free(text);
	return all;
}

static void check_counters(struct doctor *d)
{
	enum counter_backend wanted = d->conf.counter_set ? d->conf.counter : d->settings.counter;
	struct errmsg err = {""};
	json_t *all = ask_counters(d, &err), *one;
	bool any_program = false; /* a usable backend measures programs as they are */
	char good[64] = "";
	size_t i;

	if (!all)
		doctor_say(d, doctor_on_node(d), "counters",
			"see that poppad is installed in " POPPA_SBINDIR, "not looked at: %s",
			err.text);
	json_array_foreach(all, i, one)
	{
		const char *name = value_text(one, "name");
		enum counter_backend backend;
		char check[64];

		if (counter_backend_parse(name, &backend) || !counter_backend_automatic(backend))
			continue;
		if (json_is_true(json_object_get(one, "usable"))) {
			strcat(strcat(good, *good ? ", " : ""), name);
			any_program |= backend == COUNTER_PERF || backend == COUNTER_PAPI;
			continue;
		}
		snprintf(check, sizeof(check), "counter %s", name);
		if (backend == wanted)
			doctor_say(d, doctor_on_node(d), check,
				"fix that, or choose another Counter (poppa.conf) or "
				"poppa_counter, such as auto",
				"no job is measured here, as this is the one to use and cannot be: "
				"%s",
				value_text(one, "why"));
		else
			doctor_say(d, DOCTOR_WARN, check,
				"nothing to do where another backend serves", "%s",
				value_text(one, "why"));
	}
	if (wanted == COUNTER_REPLAY)
		doctor_say(d, DOCTOR_FAIL, "counter replay",
			"choose another Counter (poppa.conf) or poppa_counter where bills matter",
			"this node plays %s instead of reading its jobs",
			*d->conf.replay_log ? d->conf.replay_log : "no recording");
	if (*good && d->is_node && !any_program && wanted == COUNTER_AUTO)
		doctor_say(d, DOCTOR_WARN, "counters",
			"choose your counter (docs/counters.md): hardware counters, or heartbeat "
			"or uprobe by name in poppa_counter",
			"usable here: %s; a program that does not publish its progress, or has no "
			"configured function, is not measured and pays its full price (no-signal)",
			good);
	else if (*good)
		doctor_say(d, DOCTOR_OK, "counters", NULL, "usable here: %s", good);
	else if (all)
		doctor_say(d, doctor_on_node(d), "counters", "see the lines above",
			"no backend is usable, so every job keeps its full price");
	json_decref(all);
}

static void check_paranoid(struct doctor *d)
{
	struct errmsg err;
	char *text = fsio_read(PARANOID, 32, NULL, &err);

	if (!text) {
		doctor_say(d, DOCTOR_WARN, "perf_event_paranoid",
			"use the heartbeat backend, or a kernel with CONFIG_PERF_EVENTS",
			"this kernel has no perf events");
		return;
	}
	text[strcspn(text, "\n")] = '\0';
	doctor_say(d, DOCTOR_OK, "perf_event_paranoid", NULL,
		"%s; poppad runs as root and may count at any level", text);
	free(text);
}

static void check_realtime(struct doctor *d)
{
	struct sched_param normal = {0}, fifo = {.sched_priority = 1};
	int old = sched_getscheduler(0);

	if (sched_getparam(0, &normal) == 0 && sched_setscheduler(0, SCHED_FIFO, &fifo) == 0) {
		sched_setscheduler(0, old, &normal);
		doctor_say(d, DOCTOR_OK, "SCHED_FIFO", NULL, "is permitted");
	} else if (geteuid()) {
		doctor_say(d, DOCTOR_WARN, "SCHED_FIFO", "run poppa doctor as root to see",
			"only root may try it");
	} else {
		doctor_say(d, doctor_on_node(d), "SCHED_FIFO",
			"give poppad CAP_SYS_NICE, and its cgroup a real-time budget "
			"(cpu.rt_runtime_us)",
			"is refused (%s): shutters would be late and cost more", strerror(errno));
	}
}

static void check_freezer(struct doctor *d)
{
	if (access(CGROUPS "/cgroup.controllers", R_OK) == 0)
		doctor_say(d, DOCTOR_OK, "freezer", NULL, "cgroup v2 in " CGROUPS);
	else if (access(CGROUPS "/freezer/cgroup.procs", R_OK) == 0)
		doctor_say(d, DOCTOR_OK, "freezer", NULL, "cgroup v1 in " CGROUPS "/freezer");
	else
		doctor_say(d, DOCTOR_WARN, "freezer",
			"mount the freezer cgroup and set ProctrackType=proctrack/cgroup",
			"no freezer below " CGROUPS ": jobs are stopped by SIGSTOP, which is less "
			"exact where threads share a core; and nobody is held for turns, so no "
			"max-degradation is kept");
}

static void check_directory(struct doctor *d, const char *key, const char *path)
{
	char dir[PATH_MAX];
	struct stat st;

	if (!*d->node_name && strstr(path, "%n")) {
		doctor_say(d, DOCTOR_WARN, key, "name the node with --node",
			"%s not looked at: the node's name is not known", path);
		return;
	}
	nodeconf_expand(path, d->node_name, dir, sizeof(dir));
	if (stat(dir, &st))
		doctor_say(d, doctor_on_node(d), key,
			d->is_node ? "start poppad, which makes it" : "nothing to do off the nodes",
			"%s: %s", dir, strerror(errno));
	else if (!S_ISDIR(st.st_mode) || st.st_uid != 0 || st.st_mode & (S_IWGRP | S_IWOTH))
		doctor_say(d, DOCTOR_FAIL, key,
			"make it a directory of root that nobody else may write to",
			"%s decides which processes get stopped, and is not root's alone", dir);
	else
		doctor_say(d, DOCTOR_OK, key, NULL, "%s", dir);
}

void doctor_node(struct doctor *d)
{
	const char *node = d->asked.node ? d->asked.node : getenv("SLURMD_NODENAME");

	snprintf(d->node_name, sizeof(d->node_name), "%s", node ? node : "");
	d->is_node = process_find("slurmd", 0) || process_find("poppad", 0);
	check_poppad(d);
	check_slurmd(d);
	check_directory(d, "RunDir", d->conf.run_dir);
	check_directory(d, "SpoolDir", d->conf.spool_dir);
	check_counters(d);
	check_paranoid(d);
	check_realtime(d);
	check_freezer(d);
}
