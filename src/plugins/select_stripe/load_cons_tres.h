/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Loads the plugin that the wrapper stands in front of: Slurm's own select/cons_tres. */
#pragma once

#include "plugins/compat/select_compat.h"

#define CONS_TRES_MEMBER(result, name, params, args) result(*name) params;

struct cons_tres {
	SELECT_PASSED_ON(CONS_TRES_MEMBER)
	SELECT_LOOKED_AT(CONS_TRES_MEMBER)
};

/* Its functions, between load_cons_tres() and unload_cons_tres(). */
extern struct cons_tres cons_tres;

/*
 * Loads the first select_cons_tres.so of PluginDir that is not this plugin, or else the one that
 * was there when this was built, and starts it. Returns SLURM_SUCCESS, or SLURM_ERROR with one line
 * in the log that says what to fix.
 */
int load_cons_tres(void);
void unload_cons_tres(void);
