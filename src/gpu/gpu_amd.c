/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Reads from the kernel how many compute units AMD's devices have. */
#include "gpu/gpu_amd.h"

#include <inttypes.h>
#include <limits.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#define NODES_MAX 256

/* Compute units of a node of the topology; 0: it is a processor, or says nothing; -1: there is
 * none. */
static int64_t units_of(const char *topology, int node)
{
	char path[PATH_MAX], line[256], name[64];
	uint64_t value, simds = 0, simds_of_unit = 0;
	FILE *f;

	snprintf(path, sizeof(path), "%s/%d/properties", topology, node);
	f = fopen(path, "re");
	if (!f)
		return access(path, F_OK) ? -1 : 0;
	while (fgets(line, sizeof(line), f))
		if (sscanf(line, "%63s %" SCNu64, name, &value) == 2) {
			if (!strcmp(name, "simd_count"))
				simds = value;
			else if (!strcmp(name, "simd_per_cu"))
				simds_of_unit = value;
		}
	fclose(f);
	return simds_of_unit && simds / simds_of_unit < INT32_MAX ? (int64_t)(simds / simds_of_unit)
								  : 0;
}

int gpu_amd_units(const char *topology)
{
	int64_t units = 0;

	for (int node = 0; node < NODES_MAX && !units; node++)
		units = units_of(topology, node);
	return units > 0 ? (int)units : 0;
}

int gpu_amd_mask(const char *topology, int percent, char *buf, size_t size)
{
	size_t used = 0;
	int devices = 0;

	for (int node = 0; node < NODES_MAX; node++) {
		int64_t units = units_of(topology, node), some;
		int n;

		if (units < 0)
			break;
		if (!units)
			continue;
		some = (units * percent + 99) / 100;
		n = snprintf(buf + used, size - used, "%s%d:0-%" PRId64, devices ? ";" : "",
			devices, some - 1);
		if (n < 0 || (size_t)n >= size - used)
			return -1;
		used += (size_t)n;
		devices++;
	}
	return devices ? 0 : -1;
}
