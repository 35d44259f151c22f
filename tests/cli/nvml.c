/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Stands in for NVIDIA's management library: one board, whose energy is in a file. For
 * tests/cli/gpu.t. */
#include <stdio.h>
#include <stdlib.h>

int nvmlInit_v2(void);
int nvmlShutdown(void);
int nvmlDeviceGetCount_v2(unsigned *n);
int nvmlDeviceGetHandleByIndex_v2(unsigned i, void **device);
int nvmlDeviceGetTotalEnergyConsumption(void *device, unsigned long long *mj);

int nvmlInit_v2(void)
{
	return getenv("NVML_MJ") ? 0 : 1;
}

int nvmlShutdown(void)
{
	return 0;
}

int nvmlDeviceGetCount_v2(unsigned *n)
{
	*n = 1;
	return 0;
}

int nvmlDeviceGetHandleByIndex_v2(unsigned i, void **device)
{
	*device = device;
	return i > 0;
}

int nvmlDeviceGetTotalEnergyConsumption(void *device, unsigned long long *mj)
{
	FILE *f = fopen(getenv("NVML_MJ"), "r");
	int n = f ? fscanf(f, "%llu", mj) : 0;

	(void)device;
	if (f)
		fclose(f);
	return n != 1;
}
