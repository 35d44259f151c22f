/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What the checks of "poppa doctor" share. */
#pragma once

#include <limits.h>
#include <stdbool.h>
#include <stdint.h>
#include <jansson.h>

#include "cli/ask/ask_poppad.h"
#include "common/nodeconf.h"
#include "common/settings.h"

#define CGROUPS "/sys/fs/cgroup"
/* What is read of sacctmgr, in bytes, and how long it is waited for. */
#define SACCTMGR_MAX (1 << 20)
#define SACCTMGR_WAIT_MS 15000

enum doctor_verdict { DOCTOR_OK, DOCTOR_WARN, DOCTOR_FAIL };

struct doctor {
	struct ask_poppad_options asked;
	const char *conf_path;
	char conf_path_buf[PATH_MAX];
	bool conf_good;
	struct nodeconf conf;
	bool munge_good;                /* munged seals and opens credentials */
	struct poppa_settings settings; /* the defaults where Slurm's are not good */
	bool ledger_known;              /* settings has the place of the ledger */
	char controllers[1024];         /* SlurmctldHost of the running Slurm; empty = unknown */
	bool is_node;                   /* slurmd or poppad runs here */
	char node_name[256];            /* empty = unknown */
	char cluster[64];               /* ClusterName of the running Slurm; empty = unknown */
	char state_dir[PATH_MAX];       /* its StateSaveLocation; empty = unknown */
	json_t *status;                 /* what poppad says of itself; NULL = it does not answer */
	int count[3];                   /* by verdict */
	json_t *checks;
};

/*
 * Stores the outcome of one check, and prints it unless JSON is wanted. check names what was
 * checked, fix says what to do about it (NULL with DOCTOR_OK), fmt gives what was found.
 */
void doctor_say(struct doctor *d, enum doctor_verdict verdict, const char *check, const char *fix,
	const char *fmt, ...) __attribute__((format(printf, 5, 6)));

/*
 * The verdict on a daemon or directory of compute nodes that is not in order: DOCTOR_FAIL where
 * this host is such a node, otherwise DOCTOR_WARN, because other hosts do without it.
 */
enum doctor_verdict doctor_on_node(const struct doctor *d);

/* Prints the JSON where it is wanted and frees what d owns. Returns an exit status. */
int doctor_end(struct doctor *d);

/* Checks MUNGE, which Slurm and the ledger need to answer. Sets munge_good. */
void doctor_munge(struct doctor *d);

/* Checks the running Slurm's settings, as scontrol prints them, and the suite's plugins. Sets
 * settings, controllers, cluster and state_dir. After doctor_munge(). */
void doctor_slurm(struct doctor *d);

/* Checks the partitions for co-located jobs and what they bill. doctor_slurm() calls it. */
void doctor_partitions(struct doctor *d);

/* Checks the ledger, the runs that wait to be settled, and the clocks. After doctor_slurm(). */
void doctor_ledger(struct doctor *d);

/* Checks poppad, its guard and the host's kernel. Sets is_node, node_name and status. */
void doctor_node(struct doctor *d);

/* Checks what poppad keeps: its settings, the spool, and the list of what it holds stopped. After
 * doctor_node(). */
void doctor_state(struct doctor *d);

/* Checks whether jobs can be held for turns, and the limits (max-degradation) of those that are
 * here. After doctor_node(). */
void doctor_turns(struct doctor *d);

/* For so long a job may be held by poppad with no break that can be seen, ns: in a block, or in
 * slices on end. */
int64_t doctor_longest_hold(const struct doctor *d);
