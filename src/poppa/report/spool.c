/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Keeps checkpoints and records in files, one for each run of a job. */
#include "poppa/report/spool.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "common/fsio.h"
#include "common/log.h"

/* Room for JOBID.RESTART.START with its end. */
#define NAME_SIZE 48
#define LAST_SIX_DIGITS 999999
#define MAX_FILE (1024 * 1024)
#define MAX_ID 256
#define DAY_S 86400

/* JOBID.RESTART.XXXXXX: what fsio_write() leaves where a kill or a power cut interrupts it. */
static bool is_leftover(const char *name)
{
	uint32_t job, restart;
	int end = 0;

	return sscanf(name, "%" SCNu32 ".%" SCNu32 "%n", &job, &restart, &end) == 2 &&
	       name[end] == '.' && strlen(name + end + 1) == 6;
}

static void sweep(const char *dir)
{
	DIR *d = opendir(dir);
	const struct dirent *e;

	while (d && (e = readdir(d)))
		if (is_leftover(e->d_name))
			unlinkat(dirfd(d), e->d_name, 0);
	if (d)
		closedir(d);
}

int spool_open(struct spool *s, const char *dir, struct errmsg *err)
{
	snprintf(s->state_dir, sizeof(s->state_dir), "%s/state", dir);
	snprintf(s->record_dir, sizeof(s->record_dir), "%s/records", dir);
	snprintf(s->sent_dir, sizeof(s->sent_dir), "%s/sent", dir);
	snprintf(s->ledger, sizeof(s->ledger), "%s/ledger", dir);
	snprintf(s->prior, sizeof(s->prior), "%s/prior", dir);
	s->keep_days = 0;
	if (fsio_mkdirs(s->state_dir, 0700, err) || fsio_mkdirs(s->record_dir, 0700, err) ||
		fsio_mkdirs(s->sent_dir, 0700, err))
		return -1;
	/* Checkpoints are written every few seconds, so leftovers would add up. Records are few,
	 * and the other files beside them are for people. */
	sweep(s->state_dir);
	return 0;
}

/* The path of a file in one of the spool's folders. */
struct path {
	char text[PATH_MAX + NAME_MAX + 2];
};

static const char *path_of(struct path *p, const char *dir, const char *name)
{
	snprintf(p->text, sizeof(p->text), "%s/%s", dir, name);
	return p->text;
}

static const char *state_path(
	struct path *p, const struct spool *s, uint32_t job_id, uint32_t restart)
{
	snprintf(p->text, sizeof(p->text), "%s/%u.%u", s->state_dir, job_id, restart);
	return p->text;
}

static int write_json(const char *path, const json_t *json, int durable, struct errmsg *err)
{
	char *text = json ? json_dumps(json, JSON_COMPACT) : NULL;
	int rc;

	if (!text)
		return errmsg_set(err, "cannot write %s: out of memory", path);
	rc = fsio_write(path, text, strlen(text), 0600, durable, err);
	free(text);
	return rc;
}

static json_t *read_json(const char *path, struct errmsg *err)
{
	size_t len;
	char *text = fsio_read(path, MAX_FILE, &len, err);
	json_error_t why;
	json_t *json;

	if (!text)
		return NULL;
	json = json_loadb(text, len, 0, &why);
	free(text);
	if (!json) {
		errmsg_set(err, "%s: %s", path, why.text);
		errno = EINVAL;
	}
	return json;
}

int spool_checkpoint(const struct spool *s, uint32_t job_id, uint32_t restart, const json_t *state,
	struct errmsg *err)
{
	struct path path;

	return write_json(state_path(&path, s, job_id, restart), state, 0, err);
}

json_t *spool_restore(const struct spool *s, uint32_t job_id, uint32_t restart, struct errmsg *err)
{
	struct path path;

	return read_json(state_path(&path, s, job_id, restart), err);
}

void spool_forget(const struct spool *s, uint32_t job_id, uint32_t restart)
{
	struct path path;

	unlink(state_path(&path, s, job_id, restart));
}

/* Whether the name is exactly JOBID.RESTART. */
static bool parse_state_name(const char *name, uint32_t *job_id, uint32_t *restart)
{
	char again[32];

	if (sscanf(name, "%u.%u", job_id, restart) != 2)
		return false;
	snprintf(again, sizeof(again), "%u.%u", *job_id, *restart);
	return !strcmp(name, again);
}

void spool_each(const struct spool *s, spool_fn fn, void *arg)
{
	DIR *d = opendir(s->state_dir);
	struct dirent *e;
	uint32_t job, restart;

	while (d && (e = readdir(d)))
		if (parse_state_name(e->d_name, &job, &restart))
			fn(job, restart, arg);
	if (d)
		closedir(d);
}

/*
 * A record's own name, JOBID.RESTART.START. The start tells runs apart: a slurmctld that was killed
 * may give a job's id and restart to another run while the record of the first one still waits. A
 * start of at most six digits is left out: such a name would look like a leftover of fsio_write().
 */
static const char *record_name(char name[NAME_SIZE], const struct ledger_record *r)
{
	if (r->start_unix > LAST_SIX_DIGITS)
		snprintf(name, NAME_SIZE, "%u.%u.%lld", r->job_id, r->restart,
			(long long)r->start_unix);
	else
		snprintf(name, NAME_SIZE, "%u.%u", r->job_id, r->restart);
	return name;
}

static const char *record_path(struct path *p, const char *dir, const struct ledger_record *r)
{
	char name[NAME_SIZE];

	return path_of(p, dir, record_name(name, r));
}

int spool_record(const struct spool *s, const struct ledger_record *r, struct errmsg *err)
{
	json_t *json = record_to_json(r);
	struct path path;
	int rc = write_json(record_path(&path, s->record_dir, r), json, 1, err);

	json_decref(json);
	return rc;
}

static int set_aside(const char *path, const char *suffix)
{
	char to[PATH_MAX + NAME_MAX + 16];

	snprintf(to, sizeof(to), "%s.%s", path, suffix);
	return rename(path, to);
}

static int read_record(const char *path, struct ledger_record *r)
{
	struct errmsg err = {""};
	json_t *json = read_json(path, &err);
	int rc = -1;

	if (json)
		rc = record_from_json(json, r, &err);
	else if (errno != EINVAL)
		return -1; /* it is gone, or cannot be read for now */
	json_decref(json);
	if (rc) {
		plog_error("%s is no record and is set aside: %s", path, err.text);
		if (set_aside(path, "bad"))
			plog_error("cannot rename %s: %s", path, strerror(errno));
	}
	return rc;
}

/* Whether the name is one that record_name() makes. */
static int is_record(const struct dirent *e)
{
	struct ledger_record r = {.start_unix = 0};
	char again[NAME_SIZE];
	long long start = 0;

	if (sscanf(e->d_name, "%u.%u.%lld", &r.job_id, &r.restart, &start) < 2)
		return false;
	r.start_unix = start;
	return !strcmp(e->d_name, record_name(again, &r));
}

/* Reads a record. A file that somebody has renamed gets the record's own name again, because
 * spool_acked() and spool_refused() look for that name. */
static int read_named(const struct spool *s, const char *name, struct ledger_record *r)
{
	struct path path, own;

	if (read_record(path_of(&path, s->record_dir, name), r))
		return -1;
	record_path(&own, s->record_dir, r);
	return strcmp(path.text, own.text) ? rename(path.text, own.text) : 0;
}

int spool_records(const struct spool *s, struct ledger_record *r, int max, struct errmsg *err)
{
	struct dirent **list;
	int n = scandir(s->record_dir, &list, is_record, versionsort), count = 0;

	if (n < 0)
		return errmsg_set(err, "cannot read %s: %s", s->record_dir, strerror(errno));
	for (int i = 0; i < n; i++) {
		if (count < max && !read_named(s, list[i]->d_name, &r[count]))
			count++;
		free(list[i]);
	}
	free(list);
	return count;
}

void spool_count(const struct spool *s, struct spool_counts *out)
{
	DIR *d = opendir(s->record_dir);
	const struct dirent *e;

	*out = (struct spool_counts){0, 0, 0};
	while (d && (e = readdir(d))) {
		const char *suffix = strrchr(e->d_name, '.');

		if (is_record(e))
			out->records++;
		else if (suffix && !strcmp(suffix, ".refused"))
			out->refused++;
		else if (suffix && !strcmp(suffix, ".bad"))
			out->bad++;
	}
	if (d)
		closedir(d);
}

int spool_acked(const struct spool *s, const struct ledger_record *r)
{
	struct path path, sent;
	struct ledger_record now;

	record_path(&path, s->record_dir, r);
	/* The main thread may have replaced the record while the sender asked the ledger. */
	if (read_record(path.text, &now) || now.seq > r->seq)
		return 0;
	if (!s->keep_days || rename(path.text, record_path(&sent, s->sent_dir, r)))
		return unlink(path.text);
	utimensat(AT_FDCWD, sent.text, NULL, 0); /* keep_days count from now */
	return 0;
}

/* Calls fn for every record that was sent. Returns for how many fn returned true. */
static int each_sent(const struct spool *s,
	bool (*fn)(const struct spool *s, const char *path, const char *name))
{
	DIR *d = opendir(s->sent_dir);
	const struct dirent *e;
	struct path path;
	int count = 0;

	while (d && (e = readdir(d)))
		if (is_record(e))
			count += fn(s, path_of(&path, s->sent_dir, e->d_name), e->d_name);
	if (d)
		closedir(d);
	return count;
}

/* A record of the same run that waits already is newer: then both stay where they are. */
static bool send_again(const struct spool *s, const char *path, const char *name)
{
	struct path to;

	if (!renameat2(
		    AT_FDCWD, path, AT_FDCWD, path_of(&to, s->record_dir, name), RENAME_NOREPLACE))
		return true;
	if (errno != EEXIST)
		plog_error("cannot send %s again: %s", path, strerror(errno));
	return false;
}

int spool_know_ledger(const struct spool *s, const char *id, struct errmsg *err)
{
	struct errmsg none;
	char *known = fsio_read(s->ledger, MAX_ID, NULL, &none);
	bool same = known && !strcmp(known, id), first = !known;
	int count = 0;

	free(known);
	if (!*id || same)
		return 0;
	if (!first)
		count = each_sent(s, send_again);
	/* The identity is written last: after a kill before this, all of it is done again. */
	return fsio_write(s->ledger, id, strlen(id), 0600, 1, err) ? -1 : count;
}

int spool_keep_prior(const struct spool *s, const char *node_type, const struct slow_prior *prior,
	struct errmsg *err)
{
	json_t *json =
		json_pack("{s:s, s:o}", "node_type", node_type, "prior", slow_prior_to_json(prior));
	int rc = write_json(s->prior, json, 1, err);

	json_decref(json);
	return rc;
}

void spool_kept_prior(const struct spool *s, const char *node_type, struct slow_prior *prior)
{
	struct errmsg err = {"it has no valid weights"};
	json_t *json = read_json(s->prior, &err);
	const char *of = json_string_value(json_object_get(json, "node_type"));
	struct slow_prior kept;
	bool missing = !json && errno != EINVAL, unreadable = missing && errno != ENOENT;

	*prior = slow_prior_default;
	if (unreadable)
		plog_warn("the prior of slow refill is the default: %s", err.text);
	if (missing)
		return;
	if (!of || slow_prior_from_json(json_object_get(json, "prior"), &kept)) {
		plog_error("%s is no prior and is set aside; the default is in force: %s", s->prior,
			err.text);
		if (set_aside(s->prior, "bad"))
			plog_error("cannot rename %s: %s", s->prior, strerror(errno));
	} else if (!strcmp(of, node_type)) {
		/* Otherwise the node has another processor than before. */
		*prior = kept;
	}
	json_decref(json);
}

static bool expire(const struct spool *s, const char *path, const char *name)
{
	struct stat st;

	(void)name;
	return !stat(path, &st) && st.st_mtime < time(NULL) - (time_t)s->keep_days * DAY_S &&
	       !unlink(path);
}

void spool_expire(const struct spool *s)
{
	each_sent(s, expire);
}

int spool_refused(const struct spool *s, const struct ledger_record *r)
{
	struct path path;

	return set_aside(record_path(&path, s->record_dir, r), "refused");
}
