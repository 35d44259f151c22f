/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What the settler asks of the slurmctld that it lives in: does it serve, where is its state, who
 * is charged. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "src/common/slurmdb_defs.h"

#define ME "prep/poppa" /* begins each line of the log */

/*
 * Whether this slurmctld is in charge, has read its state and is not about to end. A backup that
 * stands by does not serve. Nor does a slurmctld that still starts: it has a list of jobs before it
 * has their hash table, and looking up a job would crash it.
 */
bool controller_serves(void);

/*
 * While somebody holds slurmctld, its shutdown waits: it has not saved its state for the last time
 * and has the connection to slurmdbd. Take this before any of Slurm's locks and release it after
 * them. May be held by several threads and several times. False, and nothing to release: it does
 * not serve any more.
 */
bool controller_hold(void);
void controller_release(void);

/*
 * For what is put into the queue for slurmdbd, under controller_hold(): releases of Slurm that do
 * not wait for that before they close the queue (accounting_compat.h) wait for this. Take it last,
 * and wait for nothing until it is released. False, and nothing to release: slurmctld ends.
 */
bool controller_begin_sending(void);
void controller_end_sending(void);

/*
 * For a question to slurmdbd, which may take long: keeps the code of Slurm's plugin where it is.
 * Ask with NULL for the connection: that is slurmctld's, or an error where it is closed by now.
 * False, and nothing to release: the code is gone.
 */
struct accounting_code {
	void *handle;
};
bool controller_keep_code(struct accounting_code *code);
void controller_let_code(struct accounting_code *code);

/*
 * The path of a file in StateSaveLocation, or of that folder where name is NULL; returns buf. Takes
 * the read lock on the configuration: hold none of Slurm's locks.
 */
char *controller_state_path(const char *name, char *buf, size_t size);

/* The QOS or association with this id, or NULL. The caller holds the association manager's lock on
 * it, and for an association also on users; the record is valid as long as that. */
slurmdb_qos_rec_t *controller_qos(uint32_t id);
slurmdb_assoc_rec_t *controller_assoc(uint32_t id);
