/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The mask by which AMD's runtime is told how many compute units of each device it may use. */
#pragma once

#include <stddef.h>

/*
 * Writes the value of HSA_CU_MASK for a percentage, 1 to 100, of the compute units of each device,
 * at least one, as AMD documents it: "0:0-15;1:0-15". topology: the folder of the kernel's nodes,
 * GPU_AMD_TOPOLOGY. Returns 0, or -1 where there is no device or the value does not fit. Written
 * after the documents and not tried on a device.
 */
int gpu_amd_mask(const char *topology, int percent, char *buf, size_t size);

/* Compute units of the first device; 0 where there is none. */
int gpu_amd_units(const char *topology);

#define GPU_AMD_TOPOLOGY "/sys/class/kfd/kfd/topology/nodes"
