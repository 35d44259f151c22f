/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The journal: a first line that says what the file is, then NUMBER CHECK of each task that is
 * done. */
#include "farm/farm_journal.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <unistd.h>

#include "common/fsio.h"

#define FIRST "poppa-farm 1"
#define FILE_MAX ((size_t)1 << 32)

struct farm_done {
	uint64_t number, check;
};

static bool remember(struct farm_journal *j, uint64_t number, uint64_t check)
{
	if (j->count == j->room) {
		uint64_t room = j->room ? 2 * j->room : 1024;
		struct farm_done *done = realloc(j->done, room * sizeof(*done));

		if (!done)
			return false;
		j->done = done;
		j->room = room;
	}
	j->done[j->count++] = (struct farm_done){number, check};
	return true;
}

struct reading {
	struct farm_journal *j;
	bool begun, wrong, no_memory;
};

static bool read_line(const char *line, void *arg)
{
	struct reading *r = arg;
	uint64_t number, check;
	int end = 0;

	if (!r->begun) {
		r->begun = true;
		r->wrong = strcmp(line, FIRST) != 0;
		return true;
	}
	if (sscanf(line, "%" SCNu64 " %" SCNx64 "%n", &number, &check, &end) != 2 || line[end])
		return false;
	r->no_memory |= !remember(r->j, number, check);
	return true;
}

static int by_number(const void *a, const void *b)
{
	const struct farm_done *x = a, *y = b;

	return x->number < y->number   ? -1
	       : x->number > y->number ? 1
	       : x->check < y->check   ? -1
				       : x->check > y->check;
}

/* Whether a file without a whole line may be a journal that a crash has cut in its first line: a
 * part of that, or zeros. Anything else is somebody's file. */
static bool is_begun(const char *text, size_t len)
{
	size_t n = strlen(text);

	for (size_t i = n; i < len; i++)
		if (text[i])
			return false;
	return !strncmp(text, FIRST "\n", n);
}

/* Returns where the last line ends, or -1 with err. */
static off_t read_done(struct farm_journal *j, struct errmsg *err)
{
	struct reading r = {.j = j};
	size_t end, len = 0;
	int damaged = 0;
	char *text = fsio_read_fd(j->lock, j->path, FILE_MAX, &len, err);

	if (!text)
		return -1;
	r.wrong = !strchr(text, '\n') && !is_begun(text, len);
	end = journal_lines(text, read_line, &r, &damaged);
	r.wrong |= end && !r.begun;
	free(text);
	if (r.wrong)
		return errmsg_set(err,
			"%s: this file is no journal of poppa-farm: name another one", j->path);
	if (r.no_memory)
		return errmsg_set(err, "out of memory");
	if (damaged)
		return errmsg_set(err,
			"%s: %d lines cannot be read: take them out, and their tasks are run again",
			j->path, damaged);
	if (j->count)
		qsort(j->done, j->count, sizeof(*j->done), by_number);
	return (off_t)end;
}

int farm_journal_open(struct farm_journal *j, const char *path, struct errmsg *err)
{
	off_t end;

	*j = (struct farm_journal){.path = path, .file = {.fd = -1}, .lock = -1};
	if (!path)
		return 0;
	j->lock = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0666);
	if (j->lock < 0)
		return errmsg_set(err, "%s: %s", path, strerror(errno));
	/* Some file systems of clusters have no locks; there, nothing keeps two from one journal.
	 */
	if (flock(j->lock, LOCK_EX | LOCK_NB) && errno != ENOSYS && errno != ENOLCK &&
		errno != EOPNOTSUPP)
		return errmsg_set(err, "%s: %s", path,
			errno == EWOULDBLOCK
				? "another poppa-farm uses this journal: name another one"
				: strerror(errno));
	end = read_done(j, err);
	if (end < 0 || journal_open(&j->file, path, end, err))
		return -1;
	return end ? 0 : journal_append(&j->file, path, FIRST "\n", strlen(FIRST "\n"), err);
}

void farm_journal_close(struct farm_journal *j)
{
	if (!j->path)
		return;
	if (j->file.fd >= 0)
		journal_close(&j->file);
	if (j->lock >= 0)
		close(j->lock);
	free(j->done);
}

bool farm_journal_has(const struct farm_journal *j, uint64_t number, uint64_t check)
{
	const struct farm_done wanted = {number, check};

	return j->count && bsearch(&wanted, j->done, j->count, sizeof(*j->done), by_number);
}

int farm_journal_add(struct farm_journal *j, uint64_t number, uint64_t check, struct errmsg *err)
{
	char line[64];
	int len;

	if (!j->path)
		return 0;
	len = snprintf(line, sizeof(line), "%" PRIu64 " %" PRIx64 "\n", number, check);
	return journal_append(&j->file, j->path, line, (size_t)len, err);
}

int farm_journal_sync(struct farm_journal *j, struct errmsg *err)
{
	return j->path ? journal_sync(&j->file, j->path, err) : 0;
}
