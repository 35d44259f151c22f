/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Checks of "poppa doctor" on poppad and on what this host's kernel allows. */
#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cli/daemon.h"
#include "cli/doctor.h"
#include "common/fsio.h"
#include "poppa/counter.h"

#define CGROUPS "/sys/fs/cgroup"
#define PARANOID "/proc/sys/kernel/perf_event_paranoid"

/* Whether a process of this name runs here. */
static bool runs(const char *comm)
{
	DIR *proc = opendir("/proc");
	const struct dirent *entry;
	bool found = false;

	while (proc && !found && (entry = readdir(proc))) {
		char path[PATH_MAX];
		struct errmsg err;
		char *name;

		if (!isdigit((unsigned char)*entry->d_name))
			continue;
		snprintf(path, sizeof(path), "/proc/%s/comm", entry->d_name);
		name = fsio_read(path, 64, NULL, &err);
		found = name && !strncmp(name, comm, strlen(comm)) && name[strlen(comm)] == '\n';
		free(name);
	}
	if (proc)
		closedir(proc);
	return found;
}

/* A daemon that does not answer is a fault on a node, and as it should be elsewhere. */
static enum doctor_verdict on_node(const struct doctor *d)
{
	return d->is_node ? DOCTOR_FAIL : DOCTOR_WARN;
}

static void check_guard(struct doctor *d, const json_t *status)
{
	json_int_t pid = json_integer_value(json_object_get(status, "guard_pid"));

	if (pid > 0)
		doctor_say(
			d, DOCTOR_OK, "guard", NULL, "watches as pid %" JSON_INTEGER_FORMAT, pid);
	else
		doctor_say(d, DOCTOR_FAIL, "guard",
			"see poppad's log; poppa-guard must be in " POPPA_LIBEXECDIR,
			"does not run, so poppad opens no shutters");
	if (json_is_true(json_object_get(status, "waiting_for_slurmd")))
		doctor_say(d, DOCTOR_FAIL, "slurmd to poppad",
			"see that slurmd has prep/poppa loaded, and the same poppa.conf; restart "
			"it "
			"after changing PrEpPlugins",
			"slurmd has not told poppad about the cluster");
	else
		doctor_say(
			d, DOCTOR_OK, "slurmd to poppad", NULL, "slurmd tells poppad of its jobs");
}

static void check_poppad(struct doctor *d)
{
	json_t *request = json_pack("{s:s}", "op", "status"), *status = NULL;
	const char *node;
	char path[PATH_MAX];
	struct errmsg err;

	if (daemon_socket(&d->conf, d->asked.node, path, sizeof(path), &err) == 0)
		status = daemon_ask(path, request, &err);
	json_decref(request);
	node = json_string_value(json_object_get(status, "node"));
	if (!status) {
		doctor_say(d, on_node(d), "poppad",
			d->is_node ? "start poppad" : "start poppad, if this is a compute node",
			"%s", err.text);
		return;
	}
	d->is_node = true;
	if (node)
		snprintf(d->node_name, sizeof(d->node_name), "%s", node);
	doctor_say(d, DOCTOR_OK, "poppad", NULL, "answers at %s", path);
	check_guard(d, status);
	json_decref(status);
}

static void check_counters(struct doctor *d)
{
	static const enum counter_backend backends[] = {
		COUNTER_PERF, COUNTER_PAPI, COUNTER_HEARTBEAT, COUNTER_UPROBE};
	char good[64] = "";

	for (size_t i = 0; i < sizeof(backends) / sizeof(backends[0]); i++) {
		const char *name = counter_backend_name(backends[i]);
		struct errmsg err = {""};
		char check[64];

		if (counter_available(backends[i], &err)) {
			strcat(strcat(good, *good ? ", " : ""), name);
			continue;
		}
		snprintf(check, sizeof(check), "counter %s", name);
		doctor_say(d, DOCTOR_WARN, check, "nothing to do where another backend serves",
			"%s", err.text);
	}
	if (*good)
		doctor_say(d, DOCTOR_OK, "counters", NULL, "usable here: %s", good);
	else
		doctor_say(d, on_node(d), "counters", "see the lines above",
			"no backend is usable, so every job keeps its full price");
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
		doctor_say(d, on_node(d), "SCHED_FIFO",
			"give poppad CAP_SYS_NICE, and its cgroup real-time time "
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
			"exact where threads share a core");
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
		doctor_say(d, on_node(d), key,
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
	d->is_node = runs("slurmd") || runs("poppad");
	check_poppad(d);
	check_directory(d, "RunDir", d->conf.run_dir);
	check_directory(d, "SpoolDir", d->conf.spool_dir);
	check_counters(d);
	check_paranoid(d);
	check_realtime(d);
	check_freezer(d);
}
