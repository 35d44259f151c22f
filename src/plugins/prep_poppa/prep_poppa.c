/* SPDX-License-Identifier: GPL-2.0-or-later */
/* PrEp plugin: registers co-located jobs on their nodes and settles them on the controller. */
#include "plugins/compat/slurm_compat.h"

#include "plugins/compat/prep_compat.h"

#include "node_side.h"
#include "settler.h"

const char plugin_name[] = "Registers co-located jobs for poppad and settles their price";
const char plugin_type[] = "prep/poppa";
const uint32_t plugin_version = SLURM_VERSION_NUMBER;

/* What Slurm looks up by name. */
int init(void);
void fini(void);
void prep_p_register_callbacks(prep_callbacks_t *callbacks);
int prep_p_prolog(job_env_t *job_env, slurm_cred_t *cred);
int prep_p_epilog(job_env_t *job_env, slurm_cred_t *cred);
int prep_p_prolog_slurmctld(job_record_t *job_ptr, bool *async);
int prep_p_epilog_slurmctld(job_record_t *job_ptr, bool *async);
void prep_p_required(prep_call_type_t type, bool *required);

/* Neither side keeps a daemon from starting: it logs what is wrong, and jobs run unmeasured. */
int init(void)
{
	if (running_in_slurmd())
		node_side_start();
	else if (running_in_slurmctld())
		settler_start();
	return SLURM_SUCCESS;
}

void fini(void)
{
	if (running_in_slurmd())
		node_side_stop();
	else if (running_in_slurmctld())
		settler_stop();
}

/* Nothing here runs past its call, so there is nothing to call back. */
void prep_p_register_callbacks(prep_callbacks_t *callbacks)
{
	(void)callbacks;
}

int prep_p_prolog(job_env_t *job_env, slurm_cred_t *cred)
{
	node_side_register(job_env, cred);
	return SLURM_SUCCESS;
}

int prep_p_epilog(job_env_t *job_env, slurm_cred_t *cred)
{
	(void)cred;
	node_side_end(job_env);
	return SLURM_SUCCESS;
}

int prep_p_prolog_slurmctld(job_record_t *job_ptr, bool *async)
{
	(void)job_ptr;
	*async = false;
	return SLURM_SUCCESS;
}

/* The job is not held: the settler waits for its records by itself. */
int prep_p_epilog_slurmctld(job_record_t *job_ptr, bool *async)
{
	settler_queue(job_ptr);
	*async = false;
	return SLURM_SUCCESS;
}

void prep_p_required(prep_call_type_t type, bool *required)
{
	*required = (running_in_slurmd() && (type == PREP_PROLOG || type == PREP_EPILOG)) ||
		    (running_in_slurmctld() && type == PREP_EPILOG_SLURMCTLD);
}
