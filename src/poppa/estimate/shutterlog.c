/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Writes shutter logs. */
#include "poppa/estimate/shutterlog.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define WRITE_BUFFER 65536

static const char *const region_names[SHUTTERLOG_REGIONS] = {"before", "during", "after", "beyond"};

const char *shutter_region_name(enum shutter_region r)
{
	return region_names[r];
}

struct shutterlog_writer {
	FILE *file;
	char path[4096];
	char buffer[WRITE_BUFFER];
	uint32_t known[SHUTTERLOG_KNOWN]; /* jobs whose prior is in the log, a ring */
	uint64_t knows;                   /* ever added to it */
	int error;                        /* errno of the first failed write since the last flush */
};

struct shutterlog_writer *shutterlog_open(const char *path, struct errmsg *err)
{
	struct shutterlog_writer *w = calloc(1, sizeof(*w));
	int fd;

	if (!w || strlen(path) >= sizeof(w->path)) {
		errmsg_set(err, "%s: %s", path, w ? "path is too long" : "out of memory");
		free(w);
		return NULL;
	}
	strcpy(w->path, path);
	fd = open(path, O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600);
	if (fd < 0 || !(w->file = fdopen(fd, "a"))) {
		errmsg_set(err, "shutter log %s: %s", path, strerror(errno));
		if (fd >= 0)
			close(fd);
		free(w);
		return NULL;
	}
	setvbuf(w->file, w->buffer, _IOFBF, sizeof(w->buffer));
	if (!lseek(fd, 0, SEEK_END))
		fputs(SHUTTERLOG_HEADER "\n", w->file);
	return w;
}

/* Notes that a write failed. */
static void failed(struct shutterlog_writer *w)
{
	if (!w->error)
		w->error = errno ? errno : EIO;
}

void shutterlog_prior(struct shutterlog_writer *w, uint32_t job, const struct slow_prior *prior)
{
	const double *weight = prior->weight;

	for (uint64_t i = 0; i < w->knows && i < SHUTTERLOG_KNOWN; i++)
		if (w->known[i] == job)
			return;
	w->known[w->knows++ % SHUTTERLOG_KNOWN] = job;
	errno = 0;
	/* With 17 digits a number is read back as it was. */
	if (fprintf(w->file, SHUTTERLOG_PRIOR "%" PRIu32 ",%.17g,%.17g,%.17g\n", job,
		    weight[SLOW_NONE], weight[SLOW_NARROW], weight[SLOW_WIDE]) < 0)
		failed(w);
}

void shutterlog_append(struct shutterlog_writer *w, const struct shutter_row *row)
{
	errno = 0;
	if (fprintf(w->file,
		    "%" PRIu64 ",%" PRIu32 ",%" PRIu64 ",%s,%d,%" PRIu64 ",%" PRIu64 ",%" PRIu64
		    ",%" PRIu64 ",%" PRIu64 "\n",
		    row->block, row->job, row->task, shutter_region_name(row->region), row->k,
		    row->start_ns, row->dur_ns, row->progress, row->cycles, row->lent_ns) < 0)
		failed(w);
}

int shutterlog_flush(struct shutterlog_writer *w, struct errmsg *err)
{
	int error = w->error;

	errno = 0;
	if (fflush(w->file) && !error)
		error = errno ? errno : EIO;
	w->error = 0;
	clearerr(w->file);
	if (error)
		return errmsg_set(err, "shutter log %s: %s", w->path, strerror(error));
	return 0;
}

void shutterlog_close(struct shutterlog_writer *w)
{
	if (!w)
		return;
	fclose(w->file);
	free(w);
}
