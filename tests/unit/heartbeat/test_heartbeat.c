/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Unit tests of the heartbeat library and of its reader, which trusts no page. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "heartbeat/poppa_heartbeat.h"
#include "poppa/counter/counter.h"

#ifndef MFD_HUGETLB
#define MFD_HUGETLB 4U
#endif

/* A child that does one command a byte and answers each when done. */
struct child {
	pid_t pid;
	int command, answer;
};

enum {
	OPEN = 'o',
	CLOSE = 'c',
	BEAT = 'b', /* 5 units */
	THREADS = 't',
	CROWD = 'C',
	FORK = 'F',
	EXEC = 'x',
};

static void *thousand(void *arg)
{
	for (int i = 0; i < 1000; i++)
		poppa_heartbeat_add(1);
	if (arg)
		pthread_barrier_wait(arg);
	return NULL;
}

/* 300 threads after one another: each continues what an ended one left. */
static void many_threads(void)
{
	pthread_t t;

	for (int i = 0; i < 300; i++) {
		pthread_create(&t, NULL, thousand, NULL);
		pthread_join(t, NULL);
	}
}

/* More threads at once than there are slots. */
static void crowd(void)
{
	enum { N = POPPA_HEARTBEAT_SLOTS + 40 };
	pthread_barrier_t all;
	pthread_attr_t small;
	pthread_t t[N];

	pthread_attr_init(&small);
	pthread_attr_setstacksize(&small, 256 * 1024);
	pthread_barrier_init(&all, NULL, N);
	for (int i = 0; i < N; i++)
		pthread_create(&t[i], &small, thousand, &all);
	for (int i = 0; i < N; i++)
		pthread_join(t[i], NULL);
	pthread_barrier_destroy(&all);
	pthread_attr_destroy(&small);
}

/* A forked child that beats must not show in its parent. */
static void beat_in_child(pid_t pid)
{
	if (pid == 0) {
		for (int i = 0; i < 1000; i++)
			poppa_heartbeat_add(1000);
		poppa_heartbeat_close();
		_exit(0);
	}
	waitpid(pid, NULL, 0);
}

static int obey(char c, int answer)
{
	switch (c) {
	case OPEN:
		return poppa_heartbeat_open();
	case CLOSE:
		poppa_heartbeat_close();
		return 0;
	case BEAT:
		poppa_heartbeat_add(5);
		return 0;
	case THREADS:
		many_threads();
		return 0;
	case CROWD:
		crowd();
		return 0;
	case FORK:
		beat_in_child(fork());
		return 0;
	case EXEC:
		fcntl(answer, F_SETFD, FD_CLOEXEC);
		execlp("sleep", "sleep", "60", NULL);
		return -1;
	default:
		return -1;
	}
}

static void child_main(int command, int answer)
{
	char c;

	while (read(command, &c, 1) == 1) {
		char done = obey(c, answer) ? 'n' : 'y';

		if (write(answer, &done, 1) != 1)
			break;
	}
	_exit(0);
}

static struct child start(void)
{
	struct child k;
	int to[2], from[2];

	assert_int_equal(pipe2(to, O_CLOEXEC), 0);
	assert_int_equal(pipe2(from, O_CLOEXEC), 0);
	k.pid = fork();
	assert_true(k.pid >= 0);
	if (k.pid == 0) {
		close(to[1]);
		close(from[0]);
		child_main(to[0], from[1]);
	}
	close(to[0]);
	close(from[1]);
	k.command = to[1];
	k.answer = from[0];
	return k;
}

static void tell(const struct child *k, char c)
{
	char done = 0;

	assert_int_equal(write(k->command, &c, 1), 1);
	assert_int_equal(read(k->answer, &done, 1), 1);
	assert_int_equal(done, 'y');
}

static void end(struct child *k)
{
	kill(k->pid, SIGKILL);
	waitpid(k->pid, NULL, 0);
	close(k->command);
	close(k->answer);
}

static uint64_t progress(struct counter *c)
{
	struct counter_sample s;

	assert_int_equal(counter_read(c, &s), 0);
	assert_int_equal(s.cycles, 0);
	return s.progress;
}

static struct counter *attach(pid_t pid)
{
	struct counter *c = NULL;
	struct errmsg err = {""};

	if (counter_open(COUNTER_HEARTBEAT, NULL, pid, &c, &err))
		fail_msg("%s", err.text);
	assert_int_equal(counter_kind(c), COUNTER_HEARTBEAT);
	assert_false(counter_has_cycles(c));
	return c;
}

static void refused(pid_t pid, int code)
{
	struct counter *c = NULL;
	struct errmsg err = {""};

	assert_int_equal(counter_open(COUNTER_HEARTBEAT, NULL, pid, &c, &err), -1);
	assert_int_equal(errno, code);
	assert_non_null(strstr(err.text, "task"));
}

static void counts_exactly(void **state)
{
	struct child k = start();
	struct counter *c;

	(void)state;
	tell(&k, BEAT); /* before the open: goes nowhere */
	refused(k.pid, ENODATA);
	tell(&k, OPEN);
	tell(&k, BEAT);
	c = attach(k.pid);
	assert_int_equal(progress(c), 0);
	tell(&k, BEAT);
	tell(&k, BEAT);
	assert_int_equal(progress(c), 10);
	assert_int_equal(progress(c), 10);
	tell(&k, THREADS);
	assert_int_equal(progress(c), 300010);
	tell(&k, CROWD);
	assert_int_equal(progress(c), 300010 + (POPPA_HEARTBEAT_SLOTS + 40) * 1000);
	assert_int_equal(counter_refresh(c), 0);
	counter_close(c);
	end(&k);
}

static void close_and_reopen(void **state)
{
	struct child k = start();
	struct counter_sample s;
	struct counter *c;

	(void)state;
	tell(&k, OPEN);
	tell(&k, OPEN);
	c = attach(k.pid);
	tell(&k, CLOSE);
	tell(&k, BEAT);
	assert_int_equal(progress(c), 5); /* opened twice, closed once */
	tell(&k, CLOSE);
	tell(&k, BEAT);
	assert_int_equal(counter_read(c, &s), -1);
	assert_int_equal(errno, ENODATA);
	tell(&k, OPEN);
	assert_int_equal(counter_refresh(c), -1);
	assert_int_equal(errno, ENODATA);
	counter_close(c);
	c = attach(k.pid);
	tell(&k, BEAT);
	assert_int_equal(progress(c), 5);
	counter_close(c);
	end(&k);
}

static void death(void **state)
{
	struct child k = start();
	struct counter_sample s;
	struct counter *c;

	(void)state;
	tell(&k, OPEN);
	c = attach(k.pid);
	tell(&k, BEAT);
	end(&k);
	assert_int_equal(counter_read(c, &s), 0); /* what it had done yet */
	assert_int_equal(s.progress, 5);
	assert_int_equal(counter_read(c, &s), -1);
	assert_int_equal(errno, ESRCH);
	assert_int_equal(counter_refresh(c), -1);
	assert_int_equal(errno, ESRCH);
	counter_close(c);
	refused(k.pid, ESRCH);
}

static void exec_ends_it(void **state)
{
	struct child k = start();
	struct counter *c;
	char byte;

	(void)state;
	tell(&k, OPEN);
	c = attach(k.pid);
	assert_int_equal(write(k.command, &(char){EXEC}, 1), 1);
	assert_int_equal(read(k.answer, &byte, 1), 0); /* closed by the exec */
	assert_int_equal(counter_refresh(c), -1);
	assert_int_equal(errno, ENODATA);
	counter_close(c);
	refused(k.pid, ENODATA);
	end(&k);
}

static void children_count_apart(void **state)
{
	struct child k = start();
	struct counter *c;
	pid_t raw;

	(void)state;
	tell(&k, OPEN);
	tell(&k, BEAT); /* the thread has its slot before the fork */
	c = attach(k.pid);
	tell(&k, FORK);
	assert_int_equal(progress(c), 0);
	counter_close(c);
	end(&k);

	/* Without fork handlers the child has the parent's page open: it is not the child's. */
	assert_int_equal(poppa_heartbeat_open(), 0);
	raw = _Fork();
	assert_true(raw >= 0);
	if (raw == 0) {
		pause();
		_exit(0);
	}
	refused(raw, ENODATA);
	counter_close(attach(getpid()));
	kill(raw, SIGKILL);
	waitpid(raw, NULL, 0);
	poppa_heartbeat_close();
}

/* Runs in a child, as it spoils the process' descriptors. */
static int without_descriptors(void)
{
	struct rlimit none = {0, 0};

	setrlimit(RLIMIT_NOFILE, &none);
	if (!poppa_heartbeat_open() || errno != EMFILE)
		return 1;
	poppa_heartbeat_add(1);
	poppa_heartbeat_close();
	return 0;
}

static int foreign_descriptor(void)
{
	int first = dup(0), spy[2];
	char c;

	close(first);
	if (poppa_heartbeat_open())
		return 1;
	close(first); /* the page's number, which the pipe takes */
	if (pipe(spy) || spy[0] != first)
		return 2;
	poppa_heartbeat_add(1);
	poppa_heartbeat_close();
	return write(spy[1], "x", 1) == 1 && read(spy[0], &c, 1) == 1 ? 0 : 3;
}

static void in_child(int (*fn)(void))
{
	int status;
	pid_t pid = fork();

	assert_true(pid >= 0);
	if (pid == 0)
		_exit(fn());
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_int_equal(status, 0);
}

static void never_fails_the_application(void **state)
{
	(void)state;
	in_child(without_descriptors);
	in_child(foreign_descriptor);
}

/* --- pages that the library did not make; this process is their owner --- */

struct page {
	int fd;
	struct poppa_heartbeat_page *map;
};

static struct page craft(unsigned int flags, size_t bytes, int seals)
{
	struct page p = {.map = NULL};

	p.fd = memfd_create(POPPA_HEARTBEAT_NAME, MFD_CLOEXEC | MFD_ALLOW_SEALING | flags);
	if (p.fd < 0)
		return p;
	assert_int_equal(ftruncate(p.fd, (off_t)bytes), 0);
	if (bytes >= sizeof(*p.map) && !(flags & MFD_HUGETLB)) {
		p.map = mmap(NULL, sizeof(*p.map), PROT_READ | PROT_WRITE, MAP_SHARED, p.fd, 0);
		assert_ptr_not_equal(p.map, MAP_FAILED);
		p.map->header = (struct poppa_heartbeat_header){
			.magic = POPPA_HEARTBEAT_MAGIC,
			.version = POPPA_HEARTBEAT_VERSION,
			.slots = POPPA_HEARTBEAT_SLOTS,
			.used = 1,
			.pid = getpid(),
		};
	}
	assert_int_equal(fcntl(p.fd, F_ADD_SEALS, seals), 0);
	return p;
}

static void discard(struct page *p)
{
	if (p->map)
		munmap(p->map, sizeof(*p->map));
	close(p->fd);
}

#define SEALS (F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL)
#define WHOLE sizeof(struct poppa_heartbeat_page)

static void hostile_pages_are_refused(void **state)
{
	struct page p;
	int fd;

	(void)state;
	refused(getpid(), ENODATA);
	p = craft(0, WHOLE, 0); /* could be truncated */
	refused(getpid(), ENODATA);
	discard(&p);
	p = craft(0, WHOLE, F_SEAL_GROW);
	refused(getpid(), ENODATA);
	discard(&p);
	for (size_t bytes = 0; bytes < 600; bytes += 100) { /* too short */
		p = craft(0, bytes, SEALS);
		refused(getpid(), ENODATA);
		discard(&p);
	}
	p = craft(0, WHOLE, SEALS);
	p.map->header.magic ^= 1;
	refused(getpid(), ENODATA);
	p.map->header.magic ^= 1;
	p.map->header.version = 2;
	refused(getpid(), ENODATA);
	p.map->header.version = POPPA_HEARTBEAT_VERSION;
	p.map->header.pid = getppid();
	refused(getpid(), ENODATA);
	p.map->header.pid = 0;
	refused(getpid(), ENODATA);
	p.map->header.pid = getpid();
	counter_close(attach(getpid()));
	discard(&p);
	p = craft(MFD_HUGETLB, 1 << 21, SEALS); /* reading it could need a huge page */
	if (p.fd >= 0) {
		refused(getpid(), ENODATA);
		discard(&p);
	} else {
		print_message("no huge pages in this kernel: that page is not tried\n");
	}
	/* A file system that never answers: only its name is alike. */
	fd = open("/tmp", O_RDWR | O_TMPFILE, 0600);
	refused(getpid(), ENODATA);
	close(fd);
}

static void a_lease_does_not_stall(void **state)
{
	struct page p = craft(0, WHOLE, SEALS);
	struct timespec before, after;
	char name[64];
	int held;

	(void)state;
	snprintf(name, sizeof(name), "/proc/self/fd/%d", p.fd);
	held = open(name, O_RDONLY | O_CLOEXEC);
	assert_true(held >= 0);
	signal(SIGIO, SIG_IGN);
	if (fcntl(held, F_SETLEASE, F_WRLCK)) {
		print_message("the kernel leases no memfd: %s\n", strerror(errno));
		close(held);
		discard(&p);
		skip();
	}
	clock_gettime(CLOCK_MONOTONIC, &before);
	refused(getpid(), ENODATA);
	clock_gettime(CLOCK_MONOTONIC, &after);
	/* An open that waits takes /proc/sys/fs/lease-break-time, 45 s. */
	assert_true(after.tv_sec - before.tv_sec < 20);
	close(held);
	discard(&p);
}

static void hostile_contents_do_no_harm(void **state)
{
	struct page p = craft(0, WHOLE, SEALS);
	struct counter_sample s;
	struct counter *c;
	uint64_t last;

	(void)state;
	p.map->slot[0].count = UINT64_MAX - 5;
	c = attach(getpid());
	p.map->slot[0].count += 10;
	assert_int_equal(progress(c), 10); /* over the end of the number */
	p.map->slot[0].count -= 20;
	assert_int_equal(progress(c), 10); /* never falls */
	p.map->slot[0].count += 20;
	p.map->header.slots = UINT32_MAX;
	p.map->header.used = UINT32_MAX;
	assert_int_equal(progress(c), 10);
	p.map->slot[POPPA_HEARTBEAT_SLOTS - 1].count = 7;
	assert_int_equal(progress(c), 17);
	/* Seals do not forbid holes, in which a mapped reader might fault. */
	assert_int_equal(
		fallocate(p.fd, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, 0, sizeof(*p.map)), 0);
	assert_int_equal(counter_read(c, &s), -1);
	assert_int_equal(errno, ENODATA);
	counter_close(c);
	discard(&p);

	/* Noise all over the page: whatever comes is refused or counts up. */
	p = craft(0, WHOLE, SEALS);
	c = attach(getpid());
	srand(1);
	last = 0;
	for (int round = 0; round < 2000; round++) {
		uint32_t *word = (uint32_t *)p.map;
		size_t at = (size_t)rand() % (WHOLE / sizeof(*word));

		word[at] = round % 2 ? (uint32_t)rand() * 2654435761u : UINT32_MAX;
		if (round % 3 == 0) {
			p.map->header.magic = POPPA_HEARTBEAT_MAGIC;
			p.map->header.version = POPPA_HEARTBEAT_VERSION;
		}
		if (!counter_read(c, &s)) {
			assert_true(s.progress >= last);
			last = s.progress;
		} else {
			assert_int_equal(errno, ENODATA);
		}
	}
	counter_close(c);
	discard(&p);
}

#ifndef F_SEAL_FUTURE_WRITE
#define F_SEAL_FUTURE_WRITE 0x0010
#endif

/* How often this process has the page mapped. */
static int mappings(void)
{
	FILE *f = fopen("/proc/self/maps", "re");
	char line[512];
	int n = 0;

	assert_non_null(f);
	while (fgets(line, sizeof(line), f))
		n += strstr(line, "/memfd:" POPPA_HEARTBEAT_NAME) != NULL;
	fclose(f);
	return n;
}

/* Only a page that can get no holes is mapped, as the library's. */
static void maps_what_cannot_fault(void **state)
{
	struct counter *c;
	struct page p;
	int fd = -1;

	(void)state;
	p = craft(0, WHOLE, SEALS & ~F_SEAL_SEAL);
	c = attach(getpid());
	assert_int_equal(mappings(), 1);
	counter_close(c);
	if (fcntl(p.fd, F_ADD_SEALS, F_SEAL_FUTURE_WRITE)) {
		print_message("this kernel has no F_SEAL_FUTURE_WRITE: nothing is mapped\n");
		discard(&p);
		skip();
	}
	c = attach(getpid());
	assert_int_equal(mappings(), 2);
	assert_int_equal(
		fallocate(p.fd, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, 0, sizeof(*p.map)), -1);
	p.map->slot[0].count += 10;
	assert_int_equal(progress(c), 10);
	p.map->header.used = UINT32_MAX;
	p.map->slot[POPPA_HEARTBEAT_SLOTS - 1].count = 7;
	assert_int_equal(progress(c), 17);
	p.map->header.pid = 0;
	assert_int_equal(counter_read(c, &(struct counter_sample){0}), -1);
	assert_int_equal(errno, ENODATA);
	counter_close(c);
	assert_int_equal(mappings(), 1);
	discard(&p);

	p = craft(0, 2048, SEALS | F_SEAL_FUTURE_WRITE); /* mapped it would end in a signal */
	refused(getpid(), ENODATA);
	discard(&p);

	assert_int_equal(poppa_heartbeat_open(), 0);
	c = attach(getpid());
	assert_int_equal(mappings(), 2);
	for (int i = 3; i < 64 && fd < 0; i++) {
		int seals = fcntl(i, F_GET_SEALS);

		if (seals > 0 && seals & F_SEAL_FUTURE_WRITE)
			fd = i;
	}
	assert_true(fd >= 0);
	assert_int_equal(fallocate(fd, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, 0, WHOLE), -1);
	poppa_heartbeat_add(5);
	assert_int_equal(progress(c), 5);
	counter_close(c);
	poppa_heartbeat_close();
}

static bool stop_toggling;

static void *toggle(void *arg)
{
	volatile uint64_t *word = arg;

	for (uint64_t v = 0; !__atomic_load_n(&stop_toggling, __ATOMIC_RELAXED); v = ~v)
		*word = v;
	return NULL;
}

/* What the reader relies on: the kernel copies a count in one piece. */
static void words_are_not_torn(void **state)
{
	struct page p = craft(0, WHOLE, SEALS);
	struct poppa_heartbeat_page copy;
	uint64_t *word = &p.map->slot[4].count;
	pthread_t t;
	int torn = 0;

	(void)state;
	assert_int_equal(pthread_create(&t, NULL, toggle, word), 0);
	for (int i = 0; i < 200000; i++) {
		size_t bytes =
			i % 2 ? sizeof(copy) : offsetof(struct poppa_heartbeat_page, slot[8]);

		assert_int_equal(pread(p.fd, &copy, bytes, 0), bytes);
		torn += copy.slot[4].count != 0 && copy.slot[4].count != UINT64_MAX;
	}
	__atomic_store_n(&stop_toggling, true, __ATOMIC_RELAXED);
	pthread_join(t, NULL);
	assert_int_equal(torn, 0);
	discard(&p);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(counts_exactly),
		cmocka_unit_test(close_and_reopen),
		cmocka_unit_test(death),
		cmocka_unit_test(exec_ends_it),
		cmocka_unit_test(children_count_apart),
		cmocka_unit_test(never_fails_the_application),
		cmocka_unit_test(hostile_pages_are_refused),
		cmocka_unit_test(maps_what_cannot_fault),
		cmocka_unit_test(a_lease_does_not_stall),
		cmocka_unit_test(hostile_contents_do_no_harm),
		cmocka_unit_test(words_are_not_torn),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
