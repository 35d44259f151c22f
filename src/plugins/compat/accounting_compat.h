/* SPDX-License-Identifier: GPL-2.0-or-later */
/* slurmctld's interface to slurmdbd in each Slurm release. */
#pragma once

#include "plugins/compat/slurm_compat.h"

#include "src/common/assoc_mgr.h"

#if SLURM_VERSION_NUMBER < SLURM_VERSION_NUM(23, 2, 0)
#include "src/common/slurm_accounting_storage.h"
#else
#include "src/interfaces/accounting_storage.h"
#endif

/*
 * Whether slurmdbd takes the TRES of a job that has ended as a modification, and then rolls its
 * usage up again from the start (25.11). Before, a second completion must carry them. A completion
 * that matches no row changes nothing before 25.11; since then it adds a row, unless slurmdbd has
 * one with the same job id and time of submission.
 */
#define COMPAT_MODIFY_TRES (SLURM_VERSION_NUMBER >= SLURM_VERSION_NUM(25, 11, 0))

/*
 * Unlocks all but the association manager's lock on files, without which no release saves its usage
 * (dump_assoc_mgr_state()); assoc_mgr_unlock() with the same locks unlocks that. A Slurm that was
 * configured with --enable-developer aborts where a thread does not unlock all at once: there, all
 * stay locked until then.
 */
static inline void compat_unlock_but_file(assoc_mgr_lock_t *locks)
{
#ifdef NDEBUG
	assoc_mgr_lock_t file = {.file = locks->file};

	locks->file = NO_LOCK;
	assoc_mgr_unlock(locks);
	*locks = file;
#else
	(void)locks;
#endif
}

/*
 * Whether slurmctld, when it ends or is reconfigured, closes its connection to slurmdbd and unloads
 * Slurm's plugin for that before it has waited for anybody (25.05.8, 25.11.5 and 25.11.6). Slurm's
 * own threads that are in the plugin then crash: tests/release/reconfigure. From 25.11.7 on the
 * connection is closed as early, but the plugin stays, and answers that there is none.
 */
#define COMPAT_UNLOADS_EARLY                                                                       \
	((SLURM_VERSION_NUMBER >= SLURM_VERSION_NUM(25, 5, 8) &&                                   \
		 SLURM_VERSION_NUMBER < SLURM_VERSION_NUM(25, 11, 0)) ||                           \
		(SLURM_VERSION_NUMBER >= SLURM_VERSION_NUM(25, 11, 5) &&                           \
			SLURM_VERSION_NUMBER < SLURM_VERSION_NUM(25, 11, 7)))

/*
 * Where slurmctld unloads early: keeps it from that for a moment, since the thread that would do it
 * takes this lock first and holds no other one that we take. False where it is past that. What is
 * left is the moment between that thread's last look at the lock and its look at the time.
 */
static inline bool compat_lock_end(void)
{
#if COMPAT_UNLOADS_EARLY
	slurm_mutex_lock(&slurmctld_config.shutdown_lock);
	if (!slurmctld_config.shutdown_time)
		return true;
	slurm_mutex_unlock(&slurmctld_config.shutdown_lock);
	return false;
#else
	return true;
#endif
}

static inline void compat_unlock_end(void)
{
#if COMPAT_UNLOADS_EARLY
	slurm_mutex_unlock(&slurmctld_config.shutdown_lock);
#endif
}

/* The index of slurmdbd's row of the job's run; 0: slurmdbd has not told it yet. Since 24.11 the
 * uppermost of its 64 bits are the cluster's number. */
static inline uint64_t compat_db_index(const job_record_t *job)
{
	return job->db_index == NO_VAL64 ? 0 : job->db_index;
}

/*
 * Whether a row that shows this start can be that of a size which began at `size`, of a run that
 * began at `run`. slurmdbd 22.05 shows the run's start, and counts from there, where "scontrol
 * update" has resized a job; so do rows that it wrote before an upgrade.
 */
static inline bool compat_is_start_of_size(time_t shown, time_t size, time_t run)
{
	return shown == size || shown == run;
}
