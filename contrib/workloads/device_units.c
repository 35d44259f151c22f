/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Runs a kernel on some of an OpenCL device's compute units: a real device that can be capped, for
 * poppa gpu. */
#define CL_TARGET_OPENCL_VERSION 120
#include <argp.h>
#include <CL/cl.h>
#include <error.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/units.h"
#include "workload_number.h"

#define VARIABLE "POPPA_GPU_UNITS"
#define GROUP 64 /* work items of a group */
#define GROUPS 256

static const char source[] =
	/* Registers only. */
	"kernel void compute(global ulong *a, ulong words, uint n) {\n"
	"  ulong x = get_global_id(0);\n"
	"  for (uint i = 0; i < n * 64; i++) x = x * 6364136223846793005UL + 1442695040888963407UL;\n"
	"  a[get_global_id(0)] = x;\n"
	"}\n"
	/* Each group reads a piece of the memory in order. */
	"kernel void stream(global ulong *a, ulong words, uint n) {\n"
	"  ulong piece = words / get_num_groups(0), sum = 0;\n"
	"  global ulong *mine = a + piece * get_group_id(0);\n"
	"  for (uint k = 0; k < n; k++)\n"
	"    for (ulong i = get_local_id(0); i < piece; i += get_local_size(0)) sum += mine[i];\n"
	"  a[get_global_id(0)] = sum | 1;\n"
	"}\n"
	/* Each item reads at random. */
	"kernel void random(global ulong *a, ulong words, uint n) {\n"
	"  ulong x = get_global_id(0) * 2654435769UL + 1, sum = 0;\n"
	"  for (uint i = 0; i < n * 16; i++) {\n"
	"    x = x * 6364136223846793005UL + 1442695040888963407UL;\n"
	"    sum += a[(x >> 33) % words];\n"
	"  }\n"
	"  a[get_global_id(0)] = sum | 1;\n"
	"}\n";

static const char *const kernels[] = {"compute", "stream", "random"};

enum { KEY_KERNEL = 'k', KEY_MIB = 'm', KEY_WORK = 'w', KEY_COUNT = 'c' };

struct options {
	const char *kernel;
	int64_t mib, work;
	bool count;
};

static const struct argp_option option_list[] = {
	{"kernel", KEY_KERNEL, "NAME", 0, "compute (default), stream or random", 0},
	{"mib", KEY_MIB, "M", 0, "memory that is read (default 64)", 0},
	{"work", KEY_WORK, "N", 0, "how much is done (default 16)", 0},
	{"count", KEY_COUNT, NULL, 0, "print how many units the device has, and end", 0},
	{0},
};

static error_t parse(int key, char *arg, struct argp_state *state)
{
	struct options *o = state->input;

	switch (key) {
	case KEY_KERNEL:
		for (size_t i = 0; i < sizeof(kernels) / sizeof(kernels[0]); i++)
			if (!strcmp(arg, kernels[i])) {
				o->kernel = kernels[i];
				return 0;
			}
		argp_error(state, "--kernel=%s: give compute, stream or random", arg);
		return 0;
	case KEY_MIB:
		o->mib = workload_number(state, "mib", arg, 1, 1 << 20);
		return 0;
	case KEY_WORK:
		o->work = workload_number(state, "work", arg, 1, 1 << 20);
		return 0;
	case KEY_COUNT:
		o->count = true;
		return 0;
	default:
		return ARGP_ERR_UNKNOWN;
	}
}

static void check(cl_int rc, const char *what)
{
	if (rc)
		error(EXIT_FAILURE, 0, "%s: OpenCL error %d", what, rc);
}

static cl_device_id first_device(void)
{
	cl_platform_id platform;
	cl_device_id device;
	cl_uint n = 0;

	if (clGetPlatformIDs(1, &platform, &n) || !n)
		error(EXIT_FAILURE, 0, "no OpenCL platform is installed");
	check(clGetDeviceIDs(platform, CL_DEVICE_TYPE_ALL, 1, &device, NULL), "devices");
	return device;
}

/* As many units as the environment says; all where it says nothing. */
static cl_device_id capped(cl_device_id device)
{
	const char *text = getenv(VARIABLE);
	cl_device_partition_property by[] = {
		CL_DEVICE_PARTITION_BY_COUNTS, 0, CL_DEVICE_PARTITION_BY_COUNTS_LIST_END, 0};
	cl_device_id part;
	cl_uint units;
	int64_t n;
	struct errmsg err;

	check(clGetDeviceInfo(device, CL_DEVICE_MAX_COMPUTE_UNITS, sizeof(units), &units, NULL),
		"units");
	if (!text)
		return device;
	if (units_parse_int(text, 1, units, &n, &err))
		error(EXIT_FAILURE, 0, "%s: %s", VARIABLE, err.text);
	if (n == units)
		return device;
	by[1] = (cl_device_partition_property)n;
	check(clCreateSubDevices(device, by, 1, &part, NULL), "a part of the device");
	return part;
}

int main(int argc, char **argv)
{
	struct options o = {.kernel = kernels[0], .mib = 64, .work = 16};
	const struct argp argp = {
		.options = option_list,
		.parser = parse,
		.doc = "Runs a kernel on as many compute units of the first OpenCL device as " VARIABLE
		       " says, and prints nothing.\v"
		       "  poppa gpu sweep --by " VARIABLE
		       " --units 1,2 -- contrib/workloads/device_units --kernel stream",
	};
	const char *text = source;
	size_t items = GROUP * GROUPS, group = GROUP, bytes;
	cl_device_id device;
	cl_context context;
	cl_command_queue queue;
	cl_program program;
	cl_kernel kernel;
	cl_mem memory;
	cl_ulong words;
	cl_uint n, units;
	cl_int rc;
	uint64_t fill = 1;

	argp_parse(&argp, argc, argv, 0, NULL, &o);
	device = first_device();
	if (o.count) {
		check(clGetDeviceInfo(
			      device, CL_DEVICE_MAX_COMPUTE_UNITS, sizeof(units), &units, NULL),
			"units");
		printf("%u\n", units);
		return 0;
	}
	device = capped(device);
	context = clCreateContext(NULL, 1, &device, NULL, NULL, &rc);
	check(rc, "context");
	queue = clCreateCommandQueue(context, device, 0, &rc);
	check(rc, "queue");
	program = clCreateProgramWithSource(context, 1, &text, NULL, &rc);
	check(rc, "program");
	check(clBuildProgram(program, 1, &device, NULL, NULL, NULL), "compiler");
	kernel = clCreateKernel(program, o.kernel, &rc);
	check(rc, "kernel");
	bytes = (size_t)o.mib << 20;
	memory = clCreateBuffer(context, CL_MEM_READ_WRITE, bytes, NULL, &rc);
	check(rc, "memory");
	check(clEnqueueFillBuffer(queue, memory, &fill, sizeof(fill), 0, bytes, 0, NULL, NULL),
		"memory");
	words = bytes / sizeof(fill);
	n = (cl_uint)o.work;
	check(clSetKernelArg(kernel, 0, sizeof(memory), &memory), "arguments");
	check(clSetKernelArg(kernel, 1, sizeof(words), &words), "arguments");
	check(clSetKernelArg(kernel, 2, sizeof(n), &n), "arguments");
	for (int i = 0; i < 16; i++)
		check(clEnqueueNDRangeKernel(queue, kernel, 1, NULL, &items, &group, 0, NULL, NULL),
			o.kernel);
	check(clFinish(queue), o.kernel);
	clReleaseMemObject(memory);
	clReleaseKernel(kernel);
	clReleaseProgram(program);
	clReleaseCommandQueue(queue);
	clReleaseContext(context);
	return 0;
}
