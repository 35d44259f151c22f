/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Reads energy counters: NVML, which is loaded where it is there, and hwmon. */
#include "gpu/gpu_energy.h"

#include <dlfcn.h>
#include <glob.h>
#include <inttypes.h>
#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#define NVML "libnvidia-ml.so.1"
#define HWMON "/sys/class/drm/card*/device/hwmon/hwmon*/energy1_input"

/* The part of NVML that is used, by its documented interface: 0 is success, energies are in mJ. */
struct nvml {
	void *library;
	int (*init)(void);
	int (*shutdown)(void);
	int (*count)(unsigned *n);
	int (*handle)(unsigned i, void **device);
	int (*energy)(void *device, unsigned long long *mj);
	unsigned devices;
};

struct gpu_energy {
	struct nvml nvml;
	glob_t files; /* microjoules */
};

static bool find(void *library, const char *name, void *function)
{
	void *at = dlsym(library, name);

	*(void **)function = at;
	return at != NULL;
}

static void open_nvml(struct nvml *n)
{
	unsigned long long mj;
	unsigned devices;
	void *device;

	n->library = dlopen(NVML, RTLD_NOW | RTLD_LOCAL);
	if (!n->library)
		return;
	if (find(n->library, "nvmlInit_v2", &n->init) &&
		find(n->library, "nvmlShutdown", &n->shutdown) &&
		find(n->library, "nvmlDeviceGetCount_v2", &n->count) &&
		find(n->library, "nvmlDeviceGetHandleByIndex_v2", &n->handle) &&
		find(n->library, "nvmlDeviceGetTotalEnergyConsumption", &n->energy) && !n->init()) {
		if (!n->count(&devices) && devices && !n->handle(0, &device) &&
			!n->energy(device, &mj)) {
			n->devices = devices;
			return;
		}
		n->shutdown();
	}
	dlclose(n->library);
	n->library = NULL;
}

struct gpu_energy *gpu_energy_open(void)
{
	struct gpu_energy *e = calloc(1, sizeof(*e));

	if (!e)
		return NULL;
	open_nvml(&e->nvml);
	if (glob(HWMON, 0, NULL, &e->files))
		e->files.gl_pathc = 0;
	if (!e->nvml.devices && !e->files.gl_pathc) {
		gpu_energy_close(e);
		return NULL;
	}
	return e;
}

void gpu_energy_close(struct gpu_energy *e)
{
	if (!e)
		return;
	if (e->nvml.library) {
		e->nvml.shutdown();
		dlclose(e->nvml.library);
	}
	globfree(&e->files);
	free(e);
}

double gpu_energy_read(struct gpu_energy *e)
{
	double joules = 0;

	for (unsigned i = 0; i < e->nvml.devices; i++) {
		unsigned long long mj;
		void *device;

		if (e->nvml.handle(i, &device) || e->nvml.energy(device, &mj))
			return NAN;
		joules += (double)mj / 1e3;
	}
	for (size_t i = 0; i < e->files.gl_pathc; i++) {
		FILE *f = fopen(e->files.gl_pathv[i], "r");
		uint64_t uj;
		int n = f ? fscanf(f, "%" SCNu64, &uj) : 0;

		if (f)
			fclose(f);
		if (n != 1)
			return NAN;
		joules += (double)uj / 1e6;
	}
	return joules;
}
