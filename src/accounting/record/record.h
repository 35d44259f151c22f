/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The ledger record: what one node measured about one run of one job. */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <jansson.h>

#include "accounting/record/fields.h"
#include "accounting/record/slow_prior.h"
#include "common/errmsg.h"

/* How far the clocks of a node and the controller may differ, seconds; MUNGE allows as much. */
#define LEDGER_CLOCK_SLACK_S 300

#define RECORD_MAX_PARTNERS 16
/* Size of a program's name with its end; longer ones are cut. */
#define RECORD_PROGRAM 64

/* Why a record has no degradation although it has co-located time and a counter. */
enum record_lack {
	LACK_NOTHING,    /* nothing, or something that this release does not know */
	LACK_BLOCKS,     /* too few blocks */
	LACK_PROGRESS,   /* in most blocks no progress was counted */
	LACK_STEADINESS, /* in most blocks the windows before and after differ too much */
	LACK_STILLNESS,  /* in most shutters a co-runner did not stand still */
	LACK_PRECISION,  /* the interval that all blocks give together is too wide */
	LACK_CORE,       /* no progress, and the tasks waited for a processor */
	LACK_COUNT
};

/*
 * Identity: cluster, job_id, restart, node, start_unix. The content is cumulative: a record
 * replaces one of the same identity with a lower seq, so a record that is sent twice, late or out
 * of order changes nothing. A final record replaces every record that is not final, also one with a
 * higher seq: a poppad that was killed may have sent more than its last checkpoint has. Nothing
 * replaces a final record. start_unix comes from the job's registration on the node and never
 * changes; it tells apart runs with the same job id and restart. Times are nanoseconds. co + solo +
 * paused + turned + unmeasured = wall time of the job on this node.
 *
 * A new field needs a member here and a row of the table in record.c, and nothing else.
 */
struct ledger_record {
	char cluster[64];
	uint32_t job_id;
	uint32_t restart; /* Slurm's restart count: every requeue is a run of its own */
	char node[64];
	uint32_t uid;
	uint64_t seq;
	bool final;         /* the job has left the node; no later record comes */
	int lane;           /* -1 unknown */
	int cores;          /* cores of the job on this node: its weight in the sum over nodes */
	int64_t start_unix; /* seconds since 1970, from the job's registration on the node */
	int64_t end_unix;   /* last update */
	int64_t co_ns;      /* the job ran beside at least one co-runner that ran */
	int64_t solo_ns;    /* the job ran without a co-runner */
	int64_t paused_ns;  /* poppad held the job stopped */
	/* poppad held the job for the turns of its co-runners (measure/turns.h): it lost all of
	 * this time to them, beside what `degradation` says of co_ns. Its own turns are in solo_ns.
	 */
	int64_t turned_ns;
	int64_t unmeasured_ns; /* poppad did not run, or could not measure: no discount */
	uint64_t blocks, used; /* blocks of its shutters, and those that the estimate uses */
	double degradation;    /* over co_ns; NAN = no data */
	double variance;       /* of degradation; NAN = unknown */
	enum record_lack lack; /* why degradation is NAN */
	/* The ends of the 95 % interval that blocks give which are too few or too noisy for a
	 * price; valid where there are some. */
	bool rough_known;
	double rough[2];
	double thesis_degradation; /* by the thesis' algorithm 4, to compare; NAN = no data */
	char method[16];
	char backend[16]; /* counter backend, "none" without a signal */
	bool sensing;     /* the job reacted to shutters: its degradation is worth nothing */
	bool spin;        /* only some tasks suffer, and the others may wait for them in a loop */
	/* The job certainly loses more than its max-degradation, and this node cannot keep it from
	 * that. */
	bool unkept;
	/* The executable file, without its directory, that used most processor time of the job
	 * here, printable; "" = unknown. */
	char program[RECORD_PROGRAM];
	uint32_t culprit; /* the co-runner for which time or blocks were not measured; 0 = none */
	int partner_count;
	uint32_t partner[RECORD_MAX_PARTNERS]; /* jobs that ran beside it on this node */
	/* What each partner caused of the degradation, NAN = unknown; valid where attributed. */
	bool attributed;
	double partner_degradation[RECORD_MAX_PARTNERS];
	/* For how much of co_ns each of these ran beside the job; valid where timed. A record of an
	 * earlier release may be attributed and not timed. */
	bool timed;
	int64_t partner_ns[RECORD_MAX_PARTNERS];
	/* What the job tells of slow refill on nodes of this type (slow_prior.h): how well each
	 * hypothesis explains its long blocks; valid where it had some. */
	char node_type[SLOW_NODE_TYPE]; /* "" = unknown */
	bool slow_known;
	double slow_likelihood[SLOW_HYPOTHESES];
	/* The line that tells the job's cycles per instruction by its last-level cache misses per
	 * instruction here: at no miss, and that each miss adds (thesis, section 2.4.2); valid
	 * where windows lie close to one. By how many blocks it was found. */
	bool miss_known;
	double miss_line[2];
	uint32_t miss_blocks;
};

/* Whether the degradation is known for the co-located time. Without co-located time it is known,
 * unless nobody saw the job run. */
bool record_has_data(const struct ledger_record *r);

/* What the job lost to its co-runners, ns: its degradation of the time beside them, and all of the
 * time for which it was held for their turns. NAN where that is not known. */
double record_lost_ns(const struct ledger_record *r);

/* Fits the times of a record into those of its run, as far as the job was on the node. Unmeasured
 * time gives way first: a node that was down does not know how long. */
void record_clip(struct ledger_record *r, int64_t run_ns);

/* The one list of a record's fields. All forms of a record are made from it. */
extern const struct field_table record_fields;

/* The first returns a new reference, or NULL: out of memory, or a text that is not UTF-8. The
 * second returns 0, or -1 with an err that names the field. NAN is JSON null. */
json_t *record_to_json(const struct ledger_record *r);
int record_from_json(const json_t *json, struct ledger_record *r, struct errmsg *err);
