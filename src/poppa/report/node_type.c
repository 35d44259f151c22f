/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Reads the model of the processor and the size of its last-level cache. */
#include "poppa/report/node_type.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/errmsg.h"
#include "common/fsio.h"

#define MAX_CPUINFO (16 << 20)
#define MAX_VALUE 4096
#define MAX_CACHES 16
/* So much of the text is left for the cache. */
#define CACHE_ROOM 24

/* By architecture, the lines of /proc/cpuinfo that tell the model: all names of a row that are
 * there, of the first row that has one. */
static const char *const keys[][2] = {
	{"model name"}, {"cpu"}, {"CPU implementer", "CPU part"}, {"uarch"}};

/* Appends a text as printable ASCII, with single spaces and without those at its ends. */
static void append_clean(char *out, size_t size, const char *text, size_t len)
{
	size_t n = strlen(out);
	bool space = false;

	for (size_t i = 0; i < len && n + 2 < size; i++) {
		if (text[i] <= ' ' || text[i] > '~') {
			space = true;
			continue;
		}
		if (space && n)
			out[n++] = ' ';
		space = false;
		out[n++] = text[i];
	}
	out[n] = '\0';
}

/* The value in the first line "KEY : VALUE", and its length; NULL where there is none. */
static const char *value_of(const char *text, const char *key, size_t *len)
{
	size_t key_len = strlen(key);

	for (const char *line = text; line && *line; line = strchr(line, '\n')) {
		line += *line == '\n';
		const char *colon = line + strcspn(line, ":\n");

		if (*colon != ':' || strncmp(line, key, key_len) ||
			line + key_len + strspn(line + key_len, " \t") != colon)
			continue;
		*len = strcspn(colon + 1, "\n");
		return colon + 1;
	}
	return NULL;
}

static void append_model(const char *root, char *type, size_t size)
{
	struct errmsg err = {""};
	char path[PATH_MAX], *text;

	snprintf(path, sizeof(path), "%s/proc/cpuinfo", root);
	text = fsio_read(path, MAX_CPUINFO, NULL, &err);
	for (size_t row = 0; text && !*type && row < sizeof(keys) / sizeof(keys[0]); row++)
		for (int i = 0; i < 2 && keys[row][i]; i++) {
			size_t len;
			const char *value = value_of(text, keys[row][i], &len);

			if (value)
				append_clean(type, size, value, len);
		}
	free(text);
}

/* A file of one of the first processor's caches, newly allocated; NULL where there is none. */
static char *read_cache(const char *root, int cache, const char *name)
{
	struct errmsg err = {""};
	char path[PATH_MAX];

	snprintf(path, sizeof(path), "%s/sys/devices/system/cpu/cpu0/cache/index%d/%s", root, cache,
		name);
	return fsio_read(path, MAX_VALUE, NULL, &err);
}

static void append_cache(const char *root, char *type, size_t size)
{
	char last[CACHE_ROOM] = "";
	int highest = 0;

	for (int i = 0; i < MAX_CACHES; i++) {
		char *level = read_cache(root, i, "level"), *bytes = read_cache(root, i, "size");
		int n = level ? atoi(level) : 0;

		if (n > highest && bytes) {
			highest = n;
			snprintf(last, sizeof(last), ", L%d ", n);
			append_clean(last, sizeof(last), bytes, strlen(bytes));
		}
		free(level);
		free(bytes);
	}
	strncat(type, last, size - strlen(type) - 1);
}

void node_type_read(const char *root, char type[SLOW_NODE_TYPE])
{
	type[0] = '\0';
	append_model(root, type, SLOW_NODE_TYPE - CACHE_ROOM);
	if (*type)
		append_cache(root, type, SLOW_NODE_TYPE);
}
