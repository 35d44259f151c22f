/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Marks the tasks of co-located jobs, and lets MPI programs among them publish their progress. */
#include "on_node.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/nodeconf.h"
#include "gpu/gpu_amd.h"
#include "preload/offer.h"
#include "registration/registration.h"

#define HEARTBEAT_LIBRARY POPPA_LIBDIR "/libpoppa-heartbeat-mpi.so"
#define PATH_ROOM 16384 /* of the user's PATH or LD_PRELOAD: a longer one is left alone */

/* Set before the tasks are forked, and only read by these. */
static enum preload_use use;
static bool colocated;

void on_node_arguments(int count, char **arguments)
{
	struct errmsg err = {""};

	if (preload_read_arguments(count, arguments, &use, &err) && spank_context() == S_CTX_SLURMD)
		slurm_error(
			"spank_colocate.so in plugstack.conf: %s; it works as without", err.text);
}

/* slurmstepd is not told the job's SPANK environment. What the prolog has registered says the same,
 * and no user can write there. Returns 0, or -1 with err. */
static int find_job(uint32_t job, struct registration *r, struct errmsg *err)
{
	const char *node = getenv("SLURMD_NODENAME");
	char path[PATH_MAX], dir[PATH_MAX + sizeof("/" REGISTRATION_DIR)], host[256];
	struct nodeconf *nc = malloc(sizeof(*nc));
	int rc = nc ? nodeconf_load(nodeconf_path(path, sizeof(path)), nc, err)
		    : errmsg_set(err, "out of memory");

	if (!rc) {
		nodeconf_expand(nc->run_dir, node ? node : nodeconf_host(host, sizeof(host)), path,
			sizeof(path));
		snprintf(dir, sizeof(dir), "%s/" REGISTRATION_DIR, path);
		rc = registration_find(dir, job, r, err);
	}
	free(nc);
	return rc;
}

/* What CUDA's MPS and AMD's runtime read when a program starts. */
static void share_gpu(spank_t sp, const char *request)
{
	struct errmsg ignored;
	struct colocate wish;
	char value[4096];

	if (colocate_parse(request, &wish, &ignored) || wish.sm_percent <= 0)
		return;
	snprintf(value, sizeof(value), "%d", wish.sm_percent);
	spank_setenv(sp, "CUDA_MPS_ACTIVE_THREAD_PERCENTAGE", value, 1);
	if (!gpu_amd_mask(GPU_AMD_TOPOLOGY, wish.sm_percent, value, sizeof(value)))
		spank_setenv(sp, "HSA_CU_MASK", value, 1);
}

void on_node_step(spank_t sp)
{
	struct registration *r = malloc(sizeof(*r));
	char mark[COLOCATE_TEXT_MAX];
	struct errmsg err = {""};
	uint32_t job = 0;

	if (!r || spank_get_item(sp, S_JOB_ID, &job)) {
		free(r);
		return;
	}
	colocated = !find_job(job, r, &err);
	if (colocated) {
		spank_setenv(sp, JOB_MARK, r->colocate, 1);
		share_gpu(sp, r->colocate);
	} else {
		slurm_debug("spank_colocate.so: job %u is taken for one that is not co-located: %s",
			job, err.text);
	}
	/* sbatch passes on that the job must not be co-located, and scripts look for any mark. */
	if (!colocated && !spank_getenv(sp, JOB_MARK, mark, sizeof(mark)) &&
		!strcmp(mark, COLOCATE_NO))
		spank_unsetenv(sp, JOB_MARK);
	free(r);
}

/* A user's variable, or "" where there is none. Returns -1 where it is too long. */
static int user_variable(spank_t sp, const char *name, char *buf, int size)
{
	spank_err_t rc = spank_getenv(sp, name, buf, size);

	if (rc == ESPANK_SUCCESS)
		return 0;
	buf[0] = '\0';
	return rc == ESPANK_ENV_NOEXIST ? 0 : -1;
}

static enum program_kind kind_of_task(spank_t sp, const char *path)
{
	char file[PATH_MAX], **argv = NULL;
	int argc = 0;

	if (spank_get_item(sp, S_JOB_ARGV, &argc, &argv) || argc < 1 || !argv || !argv[0] ||
		program_find(argv[0], path, file, sizeof(file)))
		return PROGRAM_UNKNOWN;
	return program_kind(file);
}

void on_node_task(spank_t sp)
{
	static char before[PATH_ROOM], after[PATH_ROOM];
	char wish[8];

	if (!colocated || use == PRELOAD_OFF || access(HEARTBEAT_LIBRARY, R_OK))
		return;
	if (!user_variable(sp, "POPPA_HEARTBEAT_MPI", wish, sizeof(wish)) && !strcmp(wish, "no"))
		return;
	/* The memory serves for PATH first. */
	if (user_variable(sp, "PATH", before, sizeof(before)) ||
		!preload_suits(use, kind_of_task(sp, before)))
		return;
	if (!user_variable(sp, "LD_PRELOAD", before, sizeof(before)) &&
		preload_add(before, HEARTBEAT_LIBRARY, after, sizeof(after)))
		spank_setenv(sp, "LD_PRELOAD", after, 1);
}
