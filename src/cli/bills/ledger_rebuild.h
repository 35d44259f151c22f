/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Restores prices that the ledger has lost from Slurm's own accounting. */
#pragma once

#include <stdbool.h>

/*
 * Asks sacct for all jobs since a time, in a form that sacct takes. Stores the price that each
 * job's SystemComment shows in the running poppa-ledgerd, unless that has one. Prints a line for
 * each job that cannot be restored, and the counts. conf NULL = the default poppa.conf. Returns an
 * exit status.
 */
int ledger_rebuild(const char *since, const char *conf, bool json);
