/* SPDX-License-Identifier: GPL-2.0-or-later OR BSD-2-Clause */
/* Memory of a table, which begins with a cache line. */
#pragma once

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

/* From this size on the kernel may use large pages, which spare a lookup a walk through page
 * tables. */
#define HORTON_LARGE ((size_t)2 << 20)

/* So many bytes, all 0, for free(); or NULL with errno. */
static inline void *horton_memory(size_t size)
{
	void *memory;
	int rc = posix_memalign(&memory, size >= HORTON_LARGE ? HORTON_LARGE : 64, size);

	if (rc) {
		errno = rc;
		return NULL;
	}
	if (size >= HORTON_LARGE)
		madvise(memory, size, MADV_HUGEPAGE);
	return memset(memory, 0, size);
}
