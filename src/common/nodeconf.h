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

/* LedgerOrigin: what poppa-ledgerd compares with the addresses of a job's nodes. */
enum ledger_origin {
	LEDGER_ORIGIN_PEER, /* peer: the address that a record came from */
	LEDGER_ORIGIN_ANY,  /* any: nothing; for sites where nodes are behind address translation */
};

struct nodeconf {
	/* Every path may hold %n, which stands for the Slurm node name. */
	char run_dir[PATH_MAX];   /* RunDir: sockets and what the prolog registers (/run/poppa) */
	char spool_dir[PATH_MAX]; /* SpoolDir: checkpoints and unacknowledged records
				     (/var/spool/poppa) */
	int spool_keep_days;      /* SpoolKeepDays: for how long acknowledged records are kept for a
				     ledger that is lost; 0 = not */
	char state_dir[PATH_MAX]; /* StateDir: the ledger's database, controller only
				     (/var/lib/poppa) */
	char shutter_log[PATH_MAX];  /* ShutterLog: directory for shutter logs; empty = none */
	char munge_socket[PATH_MAX]; /* MungeSocket; empty = libmunge's default */
	char ledger_listen[256];     /* LedgerListen: address[:port] of poppa-ledgerd; empty = all,
					settings' port */
	char ledger_user[64]; /* LedgerUser: who poppa-ledgerd runs as and whose replies nodes trust
			       */
	enum ledger_origin ledger_origin;
	char ledger_controllers[1024]; /* LedgerControllers: hosts, beside its own, that
					  poppa-ledgerd takes prices from; comma list */
	int ledger_keep_days; /* LedgerKeepDays: for how long poppa-ledgerd keeps the nodes' records
				 of settled jobs; 0 = for ever */
	bool counter_set;     /* Counter given: overrides poppa_counter */
	enum counter_backend counter;
	char perf_event[NODECONF_EVENT_SIZE]; /* PerfEvent: what perf and papi count; empty = the
						 instructions of user mode */
	char replay_log[PATH_MAX]; /* ReplayLog: the shutter log that Counter=replay plays */
	int uprobe_count;
	char uprobe[NODECONF_MAX_UPROBES]
		   [512]; /* Uprobe=FILE:SYMBOL, repeatable; FILE = path or soname */
	int launcher_count;
	char launcher[NODECONF_MAX_LAUNCHERS]
		     [64]; /* Launcher=NAME, repeatable: added to the built-in list */
};

void nodeconf_defaults(struct nodeconf *c);

/*
 * The file that counts: $POPPA_CONF, else poppa.conf beside $SLURM_CONF if there, else
 * SYSCONFDIR/slurm/poppa.conf if there, else /etc/slurm/poppa.conf. Returns buf.
 */
char *nodeconf_path(char *buf, size_t size);

/* Reads it. Where nodeconf_path() names no file the defaults are given; a file that was asked for
 * must be there. On error *c is untouched and err names file, line and key. */
int nodeconf_load(const char *path, struct nodeconf *c, struct errmsg *err);

/* This host's name up to its first dot, which is Slurm's name of the node unless somebody says
 * otherwise; returns buf, "" where the host has none. */
char *nodeconf_host(char *buf, size_t size);

/* Puts node in place of every %n of a path of the configuration into buf; returns buf. */
char *nodeconf_expand(const char *path, const char *node, char *buf, size_t size);

/* The ledger's database on this host, from StateDir; returns buf, of PATH_MAX. */
char *nodeconf_ledger(const struct nodeconf *c, char *buf);
