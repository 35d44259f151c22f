/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Closes files whose closing takes long, in the background. */
#pragma once

/* Takes the descriptor over; a thread closes it that lives while there are any. Closes it at once
 * where there can be no such thread. */
void background_close(int fd);

/* Waits until all that were handed over are closed. */
void background_close_wait(void);
