/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Resumes what the list says is held stopped. */
#include "poppa/hold/held_release.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "poppa/hold/proc.h"

static int resume_by(const struct held_entry *s, const struct held_handle *handle)
{
	int rc, foreign;

	if (s->kind != HELD_PROCESS)
		return freezer_command(handle->act, held_freezer(s->kind)->thaw);
	foreign = proc_pending_stop(s->pid, handle->status);
	rc = proc_signal(handle->act, SIGCONT);
	if (!rc && foreign)
		rc = proc_signal(handle->act, foreign);
	return rc;
}

static int resume(struct held_handles *ready, int entry, const struct held_entry *s)
{
	const struct held_handle *handle = held_handles_borrow(ready, entry, s->generation);
	struct held_handle own;
	int rc, saved;

	if (!handle && held_handle_open(s, &own))
		return -1;
	rc = resume_by(s, handle ? handle : &own);
	saved = errno;
	if (handle)
		held_handles_give_back(ready, entry);
	else
		held_handle_close(&own);
	errno = saved;
	return rc;
}

#define UNSTEADY UINT32_MAX

/* Copies an entry and returns its state; UNSTEADY where poppad resumed it, or used it for something
 * else, during the copy. */
static uint32_t look_at(const struct held_entry *s, struct held_entry *copy)
{
	uint32_t state = atomic_load(&s->armed), generation = atomic_load(&s->generation);

	if (state == HELD_FREE)
		return state;
	copy->kind = s->kind;
	copy->pid = s->pid;
	copy->generation = generation;
	copy->starttime = s->starttime;
	memcpy(copy->path, s->path, sizeof(copy->path));
	copy->path[sizeof(copy->path) - 1] = '\0';
	/* Completes the copy before `armed` and `generation` are read again. */
	atomic_thread_fence(memory_order_acquire);
	return atomic_load(&s->armed) == state && atomic_load(&s->generation) == generation
		       ? state
		       : UNSTEADY;
}

/*
 * Whether the call that stops or resumes the process of the entry that is HELD_STOPPING or
 * HELD_RESUMING is known to have been made: the stopping thread sleeps inside one of the system
 * calls that do so, and has not run since before the entry was read (`ran` is the processor time
 * that it had used then). The kernel sends a signal without sleeping, so a thread that sleeps in
 * the call has sent it and is on its way back; only a tracer could hold it on its way in. As it has
 * not run since, the call is the one for this entry.
 */
static bool call_is_made(const struct proc_watch *stopper, uint64_t ran)
{
	long nr = ran ? proc_watch_call(stopper) : -1;

	return (nr == SYS_pidfd_send_signal || nr == SYS_tgkill || nr == SYS_getdents64 ||
		       nr == SYS_lseek) &&
	       proc_watch_ran(stopper) == ran;
}

/* stopper is NULL where nothing more can be stopped. */
static int release(struct held_file *h, struct held_handles *ready,
	const struct proc_watch *stopper, int *again)
{
	uint32_t high = h->high < HELD_ENTRIES ? h->high : HELD_ENTRIES;
	/* The processor time of the stopping thread, read before any entry: where a later look
	 * finds the same value, the thread has not run in between. */
	uint64_t ran = stopper ? proc_watch_ran(stopper) : 0;
	int count = 0;

	for (uint32_t i = 0; i < high; i++) {
		struct held_entry *s = &h->entry[i], copy;
		uint32_t state = look_at(s, &copy);
		bool made;

		if (state == HELD_FREE)
			continue;
		count++;
		made = (state == HELD_STOPPING || state == HELD_RESUMING) &&
		       copy.kind == HELD_PROCESS && stopper && call_is_made(stopper, ran);
		if (state == UNSTEADY)
			++*again; /* poppad changes it right now, or dies and leaves it as it is */
		else if (state == HELD_STOPPING && ran && s->woken_ns == ran)
			/* Resumed before, and the stopping thread has not run since: where the
			 * process is stopped now, somebody else has done that. */
			++*again;
		else if (!(state == HELD_RESUMING && made) && resume(ready, (int)i, &copy) &&
			 errno != ESRCH && errno != ENOENT && errno != ENODEV)
			++*again;
		else if (state == HELD_STOPPING && stopper && !made) {
			s->woken_ns = ran;
			++*again;
		} else
			atomic_compare_exchange_strong(&s->armed, &state, HELD_FREE);
	}
	return count;
}

int held_release(struct held_file *h, struct held_handles *ready, bool sure, int *again)
{
	pid_t tid = atomic_load(&h->stopper);
	const struct proc_watch *stopper;
	struct proc_watch own;
	int count, ignored;

	if (!again)
		again = &ignored;
	*again = 0;
	if (sure)
		return release(h, ready, NULL, again);
	stopper = held_handles_borrow_stopper(ready, tid);
	if (!stopper)
		proc_watch_open(&own, tid);
	count = release(h, ready, stopper ? stopper : &own, again);
	if (stopper)
		held_handles_give_back_stopper(ready);
	else
		proc_watch_close(&own);
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
	count = strcmp(h->boot_id, proc_boot_id(now, sizeof(now)))
			? 0
			: held_release(h, NULL, true, &failed);
	held_unmap(h);
	return failed ? errmsg_set(err, "%d of %d held things could not be resumed", failed, count)
		      : count;
}
