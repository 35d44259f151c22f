/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Reads files whole and replaces them in one step. */
#include "common/fsio.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* Writes err and keeps errno. Returns -1. */
static int fail(struct errmsg *err, const char *what, const char *path)
{
	int saved = errno;

	errmsg_set(err, "%s %s: %s", what, path, strerror(saved));
	errno = saved;
	return -1;
}

char *fsio_read_fd(int fd, const char *path, size_t max, size_t *len, struct errmsg *err)
{
	size_t used = 0, room = 4096;
	char *buf = NULL;
	int saved;

	for (;;) {
		char *bigger = realloc(buf, room + 1);
		ssize_t n;

		if (!bigger)
			goto broken;
		buf = bigger;
		n = read(fd, buf + used, room - used);
		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			goto broken;
		if (n == 0)
			break;
		used += n;
		if (used > max) {
			errno = EFBIG;
			goto broken;
		}
		if (used == room)
			room *= 2;
	}
	buf[used] = '\0';
	if (len)
		*len = used;
	return buf;
broken:
	fail(err, "cannot read", path);
	saved = errno;
	free(buf);
	errno = saved;
	return NULL;
}

char *fsio_read(const char *path, size_t max, size_t *len, struct errmsg *err)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC), saved;
	char *buf;

	if (fd < 0) {
		fail(err, "cannot open", path);
		return NULL;
	}
	buf = fsio_read_fd(fd, path, max, len, err);
	saved = errno;
	close(fd);
	errno = saved;
	return buf;
}

static int write_all(int fd, const char *data, size_t len)
{
	while (len) {
		ssize_t n = write(fd, data, len);

		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return -1;
		data += n;
		len -= n;
	}
	return 0;
}

static int sync_directory_of(const char *path)
{
	char dir[PATH_MAX];
	const char *slash = strrchr(path, '/');
	int fd, rc;

	if (slash)
		snprintf(dir, sizeof(dir), "%.*s", slash == path ? 1 : (int)(slash - path), path);
	else
		strcpy(dir, ".");
	fd = open(dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (fd < 0)
		return -1;
	rc = fsync(fd);
	close(fd);
	return rc;
}

/* Closes fd after rc. A server may report a full disk only at the close. */
static int finish(int fd, int rc)
{
	int saved = errno;

	if (close(fd) && !rc)
		return -1;
	errno = saved;
	return rc;
}

int fsio_write(const char *path, const void *data, size_t len, mode_t mode, int durable,
	struct errmsg *err)
{
	char tmp[PATH_MAX];
	int fd, saved;

	if (snprintf(tmp, sizeof(tmp), "%s.XXXXXX", path) >= (int)sizeof(tmp)) {
		errno = ENAMETOOLONG;
		return fail(err, "cannot write", path);
	}
	fd = mkostemp(tmp, O_CLOEXEC);
	if (fd < 0)
		return fail(err, "cannot make a temporary file beside", path);
	if (finish(fd, fchmod(fd, mode) || write_all(fd, data, len) || (durable && fsync(fd)) ? -1
											      : 0))
		fail(err, "cannot write", tmp);
	else if (rename(tmp, path))
		fail(err, "cannot replace", path);
	else
		return durable && sync_directory_of(path)
			       ? fail(err, "cannot sync the directory of", path)
			       : 0;
	saved = errno;
	unlink(tmp);
	errno = saved;
	return -1;
}

bool fsio_output_replaces(const char *path)
{
	struct stat st;

	return lstat(path, &st) ? errno == ENOENT : S_ISREG(st.st_mode);
}

int fsio_output(const char *path, const void *data, size_t len, mode_t mode, struct errmsg *err)
{
	int fd;

	if (fsio_output_replaces(path))
		return fsio_write(path, data, len, mode, 0, err);
	/* Opened as a shell does: the kernel decides which of others' links and fifos are safe. */
	fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_NOCTTY | O_CLOEXEC, mode);
	if (fd < 0)
		return fail(err, "cannot open", path);
	return finish(fd, write_all(fd, data, len)) ? fail(err, "cannot write", path) : 0;
}

int fsio_mkdirs(const char *path, mode_t mode, struct errmsg *err)
{
	char part[PATH_MAX];

	if (snprintf(part, sizeof(part), "%s", path) >= (int)sizeof(part)) {
		errno = ENAMETOOLONG;
		return fail(err, "cannot make", path);
	}
	for (char *p = part + 1;; p++) {
		char c = *p;

		if (c && c != '/')
			continue;
		*p = '\0';
		if (mkdir(part, mode) && errno != EEXIST)
			return fail(err, "cannot make", part);
		*p = c;
		if (!c)
			return 0;
	}
}

char *fsio_beside(const char *name, int access_mode, char *buf, size_t size)
{
	ssize_t n = readlink("/proc/self/exe", buf, size - 1);
	char *slash;

	if (n <= 0)
		return NULL;
	buf[n] = '\0';
	slash = strrchr(buf, '/');
	if (!slash)
		return NULL;
	snprintf(slash, size - (size_t)(slash - buf), "/%s", name);
	return access(buf, access_mode) ? NULL : buf;
}

char *fsio_helper(const char *name, char *buf, size_t size)
{
	if (!fsio_beside(name, X_OK, buf, size))
		snprintf(buf, size, "%s/%s", POPPA_LIBEXECDIR, name);
	return buf;
}
