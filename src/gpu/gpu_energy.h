/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What the graphics processors of this machine have used. */
#pragma once

#include <stdbool.h>

struct gpu_energy;

/* Finds counters of energy: NVIDIA's management library, of the devices in CUDA_VISIBLE_DEVICES, or
 * else of all that this process may use, and the kernel's files of all other boards. Returns NULL
 * where there is none, or where CUDA_VISIBLE_DEVICES names a part of a device. */
struct gpu_energy *gpu_energy_open(void);
void gpu_energy_close(struct gpu_energy *e);
/* The sum over all devices, in joules, from any moment on; NAN where one cannot be read any more.
 */
double gpu_energy_read(struct gpu_energy *e);
