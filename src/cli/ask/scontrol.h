/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What the running Slurm says of itself, by scontrol: the command links no Slurm. */
#ifndef POPPA_CLI_ASK_SCONTROL_H
#define POPPA_CLI_ASK_SCONTROL_H

#include <stddef.h>

#include "common/errmsg.h"

/*
 * Output of "scontrol show WHAT", or with oneline "scontrol --oneliner show WHAT"; the caller's to
 * free. NULL with err, also after 15 s without an answer.
 */
char *scontrol_show(const char *what, int oneline, struct errmsg *err);

/*
 * Value of the line "KEY = value" (KEY may be "Name[0]") of "scontrol show config"; returns out,
 * which is "" without it or where it is "(null)".
 */
const char *scontrol_value(const char *text, const char *key, char *out, size_t size);

#endif
