/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Splits comma lists and Name=Value files into pairs. */
#include "common/keyval.h"

#include <ctype.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "common/fsio.h"
#include "common/text_append.h"

#define CONF_MAX_BYTES (1 << 20)

static char *trim(char *s)
{
	char *end;

	while (isspace((unsigned char)*s))
		s++;
	end = s + strlen(s);
	while (end > s && isspace((unsigned char)end[-1]))
		*--end = '\0';
	return s;
}

/* Cuts "key = value" in place; value NULL without "=". */
static char *split_pair(char *item, char **value)
{
	char *eq = strchr(item, '=');

	*value = NULL;
	if (eq) {
		*eq = '\0';
		*value = trim(eq + 1);
	}
	return trim(item);
}

int keyval_list(const char *text, keyval_fn fn, void *arg, struct errmsg *err)
{
	char *copy = strdup(text), *save = NULL;
	int rc = 0;

	if (!copy)
		return errmsg_set(err, "out of memory");
	for (char *item = strtok_r(copy, ",", &save); item && !rc;
		item = strtok_r(NULL, ",", &save)) {
		char *value, *key = split_pair(item, &value);

		if (*key || value)
			rc = fn(key, value, 0, arg, err);
	}
	free(copy);
	return rc;
}

/* Ends the line at a "#" that stands outside quotes. */
static void strip_comment(char *line)
{
	int quoted = 0;

	for (; *line; line++) {
		if (*line == '"')
			quoted = !quoted;
		else if (*line == '#' && !quoted)
			*line = '\0';
		if (!*line)
			return;
	}
}

int keyval_text(const char *name, const char *text, keyval_fn fn, void *arg, struct errmsg *err)
{
	char *copy = strdup(text), *next;
	int rc = 0, number = 0;

	if (!copy)
		return errmsg_set(err, "out of memory");
	for (char *line = copy; line && !rc; line = next) {
		char *key, *value;
		size_t len;

		next = strchr(line, '\n');
		if (next)
			*next++ = '\0';
		number++;
		strip_comment(line);
		key = split_pair(line, &value);
		if (!*key && !value)
			continue;
		if (!*key || !value) {
			rc = errmsg_set(err, "%s line %d: \"%s\" is not of the form Name=Value",
				name, number, key);
			break;
		}
		len = strlen(value);
		if (len >= 2 && value[0] == '"' && value[len - 1] == '"') {
			value[len - 1] = '\0';
			value++;
		}
		rc = fn(key, value, number, arg, err);
	}
	free(copy);
	return rc;
}

int keyval_file(const char *path, keyval_fn fn, void *arg, struct errmsg *err)
{
	char *text = fsio_read(path, CONF_MAX_BYTES, NULL, err);
	int rc;

	if (!text)
		return -1;
	rc = keyval_text(path, text, fn, arg, err);
	free(text);
	if (rc)
		errno = EINVAL;
	return rc;
}

int keyval_copy(const char *key, const char *value, char *out, size_t size, struct errmsg *err)
{
	if (strlen(value) >= size)
		return errmsg_set(err, "%s is longer than %zu characters", key, size - 1);
	strcpy(out, value);
	return 0;
}

int keyval_choice(
	const char *key, const char *value, const char *const *names, int count, struct errmsg *err)
{
	char all[128] = "";

	for (int i = 0; i < count; i++) {
		if (!strcasecmp(names[i], value))
			return i;
		text_append(all, sizeof(all), "%s%s", i ? ", " : "", names[i]);
	}
	return errmsg_set(err, "%s=%s is unknown: choose one of %s", key, value, all);
}

int keyval_unknown(const char *key, const void *rows, size_t size, size_t count, struct errmsg *err)
{
	char all[1024] = "";

	for (size_t i = 0; i < count; i++)
		text_append(all, sizeof(all), "%s%s",
			!i               ? ""
			: i == count - 1 ? " and "
					 : ", ",
			*(const char *const *)((const char *)rows + i * size));
	return errmsg_set(err, "%s is unknown: the keys are %s", key, all);
}
