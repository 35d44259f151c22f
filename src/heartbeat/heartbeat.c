/* SPDX-License-Identifier: GPL-2.0-or-later OR BSD-2-Clause */
/* Makes, hands out and withdraws the page in which a process publishes its progress. */
/* The address range of the page is reserved once and never given back: opening maps a memfd over
 * it, closing and fork() map private memory over it. So a thread may keep the address of its slot
 * while it lives, and a late beat never writes to unmapped memory or to the page of a parent. */
#include "heartbeat/poppa_heartbeat.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#ifndef F_SEAL_FUTURE_WRITE
#define F_SEAL_FUTURE_WRITE 0x0010
#endif
#ifndef MFD_NOEXEC_SEAL
#define MFD_NOEXEC_SEAL 0x0008U /* Linux 6.3; older kernels refuse it */
#endif

#define PAGE_BYTES sizeof(struct poppa_heartbeat_page)
#define SHARED_SLOT (POPPA_HEARTBEAT_SLOTS - 1)

_Static_assert(sizeof(struct poppa_heartbeat_header) == POPPA_HEARTBEAT_LINE, "header is one line");
_Static_assert(sizeof(struct poppa_heartbeat_slot) == POPPA_HEARTBEAT_LINE, "slot is one line");

__thread struct poppa_heartbeat_slot *poppa_heartbeat_self;

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_once_t once = PTHREAD_ONCE_INIT;
static pthread_key_t thread_end;
static bool ready; /* init() has succeeded */

/* All under lock. */
static struct poppa_heartbeat_page *page; /* the reserved range; NULL before the first open */
static unsigned int opened;
static int page_fd = -1;
static struct stat page_id;               /* tells whether page_fd is still our descriptor */
static bool taken[POPPA_HEARTBEAT_SLOTS]; /* by a living thread; the last is never taken */
static unsigned int used;                 /* number of slots ever taken */

/* A thread that forks holds the lock meanwhile, so that the child finds a consistent state. */
static void before_fork(void)
{
	pthread_mutex_lock(&lock);
}

static void after_fork_parent(void)
{
	pthread_mutex_unlock(&lock);
}

static void close_page_fd(void)
{
	struct stat now;

	/* A program that closes all descriptors at start may have reused the number. */
	if (page_fd >= 0 && !fstat(page_fd, &now) && now.st_dev == page_id.st_dev &&
		now.st_ino == page_id.st_ino)
		close(page_fd);
	page_fd = -1;
}

static int map_private(void *at)
{
	void *p = mmap(at, PAGE_BYTES, PROT_READ | PROT_WRITE,
		MAP_PRIVATE | MAP_ANONYMOUS | (at ? MAP_FIXED : 0), -1, 0);

	if (p == MAP_FAILED)
		return -1;
	page = p;
	page->slot[SHARED_SLOT].shared = 1;
	return 0;
}

/* The child has one thread, which keeps its slot, and publishes no page. */
static void after_fork_child(void)
{
	if (page && opened) {
		map_private(page);
		close_page_fd();
	}
	opened = 0;
	for (unsigned int i = 0; i < POPPA_HEARTBEAT_SLOTS; i++)
		taken[i] = page && poppa_heartbeat_self == &page->slot[i] && i != SHARED_SLOT;
	pthread_mutex_unlock(&lock);
}

/* Runs in an ending thread: another thread may take its slot and continue the count in it. */
static void release(void *slot)
{
	ptrdiff_t i = (struct poppa_heartbeat_slot *)slot - page->slot;

	pthread_mutex_lock(&lock);
	taken[i] = false;
	pthread_mutex_unlock(&lock);
	poppa_heartbeat_self = NULL;
}

static void init(void)
{
	if (pthread_key_create(&thread_end, release))
		return;
	if (pthread_atfork(before_fork, after_fork_parent, after_fork_child)) {
		pthread_key_delete(thread_end);
		return;
	}
	ready = true;
}

static int sealed_memfd(void)
{
	int fd = memfd_create(
		POPPA_HEARTBEAT_NAME, MFD_CLOEXEC | MFD_ALLOW_SEALING | MFD_NOEXEC_SEAL);

	if (fd < 0 && errno == EINVAL)
		fd = memfd_create(POPPA_HEARTBEAT_NAME, MFD_CLOEXEC | MFD_ALLOW_SEALING);
	if (fd < 0)
		return -1;
	if (ftruncate(fd, PAGE_BYTES) || fcntl(fd, F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW) ||
		fstat(fd, &page_id)) {
		int saved = errno;

		close(fd);
		errno = saved;
		return -1;
	}
	return fd;
}

static int publish(void)
{
	struct poppa_heartbeat_header *h;

	if (!page && map_private(NULL))
		return -1;
	page_fd = sealed_memfd();
	if (page_fd < 0)
		return -1;
	if (mmap(page, PAGE_BYTES, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_FIXED, page_fd, 0) ==
		MAP_FAILED) {
		int saved = errno;

		close_page_fd();
		map_private(page);
		errno = saved;
		return -1;
	}
	/* No other writer from now on, and no hole in the file (Linux 5.1): readers may map it. */
	fcntl(page_fd, F_ADD_SEALS, F_SEAL_FUTURE_WRITE);
	fcntl(page_fd, F_ADD_SEALS, F_SEAL_SEAL);
	page->slot[SHARED_SLOT].shared = 1;
	h = &page->header;
	h->magic = POPPA_HEARTBEAT_MAGIC;
	h->version = POPPA_HEARTBEAT_VERSION;
	h->slots = POPPA_HEARTBEAT_SLOTS;
	h->used = used;
	/* The pid comes last: a page that names its owner is complete. */
	__atomic_store_n(&h->pid, (int32_t)getpid(), __ATOMIC_RELEASE);
	return 0;
}

int poppa_heartbeat_open(void)
{
	int rc = 0;

	pthread_once(&once, init);
	if (!ready) {
		errno = ENOMEM;
		return -1;
	}
	pthread_mutex_lock(&lock);
	if (!opened)
		rc = publish();
	if (!rc)
		opened++;
	pthread_mutex_unlock(&lock);
	return rc;
}

void poppa_heartbeat_close(void)
{
	pthread_mutex_lock(&lock);
	if (opened && --opened == 0) {
		__atomic_store_n(&page->header.pid, 0, __ATOMIC_RELAXED);
		map_private(page);
		close_page_fd();
	}
	pthread_mutex_unlock(&lock);
}

struct poppa_heartbeat_slot *poppa_heartbeat_claim(void)
{
	struct poppa_heartbeat_slot *slot = NULL;
	unsigned int i = 0;

	/* A program that never publishes comes here at every beat. */
	if (!__atomic_load_n(&opened, __ATOMIC_RELAXED))
		return NULL;
	pthread_mutex_lock(&lock);
	if (!opened)
		goto out;
	while (i < SHARED_SLOT && taken[i])
		i++;
	/* Without its destructor, the thread would keep the slot for ever: it shares one instead.
	 */
	if (i < SHARED_SLOT && pthread_setspecific(thread_end, &page->slot[i]))
		i = SHARED_SLOT;
	slot = &page->slot[i];
	taken[i] = i < SHARED_SLOT;
	if (i >= used) {
		used = i + 1;
		__atomic_store_n(&page->header.used, used, __ATOMIC_RELAXED);
	}
	poppa_heartbeat_self = slot;
out:
	pthread_mutex_unlock(&lock);
	return slot;
}

void poppa_heartbeat_count(uint64_t n)
{
	poppa_heartbeat_add(n);
}
