/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Finds the cluster's ledger from what Slurm and poppa.conf say. */
#pragma once

#include "accounting/record/client.h"

/*
 * Sets *client to the ledger that PrEpParameters names, and cluster to the cluster's name, as
 * scontrol prints them. conf_path NULL is the default poppa.conf. Returns 0, or -1 with err.
 */
int find_ledger(const char *conf_path, struct client *client, char cluster[64], struct errmsg *err);
