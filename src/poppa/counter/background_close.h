/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Closes files in the background whose close takes long. */
#pragma once

/* Takes the descriptor over. A thread closes it and ends when no descriptor is left; where no
 * thread can be started, this call closes it. */
void background_close(int fd);
