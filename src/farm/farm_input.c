/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The input of poppa-farm: lines, however they are cut into pieces. */
#include "farm/farm_input.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/fnv1a.h"

#define PIECE ((size_t)64 << 10)

int farm_input_open(struct farm_input *in, const char *path, struct errmsg *err)
{
	*in = (struct farm_input){.fd = -1};
	in->fd = strcmp(path, "-") ? open(path, O_RDONLY | O_CLOEXEC)
				   : fcntl(STDIN_FILENO, F_DUPFD_CLOEXEC, 3);
	if (in->fd < 0)
		return errmsg_set(err, "%s: %s", path, strerror(errno));
	return 0;
}

void farm_input_close(struct farm_input *in)
{
	if (in->fd >= 0)
		close(in->fd);
	free(in->buf);
	*in = (struct farm_input){.fd = -1};
}

int farm_input_read(struct farm_input *in, struct errmsg *err)
{
	ssize_t n;

	if (in->room - in->len < PIECE) {
		char *buf = realloc(in->buf, in->len + PIECE);

		if (!buf)
			return errmsg_set(err, "out of memory");
		in->buf = buf;
		in->room = in->len + PIECE;
	}
	n = read(in->fd, in->buf + in->len, PIECE);
	if (n < 0 && (errno == EINTR || errno == EAGAIN))
		return 0;
	if (n < 0)
		return errmsg_set(err, "the input cannot be read: %s", strerror(errno));
	in->len += (size_t)n;
	if (n)
		return 0;
	close(in->fd);
	in->fd = -1;
	/* The last line may have no end. */
	if (in->len ? in->buf[in->len - 1] != '\n' : in->too_long)
		in->buf[in->len++] = '\n';
	return 0;
}

static int wrong(const struct farm_input *in, const char *why, struct errmsg *err)
{
	return errmsg_set(err, "line %" PRIu64 " is no task: %s", in->number, why);
}

static int make_task(const struct farm_input *in, char *text, size_t len, struct farm_line **line,
	const char **key, size_t *key_len, struct errmsg *err)
{
	char *tab = memchr(text, '\t', len);
	size_t size;

	if (memchr(text, '\0', len))
		return wrong(in, "it has a byte 0: write text", err);
	if (text[len - 1] == '\r')
		return wrong(in,
			"it ends with a carriage return, as lines of Windows do: take these out, for "
			"example with tr -d '\\r'",
			err);
	if (!tab)
		return wrong(in,
			"it has no tab: write KEY, a tab and the command; the key may be empty",
			err);
	if (tab + 1 == text + len)
		return wrong(in, "there is no command behind the tab", err);
	size = len - (size_t)(tab + 1 - text);
	if (in->command_max && size > in->command_max) {
		char why[128];

		snprintf(why, sizeof(why),
			"its command is longer than the %zu bytes that one may have here: put it "
			"into a script",
			in->command_max);
		return wrong(in, why, err);
	}
	*line = calloc(1, sizeof(**line) + size + 1);
	if (!*line)
		return errmsg_set(err, "out of memory");
	memcpy((*line)->text, tab + 1, size);
	(*line)->number = in->number;
	(*line)->check = fnv1a(FNV1A_START, text, len);
	*key = text;
	*key_len = (size_t)(tab - text);
	return 1;
}

int farm_input_next(struct farm_input *in, struct farm_line **line, const char **key,
	size_t *key_len, struct errmsg *err)
{
	while (in->len) {
		/* What was taken lies before this, for the key of the line before is used until
		 * now. */
		char *text = in->buf + in->taken, *end;
		size_t left = in->len - in->taken;

		end = left ? memchr(text, '\n', left) : NULL;
		if (!end) {
			memmove(in->buf, text, left);
			in->len = left;
			in->taken = 0;
			if (left <= FARM_LINE_MAX)
				return 0;
			in->len = 0;
			in->too_long = true;
			return 0;
		}
		in->taken += (size_t)(end + 1 - text);
		in->number++;
		if (in->too_long || end - text > (ptrdiff_t)FARM_LINE_MAX) {
			in->too_long = false;
			return wrong(
				in, "it is longer than 1 MiB: put the command into a script", err);
		}
		if (end > text)
			return make_task(in, text, (size_t)(end - text), line, key, key_len, err);
	}
	return 0;
}
