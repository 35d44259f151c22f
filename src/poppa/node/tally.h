/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What poppad knows about one run of one job on this node, and how it becomes a ledger record. */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <jansson.h>

#include "accounting/record/record.h"
#include "common/settings.h"
#include "poppa/estimate/attribution.h"
#include "poppa/estimate/estimator.h"
#include "poppa/estimate/miss_model.h"
#include "poppa/estimate/sham.h"
#include "poppa/estimate/spin.h"
#include "poppa/node/programs.h"

/* What the job's time counts as at the moment. */
enum tally_mode {
	TALLY_ABSENT, /* not here, or all of its tasks are stopped: no time of the job */
	TALLY_SOLO,   /* it runs without a co-runner */
	TALLY_CO,     /* it runs beside at least one co-runner that runs */
	/* It runs beside one without shutters: they are off, on hold or not possible, or one of the
	 * jobs has no task that poppad sees. */
	TALLY_UNMEASURED,
};

struct tally {
	uint32_t job_id, restart, uid;
	int lane, cores;
	int64_t start_unix;
	enum tally_mode mode;
	int64_t last_ns;    /* CLOCK_MONOTONIC up to which time is counted */
	int64_t mode_ns[4]; /* time in each mode, including the time in which it was held */
	int64_t paused_ns;  /* for how long poppad held the job stopped */
	/* Of the same time, what slices of turns took: held for the turns of others, and its own
	 * turns, in which it ran alone. */
	int64_t turned_ns, own_turns_ns;
	uint64_t seq; /* of the last record made */
	struct estimator *robust, *thesis;
	uint64_t silent;  /* blocks in which most windows counted nothing */
	uint64_t starved; /* those of them in which the job's tasks lacked a processor */
	uint64_t spoilt;  /* blocks that a co-runner made useless; the others are in robust */
	bool blinded;     /* time was not measured because of a co-runner */
	/* The co-runner that did most of either, and by how many more times than all others. */
	uint32_t culprit;
	uint64_t culprit_lead;
	struct sham sham, long_sham; /* long_sham: what long shams show beyond "during" */
	struct attribution attribution;
	struct miss_model misses;
	struct spin *spin;
	struct spin_result spin_result; /* the last result that was not SPIN_UNKNOWN */
	enum counter_backend backend;   /* COUNTER_NONE while no task has a signal */
	struct programs programs;
	int partner_count;
	uint32_t partner[RECORD_MAX_PARTNERS];
};

/* NULL with ENOMEM. Counting begins at now_ns in mode TALLY_ABSENT. prior: as in estimator_new().
 */
struct tally *tally_new(uint32_t job_id, uint32_t restart, uint32_t uid, int64_t start_unix,
	int64_t now_ns, const struct slow_prior *prior);
void tally_free(struct tally *t);

/* Counts the time since the last call as time in the mode so far, and sets the next mode. */
void tally_advance(struct tally *t, int64_t now_ns, enum tally_mode next);

/* Notes a job that ran beside this one. The first RECORD_MAX_PARTNERS are kept. */
void tally_partner(struct tally *t, uint32_t job_id);

/* Adds time of the job that poppad did not see, for example because it was down. */
void tally_unmeasured(struct tally *t, int64_t ns);

/* Notes that a block of the job was of no use because of a co-runner: it ran while it was to stand
 * still, or could not be stopped. */
void tally_spoilt(struct tally *t, uint32_t culprit);
/* Notes that some time was not measured because of a co-runner, which poppad cannot stop. */
void tally_blinded(struct tally *t, uint32_t culprit);

/* Adds a time for which poppad held the job stopped. tally_advance() counts the same time, too;
 * where it counts it as TALLY_UNMEASURED, the time is moved to TALLY_CO. */
void tally_paused(struct tally *t, int64_t ns);
/* Adds what slices of turns took of the job: it was held for the turns of others, and it ran alone
 * in its own ones. tally_advance() counts the same time, as in tally_paused(). */
void tally_turned(struct tally *t, int64_t held_ns, int64_t alone_ns);
/* Adds a block of a shutter in which the job ran alone. Returns whether most windows counted
 * something. */
bool tally_block(struct tally *t, const struct est_block *b);
/* Adds what the same block says of each task, for spin_add(). Only for a kind of progress that
 * waiting can inflate. */
void tally_tasks(struct tally *t, int count, const uint64_t *id, const double *log_ratio);
/* Adds what the same block says of cache misses; no windows where they are not counted. */
void tally_misses(struct tally *t, const struct miss_window *w, int n);
/* Adds a block of a sham: a shutter that stopped nobody. */
void tally_sham(struct tally *t, const struct est_block *b);

/* Whether the job certainly reacts to being measured, so that nothing it shows can be trusted. */
bool tally_senses(const struct tally *t);

/* Co-located time in which the job ran beside others, without the time in which it or they were
 * held stopped. */
int64_t tally_co_ns(const struct tally *t);

/* The result of one method. The degradation is NAN with fewer than min_blocks usable blocks, or too
 * noisy ones. From the robust method's result, what shams show is subtracted. */
void tally_result(
	const struct tally *t, enum estimate_method method, int min_blocks, struct est_result *out);

/* Shares the result of the method in force among the co-runners: attribution_shares(). */
int tally_shares(const struct tally *t, const struct poppa_settings *s,
	struct attribution_share share[RECORD_MAX_PARTNERS]);

/* Fills a record, all but its node type, and gives it the next seq. cluster and node are cut to the
 * record's fields. */
void tally_record(struct tally *t, const struct poppa_settings *s, const char *cluster,
	const char *node, bool final, int64_t now_unix, struct ledger_record *r);

/*
 * Writes the complete state for a checkpoint, and reads it back. boot is proc_boot_id(). The time
 * between the two counts as unmeasured: by the monotonic clock within one boot, else by the wall
 * clock. Both return NULL without memory, tally_load() also where state is no checkpoint.
 */
json_t *tally_save(const struct tally *t, const char *boot, int64_t now_unix);
struct tally *tally_load(const json_t *state, const char *boot, int64_t now_ns, int64_t now_unix);
