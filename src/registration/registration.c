/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Writes and reads registrations of jobs and cluster.conf, each by a table of its keys. */
#include "registration/registration.h"

#include <dirent.h>
#include <errno.h>
#include <inttypes.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <unistd.h>

#include "common/fsio.h"
#include "common/keyval.h"
#include "common/units.h"

#define MAX_FILE (256 * 1024)
#define ENDED ".ended"
#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

/* How a value stands in the file. */
enum form {
	NUMBER,    /* uint32_t */
	SECONDS,   /* int64_t; left out when negative */
	TEXT,      /* in quotes */
	DIRECTORY, /* a name in quotes; left out when empty */
	WORD,      /* without quotes; left out when empty */
	NODES,     /* in quotes, and not read */
	CORES,     /* "0,2,4-6" */
	LANE,      /* left out when negative */
	PLACE,     /* likewise */
	SEED,      /* left out when there is none */
	FRACTION,  /* from 0 to 1; left out when 0 */
};

struct field {
	const char *key;
	enum form form;
	size_t offset, size; /* of the member */
};

#define FIELD(type, key, form, member)                                                             \
	{                                                                                          \
		key, form, offsetof(struct type, member), sizeof(((struct type *)NULL)->member)    \
	}

/* In the order of the file. */
static const struct field job_fields[] = {
	FIELD(registration, "JobId", NUMBER, job_id),
	FIELD(registration, "Restart", NUMBER, restart),
	FIELD(registration, "Uid", NUMBER, uid),
	FIELD(registration, "User", TEXT, user),
	FIELD(registration, "Colocate", TEXT, colocate),
	FIELD(registration, "Map", WORD, map),
	FIELD(registration, "MaxDegradation", FRACTION, max_degradation),
	FIELD(registration, "Nodes", NODES, nodes),
	FIELD(registration, "NodeCount", PLACE, node_count),
	FIELD(registration, "NodeIndex", PLACE, node_index),
	FIELD(registration, "Partition", TEXT, partition),
	FIELD(registration, "Cores", CORES, core),
	FIELD(registration, "Cgroup", DIRECTORY, cgroup),
	FIELD(registration, "Lane", LANE, lane),
	FIELD(registration, "Seed", SEED, seed),
	FIELD(registration, "Registered", SECONDS, registered),
	FIELD(registration, "BootId", WORD, boot_id),
	FIELD(registration, "Uptime", SECONDS, uptime),
};

static const struct field cluster_fields[] = {
	FIELD(cluster_conf, "ClusterName", TEXT, cluster),
	FIELD(cluster_conf, "NodeName", TEXT, node),
	FIELD(cluster_conf, "PrEpParameters", TEXT, prep_parameters),
	FIELD(cluster_conf, "SlurmctldHost", TEXT, controllers),
	FIELD(cluster_conf, "CgroupMountpoint", TEXT, cgroup_mount),
};

/* Writes Key="value" without bytes that would end the value. */
static void put_text(FILE *out, const char *key, const char *value)
{
	fprintf(out, "%s=\"", key);
	for (; value && *value; value++)
		if (*value != '"' && *value != '\n' && *value != '\r')
			fputc(*value, out);
	fputs("\"\n", out);
}

static void put_cores(FILE *out, const char *key, const struct registration *r)
{
	fprintf(out, "%s=\"", key);
	for (int i = 0, last; i < r->core_count; i = last + 1) {
		for (last = i; last + 1 < r->core_count && r->core[last + 1] == r->core[last] + 1;)
			last++;
		fprintf(out, "%s%u", i ? "," : "", r->core[i]);
		if (last > i)
			fprintf(out, "-%u", r->core[last]);
	}
	fputs("\"\n", out);
}

static void put_field(FILE *out, const struct field *f, const void *from)
{
	const void *value = (const char *)from + f->offset;
	const struct registration *r = from;
	const char *text = value;

	if (f->form == NUMBER)
		fprintf(out, "%s=%" PRIu32 "\n", f->key, *(const uint32_t *)value);
	else if (f->form == SECONDS && *(const int64_t *)value >= 0)
		fprintf(out, "%s=%" PRId64 "\n", f->key, *(const int64_t *)value);
	else if (f->form == TEXT || (f->form == DIRECTORY && *text))
		put_text(out, f->key, text);
	else if (f->form == WORD && *text)
		fprintf(out, "%s=%s\n", f->key, text);
	else if (f->form == NODES)
		put_text(out, f->key, r->nodes);
	else if (f->form == CORES)
		put_cores(out, f->key, r);
	else if ((f->form == LANE || f->form == PLACE) && *(const int *)value >= 0)
		fprintf(out, "%s=%d\n", f->key, *(const int *)value);
	else if (f->form == FRACTION && *(const double *)value > 0)
		fprintf(out, "%s=%.6g\n", f->key, *(const double *)value);
	else if (f->form == SEED && r->seeded)
		fprintf(out, "%s=\"%016" PRIx64 "%016" PRIx64 "\"\n", f->key, r->seed[0],
			r->seed[1]);
}

static int write_fields(const char *path, mode_t mode, const struct field *field, size_t count,
	const void *from, struct errmsg *err)
{
	char *text = NULL;
	size_t len = 0;
	FILE *out = open_memstream(&text, &len);
	int rc;

	if (!out)
		return errmsg_set(err, "cannot write %s: out of memory", path);
	for (size_t i = 0; i < count; i++)
		put_field(out, &field[i], from);
	rc = fclose(out) ? errmsg_set(err, "cannot write %s: out of memory", path)
			 : fsio_write(path, text, len, mode, 0, err);
	free(text);
	return rc;
}

int registration_set_seed(struct registration *r, const char *digits)
{
	uint64_t high, low;

	if (strlen(digits) != 32 || strspn(digits, "0123456789abcdefABCDEF") != 32 ||
		sscanf(digits, "%16" SCNx64 "%16" SCNx64, &high, &low) != 2)
		return -1;
	r->seed[0] = high;
	r->seed[1] = low;
	r->seeded = true;
	return 0;
}

static int get_cores(const char *value, struct registration *r, struct errmsg *err)
{
	const char *p = value;

	r->core_count = 0;
	while (*p) {
		char *end;
		long first = strtol(p, &end, 10), last = first;

		if (end != p && *end == '-')
			last = strtol(p = end + 1, &end, 10);
		if (end == p || (*end && *end != ',') || first < 0 || last < first || last > 65535)
			return errmsg_set(err, "Cores=%s is not a list of core numbers", value);
		for (long core = first; core <= last; core++) {
			if (r->core_count == REGISTRATION_MAX_CORES)
				return errmsg_set(err, "Cores has more than %d entries",
					REGISTRATION_MAX_CORES);
			r->core[r->core_count++] = (uint16_t)core;
		}
		p = *end ? end + 1 : end;
	}
	return 0;
}

static int get_number(
	const char *key, const char *value, int64_t max, int64_t *out, struct errmsg *err)
{
	struct errmsg why = {""};

	return units_parse_int(value, 0, max, out, &why) ? errmsg_set(err, "%s: %s", key, why.text)
							 : 0;
}

static int get_fraction(const char *key, const char *value, double *out, struct errmsg *err)
{
	struct errmsg why = {""};

	return units_parse_double(value, 0, 1, out, &why) ? errmsg_set(err, "%s: %s", key, why.text)
							  : 0;
}

static int get_field(const struct field *f, const char *value, void *to, struct errmsg *err)
{
	void *out = (char *)to + f->offset;
	int64_t n;

	switch (f->form) {
	case NUMBER:
		if (get_number(f->key, value, UINT32_MAX, &n, err))
			return -1;
		*(uint32_t *)out = (uint32_t)n;
		return 0;
	case LANE:
	case PLACE:
		if (get_number(f->key, value, f->form == LANE ? REGISTRATION_MAX_CORES : INT32_MAX,
			    &n, err))
			return -1;
		*(int *)out = (int)n;
		return 0;
	case FRACTION:
		return get_fraction(f->key, value, out, err);
	case SECONDS:
		return get_number(f->key, value, INT64_MAX / NS_PER_S, out, err);
	case NODES:
		return 0;
	case CORES:
		return get_cores(value, to, err);
	case SEED:
		return registration_set_seed(to, value)
			       ? errmsg_set(err, "Seed is not 32 hexadecimal digits")
			       : 0;
	case DIRECTORY:
		if (strchr(value, '/') || value[0] == '.')
			return errmsg_set(
				err, "%s=%s is not the name of a directory", f->key, value);
		/* fall through */
	default:
		return keyval_copy(f->key, value, out, f->size, err);
	}
}

/* The structure that one_key() fills, and its keys. */
struct target {
	const struct field *field;
	size_t count;
	void *to;
};

static int one_key(const char *key, const char *value, int line, void *arg, struct errmsg *err)
{
	const struct target *t = arg;

	(void)line;
	for (size_t i = 0; i < t->count; i++)
		if (!strcasecmp(key, t->field[i].key))
			return get_field(&t->field[i], value, t->to, err);
	return 0;
}

void registration_init(struct registration *r)
{
	memset(r, 0, sizeof(*r));
	r->uid = (uid_t)-1;
	r->uptime = -1;
	r->lane = r->node_count = r->node_index = -1;
}

static void path_of(
	char path[PATH_MAX], const char *dir, uint32_t job_id, uint32_t restart, bool ended)
{
	snprintf(path, PATH_MAX, "%s/%" PRIu32 ".%" PRIu32 "%s", dir, job_id, restart,
		ended ? ENDED : "");
}

int registration_write(const char *dir, const struct registration *r, struct errmsg *err)
{
	char path[PATH_MAX];

	path_of(path, dir, r->job_id, r->restart, false);
	return write_fields(path, 0600, job_fields, COUNT(job_fields), r, err);
}

bool registration_same_run(const struct registration *a, const struct registration *b)
{
	return a->job_id == b->job_id && a->restart == b->restart && a->uid == b->uid &&
	       !strcmp(a->boot_id, b->boot_id) && a->seeded == b->seeded &&
	       !memcmp(a->seed, b->seed, sizeof(a->seed)) && a->core_count == b->core_count &&
	       !memcmp(a->core, b->core, a->core_count * sizeof(a->core[0]));
}

int registration_end(const char *dir, uint32_t job_id, uint32_t restart, struct errmsg *err)
{
	char from[PATH_MAX], to[PATH_MAX];

	path_of(from, dir, job_id, restart, false);
	path_of(to, dir, job_id, restart, true);
	if (rename(from, to) && errno != ENOENT)
		return errmsg_set(err, "cannot rename %s: %s", from, strerror(errno));
	return 0;
}

void registration_remove(const char *dir, uint32_t job_id, uint32_t restart, bool ended)
{
	char path[PATH_MAX];

	path_of(path, dir, job_id, restart, ended);
	unlink(path);
}

bool registration_is_name(const char *name, uint32_t *job_id, uint32_t *restart, bool *ended)
{
	unsigned long long job, run;
	char *end, *dot;

	if (name[0] < '1' || name[0] > '9')
		return false;
	errno = 0;
	job = strtoull(name, &dot, 10);
	if (*dot != '.' || dot[1] < '0' || dot[1] > '9')
		return false;
	run = strtoull(dot + 1, &end, 10);
	*ended = !strcmp(end, ENDED);
	if (errno || (*end && !*ended) || job > UINT32_MAX || run > UINT32_MAX)
		return false;
	*job_id = (uint32_t)job;
	*restart = (uint32_t)run;
	return true;
}

int registration_scan(const char *dir, registration_fn fn, void *arg, struct errmsg *err)
{
	struct dirent *e;
	DIR *d = opendir(dir);
	int failed;

	if (!d)
		return errmsg_set(err, "cannot read %s: %s", dir, strerror(errno));
	/* A job that is not listed counts as ended, so a list that breaks off must be an error. */
	for (errno = 0; (e = readdir(d)); errno = 0) {
		uint32_t job, restart;
		bool ended;

		if (registration_is_name(e->d_name, &job, &restart, &ended))
			fn(job, restart, ended, arg);
	}
	failed = errno;
	closedir(d);
	return failed ? errmsg_set(err, "cannot read %s: %s", dir, strerror(failed)) : 0;
}

int registration_parse(
	const char *name, const char *text, struct registration *r, struct errmsg *err)
{
	const struct target target = {job_fields, COUNT(job_fields), r};
	uint32_t job, restart;
	bool ended;

	registration_init(r);
	if (!registration_is_name(name, &job, &restart, &ended))
		return errmsg_set(err, "%s is not JOBID.RESTART", name);
	if (keyval_text(name, text, one_key, (void *)&target, err))
		return -1;
	if (r->job_id != job || r->restart != restart)
		return errmsg_set(err, "%s: JobId and Restart within differ from its name", name);
	if (r->uid == (uid_t)-1)
		return errmsg_set(err, "%s: Uid is missing", name);
	return 0;
}

int registration_read(const char *dir, uint32_t job_id, uint32_t restart, bool ended,
	struct registration *r, struct errmsg *err)
{
	char path[PATH_MAX], *text;
	int rc;

	path_of(path, dir, job_id, restart, ended);
	text = fsio_read(path, MAX_FILE, NULL, err);
	if (!text)
		return -1;
	rc = registration_parse(strrchr(path, '/') + 1, text, r, err);
	free(text);
	if (rc)
		errno = EINVAL;
	return rc;
}

struct last_run {
	uint32_t job_id, restart;
	bool found;
};

static void see_run(uint32_t job_id, uint32_t restart, bool ended, void *arg)
{
	struct last_run *last = arg;

	if (job_id != last->job_id || ended || (last->found && restart < last->restart))
		return;
	last->restart = restart;
	last->found = true;
}

int registration_find(const char *dir, uint32_t job_id, struct registration *r, struct errmsg *err)
{
	struct last_run last = {.job_id = job_id};

	if (registration_scan(dir, see_run, &last, err))
		return -1;
	if (last.found)
		return registration_read(dir, job_id, last.restart, false, r, err);
	errno = ENOENT;
	return errmsg_set(err, "%s: job %u is not registered", dir, job_id);
}

int registration_lane(const struct registration *r, int lanes)
{
	int lane = -1;

	if (r->lane >= 0)
		return r->lane;
	for (int i = 0; i < r->core_count; i++) {
		int of = r->core[i] % lanes;

		if (lane >= 0 && of != lane)
			return -1;
		lane = of;
	}
	return lane;
}

int cluster_conf_write(const char *path, const struct cluster_conf *c, struct errmsg *err)
{
	return write_fields(path, 0644, cluster_fields, COUNT(cluster_fields), c, err);
}

int cluster_conf_read(const char *path, struct cluster_conf *c, struct errmsg *err)
{
	struct cluster_conf next = {.cgroup_mount = "/sys/fs/cgroup"};
	const struct target target = {cluster_fields, COUNT(cluster_fields), &next};

	if (keyval_file(path, one_key, (void *)&target, err))
		return -1;
	if (!*next.cluster || !*next.node) {
		errno = EINVAL;
		return errmsg_set(err, "%s: ClusterName and NodeName must be there", path);
	}
	*c = next;
	return 0;
}
