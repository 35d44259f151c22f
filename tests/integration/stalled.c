/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Preloaded into a program, makes files stand still for it, as on a file server that hangs. */
/*
 * While the file that $STALL names exists, every call that changes a path with its contents in it,
 * or looks at one, waits. Each such call is a line of $STALL.log: its name, a blank and the path.
 */
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#define MANY_US 20000

/* Calls of the kernel alone: those below wait. The text is of room bytes. */
static int read_file(const char *path, char *text, size_t room)
{
	int fd = (int)syscall(SYS_openat, AT_FDCWD, path, O_RDONLY | O_CLOEXEC);
	ssize_t n = fd < 0 ? -1 : read(fd, text, room - 1);

	if (fd >= 0)
		close(fd);
	text[n > 0 ? n : 0] = '\0';
	text[strcspn(text, "\n")] = '\0';
	return n > 0 ? 0 : -1;
}

static void note(const char *control, const char *call, const char *path)
{
	char log[PATH_MAX + 8], line[PATH_MAX + 32];
	int len = snprintf(line, sizeof(line), "%s %s\n", call, path), fd;

	snprintf(log, sizeof(log), "%s.log", control);
	fd = (int)syscall(
		SYS_openat, AT_FDCWD, log, O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC, 0666);
	if (fd < 0)
		return;
	syscall(SYS_write, fd, line, (size_t)len);
	close(fd);
}

static void wait_for(const char *call, const char *path)
{
	const char *control = getenv("STALL");
	char what[PATH_MAX];
	int error = errno;

	for (int told = 0;
		control && path && !read_file(control, what, sizeof(what)) && strstr(path, what);
		usleep(MANY_US))
		if (!told++)
			note(control, call, path);
	errno = error;
}

static void wait_for_fd(const char *call, int fd)
{
	const char *control = getenv("STALL");
	char name[64], path[PATH_MAX];
	int error = errno;
	ssize_t n;

	if (!control || syscall(SYS_faccessat, AT_FDCWD, control, F_OK)) {
		errno = error;
		return;
	}
	snprintf(name, sizeof(name), "/proc/self/fd/%d", fd);
	n = readlink(name, path, sizeof(path) - 1);
	path[n > 0 ? n : 0] = '\0';
	errno = error;
	wait_for(call, path);
}

#define NEXT(name) ((__typeof__(&name))dlsym(RTLD_NEXT, #name))

#define OPENS(name)                                                                                \
	int name(const char *path, int flags, ...)                                                 \
	{                                                                                          \
		va_list args;                                                                      \
		mode_t mode;                                                                       \
                                                                                                   \
		va_start(args, flags);                                                             \
		mode = va_arg(args, mode_t);                                                       \
		va_end(args);                                                                      \
		wait_for(#name, path);                                                             \
		return NEXT(name)(path, flags, mode);                                              \
	}
OPENS(open)
OPENS(open64)

int creat(const char *path, mode_t mode)
{
	wait_for("creat", path);
	return NEXT(creat)(path, mode);
}

int creat64(const char *path, mode_t mode)
{
	wait_for("creat", path);
	return NEXT(creat64)(path, mode);
}

ssize_t write(int fd, const void *data, size_t size)
{
	wait_for_fd("write", fd);
	return NEXT(write)(fd, data, size);
}

int fsync(int fd)
{
	wait_for_fd("fsync", fd);
	return NEXT(fsync)(fd);
}

int fdatasync(int fd)
{
	wait_for_fd("fdatasync", fd);
	return NEXT(fdatasync)(fd);
}

int rename(const char *from, const char *to)
{
	wait_for("rename", to);
	return NEXT(rename)(from, to);
}

int link(const char *from, const char *to)
{
	wait_for("link", to);
	return NEXT(link)(from, to);
}

int unlink(const char *path)
{
	wait_for("unlink", path);
	return NEXT(unlink)(path);
}

int stat(const char *restrict path, struct stat *restrict st)
{
	wait_for("stat", path);
	return NEXT(stat)(path, st);
}
