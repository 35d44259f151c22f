/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The plugin that the wrapper stands in front of: Slurm's own select/cons_tres. */
#pragma once

#include "plugins/compat/select_compat.h"

#define INNER_MEMBER(result, name, params, args) result(*name) params;

struct inner {
	SELECT_PASSED_ON(INNER_MEMBER)
	SELECT_LOOKED_AT(INNER_MEMBER)
};

extern struct inner inner;

/*
 * Loads the first select_cons_tres.so of PluginDir that is not this plugin, or else the one that
 * was there when this was built, and starts it. Returns SLURM_SUCCESS, or SLURM_ERROR with one line
 * in the log that says what to fix.
 */
int inner_load(void);
void inner_unload(void);
