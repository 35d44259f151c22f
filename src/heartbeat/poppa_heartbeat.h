/* SPDX-License-Identifier: GPL-2.0-or-later OR BSD-2-Clause */
/* Lets an application publish its progress, for machines without usable hardware counters. */
/*
 * Everything in this folder may be used under either licence, so that a program under any licence
 * can link it. The calls are for C and C++ (poppa_heartbeat.f90 has them for Fortran) and for any
 * thread. Each of them is safe and does nothing before poppa_heartbeat_open() or where that failed.
 */
#ifndef POPPA_HEARTBEAT_H
#define POPPA_HEARTBEAT_H

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Publishes this process until poppa_heartbeat_close() has been called as often as this. Returns 0,
 * or -1 with errno when the page could not be made; a program need not check, it only runs on
 * unmeasured. After fork() a child publishes nothing until it calls this itself. */
int poppa_heartbeat_open(void);

/* Withdraws the page; poppa_heartbeat_add() stays safe, also in threads that still run. */
void poppa_heartbeat_close(void);

/* The page as readers see it: a memfd of this name that holds the header and then `slots` slots. It
 * is sealed against resizing and, where the kernel can (F_SEAL_FUTURE_WRITE), against other writers
 * and holes. The progress of the process is the sum of the counts of the first `used` slots. */
#define POPPA_HEARTBEAT_NAME "poppa-heartbeat"
#define POPPA_HEARTBEAT_MAGIC UINT64_C(0x54414542504f5031) /* "1POPBEAT" in memory */
#define POPPA_HEARTBEAT_VERSION 1
#define POPPA_HEARTBEAT_SLOTS 127
#define POPPA_HEARTBEAT_LINE 128 /* two 64-byte lines, as adjacent lines are fetched in pairs */

struct poppa_heartbeat_header {
	uint64_t magic;
	uint32_t version;
	uint32_t slots;
	uint32_t used; /* only grows */
	int32_t pid;   /* of the publisher, in its own pid namespace; 0 when withdrawn */
	char pad[POPPA_HEARTBEAT_LINE - 24];
};

struct poppa_heartbeat_slot {
	uint64_t count;
	uint32_t shared; /* several threads add to this slot */
	char pad[POPPA_HEARTBEAT_LINE - 12];
};

struct poppa_heartbeat_page {
	struct poppa_heartbeat_header header;
	struct poppa_heartbeat_slot slot[POPPA_HEARTBEAT_SLOTS];
};

/* This thread's slot, NULL before its first beat. Only poppa_heartbeat_add() uses these two. */
extern __thread struct poppa_heartbeat_slot *poppa_heartbeat_self;
struct poppa_heartbeat_slot *poppa_heartbeat_claim(void);

/*
 * Counts n units of work of the calling thread: costs a few ns, no lock and no system call. A unit
 * is anything that the program does often and at an even pace (grid points, particles, messages).
 * Some hundred beats a millisecond make a good signal, one beat a second makes none. Do not call it
 * in signal handlers.
 */
static inline void poppa_heartbeat_add(uint64_t n)
{
	struct poppa_heartbeat_slot *slot = poppa_heartbeat_self;

	if (__builtin_expect(!slot, 0)) {
		slot = poppa_heartbeat_claim();
		if (!slot)
			return;
	}
	if (__builtin_expect(slot->shared, 0))
		__atomic_fetch_add(&slot->count, n, __ATOMIC_RELAXED);
	else
		__atomic_store_n(&slot->count, __atomic_load_n(&slot->count, __ATOMIC_RELAXED) + n,
			__ATOMIC_RELAXED);
}

/* The same as a function of the library, for languages that cannot use an inline C function. */
void poppa_heartbeat_count(uint64_t n);

#ifdef __cplusplus
}
#endif

#endif
