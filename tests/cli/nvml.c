/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Stands in for NVIDIA's management library. For tests/cli/gpu.t. */
/*
 * There is one board, whose energy is in the file NVML_MJ. With NVML_BOARDS it is the second of
 * three: nobody may open the first one, and the third one's energy is a thousand times as much.
 */
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>

enum { DENIED, OWN, FOREIGN };
static int boards[] = {DENIED, OWN, FOREIGN};

int nvmlInit_v2(void);
int nvmlShutdown(void);
int nvmlDeviceGetCount_v2(unsigned *n);
int nvmlDeviceGetHandleByIndex_v2(unsigned i, void **device);
int nvmlDeviceGetTotalEnergyConsumption(void *device, unsigned long long *mj);
int nvmlDeviceGetUUID(void *device, char *buf, unsigned size);

static bool many(void)
{
	return getenv("NVML_BOARDS");
}

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
	*n = many() ? 3 : 1;
	return 0;
}

int nvmlDeviceGetHandleByIndex_v2(unsigned i, void **device)
{
	if (many() && i == DENIED)
		return 4;
	*device = &boards[many() ? i : OWN];
	return i >= (many() ? 3 : 1);
}

int nvmlDeviceGetUUID(void *device, char *buf, unsigned size)
{
	snprintf(buf, size, "GPU-%d%d%d", *(int *)device, *(int *)device, *(int *)device);
	return 0;
}

int nvmlDeviceGetTotalEnergyConsumption(void *device, unsigned long long *mj)
{
	FILE *f = fopen(getenv("NVML_MJ"), "r");
	int n = f ? fscanf(f, "%llu", mj) : 0;

	if (f)
		fclose(f);
	if (*(int *)device == FOREIGN)
		*mj *= 1000;
	return n != 1;
}
