/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Keeps the list of what is held stopped and resumes from it. */
#include "poppa/held.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "poppa/proc.h"

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

/* Whether the list at path names something that was not resumed since this boot. */
static bool still_held(const char *path)
{
	int fd = open(path, O_RDWR | O_NOFOLLOW | O_CLOEXEC);
	struct held_file *h = fd < 0 ? NULL : held_map(fd, NULL);
	bool held = false;
	char now[44];

	if (fd >= 0)
		close(fd);
	if (h && !strcmp(h->boot_id, proc_boot_id(now, sizeof(now))))
		for (uint32_t i = 0; i < h->high && i < HELD_SLOTS; i++)
			held |= h->slot[i].armed != HELD_FREE;
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
	/* Allocated for real: on a full file system a later store would be fatal (SIGBUS). */
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

int held_live(struct held_file *h)
{
	int rc = pthread_mutex_lock(&h->alive);

	if (rc == EOWNERDEAD)
		rc = pthread_mutex_consistent(&h->alive);
	if (!rc)
		atomic_store(&h->stopper, (int32_t)syscall(SYS_gettid));
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

int held_take(
	struct held_file *h, enum held_kind kind, pid_t pid, uint64_t starttime, const char *path)
{
	if (path && strlen(path) >= HELD_PATH) {
		errno = ENAMETOOLONG;
		return -1;
	}
	for (uint32_t i = 0; i < HELD_SLOTS; i++) {
		struct held_slot *s = &h->slot[i];

		if (s->kind)
			continue;
		s->turn++;
		s->pid = pid;
		s->starttime = starttime;
		strcpy(s->path, path ? path : "");
		s->kind = kind;
		if (i >= h->high)
			h->high = i + 1;
		return (int)i;
	}
	errno = ENOSPC;
	return -1;
}

void held_free(struct held_file *h, int slot)
{
	uint32_t high = h->high;

	held_disarm(h, slot);
	h->slot[slot].kind = 0;
	while (high && !h->slot[high - 1].kind)
		high--;
	h->high = high;
}

void held_retake(struct held_file *h, int slot, pid_t pid, uint64_t starttime)
{
	struct held_slot *s = &h->slot[slot];

	s->turn++;
	s->pid = pid;
	s->starttime = starttime;
}

const struct freezer_words *held_freezer(enum held_kind kind)
{
	return kind == HELD_FREEZER_V1 ? &freezer_v1 : &freezer_v2;
}

static int resume(const struct held_slot *s)
{
	int fd, rc, foreign;

	if (s->kind != HELD_PROCESS)
		return freezer_thaw(held_freezer(s->kind), s->path);
	fd = proc_pidfd(s->pid, s->starttime);
	if (fd < 0)
		return -1;
	foreign = proc_pending_stop(s->pid, -1);
	rc = proc_signal(fd, SIGCONT);
	if (!rc && foreign)
		rc = proc_signal(fd, foreign);
	close(fd);
	return rc;
}

#define UNSTEADY UINT32_MAX

/* The state of a slot, with a copy of what is in it; its owner may take it back and arm it for
 * something else while we look. */
static uint32_t look_at(const struct held_slot *s, struct held_slot *copy)
{
	uint32_t state = atomic_load(&s->armed), turn = atomic_load(&s->turn);

	if (state == HELD_FREE)
		return state;
	copy->kind = s->kind;
	copy->pid = s->pid;
	copy->starttime = s->starttime;
	memcpy(copy->path, s->path, sizeof(copy->path));
	copy->path[sizeof(copy->path) - 1] = '\0';
	return atomic_load(&s->armed) == state && atomic_load(&s->turn) == turn ? state : UNSTEADY;
}

/*
 * Processor time of the stopping thread, by which two looks tell that it has not run in between; 0:
 * that cannot be told. The state is read first: who begins to run later is found by the next look.
 */
static uint64_t stopper_ran(const struct held_file *h)
{
	pid_t tid = atomic_load(&h->stopper);
	struct proc_stat st;
	uint64_t ns;

	return !tid || proc_stat(tid, &st) || st.state == 'R' || proc_ran(tid, &ns) ? 0 : ns;
}

/*
 * Whether the stopping thread hangs in one of the calls by which a process is stopped. A signal is
 * sent without a sleep, so who does not run any more has sent it and hangs on the way back; only a
 * tracer could hold it on the way in. It has not run since before the slot was looked at, so the
 * call is the slot's.
 */
static bool stop_is_made(const struct held_file *h, uint64_t ran)
{
	pid_t tid = atomic_load(&h->stopper);
	struct proc_stat st;
	long nr;

	if (!ran || proc_stat(tid, &st) || st.state == 't' || proc_syscall(tid, &nr))
		return false;
	return (nr == SYS_pidfd_send_signal || nr == SYS_tgkill || nr == SYS_getdents64 ||
		       nr == SYS_lseek) &&
	       stopper_ran(h) == ran;
}

int held_release(struct held_file *h, bool sure, int *again)
{
	uint32_t high = h->high < HELD_SLOTS ? h->high : HELD_SLOTS;
	uint64_t ran = sure ? 0 : stopper_ran(h); /* before anything is resumed */
	int count = 0, stay = 0;

	for (uint32_t i = 0; i < high; i++) {
		struct held_slot *s = &h->slot[i], copy;
		uint32_t state = look_at(s, &copy);
		bool made;

		if (state == HELD_FREE)
			continue;
		count++;
		made = state == HELD_STOPPING && copy.kind == HELD_PROCESS && stop_is_made(h, ran);
		if (state == UNSTEADY)
			stay++; /* who changes it is awake, or dies and leaves it as it is */
		else if (state == HELD_STOPPING && ran && s->woken_ns == ran)
			stay++; /* what stands still by now was stopped by somebody else */
		else if (resume(&copy) && errno != ESRCH && errno != ENOENT && errno != ENODEV)
			stay++;
		else if (state == HELD_STOPPING && !sure && !made) {
			s->woken_ns = ran;
			stay++;
		} else
			atomic_compare_exchange_strong(&s->armed, &state, HELD_FREE);
	}
	if (again)
		*again = stay;
	return count;
}

int held_repair(const char *path, struct errmsg *err)
{
	int fd = open(path, O_RDWR | O_NOFOLLOW | O_CLOEXEC), count, failed = 0;
	struct held_file *h;
	char now[44];

	if (fd < 0)
		return errno == ENOENT
			       ? 0
			       : errmsg_set(err, "cannot open %s: %s", path, strerror(errno));
	h = held_map(fd, err);
	close(fd);
	if (!h)
		return -1;
	count = strcmp(h->boot_id, proc_boot_id(now, sizeof(now))) ? 0
								   : held_release(h, true, &failed);
	held_unmap(h);
	return failed ? errmsg_set(err, "%d of %d held things could not be resumed", failed, count)
		      : count;
}
