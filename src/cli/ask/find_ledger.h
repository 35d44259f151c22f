/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Where the cluster's ledger is, by what Slurm and poppa.conf say. */
#ifndef POPPA_CLI_ASK_FIND_LEDGER_H
#define POPPA_CLI_ASK_FIND_LEDGER_H

#include "accounting/record/client.h"

/* Asks scontrol; conf_path NULL is the default poppa.conf. *cluster becomes the cluster's name. 0,
 * or -1 with err. */
int find_ledger(const char *conf_path, struct client *client, char cluster[64], struct errmsg *err);

#endif
