/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The suite's cluster-wide settings, carried by PrEpParameters in slurm.conf. */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "common/counter_backends.h"
#include "common/errmsg.h"

enum pause_method { PAUSE_AUTO, PAUSE_SIGSTOP, PAUSE_FREEZER };
/* The last one is for comparison, in poppa estimate only: no price is made by it. */
enum estimate_method { ESTIMATE_ROBUST, ESTIMATE_THESIS, ESTIMATE_UNFILTERED };
/* Which partners may share a job's nodes, by their numbers of nodes. */
enum stripe_match { MATCH_ANY, MATCH_EXACT, MATCH_WITHIN };
/* Which jobs run in turn. */
enum turns_use { TURNS_NO, TURNS_LIMITS, TURNS_YES };
enum stripe_classes { CLASSES_OWN, CLASSES_SHARED };
/* What a co-located job's time limit counts: its progress, as if alone, or time. */
enum stripe_timelimit { TIMELIMIT_PROGRESS, TIMELIMIT_WALL };
/* Whose losses count in the choice of partners: everybody's alike, or those of users more who have
 * lost more already. */
enum stripe_policy { POLICY_PERF, POLICY_FAIR };
/* How lanes share a node's cores out: every L-th core of each socket, or whole sockets. */
enum stripe_shape { SHAPE_STRIPE, SHAPE_SOCKET };
#define STRIPE_SHAPES 2
/* An extension is at most so many times the limit that was asked for. */
#define TIME_LIMIT_MOST_TIMES 5

/* Something else for nodes of one size: another number of lanes, or lanes of another shape. */
struct stripe_rule {
	int sockets, cores; /* of a socket */
	int value;          /* lanes, or an enum stripe_shape */
};
#define STRIPE_RULES_MAX 16

struct stripe_rules {
	struct stripe_rule rule[STRIPE_RULES_MAX];
	int count;
};

/* poppa_long=auto: as long as caches need, LONG_AUTO_NS at most. */
#define LONG_AUTO (-1)
#define LONG_AUTO_NS (256 * INT64_C(1000000))

struct poppa_settings {
	/* poppa_period: P, time between two blocks, at random up to three quarters of it more or
	 * less; 0 = no shutters */
	int64_t period_ns;
	int64_t shutter_ns; /* poppa_shutter: length of one region (before, during, after) */
	int windows;        /* poppa_windows: K, windows in a region */
	/* poppa_long: how long a long block goes on; LONG_AUTO, or 0 = there are none */
	int64_t long_ns;
	double long_budget; /* poppa_long_budget: share of a job's time beside others for
			       their long blocks */
	int adaptive;       /* poppa_adaptive, 0 or 1: fewer shutters where an interval is tight */
	/* poppa_overhead_max: share of the jobs' time and of the node's processors that shutters
	 * may cost; 0 = any */
	double overhead_max;
	enum estimate_method method;  /* poppa_method: robust|thesis */
	enum pause_method pause;      /* poppa_pause: auto|sigstop|freezer */
	enum counter_backend counter; /* poppa_counter: counter_backends.h */
	enum turns_use turns; /* poppa_turns: no|limits|yes; limits: for max-degradation alone */
	int64_t turn_ns; /* poppa_turn: for so long one of them runs while the others are held */
	int min_blocks;  /* poppa_min_blocks: fewer usable blocks than this = no data */
	char price[256]; /* poppa_price: the general policy (price_policy.h) */
	/* poppa_price_partition and poppa_price_qos, each NAME:POLICY and as often as needed:
	 * "partition=NAME:POLICY,qos=NAME:POLICY" (price_rules.h). */
	char price_rules[1024];
	char ledger_host[256]; /* poppa_ledger=HOST[:PORT]; empty = first SlurmctldHost */
	int ledger_port;
	int64_t settle_timeout_ns;    /* poppa_settle_timeout: wait for late node records */
	int stripe_lanes;             /* stripe_lanes: L, lanes a socket is split into */
	struct stripe_rules lanes_on; /* stripe_lanes_on=SOCKETSxCORES:LANES, as often as needed */
	/* stripe_shape: stripe|socket, of the lanes of jobs that do not ask for a shape, on nodes
	 * that have no co-located job yet */
	enum stripe_shape stripe_shape;
	struct stripe_rules shape_on; /* stripe_shape_on=SOCKETSxCORES:SHAPE, likewise */
	/* stripe_partition=NAME, as often as needed: "a,b" may have co-located jobs; "" = all. */
	char stripe_partitions[512];
	/* stripe_default=PARTITION|qos:NAME, several with ':' between them and as often as needed:
	 * whose jobs are co-located unless they say no (stripe_default.h); "" = none. */
	char stripe_defaults[512];
	enum stripe_match stripe_match;     /* stripe_match: any|exact|within:PCT */
	double stripe_within;               /* of within: as a fraction of the bigger job */
	enum stripe_classes stripe_classes; /* stripe_classes: own|shared, whose class: is */
	/* stripe_wait: how long a job waits for better lanes where those that are free bring little
	 * or sharing certainly loses; 0 = takes what comes */
	int64_t stripe_wait_ns;
	/* stripe_gain_min: what the jobs of a node must be expected to make together more than one
	 * after the other, as a fraction; below 0: so much less will do */
	double stripe_gain_min;
	/* stripe_victim_max: how much slower than on whole nodes alone a job may be expected to be
	 * beside others, as a fraction; 1 = any */
	double stripe_victim_max;
	/* stripe_cache: bytes of the cache that a process of each job of a node shares, for what
	 * profiles tell; 0 = profiles are not used */
	int64_t stripe_cache;
	int stripe_miss_cycles; /* stripe_miss_cycles: cycles that a miss in that cache adds */
	/* stripe_explore: the share of the lane time of co-located jobs that may go to
	 * exploratory starts beside partners of which little is known, as a fraction; 0 = none */
	double stripe_explore;
	enum stripe_policy stripe_policy;       /* stripe_policy: perf|fair */
	enum stripe_timelimit stripe_timelimit; /* stripe_timelimit: progress|wall */
	int stripe_alone; /* stripe_alone, 0 or 1: jobs may ask for what keeps partners off */
};

void settings_defaults(struct poppa_settings *s);

/*
 * Reads the value of PrEpParameters. Keys that do not begin with "poppa_" or "stripe_" belong to
 * others and are skipped; an unknown key that does is an error. NULL or "" gives the defaults.
 * Returns 0, or -1 with *s untouched and err that names the key, the value and what is allowed.
 * price_rules_parse() takes what this takes.
 */
int settings_parse(const char *prep_parameters, struct poppa_settings *s, struct errmsg *err);

/* Reads only poppa_ledger and takes the defaults otherwise, so that errors in other keys do not
 * matter. Returns 0, or -1 with *s untouched and err that names the key. */
int settings_parse_ledger(
	const char *prep_parameters, struct poppa_settings *s, struct errmsg *err);

/* Writes the canonical text of the settings, for settings_parse(); returns buf, for which
 * SETTINGS_MAX_TEXT is enough. */
#define SETTINGS_MAX_TEXT 16384
char *settings_format(const struct poppa_settings *s, char *buf, size_t size);

/* What a list of rules says of nodes of this size: the last one counts; usual where none does. */
int stripe_rules_find(const struct stripe_rules *rules, int sockets, int cores, int usual);

const char *stripe_shape_name(enum stripe_shape shape);
/* 0, or -1 for an unknown name. */
int stripe_shape_parse(const char *name, enum stripe_shape *shape);

const char *estimate_method_name(enum estimate_method m);
/* 0, or -1 for an unknown name. */
int estimate_method_parse(const char *name, enum estimate_method *m);
