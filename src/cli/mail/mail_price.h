/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Waits for the price of a run. */
#pragma once

#include <signal.h>
#include <stddef.h>

/*
 * Asks "poppa job" about the run, again and again, less and less often, until it has a price or
 * never gets one, for at most so many seconds, or until *stop is set, as a signal handler does.
 * Writes sentences for the mail into text: the price, or that it has not been made. It asks with an
 * environment of its own: that of the mail has what the job's user has chosen.
 */
void mail_price_wait(
	const char *run, int seconds, const volatile sig_atomic_t *stop, char *text, size_t size);
