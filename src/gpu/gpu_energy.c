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
#include <string.h>

#define NVML "libnvidia-ml.so.1"
#define HWMON "/sys/class/drm/card*/device/hwmon/hwmon*/energy1_input"

#define DEVICES_MAX 64
#define UUID_MAX 96

/* The part of NVML that is used, by its documented interface: 0 is success, energies are in mJ. */
struct nvml {
	void *library;
	int (*init)(void);
	int (*shutdown)(void);
	int (*count)(unsigned *n);
	int (*handle)(unsigned i, void **device);
	int (*energy)(void *device, unsigned long long *mj);
	int (*uuid)(void *device, char *buf, unsigned size); /* may be missing */
	void *device[DEVICES_MAX];                           /* the program's */
	unsigned devices;
	bool others; /* it has boards, and cannot tell what the program's use */
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

/* All devices that this process may look at: in a job those of others are not among them. */
static unsigned find_devices(struct nvml *n)
{
	unsigned count = 0, found = 0;

	if (n->count(&count))
		return 0;
	for (unsigned i = 0; i < count && found < DEVICES_MAX; i++)
		found += !n->handle(i, &n->device[found]);
	return found;
}

/* The device that an entry of CUDA_VISIBLE_DEVICES names: by its place among those that CUDA sees,
 * or by the beginning of its UUID. NULL where it names none. */
static void *named(const struct nvml *n, void *const *device, unsigned count, const char *entry)
{
	char uuid[UUID_MAX], *end;

	if (*entry >= '0' && *entry <= '9') {
		unsigned long place = strtoul(entry, &end, 10);

		return !*end && place < count ? device[place] : NULL;
	}
	for (unsigned i = 0; n->uuid && *entry && i < count; i++)
		if (!n->uuid(device[i], uuid, sizeof(uuid)) && !strncmp(uuid, entry, strlen(entry)))
			return device[i];
	return NULL;
}

/* Of all devices those that the program will use; none where one of the names is not known, such as
 * that of a part of a device: its energy would be that of others, too. */
static unsigned visible_devices(struct nvml *n, unsigned count, const char *list)
{
	void *all[DEVICES_MAX];
	char *copy = strdup(list), *save = NULL;
	unsigned found = 0;

	memcpy(all, n->device, sizeof(all));
	for (char *entry = copy ? strtok_r(copy, ",", &save) : NULL; entry;
		entry = strtok_r(NULL, ",", &save)) {
		void *device = named(n, all, count, entry);

		for (unsigned i = 0; i < found; i++)
			if (n->device[i] == device)
				device = NULL;
		if (!device) {
			found = 0;
			break;
		}
		n->device[found++] = device;
	}
	free(copy);
	return found;
}

static bool all_tell_energy(const struct nvml *n, unsigned devices)
{
	unsigned long long mj;

	for (unsigned i = 0; i < devices; i++)
		if (n->energy(n->device[i], &mj))
			return false;
	return devices;
}

static void open_nvml(struct nvml *n)
{
	const char *visible = getenv("CUDA_VISIBLE_DEVICES");
	unsigned devices;

	n->library = dlopen(NVML, RTLD_NOW | RTLD_LOCAL);
	if (!n->library)
		return;
	if (find(n->library, "nvmlInit_v2", &n->init) &&
		find(n->library, "nvmlShutdown", &n->shutdown) &&
		find(n->library, "nvmlDeviceGetCount_v2", &n->count) &&
		find(n->library, "nvmlDeviceGetHandleByIndex_v2", &n->handle) &&
		find(n->library, "nvmlDeviceGetTotalEnergyConsumption", &n->energy) && !n->init()) {
		find(n->library, "nvmlDeviceGetUUID", &n->uuid);
		devices = find_devices(n);
		n->others = devices > 0;
		if (visible)
			devices = visible_devices(n, devices, visible);
		if (all_tell_energy(n, devices)) {
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
	/* Of several boards nothing says which ones the program uses. */
	if (e->nvml.others || glob(HWMON, 0, NULL, &e->files) || e->files.gl_pathc > 1) {
		globfree(&e->files);
		memset(&e->files, 0, sizeof(e->files));
	}
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

		if (e->nvml.energy(e->nvml.device[i], &mj))
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
