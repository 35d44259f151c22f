/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A FUSE file system for tests, which shows a folder and answers late, or not until it is told to.
 */
/*
 * Use: slowfs FOLDER MOUNTPOINT CONTROL [OPTION...]
 *
 * FOLDER and MOUNTPOINT may be the same. Each call is a text: its name, a blank and the path within
 * FOLDER, as in "write /poppa_refunds". The file CONTROL holds a number of ms and, after a blank, a
 * pattern (fnmatch): the calls that it matches wait so long, and at "stall" instead of a number
 * until CONTROL says something else. Without a pattern all do, without the file none does. Each
 * call that begins to wait is a line of CONTROL.log. OPTIONs are libfuse's, as in "-o allow_other".
 */
#define FUSE_USE_VERSION 31
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <fnmatch.h>
#include <fuse.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

#define LOOK_EVERY_US 5000

static int folder;
static char control[PATH_MAX], control_log[PATH_MAX + 8];

/* How long the call is to wait, ms; 0: not at all, -1: until CONTROL changes. */
static long wait_ms(const char *call)
{
	char text[PATH_MAX], *pattern;
	int fd = open(control, O_RDONLY | O_CLOEXEC);
	ssize_t n = fd < 0 ? -1 : read(fd, text, sizeof(text) - 1);

	if (fd >= 0)
		close(fd);
	if (n <= 0)
		return 0;
	text[n] = '\0';
	text[strcspn(text, "\n")] = '\0';
	pattern = strchr(text, ' ');
	if (pattern)
		*pattern++ = '\0';
	if (pattern && fnmatch(pattern, call, 0))
		return 0;
	return strcmp(text, "stall") ? atol(text) : -1;
}

static void note(const char *call)
{
	char line[PATH_MAX + 32];
	int fd = open(control_log, O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC, 0666);
	int len = snprintf(line, sizeof(line), "%s\n", call);

	if (fd >= 0 && write(fd, line, len) != len)
		perror(control_log);
	if (fd >= 0)
		close(fd);
}

/* The path below FOLDER, after the wait. */
static const char *at(const char *name, const char *path)
{
	char call[PATH_MAX + 16];
	long ms;

	snprintf(call, sizeof(call), "%s %s", name, path);
	ms = wait_ms(call);
	if (ms)
		note(call);
	if (ms > 0)
		usleep(ms * 1000);
	while (ms < 0 && wait_ms(call) < 0)
		usleep(LOOK_EVERY_US);
	return path[1] ? path + 1 : ".";
}

static int done(long rc)
{
	return rc < 0 ? -errno : (int)rc;
}

static int op_getattr(const char *path, struct stat *st, struct fuse_file_info *fi)
{
	const char *name = at("getattr", path);

	return done(fi ? fstat((int)fi->fh, st) : fstatat(folder, name, st, AT_SYMLINK_NOFOLLOW));
}

static int op_readlink(const char *path, char *target, size_t size)
{
	ssize_t n = readlinkat(folder, at("readlink", path), target, size - 1);

	if (n >= 0)
		target[n] = '\0';
	return n < 0 ? -errno : 0;
}

static int op_readdir(const char *path, void *buf, fuse_fill_dir_t fill, off_t offset,
	struct fuse_file_info *fi, enum fuse_readdir_flags flags)
{
	int fd = openat(folder, at("readdir", path), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	DIR *dir = fd < 0 ? NULL : fdopendir(fd);
	struct dirent *e;

	(void)offset;
	(void)fi;
	(void)flags;
	if (!dir)
		return -errno;
	while ((e = readdir(dir)) && !fill(buf, e->d_name, NULL, 0, 0))
		;
	closedir(dir);
	return 0;
}

/* What root makes for somebody belongs to them. */
static int give(const char *path)
{
	const struct fuse_context *c = fuse_get_context();

	return geteuid() ? 0 : fchownat(folder, path, c->uid, c->gid, AT_SYMLINK_NOFOLLOW);
}

static int op_mkdir(const char *path, mode_t mode)
{
	const char *name = at("mkdir", path);

	return done(mkdirat(folder, name, mode) ? -1 : give(name));
}

static int op_unlink(const char *path)
{
	return done(unlinkat(folder, at("unlink", path), 0));
}

static int op_rmdir(const char *path)
{
	return done(unlinkat(folder, at("rmdir", path), AT_REMOVEDIR));
}

static int op_rename(const char *from, const char *to, unsigned int flags)
{
	if (flags)
		return -EINVAL;
	at("rename", from);
	return done(renameat(folder, from + 1, folder, at("rename", to)));
}

static int op_link(const char *from, const char *to)
{
	return done(linkat(folder, from + 1, folder, at("link", to), 0));
}

static int op_chmod(const char *path, mode_t mode, struct fuse_file_info *fi)
{
	(void)fi;
	return done(fchmodat(folder, at("chmod", path), mode, 0));
}

static int op_chown(const char *path, uid_t uid, gid_t gid, struct fuse_file_info *fi)
{
	(void)fi;
	return done(fchownat(folder, at("chown", path), uid, gid, AT_SYMLINK_NOFOLLOW));
}

static int op_utimens(const char *path, const struct timespec times[2], struct fuse_file_info *fi)
{
	(void)fi;
	return done(utimensat(folder, at("utimens", path), times, AT_SYMLINK_NOFOLLOW));
}

static int op_open(const char *path, struct fuse_file_info *fi)
{
	int fd = openat(folder, at("open", path), fi->flags | O_CLOEXEC);

	fi->fh = fd;
	return fd < 0 ? -errno : 0;
}

static int op_create(const char *path, mode_t mode, struct fuse_file_info *fi)
{
	const char *name = at("create", path);
	int fd = openat(folder, name, fi->flags | O_CREAT | O_CLOEXEC, mode);

	fi->fh = fd;
	return fd < 0 ? -errno : done(give(name));
}

static int op_truncate(const char *path, off_t size, struct fuse_file_info *fi)
{
	const char *name = at("truncate", path);
	int fd = fi ? (int)fi->fh : openat(folder, name, O_WRONLY | O_CLOEXEC), rc;

	if (fd < 0)
		return -errno;
	rc = done(ftruncate(fd, size));
	if (!fi)
		close(fd);
	return rc;
}

static int op_read(
	const char *path, char *buf, size_t size, off_t offset, struct fuse_file_info *fi)
{
	at("read", path);
	return done(pread((int)fi->fh, buf, size, offset));
}

static int op_write(
	const char *path, const char *buf, size_t size, off_t offset, struct fuse_file_info *fi)
{
	at("write", path);
	return done(pwrite((int)fi->fh, buf, size, offset));
}

static int op_fsync(const char *path, int data, struct fuse_file_info *fi)
{
	at("fsync", path);
	return done(data ? fdatasync((int)fi->fh) : fsync((int)fi->fh));
}

static int op_release(const char *path, struct fuse_file_info *fi)
{
	(void)path;
	close((int)fi->fh);
	return 0;
}

static int op_statfs(const char *path, struct statvfs *out)
{
	at("statfs", path);
	return done(fstatvfs(folder, out));
}

/* Nothing that has been asked for is asked for less often because it is known. */
static void *op_init(struct fuse_conn_info *conn, struct fuse_config *config)
{
	(void)conn;
	config->entry_timeout = config->attr_timeout = config->negative_timeout = 0;
	config->use_ino = 1;
	return NULL;
}

static const struct fuse_operations ops = {
	.init = op_init,
	.getattr = op_getattr,
	.readlink = op_readlink,
	.readdir = op_readdir,
	.mkdir = op_mkdir,
	.unlink = op_unlink,
	.rmdir = op_rmdir,
	.rename = op_rename,
	.link = op_link,
	.chmod = op_chmod,
	.chown = op_chown,
	.utimens = op_utimens,
	.open = op_open,
	.create = op_create,
	.truncate = op_truncate,
	.read = op_read,
	.write = op_write,
	.fsync = op_fsync,
	.release = op_release,
	.statfs = op_statfs,
};

int main(int argc, char **argv)
{
	struct fuse_args args = FUSE_ARGS_INIT(0, NULL);

	if (argc < 4) {
		fprintf(stderr, "Usage: slowfs FOLDER MOUNTPOINT CONTROL [OPTION...]\n");
		return 2;
	}
	folder = open(argv[1], O_PATH | O_DIRECTORY | O_CLOEXEC);
	if (folder < 0) {
		perror(argv[1]);
		return 1;
	}
	snprintf(control, sizeof(control), "%s", argv[3]);
	snprintf(control_log, sizeof(control_log), "%s.log", control);
	umask(0);
	fuse_opt_add_arg(&args, argv[0]);
	fuse_opt_add_arg(&args, "-f");
	fuse_opt_add_arg(&args, "-odefault_permissions");
#if FUSE_VERSION >= FUSE_MAKE_VERSION(3, 12)
	/* Each call that waits has a thread. */
	fuse_opt_add_arg(&args, "-omax_threads=200");
#endif
	for (int i = 4; i < argc; i++)
		fuse_opt_add_arg(&args, argv[i]);
	fuse_opt_add_arg(&args, argv[2]);
	return fuse_main(args.argc, args.argv, &ops, NULL);
}
