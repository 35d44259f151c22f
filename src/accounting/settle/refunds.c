/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Keeps the journal of refunds: lines of JSON, written at the end of the file. */
#include "accounting/settle/refunds.h"

#include <endian.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "accounting/record/fields.h"
#include "common/fsio.h"
#include "common/journal.h"
#include "common/units.h"

#define ASSOC_FILE "assoc_usage"
#define MAX_BYTES (256 << 20)
#define KEEP_MS (10 * 60 * 1000)
#define KEEP_CHANGES_MS (24 * 60 * 60 * 1000)

struct entry {
	struct refunds_run run;
	uint32_t restart;
	bool change;
	uint64_t charged;
	struct refunds_saved saved;
	int64_t since_ms;
	char *line;
};

struct refunds {
	char folder[PATH_MAX], path[PATH_MAX];
	struct journal file;
	bool whole;
	int damaged; /* lines of the file that cannot be read */
	struct entry *entry;
	size_t count, room;
};

/*
 * Opens a file that Slurm has saved; -1: there is none. A slurmctld that was killed while it put
 * the next file into its place leaves NAME.old alone, which Slurm loads since 25.05. Before, it
 * begins without any usage, from which nothing can be taken.
 */
static int open_saved(const char *folder, const char *name)
{
	char path[PATH_MAX + 32];
	int fd;

	snprintf(path, sizeof(path), "%s/%s", folder, name);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0 && errno == ENOENT) {
		snprintf(path, sizeof(path), "%s/%s.old", folder, name);
		fd = open(path, O_RDONLY | O_CLOEXEC);
	}
	return fd;
}

static void look_at(const char *folder, const char *name, struct refunds_file *file)
{
	int fd = open_saved(folder, name);
	struct stat st;

	*file = (struct refunds_file){0};
	if (fd < 0)
		return;
	if (!fstat(fd, &st))
		*file = (struct refunds_file){.inode = st.st_ino,
			.mtime_ns = st.st_mtim.tv_sec * NS_PER_S + st.st_mtim.tv_nsec,
			.size = st.st_size};
	close(fd);
}

void refunds_look(const struct refunds *r, struct refunds_saved *saved)
{
	look_at(r->folder, ASSOC_FILE, &saved->assoc);
	look_at(r->folder, "qos_usage", &saved->qos);
	look_at(r->folder, "job_state", &saved->jobs);
}

static bool same_file(const struct refunds_file *a, const struct refunds_file *b)
{
	return a->inode == b->inode && a->mtime_ns == b->mtime_ns && a->size == b->size;
}

bool refunds_same_usage(const struct refunds_saved *a, const struct refunds_saved *b)
{
	return same_file(&a->assoc, &b->assoc) && same_file(&a->qos, &b->qos);
}

int refunds_probe(const struct refunds *r, struct errmsg *err)
{
	char path[PATH_MAX + 32];

	snprintf(path, sizeof(path), "%s/poppa_probe", r->folder);
	if (fsio_write(path, "", 0, 0600, 1, err))
		return -1;
	unlink(path);
	return 0;
}

/* Usage that was loaded from no file is empty: there is nothing to give back. */
static bool is_lost(const struct refunds_file *saved, const struct refunds_file *loaded)
{
	return loaded->inode && same_file(saved, loaded);
}

static json_t *file_to_json(const struct refunds_file *f)
{
	return json_pack(
		"[I, I, I]", (json_int_t)f->inode, (json_int_t)f->mtime_ns, (json_int_t)f->size);
}

static int file_from_json(const json_t *json, struct refunds_file *f, struct errmsg *err)
{
	for (size_t i = 0; i < 3; i++)
		if (!json_is_integer(json_array_get(json, i)))
			return errmsg_set(err, "not three whole numbers");
	*f = (struct refunds_file){.inode = (uint64_t)json_integer_value(json_array_get(json, 0)),
		.mtime_ns = json_integer_value(json_array_get(json, 1)),
		.size = json_integer_value(json_array_get(json, 2))};
	return 0;
}

#define AT(member) FIELD_AT(struct refund_part, member)

static const struct field part_field[] = {
	{"assoc", FIELD_INT, AT(assoc_id), .max = UINT32_MAX},
	{"qos", FIELD_INT, AT(qos_id), .max = UINT32_MAX},
	{"start", FIELD_INT, AT(start_unix), .max = INT64_MAX},
	{"end", FIELD_INT, AT(end_unix), .max = INT64_MAX},
	{"billable", FIELD_REAL, AT(billable)},
	{"raw", FIELD_INT, AT(raw), .max = INT64_MAX},
	{"before", FIELD_INT, AT(before), .max = INT64_MAX},
	{"after", FIELD_INT, AT(after), .max = INT64_MAX},
	{"partition", FIELD_TEXT, AT(partition)},
	{"usage_factor", FIELD_REAL, AT(usage_factor)},
	{"parent", FIELD_INT, AT(parent_id), .max = UINT32_MAX},
	{"part_qos", FIELD_INT, AT(part_qos), .min = -1, .max = UINT32_MAX},
};

static const struct field_table part_fields = {
	"part", part_field, sizeof(part_field) / sizeof(part_field[0])};

static json_t *part_to_json(const struct refund_part *p)
{
	json_t *json = fields_to_json(&part_fields, p);
	struct refund_part nameless = *p;

	/* JSON cannot hold a partition's name that is not UTF-8. Only its QOS needs the name. */
	nameless.partition[0] = '\0';
	return json ? json : fields_to_json(&part_fields, &nameless);
}

/* The caller frees the line. NULL without memory. */
static char *to_line(const struct refund *r, const struct refunds_saved *s)
{
	json_t *parts = json_array(), *json;
	char *line;

	for (int i = 0; i < r->part_count; i++)
		json_array_append_new(parts, part_to_json(&r->part[i]));
	json = json_pack("{s:I, s:I, s:I, s:b, s:o, s:o, s:o, s:o}", "job", (json_int_t)r->job_id,
		"restart", (json_int_t)r->restart, "start", (json_int_t)r->start_unix, "change",
		r->change, "assoc_usage", file_to_json(&s->assoc), "qos_usage",
		file_to_json(&s->qos), "job_state", file_to_json(&s->jobs), "parts", parts);
	line = json ? json_dumps(json, JSON_COMPACT) : NULL;
	json_decref(json);
	return line;
}

static int from_json(
	const json_t *json, struct refund *r, struct refunds_saved *s, struct errmsg *err)
{
	static const char what[] = "refund";
	const json_t *parts = json_object_get(json, "parts"), *part;
	int64_t job, restart;
	size_t i;

	*r = (struct refund){.job_id = 0};
	if (field_int(what, json, "job", 1, UINT32_MAX, &job, err) ||
		field_int(what, json, "restart", 0, UINT32_MAX, &restart, err) ||
		field_int(what, json, "start", 1, INT64_MAX, &r->start_unix, err) ||
		file_from_json(json_object_get(json, "assoc_usage"), &s->assoc, err) ||
		file_from_json(json_object_get(json, "qos_usage"), &s->qos, err) ||
		file_from_json(json_object_get(json, "job_state"), &s->jobs, err))
		return -1;
	if (!json_array_size(parts) || json_array_size(parts) > SETTLEMENT_MAX_SIZES + 1)
		return errmsg_set(err, "refund: \"parts\" must be a short list");
	r->job_id = (uint32_t)job;
	r->restart = (uint32_t)restart;
	r->change = json_is_true(json_object_get(json, "change"));
	r->part_count = (int)json_array_size(parts);
	json_array_foreach(parts, i, part)
	{
		if (fields_from_json(&part_fields, part, &r->part[i], err))
			return -1;
	}
	return 0;
}

static int parse(const char *line, struct refund *r, struct refunds_saved *s)
{
	json_t *json = json_loads(line, 0, NULL);
	struct errmsg err;
	int rc = json ? from_json(json, r, s, &err) : -1;

	json_decref(json);
	return rc;
}

/* Takes over the line, which may be NULL. */
static int add(struct refunds *r, const struct refund *refund, const struct refunds_saved *saved,
	int64_t now_ms, char *line)
{
	if (r->count == r->room) {
		size_t room = r->room ? 2 * r->room : 64;
		struct entry *more = realloc(r->entry, room * sizeof(*more));

		if (!more) {
			free(line);
			return -1;
		}
		r->entry = more;
		r->room = room;
	}
	r->entry[r->count++] = (struct entry){
		.run = {refund->job_id, refund->start_unix},
		.restart = refund->restart,
		.change = refund->change,
		.charged = refund->part[0].after,
		.saved = *saved,
		.since_ms = now_ms,
		.line = line,
	};
	return 0;
}

/* What read_line() fills. */
struct reading {
	struct refunds *refunds;
	int64_t now_ms;
	bool no_memory;
};

static bool read_line(const char *line, void *arg)
{
	struct refunds_saved saved;
	struct refund refund;
	struct reading *r = arg;
	char *copy;

	if (parse(line, &refund, &saved))
		return false;
	copy = strdup(line);
	if (!copy || add(r->refunds, &refund, &saved, r->now_ms, copy))
		r->no_memory = true;
	return true;
}

struct refunds *refunds_open(const char *folder, int64_t now_ms, struct errmsg *err)
{
	struct refunds *r = calloc(1, sizeof(*r));
	struct reading reading = {r, now_ms, false};
	struct errmsg unread;
	off_t end = 0;
	char *text;
	int rc = 0;

	if (!r) {
		errmsg_set(err, "out of memory");
		return NULL;
	}
	r->file.fd = -1;
	snprintf(r->folder, sizeof(r->folder), "%s", folder);
	if (snprintf(r->path, sizeof(r->path), "%s/" REFUNDS_FILE, folder) >=
		(int)sizeof(r->path)) {
		errmsg_set(err, "%s: too long a path", folder);
		free(r);
		return NULL;
	}
	text = fsio_read(r->path, MAX_BYTES, NULL, &unread);
	if (text)
		end = (off_t)journal_lines(text, read_line, &reading, &r->damaged);
	else if (errno != ENOENT)
		rc = errmsg_set(err, "%s", unread.text);
	r->whole = text && !r->damaged;
	free(text);
	if (reading.no_memory)
		rc = errmsg_set(err, "out of memory");
	if (rc || journal_open(&r->file, r->path, end, err)) {
		refunds_close(r);
		return NULL;
	}
	return r;
}

void refunds_close(struct refunds *r)
{
	if (!r)
		return;
	for (size_t i = 0; i < r->count; i++)
		free(r->entry[i].line);
	free(r->entry);
	journal_close(&r->file);
	free(r);
}

bool refunds_whole(const struct refunds *r)
{
	return r->whole;
}

int refunds_damaged(const struct refunds *r)
{
	return r->damaged;
}

static bool is_of_run(const struct entry *e, uint32_t job_id, uint32_t restart, int64_t start_unix)
{
	return e->run.job_id == job_id && e->run.start_unix == start_unix && e->restart == restart;
}

bool refunds_charged(const struct refunds *r, uint32_t job_id, uint32_t restart, int64_t start_unix,
	uint64_t *charged)
{
	for (size_t i = r->count; i-- > 0;) {
		if (!is_of_run(&r->entry[i], job_id, restart, start_unix))
			continue;
		*charged = r->entry[i].charged;
		return true;
	}
	return false;
}

void refunds_keep(
	struct refunds *r, uint32_t job_id, uint32_t restart, int64_t start_unix, int64_t now_ms)
{
	struct refunds_saved now;

	refunds_look(r, &now);
	for (size_t i = 0; i < r->count; i++) {
		struct entry *e = &r->entry[i];

		if (is_of_run(e, job_id, restart, start_unix)) {
			e->saved.jobs = now.jobs;
			e->since_ms = now_ms;
		}
	}
}

static int append(struct refunds *r, const char *line, struct errmsg *err)
{
	char *text = NULL;
	int len = asprintf(&text, "%s\n", line);
	int rc;

	if (len < 0)
		return errmsg_set(err, "%s: out of memory", r->path);
	rc = journal_append(&r->file, r->path, text, (size_t)len, err);
	free(text);
	return rc;
}

int refunds_enter(struct refunds *r, const struct refund *refund, const struct refunds_saved *saved,
	int64_t now_ms, struct errmsg *err)
{
	char *line = to_line(refund, saved);
	int rc = line ? append(r, line, err) : errmsg_set(err, "%s: out of memory", r->path);

	if (add(r, refund, saved, now_ms, line))
		rc = errmsg_set(err, "%s: out of memory", r->path);
	return rc;
}

int refunds_sync(struct refunds *r, struct errmsg *err)
{
	return journal_sync(&r->file, r->path, err);
}

/* The file begins with a version of two bytes and the time of eight, in network order. */
int64_t refunds_saved_unix(const struct refunds *r)
{
	uint64_t seconds = 0;
	int fd = open_saved(r->folder, ASSOC_FILE);

	if (fd < 0)
		return 0;
	if (pread(fd, &seconds, sizeof(seconds), 2) != sizeof(seconds))
		seconds = 0;
	close(fd);
	return (int64_t)be64toh(seconds);
}

int64_t refunds_charged_until(const struct refunds_base *base, int64_t end_unix)
{
	if (!base->saved_unix || end_unix <= base->saved_unix || end_unix >= base->loaded_unix)
		return end_unix;
	return base->charged_unix < end_unix ? base->charged_unix : end_unix;
}

int refunds_lost(struct refunds *r, const struct refunds_saved *loaded, refunds_fn fn, void *arg)
{
	struct refunds_saved saved;
	struct refund refund;
	int lost = 0;

	for (size_t i = 0; i < r->count; i++) {
		const struct entry *e = &r->entry[i];
		bool assoc = is_lost(&e->saved.assoc, &loaded->assoc),
		     qos = is_lost(&e->saved.qos, &loaded->qos);

		if ((assoc || qos) && e->line && !parse(e->line, &refund, &saved)) {
			fn(&refund, assoc, qos, arg);
			lost++;
		}
	}
	return lost;
}

static int compare_runs(const void *a, const void *b)
{
	const struct refunds_run *x = a, *y = b;

	if (x->job_id != y->job_id)
		return x->job_id < y->job_id ? -1 : 1;
	return (x->start_unix > y->start_unix) - (x->start_unix < y->start_unix);
}

static bool may_go(const struct entry *e, const struct refunds_saved *now, int64_t now_ms,
	const struct refunds_run *run, size_t count)
{
	return now_ms - e->since_ms >= (e->change ? KEEP_CHANGES_MS : KEEP_MS) &&
	       !same_file(&e->saved.assoc, &now->assoc) && !same_file(&e->saved.qos, &now->qos) &&
	       !same_file(&e->saved.jobs, &now->jobs) &&
	       !(count && bsearch(&e->run, run, count, sizeof(*run), compare_runs));
}

/* The file's text without the entries that go; the caller frees it. NULL without memory. */
static char *text_without(const struct refunds *r, const bool *goes, size_t *len)
{
	char *text = NULL;
	FILE *out = open_memstream(&text, len);
	bool bad;

	if (!out)
		return NULL;
	for (size_t i = 0; i < r->count; i++)
		if (!goes[i] && r->entry[i].line)
			fprintf(out, "%s\n", r->entry[i].line);
	bad = ferror(out);
	if (fclose(out) || bad) {
		free(text);
		return NULL;
	}
	return text;
}

static void forget(struct refunds *r, const bool *goes)
{
	size_t kept = 0;

	for (size_t i = 0; i < r->count; i++) {
		if (goes[i])
			free(r->entry[i].line);
		else
			r->entry[kept++] = r->entry[i];
	}
	r->count = kept;
}

/* Closes the old file after the new one took its place: later entries would be lost in it. */
static int replace_file(struct refunds *r, const bool *goes, struct errmsg *err)
{
	size_t len = 0;
	char *text = text_without(r, goes, &len);
	int rc = text ? 0 : errmsg_set(err, "%s: out of memory", r->path);

	/* The new file does not have the lines that cannot be read. */
	if (!rc && r->damaged)
		rc = journal_keep_damaged(r->path, err);
	if (!rc)
		rc = journal_replace(r->path, text, len, err);
	free(text);
	if (rc)
		return rc;
	forget(r, goes);
	r->damaged = 0;
	journal_close(&r->file);
	return journal_open(&r->file, r->path, (off_t)len, err);
}

int refunds_trim(struct refunds *r, int64_t now_ms, struct refunds_run *run, size_t count,
	struct errmsg *err)
{
	struct refunds_saved now;
	size_t going = 0;
	bool *goes;
	int rc = 0;

	if (r->file.fd < 0 && journal_open(&r->file, r->path, r->file.end, err))
		return -1;
	if (!r->count)
		return 0;
	goes = calloc(r->count, sizeof(*goes));
	if (!goes)
		return errmsg_set(err, "%s: out of memory", r->path);
	if (count)
		qsort(run, count, sizeof(*run), compare_runs);
	refunds_look(r, &now);
	for (size_t i = 0; i < r->count; i++)
		going += goes[i] = may_go(&r->entry[i], &now, now_ms, run, count);
	if (going && going >= r->count - going)
		rc = replace_file(r, goes, err);
	free(goes);
	return rc;
}
