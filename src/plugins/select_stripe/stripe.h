/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What all files of the plugin share. */
#ifndef POPPA_SELECT_STRIPE_H
#define POPPA_SELECT_STRIPE_H

/* Prefix of the plugin's log lines. */
#define STRIPE "select/stripe: "

#endif
