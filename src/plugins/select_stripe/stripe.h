/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What all files of the plugin share. */
#pragma once

/* Prefix of the plugin's log lines. */
#define STRIPE "select/stripe: "

/* The plugin's name, by which it recognises another copy of itself. */
#define STRIPE_NAME "POPPA lanes in front of select/cons_tres"
