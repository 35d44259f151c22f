/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Asks the running Slurm by scontrol, because the command does not link Slurm. */
#pragma once

#include <stddef.h>

#include "common/errmsg.h"

/*
 * What "scontrol show WHAT" prints, or with oneline "scontrol --oneliner show WHAT"; the caller
 * frees it. NULL with err, also after 15 s without an answer.
 */
char *scontrol_show(const char *what, int oneline, struct errmsg *err);

/*
 * Copies the value of the line "KEY = value" of "scontrol show config" (KEY may be "Name[0]") and
 * returns out, which is "" where there is no such line, the value is "(null)" or it does not fit.
 */
const char *scontrol_value(const char *text, const char *key, char *out, size_t size);

/* Asks slurmctld for its StateSaveLocation, and writes the path of the file with that name there.
 * Returns 0, or -1 with err. */
int scontrol_state_file(const char *name, char *path, size_t size, struct errmsg *err);
