/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Reads the progress that an application publishes through libpoppa-heartbeat. */
/*
 * An untrusted process owns the page and can change all of it at any time. Seals against resizing
 * do not forbid punching holes, where a read through a mapping may fault and wait for the owner.
 * F_SEAL_FUTURE_WRITE does: a page with that seal is mapped and locked into memory, and a sample
 * costs some loads. Other pages (kernels before 5.1) are read with one pread() for each sample,
 * which can neither fault nor block.
 */
#include "poppa/counter/counter_backend.h"

#include <errno.h>
#include <fcntl.h>
#include <ctype.h>
#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/fsio.h"
#include "heartbeat/poppa_heartbeat.h"

#define LINK_TEXT "/memfd:" POPPA_HEARTBEAT_NAME " (deleted)"
#define MAX_FDS 4096 /* number of links to look at: more would make opening slow */
#define FIRST_SLOTS 8
#define NEEDED_SEALS (F_SEAL_SHRINK | F_SEAL_GROW)
#ifndef F_SEAL_FUTURE_WRITE
#define F_SEAL_FUTURE_WRITE 0x0010
#endif

struct heartbeat {
	int fd;
	const struct poppa_heartbeat_page *map; /* NULL: read by fd */
	char link[64];                          /* /proc/PID/fd/N */
	ino_t inode;
	size_t want;   /* bytes of the page worth reading */
	uint64_t last; /* highest count seen */
	uint64_t progress;
};

/* Never asks the file system of the link's target, which might be FUSE and never answer. */
static int identify(int dir, const char *name, int flags, struct statx *st)
{
	return statx(dir, name, flags | AT_STATX_DONT_SYNC, STATX_TYPE | STATX_INO, st);
}

/* The device of all memfds of this kernel, which no mounted file system can have. */
static int memfd_device(struct statx *out, struct errmsg *err)
{
	int fd = memfd_create("poppa-counter", MFD_CLOEXEC), rc = -1;

	if (fd >= 0) {
		rc = identify(fd, "", AT_EMPTY_PATH, out);
		close(fd);
	}
	if (!rc)
		return 0;
	return counter_fail(
		ENODATA, err, "heartbeat: this kernel makes no memfd: %s", strerror(errno));
}

/* The id that the process has in its own pid namespace: the last number of the NSpid line. */
static pid_t own_pid(pid_t pid)
{
	char path[64], *text, *line;
	pid_t own = pid;

	snprintf(path, sizeof(path), "/proc/%d/status", (int)pid);
	text = fsio_read(path, 65536, NULL, NULL);
	line = text ? strstr(text, "\nNSpid:\t") : NULL;
	if (line) {
		line++;
		line[strcspn(line, "\n")] = '\0';
		own = (pid_t)atoi(strrchr(line, '\t') + 1);
	}
	free(text);
	return own;
}

/* Sums the counts of a page. *want is the number of bytes to read. It grows with the number of
 * slots in use; only then a second read is needed. */
static int read_page(int fd, pid_t owner, size_t *want, uint64_t *sum)
{
	/* The reader's own copy, so that nothing changes between a check and its use. */
	struct poppa_heartbeat_page copy;
	uint32_t used, have;

	for (int again = 0;; again++) {
		ssize_t n = pread(fd, &copy, *want, 0);

		if (n < 0)
			return -1;
		if ((size_t)n != *want || copy.header.magic != POPPA_HEARTBEAT_MAGIC ||
			copy.header.version != POPPA_HEARTBEAT_VERSION || !copy.header.pid ||
			(owner && copy.header.pid != owner)) {
			errno = ENODATA;
			return -1;
		}
		used = copy.header.used;
		if (used > POPPA_HEARTBEAT_SLOTS)
			used = POPPA_HEARTBEAT_SLOTS;
		have = (*want - sizeof(copy.header)) / sizeof(copy.slot[0]);
		if (used <= have || again)
			break;
		*want = sizeof(copy.header) + used * sizeof(copy.slot[0]);
	}
	*sum = 0;
	for (uint32_t i = 0; i < used && i < have; i++)
		*sum += copy.slot[i].count;
	return 0;
}

/* The same from a mapped page. Its owner changes it meanwhile, so each value is loaded once. */
static int load_page(const struct poppa_heartbeat_page *page, uint64_t *sum)
{
	const struct poppa_heartbeat_header *h = &page->header;
	uint32_t used = __atomic_load_n(&h->used, __ATOMIC_RELAXED);

	if (__atomic_load_n(&h->magic, __ATOMIC_RELAXED) != POPPA_HEARTBEAT_MAGIC ||
		__atomic_load_n(&h->version, __ATOMIC_RELAXED) != POPPA_HEARTBEAT_VERSION ||
		!__atomic_load_n(&h->pid, __ATOMIC_RELAXED)) {
		errno = ENODATA;
		return -1;
	}
	if (used > POPPA_HEARTBEAT_SLOTS)
		used = POPPA_HEARTBEAT_SLOTS;
	*sum = 0;
	for (uint32_t i = 0; i < used; i++)
		*sum += __atomic_load_n(&page->slot[i].count, __ATOMIC_RELAXED);
	return 0;
}

/* NULL where a load from the page could fault or wait. */
static const struct poppa_heartbeat_page *map_page(int fd, int seals)
{
	struct stat st;
	void *map;

	if (!(seals & F_SEAL_FUTURE_WRITE) || fstat(fd, &st) ||
		st.st_size < (off_t)sizeof(struct poppa_heartbeat_page))
		return NULL;
	map = mmap(NULL, sizeof(struct poppa_heartbeat_page), PROT_READ, MAP_SHARED, fd, 0);
	if (map == MAP_FAILED)
		return NULL;
	if (!mlock(map, sizeof(struct poppa_heartbeat_page)))
		return map;
	munmap(map, sizeof(struct poppa_heartbeat_page));
	return NULL;
}

/* Opens the file behind link if it is a sealed memfd whose page names owner; else -1. */
static int open_page(const char *link, const struct statx *memfds, pid_t owner, struct heartbeat *h,
	bool *foreign)
{
	struct statx st;
	char self[64];
	int path, fd = -1, seals;
	uint64_t sum;

	/* A path descriptor pins the inode without opening it. */
	path = open(link, O_PATH | O_CLOEXEC);
	if (path < 0)
		return -1;
	if (identify(path, "", AT_EMPTY_PATH, &st) || !S_ISREG(st.stx_mode) ||
		st.stx_dev_major != memfds->stx_dev_major ||
		st.stx_dev_minor != memfds->stx_dev_minor)
		goto out;
	/* Without O_NONBLOCK the owner could delay the open with a lease on the file. */
	snprintf(self, sizeof(self), "/proc/self/fd/%d", path);
	fd = open(self, O_RDONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
	if (fd < 0)
		goto out;
	seals = fcntl(fd, F_GET_SEALS);
	if (seals < 0 || (seals & NEEDED_SEALS) != NEEDED_SEALS ||
		read_page(fd, 0, &h->want, &sum)) {
		close(fd);
		fd = -1;
		goto out;
	}
	if (read_page(fd, owner, &h->want, &h->last)) {
		*foreign = true;
		close(fd);
		fd = -1;
		goto out;
	}
	h->inode = st.stx_ino;
	h->map = map_page(fd, seals);
out:
	close(path);
	return fd;
}

static int heartbeat_open(const struct nodeconf *conf, pid_t pid, void **state, struct errmsg *err)
{
	char dirname[64], text[sizeof(LINK_TEXT)];
	struct heartbeat *h;
	struct statx memfds;
	struct dirent *entry;
	bool foreign = false;
	pid_t owner;
	DIR *dir;

	(void)conf;
	if (memfd_device(&memfds, err))
		return -1;
	snprintf(dirname, sizeof(dirname), "/proc/%d/fd", (int)pid);
	dir = opendir(dirname);
	if (!dir) {
		int code = errno == ENOENT ? ESRCH : errno;

		return counter_fail(code, err, "heartbeat: task %d: %s", (int)pid,
			code == ESRCH ? "it is gone" : strerror(code));
	}
	h = calloc(1, sizeof(*h));
	if (!h) {
		closedir(dir);
		return counter_fail(ENOMEM, err, "out of memory");
	}
	h->fd = -1;
	owner = own_pid(pid);
	for (int i = 0; i < MAX_FDS && h->fd < 0 && (entry = readdir(dir)); i++) {
		ssize_t len;

		if (!isdigit((unsigned char)entry->d_name[0]))
			continue;
		len = readlinkat(dirfd(dir), entry->d_name, text, sizeof(text));
		if (len != (ssize_t)strlen(LINK_TEXT) || memcmp(text, LINK_TEXT, len))
			continue;
		snprintf(h->link, sizeof(h->link), "/proc/%d/fd/%d", (int)pid, atoi(entry->d_name));
		h->want = sizeof(struct poppa_heartbeat_header) +
			  FIRST_SLOTS * sizeof(struct poppa_heartbeat_slot);
		h->fd = open_page(h->link, &memfds, owner, h, &foreign);
	}
	closedir(dir);
	if (h->fd < 0) {
		free(h);
		return counter_fail(ENODATA, err,
			foreign ? "heartbeat: task %d only inherited the page of another process"
				: "heartbeat: task %d publishes none; link it with "
				  "libpoppa-heartbeat and call poppa_heartbeat_open()",
			(int)pid);
	}
	*state = h;
	return 0;
}

static int heartbeat_read(void *state, struct counter_sample *out)
{
	struct heartbeat *h = state;
	uint64_t sum;

	if (h->map ? load_page(h->map, &sum) : read_page(h->fd, 0, &h->want, &sum))
		return -1;
	/* Where the owner makes the count fall, there is no progress until it has caught up. */
	if ((int64_t)(sum - h->last) > 0) {
		h->progress += sum - h->last;
		h->last = sum;
	}
	out->progress = h->progress;
	out->cycles = 0;
	return 0;
}

/* Notices when the task has another page or none, as after an exec(). */
static int heartbeat_refresh(void *state)
{
	struct heartbeat *h = state;
	struct statx st;

	if (!identify(AT_FDCWD, h->link, 0, &st) && st.stx_ino == h->inode)
		return 0;
	errno = ENODATA;
	return -1;
}

static void heartbeat_close(void *state)
{
	struct heartbeat *h = state;

	if (h->map)
		munmap((void *)h->map, sizeof(*h->map));
	close(h->fd);
	free(h);
}

static bool heartbeat_available(const struct nodeconf *conf, struct errmsg *err)
{
	struct statx memfds;

	(void)conf;
	return !memfd_device(&memfds, err);
}

const struct counter_ops counter_heartbeat_ops = {
	.kind = COUNTER_HEARTBEAT,
	.available = heartbeat_available,
	.open = heartbeat_open,
	.read = heartbeat_read,
	.refresh = heartbeat_refresh,
	.close = heartbeat_close,
};
