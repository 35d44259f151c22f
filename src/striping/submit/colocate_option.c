/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Parses and formats the --colocate option. */
#include "striping/submit/colocate_option.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/units.h"

#define INPUT_MAX 4096
#define MIN_PERCENT 0.01
#define MAX_JOB_ID INT64_C(0xfffffffd)
#define KEYS                                                                                       \
	"stripe, spread, shape:stripe|socket, with:JOBID, not:JOBNAME, max-degradation:PERCENT, class:NAME, sm:PERCENT|auto, map:auto, no and help"
#define PLAIN "._+-@:/="

static bool is_alnum(char c)
{
	return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9');
}

static int hex_digit(char c)
{
	if (c >= '0' && c <= '9')
		return c - '0';
	if (c >= 'a' && c <= 'f')
		return c - 'a' + 10;
	if (c >= 'A' && c <= 'F')
		return c - 'A' + 10;
	return -1;
}

/* Undoes %XX; out has COLOCATE_NAME_MAX + 1 bytes. */
static int decode_name(const char *value, char *out, struct errmsg *err)
{
	size_t n = 0;

	for (const char *p = value; *p; p++) {
		unsigned char byte = (unsigned char)*p;

		if (byte == '%') {
			int high = hex_digit(p[1]), low = high < 0 ? -1 : hex_digit(p[2]);

			if (low < 0 || (high | low) == 0)
				return errmsg_set(err,
					"\"%.140s\" has a \"%%\" without the two hexadecimal "
					"digits of a character: write %%25 for \"%%\" itself",
					value);
			byte = (unsigned char)(high << 4 | low);
			p += 2;
		} else if (byte == ';') {
			return errmsg_set(err, "a job name holds \";\": write it as %%3B");
		}
		if (n == COLOCATE_NAME_MAX)
			return errmsg_set(err, "the job name in not: is longer than %d bytes",
				COLOCATE_NAME_MAX);
		out[n++] = (char)byte;
	}
	out[n] = '\0';
	return 0;
}

static int add_name(struct colocate *c, const char *value, struct errmsg *err)
{
	char name[COLOCATE_NAME_MAX + 1];
	int at;

	if (decode_name(value, name, err))
		return -1;
	for (at = 0; at < c->not_count; at++) {
		int order = strcmp(name, c->not_name[at]);

		if (!order)
			return 0;
		if (order < 0)
			break;
	}
	if (c->not_count == COLOCATE_NAMES_MAX)
		return errmsg_set(err, "more than %d job names in not:", COLOCATE_NAMES_MAX);
	memmove(c->not_name[at + 1], c->not_name[at],
		(size_t)(c->not_count - at) * sizeof(c->not_name[0]));
	strcpy(c->not_name[at], name);
	c->not_count++;
	return 0;
}

static int set_with(struct colocate *c, const char *value, struct errmsg *err)
{
	struct errmsg why = {""};
	int64_t id;

	if (c->with)
		return errmsg_set(err, "with: is given twice; a job has one partner on a node");
	if (units_parse_int(value, 1, MAX_JOB_ID, &id, &why))
		return errmsg_set(err,
			"with:%.40s is not a job id: write with:JOBID, as in with:1234", value);
	c->with = (uint32_t)id;
	return 0;
}

static int set_max(struct colocate *c, const char *value, struct errmsg *err)
{
	struct errmsg why = {""};
	double fraction;

	if (c->max_degradation > 0)
		return errmsg_set(err, "max-degradation: is given twice");
	if (units_parse_percent(value, &fraction, &why) || fraction * 100 < MIN_PERCENT)
		return errmsg_set(err,
			"max-degradation:%.40s is not a percentage from %g to 100: write, for "
			"example, max-degradation:20",
			value, MIN_PERCENT);
	c->max_degradation = fraction;
	return 0;
}

static int set_class(struct colocate *c, const char *value, struct errmsg *err)
{
	size_t len = strlen(value);

	if (*c->class_name)
		return errmsg_set(err, "class: is given twice");
	for (const char *p = value; *p; p++)
		if (!is_alnum(*p) && !strchr("._-", *p))
			return errmsg_set(err,
				"class:%.140s may hold letters, digits, \".\", \"_\" and \"-\" "
				"only",
				value);
	if (len > COLOCATE_CLASS_MAX)
		return errmsg_set(
			err, "the name in class: is longer than %d bytes", COLOCATE_CLASS_MAX);
	strcpy(c->class_name, value);
	return 0;
}

static int set_sm(struct colocate *c, const char *value, struct errmsg *err)
{
	struct errmsg why = {""};
	int64_t percent = COLOCATE_SM_AUTO;

	if (c->sm_percent)
		return errmsg_set(err, "sm: is given twice");
	if (strcmp(value, "auto") && units_parse_int(value, 1, 100, &percent, &why))
		return errmsg_set(err,
			"sm:%.40s is neither a whole percentage from 1 to 100 nor auto: write, for "
			"example, sm:50",
			value);
	c->sm_percent = (int)percent;
	return 0;
}

static int set_map(struct colocate *c, const char *value, struct errmsg *err)
{
	if (c->map)
		return errmsg_set(err, "map: is given twice");
	if (strcmp(value, "auto"))
		return errmsg_set(err, "map:%.40s is unknown: write map:auto", value);
	c->map = true;
	return 0;
}

static int set_shape(struct colocate *c, const char *value, struct errmsg *err)
{
	if (c->shaped)
		return errmsg_set(err, "shape: is given twice");
	if (stripe_shape_parse(value, &c->shape))
		return errmsg_set(
			err, "shape:%.40s is unknown: choose shape:stripe or shape:socket", value);
	c->shaped = true;
	return 0;
}

static int set_flag(bool *flag, const char *key, const char *value, struct errmsg *err)
{
	if (value)
		return errmsg_set(err, "%s takes no value", key);
	*flag = true;
	return 0;
}

static int set_key(
	struct colocate *c, bool *stripe, const char *key, const char *value, struct errmsg *err)
{
	static const struct {
		const char *key;
		int (*set)(struct colocate *c, const char *value, struct errmsg *err);
		const char *example;
	} valued[] = {
		{"shape", set_shape, "shape:socket"},
		{"with", set_with, "with:1234"},
		{"not", add_name, "not:my-other-job"},
		{"max-degradation", set_max, "max-degradation:20"},
		{"class", set_class, "class:weather"},
		{"sm", set_sm, "sm:50"},
		{"map", set_map, "map:auto"},
	};

	if (!strcmp(key, "stripe"))
		return set_flag(stripe, key, value, err);
	if (!strcmp(key, "spread"))
		return set_flag(&c->spread, key, value, err);
	if (!strcmp(key, "help"))
		return set_flag(&c->help, key, value, err);
	if (!strcmp(key, "no"))
		return set_flag(&c->no, key, value, err);
	for (size_t i = 0; i < sizeof(valued) / sizeof(valued[0]); i++) {
		if (strcmp(key, valued[i].key))
			continue;
		if (!value || !*value)
			return errmsg_set(
				err, "%s needs a value, as in %s", key, valued[i].example);
		return valued[i].set(c, value, err);
	}
	return errmsg_set(err, "unknown key \"%.60s\"; the keys are " KEYS, key);
}

static int check_conflicts(const struct colocate *c, bool stripe, struct errmsg *err)
{
	const char *other = stripe         ? "stripe"
			    : c->with      ? "with:"
			    : c->not_count ? "not:"
					   : "max-degradation:";

	if (c->no && (stripe || c->spread || c->shaped || c->with || c->not_count ||
			     c->max_degradation > 0 || *c->class_name || c->sm_percent || c->map))
		return errmsg_set(err,
			"no and %s exclude each other: a job with no is not "
			"co-located",
			c->spread        ? "spread"
			: c->shaped      ? "shape:"
			: *c->class_name ? "class:"
			: c->sm_percent  ? "sm:"
			: c->map         ? "map:"
					 : other);
	if (c->sm_percent == COLOCATE_SM_AUTO && !*c->class_name)
		return errmsg_set(err,
			"sm:auto needs class:NAME, the name under which \"poppa gpu sweep --class NAME\" has "
			"kept what its jobs need");
	if (stripe && c->shaped && c->shape != SHAPE_STRIPE)
		return errmsg_set(err,
			"stripe and shape:%s exclude each other: leave one of the two out",
			stripe_shape_name(c->shape));
	if (c->spread && (stripe || c->with || c->not_count || c->max_degradation > 0))
		return errmsg_set(err,
			"spread and %s exclude each other: a spread job never has a partner",
			other);
	return 0;
}

/* Cuts blanks off both ends in place. */
static char *trim(char *s)
{
	char *end;

	while (*s == ' ' || *s == '\t')
		s++;
	end = s + strlen(s);
	while (end > s && (end[-1] == ' ' || end[-1] == '\t'))
		*--end = '\0';
	return s;
}

static char *append_name(char *at, const char *name)
{
	for (; *name; name++) {
		if (is_alnum(*name) || strchr(PLAIN, *name))
			*at++ = *name;
		else
			at += sprintf(at, "%%%02X", (unsigned char)*name);
	}
	return at;
}

/* Writes the canonical text into buf and returns its length; a buf of NEEDED_MAX always holds it.
 */
#define NEEDED_MAX (COLOCATE_NAMES_MAX * (COLOCATE_NAME_MAX * 3 + 5) + 256)

static size_t format(const struct colocate *c, char *buf)
{
	char *at = buf;

	if (c->no)
		at += sprintf(at, "no,");
	if (c->spread)
		at += sprintf(at, "spread,");
	if (c->shaped)
		at += sprintf(at, "shape:%s,", stripe_shape_name(c->shape));
	if (c->with)
		at += sprintf(at, "with:%u,", c->with);
	for (int i = 0; i < c->not_count; i++) {
		at += sprintf(at, "not:");
		at = append_name(at, c->not_name[i]);
		*at++ = ',';
	}
	if (c->max_degradation > 0)
		at += sprintf(at, "max-degradation:%.6g,", c->max_degradation * 100);
	if (*c->class_name)
		at += sprintf(at, "class:%s,", c->class_name);
	if (c->sm_percent == COLOCATE_SM_AUTO)
		at += sprintf(at, "sm:auto,");
	else if (c->sm_percent)
		at += sprintf(at, "sm:%d,", c->sm_percent);
	if (c->map)
		at += sprintf(at, "map:auto,");
	if (at == buf)
		at += sprintf(at, "stripe,");
	*--at = '\0';
	return (size_t)(at - buf);
}

int colocate_parse(const char *text, struct colocate *c, struct errmsg *err)
{
	char copy[INPUT_MAX], canonical[NEEDED_MAX], *save = NULL;
	struct colocate next;
	bool stripe = false;

	if (!text)
		text = "";
	for (const char *p = text; *p; p++)
		if ((unsigned char)*p < ' ' || *p == 0x7f)
			return errmsg_set(err,
				"the value holds the control character 0x%02x: in a job name write "
				"it as %%%02X",
				(unsigned char)*p, (unsigned char)*p);
	if (strlen(text) >= sizeof(copy))
		return errmsg_set(err, "the value is longer than %d bytes", INPUT_MAX - 1);
	strcpy(copy, text);
	memset(&next, 0, sizeof(next));
	for (char *item = strtok_r(copy, ",", &save); item; item = strtok_r(NULL, ",", &save)) {
		char *key = trim(item), *value = strchr(key, ':');

		if (!*key)
			continue;
		if (value)
			*value++ = '\0';
		if (set_key(&next, &stripe, key, value, err))
			return -1;
	}
	if (check_conflicts(&next, stripe, err))
		return -1;
	if (format(&next, canonical) >= COLOCATE_TEXT_MAX)
		return errmsg_set(err,
			"the job names in not: are too long together: at most %d bytes in all",
			COLOCATE_TEXT_MAX - 1);
	*c = next;
	return 0;
}

char *colocate_format(const struct colocate *c, char *buf)
{
	char all[NEEDED_MAX];

	format(c, all);
	snprintf(buf, COLOCATE_TEXT_MAX, "%.*s", COLOCATE_TEXT_MAX - 1, all);
	return buf;
}

/* What follows the name in an entry of the environment, '=' or the end; NULL in one of another
 * name.
 */
static const char *after_name(const char *entry, const char *name)
{
	const size_t len = strlen(name);

	if (!entry || strncmp(entry, name, len) || (entry[len] != '=' && entry[len] != '\0'))
		return NULL;
	return entry + len;
}

int colocate_find_env(char **env, uint32_t count, const char *name, uint32_t *at)
{
	int found = 0;

	for (uint32_t i = 0; env && i < count; i++) {
		if (!after_name(env[i], name))
			continue;
		if (found)
			return -1;
		found = 1;
		*at = i;
	}
	return found;
}

const char *colocate_env(char **env, uint32_t count, const char *name)
{
	for (uint32_t i = 0; env && i < count; i++) {
		const char *after = after_name(env[i], name);

		if (after && *after == '=')
			return after + 1;
	}
	return NULL;
}

const char *colocate_request(char **env, uint32_t count)
{
	const char *text = colocate_env(env, count, COLOCATE_ENV);

	return text && strcmp(text, COLOCATE_NO) ? text : NULL;
}

bool colocate_by_site(char **env, uint32_t count)
{
	const char *by = colocate_env(env, count, COLOCATE_BY_ENV);

	return by && !strcmp(by, COLOCATE_BY_SITE);
}

const char *colocate_shape_shown(const char *shown)
{
	return strstr(shown, " " COLOCATE_SOCKETS " ") ? "socket"
	       : strstr(shown, " " COLOCATE_MIXED " ") ? "both"
						       : "stripe";
}

const char *colocate_keeps_off(const struct colocate *c)
{
	return c->spread                ? "spread"
	       : c->with                ? "with:"
	       : c->max_degradation > 0 ? "max-degradation:"
					: NULL;
}

bool colocate_excludes(const struct colocate *c, const char *job_name)
{
	for (int i = 0; job_name && i < c->not_count; i++)
		if (!strcmp(c->not_name[i], job_name))
			return true;
	return false;
}

static const char help[] =
	"--colocate[=KEY[:VALUE][,...]]\n"
	"\n"
	"Shares nodes with another co-located job: each gets one lane of every node, that is\n"
	"every second core of every socket (or every L-th, where the cluster has L lanes), and\n"
	"you pay only for the progress your job makes: what the partner slows it down is\n"
	"measured while it runs and taken off its bill. A job gets whole lanes on all of its\n"
	"nodes, and the lane's share of their memory unless it asks for less.\n"
	"\n"
	"Without a value the job takes whatever partner suits. Keys, separated by commas:\n"
	"\n"
	"  stripe                   the plain form, the same as no value\n"
	"  spread                   one lane of each node and the other lanes idle: never a\n"
	"                           partner, and the other lanes are yours to leave empty\n"
	"  shape:stripe             only on nodes where lanes are every L-th core\n"
	"  shape:socket             only where they are whole sockets, for tasks that share much\n"
	"                           data with each other; without it either will do\n"
	"  with:JOBID               only this job as a partner\n"
	"  not:JOBNAME              never a job of this name; may be given several times.\n"
	"                           Write \",\" as %2C, \";\" as %3B and \"%\" as %25\n"
	"  max-degradation:PERCENT  only where the slow-down is known to be no more; else on\n"
	"                           probation: the job is requeued where it is more\n"
	"  class:NAME               a name for this kind of job, under which its history with\n"
	"                           partners is kept (default: user and job name)\n"
	"  sm:PERCENT, sm:auto      so much of the units of a graphics processor that jobs share:\n"
	"                           for CUDA's MPS and AMD's runtime; auto: what \"poppa gpu\n"
	"                           sweep --class NAME\" has found for this class\n"
	"  map:auto                 threads that nobody has bound are moved within the job's own\n"
	"                           cores to where they share caches, on nodes whose site has\n"
	"                           set that up\n"
	"  no                       not co-located, also where the site co-locates jobs that\n"
	"                           do not say anything; goes together with no other key\n"
	"  help                     this text; nothing is submitted\n"
	"\n"
	"Examples: sbatch --colocate job.sh\n"
	"          sbatch --colocate=not:stream,max-degradation:20 job.sh\n"
	"\n"
	"It does not go together with --exclusive, --oversubscribe, --overcommit, --core-spec\n"
	"or --mem=0. See poppa-colocate(7).\n";

const char *colocate_help(void)
{
	return help;
}
