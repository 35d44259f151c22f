/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A hash of bytes that is the same on each machine and in each release. */
#pragma once

#include <stddef.h>
#include <stdint.h>

#define FNV1A_START UINT64_C(0xcbf29ce484222325)

/* FNV-1a (Fowler, Noll, Vo), 64 bits. Begin with FNV1A_START; the hash of a text in pieces is that
 * of the whole. Who writes the text can make hashes alike. */
static inline uint64_t fnv1a(uint64_t hash, const void *bytes, size_t len)
{
	const unsigned char *at = bytes;

	for (size_t i = 0; i < len; i++)
		hash = (hash ^ at[i]) * UINT64_C(0x100000001b3);
	return hash;
}
