/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What the fuzz targets share: the entry that libFuzzer and replay.c call, and how a target fails.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

/* Feeds one input to what the target tests. Always 0; whatever is wrong ends the process. */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* Ends the process by SIGABRT, with the place, where a promise of the tested code is broken. */
#define MUST(promise) ((promise) ? (void)0 : fuzz_broken(#promise, __FILE__, __LINE__))
void fuzz_broken(const char *promise, const char *file, int line) __attribute__((noreturn));

/* The input as a text that ends, newly allocated. */
char *fuzz_text(const uint8_t *data, size_t size);

/* The input as a file; returns its path, which is valid until the next call. */
const char *fuzz_file(const uint8_t *data, size_t size);
