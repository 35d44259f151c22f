/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The variables of CUDA's MPS and of AMD's runtime, and others by name. */
#include "gpu/gpu_way.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "gpu/gpu_amd.h"

#define LETTERS "ABCDEFGHIJKLMNOPQRSTUVWXYZ_"

static const struct {
	const char *device; /* there where the way is one */
	struct gpu_way way;
} ways[] = {
	{"/dev/nvidiactl", {"cuda", "CUDA_MPS_ACTIVE_THREAD_PERCENTAGE", "per cent of the threads",
				   false, 100}},
	{"/dev/kfd", {"amd", "HSA_CU_MASK", "compute units", true, 0}},
};

#define WAYS (sizeof(ways) / sizeof(ways[0]))

int gpu_way_find(const char *text, struct gpu_way *way, struct errmsg *err)
{
	for (size_t i = 0; i < WAYS; i++)
		if (text ? !strcmp(text, ways[i].way.name) : !access(ways[i].device, F_OK)) {
			*way = ways[i].way;
			/* Its mask is of the first device. */
			if (way->mask)
				way->most = gpu_amd_units(GPU_AMD_TOPOLOGY);
			return 0;
		}
	if (!text)
		return errmsg_set(err,
			"this machine has neither %s nor %s: name the variable by which the program "
			"is told, such as --by POPPA_GPU_UNITS",
			ways[0].device, ways[1].device);
	if (!*text || strspn(text, LETTERS "0123456789") != strlen(text) || !strchr(LETTERS, *text))
		return errmsg_set(err,
			"\"%s\": give cuda, amd, or the name of a variable in capital letters",
			text);
	*way = (struct gpu_way){text, text, "units", false, 0};
	return 0;
}

bool gpu_way_is_kept(const struct gpu_way *way)
{
	const char *dir = getenv("CUDA_MPS_PIPE_DIRECTORY");
	char path[PATH_MAX];

	if (strcmp(way->name, "cuda"))
		return true;
	/* The daemon's default, and the pipe by which it is told what to do. */
	snprintf(path, sizeof(path), "%s/control", dir && *dir ? dir : "/tmp/nvidia-mps");
	return !access(path, F_OK);
}

char *gpu_way_value(const struct gpu_way *way, double units, char *buf, size_t size)
{
	if (way->mask)
		snprintf(buf, size, "0:0-%.0f", units - 1);
	else
		snprintf(buf, size, "%.0f", units);
	return buf;
}
