/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The --colocate option: its grammar, its canonical text and its help. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/errmsg.h"
#include "common/settings.h"

/* The variable in the job's SPANK environment that tells what the job asked for. */
#define COLOCATE_ENV "COLOCATE"
/* A second one, from the submit policy: 32 hexadecimal digits that the job's user never learns. All
 * nodes of the job compute from them when to measure it. */
#define COLOCATE_SEED_ENV "COLOCATE_SEED"
/* A third one, from the submit policy as well: who wanted the job to be co-located, where that was
 * not its user. */
#define COLOCATE_BY_ENV "COLOCATE_BY"
/* Its value where the site did (stripe_default); SystemComment shows it as a word. */
#define COLOCATE_BY_SITE "by-site"
/* The canonical text of a job that its user does not want to be co-located. */
#define COLOCATE_NO "no"
/* Tag of the part of SystemComment that shows the option (common/tags.h). */
#define COLOCATE_TAG "colocate"
/* Follows the option there, with a time, while the job waits for a better partner. */
#define COLOCATE_WAITS "waits-for-partner-until="
/* The same with a job's number, while it would put that job's start off (plugins/select_stripe). */
#define COLOCATE_BEHIND "waits-for-start-of="
/* Follow it there, as words, where the job's lanes are whole sockets, and where those of some of
 * its nodes are and of others are not; see colocate_shape_shown(). */
#define COLOCATE_SOCKETS "shape=socket"
#define COLOCATE_MIXED "shape=both"
/* Follows it there, as a word, while the job is beside partners of which the history does not know
 * whether they suit its max-degradation. */
#define COLOCATE_PROBATION "probation"

#define COLOCATE_TEXT_MAX 1024 /* bytes of a canonical text with its terminator */
#define COLOCATE_NAME_MAX 128  /* bytes of a job name, decoded */
#define COLOCATE_NAMES_MAX 16  /* how many not: */
#define COLOCATE_SM_AUTO (-1)
#define COLOCATE_CLASS_MAX 64 /* bytes of a class name */

/* What the user asked for; all zero is the plain form, "stripe". */
struct colocate {
	bool help;   /* explain and do not submit */
	bool no;     /* not co-located, whatever the site's default */
	bool spread; /* one lane of each node, the other lanes idle */
	bool shaped; /* it asks for lanes of `shape`; false: any will do */
	enum stripe_shape shape;
	uint32_t with;                           /* the only acceptable partner's job id; 0 = any */
	double max_degradation;                  /* fraction; 0 = no limit */
	char class_name[COLOCATE_CLASS_MAX + 1]; /* kind of job in the pair history; "" = default */
	int sm_percent; /* of a graphics processor's units; 0 = all, COLOCATE_SM_AUTO = as its class
			   was found to need */
	bool map;       /* map:auto: poppad moves its threads within its own cores */
	int not_count;
	char not_name[COLOCATE_NAMES_MAX][COLOCATE_NAME_MAX + 1]; /* decoded, sorted, distinct */
};

/*
 * Reads KEY[:VALUE][,...]; NULL, "" and "stripe" are the plain form. In a job name every printable
 * character but "," ";" and "%" stands for itself, and %XX is the byte with that hexadecimal code.
 * Returns 0, or -1 with *c untouched and a message without the option's name.
 */
int colocate_parse(const char *text, struct colocate *c, struct errmsg *err);

/*
 * The one text for this request: fixed order of keys, names sorted, every byte of a name other than
 * letters, digits and "._+-@:/=" as %XX, so that it is safe in an environment variable, a comment
 * and a Name=Value file. Returns buf, of COLOCATE_TEXT_MAX bytes. What colocate_parse() accepted
 * always fits, and parses to the same request.
 */
char *colocate_format(const struct colocate *c, char *buf);

/* Finds the variable NAME, with or without a value, in an environment: returns 1, and where it is
 * in *at; 0 without it; -1 where it is there more than once, and the first of them in *at. */
int colocate_find_env(char **env, uint32_t count, const char *name, uint32_t *at);

/* The value of the variable NAME in an environment, or NULL. An entry without a value is passed
 * over: a user may have put it before the one that counts. */
const char *colocate_env(char **env, uint32_t count, const char *name);

/* What a job asks for, by its SPANK environment; NULL: it is not co-located. */
const char *colocate_request(char **env, uint32_t count);

/* Whether the site co-located the job, whose user had not said anything. */
bool colocate_by_site(char **env, uint32_t count);

/* The shape of a job's lanes by what its SystemComment shows of the option: "stripe", "socket", or
 * "both" where its nodes differ. */
const char *colocate_shape_shown(const char *shown);

/* The key by which the request can keep every partner off ("spread", "with:", "max-degradation:"),
 * or NULL. A job that uses it may have nodes to itself at the price of one lane of each. */
const char *colocate_keeps_off(const struct colocate *c);

/* Whether the request names this job as one that it does not want as a partner. */
bool colocate_excludes(const struct colocate *c, const char *job_name);

/* What --colocate=help prints. */
const char *colocate_help(void);
