/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Node-local settings from poppa.conf, for what differs between the hosts of one cluster. */
#pragma once

#include <limits.h>
#include <stdbool.h>

#include "common/errmsg.h"
#include "common/settings.h"

#define NODECONF_MAX_UPROBES 16
#define NODECONF_EVENT_SIZE 128
#define NODECONF_MAX_LAUNCHERS 64
#define NODECONF_MAP_SIZE 512

/* LedgerOrigin: what poppa-ledgerd compares with the addresses of a job's nodes. */
enum ledger_origin {
	LEDGER_ORIGIN_PEER, /* peer: the address that a record came from */
	LEDGER_ORIGIN_ANY,  /* any: nothing; for sites where nodes are behind address translation */
};

struct nodeconf {
	/* Every path may hold %n, which stands for the Slurm node name. */
	char run_dir[PATH_MAX]; /* RunDir: sockets and what the prolog registers (/run/poppa) */
	/* SpoolDir: checkpoints and unacknowledged records (/var/spool/poppa) */
	char spool_dir[PATH_MAX];
	/* SpoolKeepDays: for how long acknowledged records are kept for a new ledger; 0 = not */
	int spool_keep_days;
	/* StateDir: the ledger's database, controller only (/var/lib/poppa) */
	char state_dir[PATH_MAX];
	char shutter_log[PATH_MAX];  /* ShutterLog: directory for shutter logs; empty = none */
	char munge_socket[PATH_MAX]; /* MungeSocket; empty = libmunge's default */
	/* LedgerListen: address[:port] of poppa-ledgerd; empty = all, settings' port */
	char ledger_listen[256];
	/* LedgerUser: who poppa-ledgerd runs as, and whose replies nodes trust */
	char ledger_user[64];
	enum ledger_origin ledger_origin;
	/* LedgerControllers: comma list of hosts, beside its own, that poppa-ledgerd takes prices
	 * from */
	char ledger_controllers[1024];
	/* LedgerKeepDays: for how long poppa-ledgerd keeps the nodes' records of settled jobs; 0 =
	 * for ever */
	int ledger_keep_days;
	char mail_prog[PATH_MAX]; /* MailProg: the site's own, for poppa-mail; empty = Slurm's */
	int mail_wait_s;          /* MailWait: how long a mail waits for the price at most */
	bool counter_set;         /* Counter is given: it overrides poppa_counter */
	enum counter_backend counter;
	/* PerfEvent: what perf and papi count; empty = the instructions of user mode */
	char perf_event[NODECONF_EVENT_SIZE];
	/* MissEvent: the last-level cache misses that perf counts beside it; empty = none */
	char miss_event[NODECONF_EVENT_SIZE];
	char replay_log[PATH_MAX]; /* ReplayLog: the shutter log that Counter=replay plays */
	/* MapEvents: what map:auto counts, "inter=EVENT,..."; empty = nothing is mapped */
	char map_events[NODECONF_MAP_SIZE];
	char map_settings[NODECONF_MAP_SIZE]; /* MapSettings: the mapper's, "high_ipc=0.9,..." */
	char map_replay[PATH_MAX]; /* MapReplay: the recording that map:auto goes by instead */
	int uprobe_count;
	/* Uprobe=FILE:SYMBOL, repeatable; FILE = path or soname */
	char uprobe[NODECONF_MAX_UPROBES][512];
	int launcher_count;
	/* Launcher=NAME, repeatable: added to the built-in list */
	char launcher[NODECONF_MAX_LAUNCHERS][64];
};

void nodeconf_defaults(struct nodeconf *c);

/*
 * The file that counts: $POPPA_CONF, else poppa.conf beside $SLURM_CONF if there, else
 * SYSCONFDIR/slurm/poppa.conf if there, else /etc/slurm/poppa.conf. Returns buf.
 */
char *nodeconf_path(char *buf, size_t size);

/* Writes the files among which nodeconf_path() chooses, the first one first, with ", " between
 * them. Returns buf. */
char *nodeconf_looked_for(char *buf, size_t size);

/* Reads poppa.conf. Without a file at nodeconf_path(), *c gets the defaults; at any other path the
 * file must be there. Returns 0, or -1 with *c untouched and err that names file, line and key. */
int nodeconf_load(const char *path, struct nodeconf *c, struct errmsg *err);

/* Writes this host's name up to its first dot, Slurm's usual name of the node. Returns buf, ""
 * where the host has no name. */
char *nodeconf_host(char *buf, size_t size);

/* Copies a path of the configuration into buf, with node in place of every %n; returns buf. */
char *nodeconf_expand(const char *path, const char *node, char *buf, size_t size);

/* Writes the path of the ledger's database on this host; returns buf, of PATH_MAX. */
char *nodeconf_ledger(const struct nodeconf *c, char *buf);
