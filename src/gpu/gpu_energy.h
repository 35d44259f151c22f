/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What the graphics processors of this machine have used. */
#pragma once

#include <stdbool.h>

struct gpu_energy;

/* Finds counters of energy: NVIDIA's management library, of the devices in CUDA_VISIBLE_DEVICES, or
 * else of all that this process may use; where it has none, the kernel's file of the only board.
 * Returns NULL where there is none, where CUDA_VISIBLE_DEVICES names a part of a device, and where
 * several boards have such files, as nobody knows which ones the program uses. */
struct gpu_energy *gpu_energy_open(void);
void gpu_energy_close(struct gpu_energy *e);
/* The sum over all devices, in joules, from any moment on; NAN where one cannot be read any more.
 */
double gpu_energy_read(struct gpu_energy *e);
