/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Keeps the list of what is held stopped. */
#include "poppa/hold/held.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/futex.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "poppa/hold/proc.h"

static const char held_magic[] = "poppheld";
#define HELD_VERSION 4

struct held_file *held_map(int fd, struct errmsg *err)
{
	struct held_file *h;
	struct stat st;

	if (fstat(fd, &st) || st.st_size < (off_t)sizeof(*h)) {
		errmsg_set(err, "the list of held processes is too short");
		return NULL;
	}
	h = mmap(NULL, sizeof(*h), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	if (h == MAP_FAILED) {
		errmsg_set(err, "cannot map the list of held processes: %s", strerror(errno));
		return NULL;
	}
	if (memcmp(h->magic, held_magic, sizeof(h->magic)) || h->version != HELD_VERSION) {
		errmsg_set(err, "the list of held processes has an unknown format");
		munmap(h, sizeof(*h));
		return NULL;
	}
	return h;
}

void held_unmap(struct held_file *h)
{
	if (h)
		munmap(h, sizeof(*h));
}

/* Whether the list at path is of this boot and names something that was not resumed. */
static bool still_held(const char *path)
{
	int fd = open(path, O_RDWR | O_NOFOLLOW | O_CLOEXEC);
	struct held_file *h = fd < 0 ? NULL : held_map(fd, NULL);
	bool held = false;
	char now[44];

	if (fd >= 0)
		close(fd);
	if (h && !strcmp(h->boot_id, proc_boot_id(now, sizeof(now))))
		for (uint32_t i = 0; i < h->high && i < HELD_ENTRIES; i++)
			held |= h->entry[i].armed != HELD_FREE;
	held_unmap(h);
	return held;
}

struct held_file *held_create(const char *path, int *fd, struct errmsg *err)
{
	char tmp[PATH_MAX];
	pthread_mutexattr_t ma;
	struct held_file *h;

	if (snprintf(tmp, sizeof(tmp), "%s.new", path) >= (int)sizeof(tmp)) {
		errmsg_set(err, "%s: the path is too long", path);
		return NULL;
	}
	if (still_held(path)) {
		errmsg_set(err, "%s names what is still held stopped: poppad --repair resumes it",
			path);
		return NULL;
	}
	unlink(tmp);
	*fd = open(tmp, O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
	if (*fd < 0) {
		errmsg_set(err, "cannot make %s: %s", tmp, strerror(errno));
		return NULL;
	}
	/* Allocates the blocks now: on a full file system a later store would be fatal (SIGBUS). */
	errno = posix_fallocate(*fd, 0, sizeof(*h));
	if (errno) {
		errmsg_set(err, "cannot make room for %s: %s", tmp, strerror(errno));
		goto broken;
	}
	h = mmap(NULL, sizeof(*h), PROT_READ | PROT_WRITE, MAP_SHARED, *fd, 0);
	if (h == MAP_FAILED) {
		errmsg_set(err, "cannot map %s: %s", tmp, strerror(errno));
		goto broken;
	}
	memcpy(h->magic, held_magic, sizeof(h->magic));
	h->version = HELD_VERSION;
	proc_boot_id(h->boot_id, sizeof(h->boot_id));
	pthread_mutexattr_init(&ma);
	pthread_mutexattr_setpshared(&ma, PTHREAD_PROCESS_SHARED);
	pthread_mutexattr_setrobust(&ma, PTHREAD_MUTEX_ROBUST);
	pthread_mutex_init(&h->alive, &ma);
	pthread_mutexattr_destroy(&ma);
	if (rename(tmp, path)) {
		errmsg_set(err, "cannot rename %s to %s: %s", tmp, path, strerror(errno));
		munmap(h, sizeof(*h));
		goto broken;
	}
	return h;
broken:
	close(*fd);
	*fd = -1;
	unlink(tmp);
	return NULL;
}

/* Wakes the guard's thread that opens files for what is in the entries (held_wait_news()). */
static void ring(struct held_file *h)
{
	atomic_fetch_add(&h->news, 1);
	syscall(SYS_futex, &h->news, FUTEX_WAKE, INT_MAX, NULL, NULL, 0);
}

void held_wait_news(struct held_file *h, uint32_t seen)
{
	syscall(SYS_futex, &h->news, FUTEX_WAIT, seen, NULL, NULL, 0);
}

int held_live(struct held_file *h)
{
	int rc = pthread_mutex_lock(&h->alive);

	if (rc == EOWNERDEAD)
		rc = pthread_mutex_consistent(&h->alive);
	if (!rc) {
		atomic_store(&h->stopper, (int32_t)syscall(SYS_gettid));
		ring(h);
	}
	errno = rc;
	return rc ? -1 : 0;
}

void held_wait_death(struct held_file *h)
{
	int rc = pthread_mutex_lock(&h->alive);

	if (rc == EOWNERDEAD)
		rc = pthread_mutex_consistent(&h->alive);
	if (!rc)
		pthread_mutex_unlock(&h->alive);
}

/* A reader that sees a member of the next generation sees HELD_FREE before it, too. */
static void begin_reuse(void)
{
	atomic_thread_fence(memory_order_release);
}

int held_take(
	struct held_file *h, enum held_kind kind, pid_t pid, uint64_t starttime, const char *path)
{
	if (path && strlen(path) >= HELD_PATH) {
		errno = ENAMETOOLONG;
		return -1;
	}
	for (uint32_t i = 0; i < HELD_ENTRIES; i++) {
		struct held_entry *s = &h->entry[i];

		if (s->kind)
			continue;
		begin_reuse();
		s->pid = pid;
		s->starttime = starttime;
		strcpy(s->path, path ? path : "");
		s->kind = kind;
		s->generation++;
		if (i >= h->high)
			h->high = i + 1;
		ring(h);
		return (int)i;
	}
	errno = ENOSPC;
	return -1;
}

void held_free(struct held_file *h, int entry)
{
	uint32_t high = h->high;

	held_disarm(h, entry);
	h->entry[entry].kind = 0;
	while (high && !h->entry[high - 1].kind)
		high--;
	h->high = high;
	ring(h);
}

void held_retake(struct held_file *h, int entry, pid_t pid, uint64_t starttime)
{
	struct held_entry *s = &h->entry[entry];

	begin_reuse();
	s->pid = pid;
	s->starttime = starttime;
	s->generation++;
}

const struct freezer_words *held_freezer(enum held_kind kind)
{
	return kind == HELD_FREEZER_V1 ? &freezer_v1 : &freezer_v2;
}
