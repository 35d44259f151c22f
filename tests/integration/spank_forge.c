/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Test helper: a user's own SPANK plugin that puts any text where --colocate puts its own, and a
 * seed and whose wish it was where the submit policy does. */
#include <stdlib.h>

#include "slurm/spank.h"

SPANK_PLUGIN(forge, 1)

int slurm_spank_init_post_opt(spank_t sp, int ac, char **av)
{
	const char *text = getenv("FORGED_COLOCATE"), *seed = getenv("FORGED_SEED");
	const char *by = getenv("FORGED_BY");
	spank_context_t context = spank_context();

	(void)ac;
	(void)av;
	if (!text || (context != S_CTX_LOCAL && context != S_CTX_ALLOCATOR))
		return ESPANK_SUCCESS;
	if (seed)
		spank_job_control_setenv(sp, "COLOCATE_SEED", seed, 1);
	if (by)
		spank_job_control_setenv(sp, "COLOCATE_BY", by, 1);
	return spank_job_control_setenv(sp, "COLOCATE", text, 1);
}
