/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Checks of "poppa doctor" on what poppad keeps: settings, records, and what it holds stopped. */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <time.h>
#include <unistd.h>

#include "cli/doctor/doctor.h"
#include "cli/ask/value_text.h"
#include "common/clock.h"
#include "poppa/hold/held.h"
#include "poppa/hold/proc.h"

#define SPOOL_ROOM_MIB 16
#define SPOOL_OLD_S 300
/* Between two looks at what is held, ms. */
#define HELD_WAIT_MS 60

static void check_settings(struct doctor *d)
{
	if (json_is_string(json_object_get(d->status, "bad_settings")))
		doctor_say(d, DOCTOR_FAIL, "settings of poppad",
			"correct PrEpParameters in slurm.conf, then scontrol reconfigure",
			"refused: %s", value_text(d->status, "bad_settings"));
	else
		doctor_say(d, DOCTOR_OK, "settings of poppad", NULL, "%s",
			value_text(d->status, "settings"));
	if (value_real(d->status, "hold_s") > 0)
		doctor_say(d, DOCTOR_WARN, "shutters",
			"nothing to do if that is meant; they come back by themselves",
			"are held off for another %.0f s: until then there is no discount",
			value_real(d->status, "hold_s"));
}

struct backlog {
	int waiting, refused, bad;
	time_t oldest; /* when the oldest waiting record was modified */
};

static bool ends(const char *name, const char *suffix)
{
	size_t len = strlen(name), n = strlen(suffix);

	return len > n && !strcmp(name + len - n, suffix);
}

static void count_records(int dir_fd, DIR *records, struct backlog *b)
{
	const struct dirent *e;

	while ((e = readdir(records))) {
		struct stat st;

		if (*e->d_name == '.' || fstatat(dir_fd, e->d_name, &st, AT_SYMLINK_NOFOLLOW))
			continue;
		if (ends(e->d_name, ".refused")) {
			b->refused++;
		} else if (ends(e->d_name, ".bad")) {
			b->bad++;
		} else {
			b->waiting++;
			if (!b->oldest || st.st_mtime < b->oldest)
				b->oldest = st.st_mtime;
		}
	}
}

static void check_backlog(struct doctor *d, const char *spool)
{
	char path[PATH_MAX + 16];
	struct backlog b = {0, 0, 0, 0};
	long age;
	DIR *records;

	snprintf(path, sizeof(path), "%s/records", spool);
	records = opendir(path);
	if (!records) {
		doctor_say(d, errno == EACCES ? DOCTOR_WARN : doctor_on_node(d), "spool",
			errno == EACCES ? "run poppa doctor as root to see"
					: "start poppad, which makes it",
			"%s: %s", path, strerror(errno));
		return;
	}
	count_records(dirfd(records), records, &b);
	closedir(records);
	age = b.waiting ? (long)(time(NULL) - b.oldest) : 0;
	if (b.refused || b.bad)
		doctor_say(d, DOCTOR_WARN, "spool",
			"see poppad's log for why; what is of no more use can be removed",
			"%d record%s refused by the ledger, %d unreadable, kept in %s", b.refused,
			b.refused == 1 ? "" : "s", b.bad, path);
	if (age > SPOOL_OLD_S)
		doctor_say(d, DOCTOR_WARN, "spool",
			"see the line on the ledger; poppad sends them when it answers",
			"%d record%s not acknowledged, the oldest for %ld s", b.waiting,
			b.waiting == 1 ? "" : "s", age);
	else if (!b.refused && !b.bad)
		doctor_say(d, DOCTOR_OK, "spool", NULL, "%d record%s not acknowledged", b.waiting,
			b.waiting == 1 ? "" : "s");
}

/* Some file systems create inodes as they need them and report 0 of 0: those do not lack files. */
static void check_room(struct doctor *d, const char *spool)
{
	struct statvfs fs;
	unsigned long mib;

	if (statvfs(spool, &fs))
		return; /* the check of the directory reports that */
	mib = (unsigned long)(fs.f_bavail * fs.f_frsize >> 20);
	if (fs.f_flag & ST_RDONLY)
		doctor_say(d, doctor_on_node(d), "room for the spool",
			"set SpoolDir to a disk that can be written to", "%s is read-only", spool);
	else if (mib < SPOOL_ROOM_MIB || (fs.f_files && fs.f_favail == 0))
		doctor_say(d, doctor_on_node(d), "room for the spool",
			"make room there: records of ended jobs wait in memory",
			"%lu MiB and %lu files are free at %s", mib, (unsigned long)fs.f_favail,
			spool);
	else
		doctor_say(d, DOCTOR_OK, "room for the spool", NULL, "%lu MiB", mib);
}

/* How many entries are armed at each look for longer than poppad holds anything. */
static int stuck(const struct held_file *h, int64_t longest_ns)
{
	static unsigned char armed[HELD_ENTRIES];
	int64_t end = clock_now() + longest_ns;
	int n;

	memset(armed, 1, sizeof(armed));
	for (;;) {
		bool last = clock_now() > end;

		n = 0;
		for (int i = 0; i < HELD_ENTRIES; i++) {
			armed[i] &= atomic_load(&h->entry[i].armed) != HELD_FREE;
			n += armed[i];
		}
		if (!n || last)
			return n;
		usleep(HELD_WAIT_MS * 1000);
	}
}

static void check_held(struct doctor *d, const char *run)
{
	char path[PATH_MAX + 16], boot[64];
	int fd, n;
	struct held_file *h;
	struct errmsg err;

	snprintf(path, sizeof(path), "%s/held", run);
	fd = open(path, O_RDWR | O_CLOEXEC | O_NOFOLLOW);
	if (fd < 0) {
		if (errno == ENOENT)
			doctor_say(d, DOCTOR_OK, "held", NULL, "nothing is held stopped");
		else
			doctor_say(d, DOCTOR_WARN, "held", "run poppa doctor as root to see",
				"%s: %s", path, strerror(errno));
		return;
	}
	h = held_map(fd, &err);
	close(fd);
	if (!h) {
		doctor_say(
			d, doctor_on_node(d), "held", "restart poppad", "%s: %s", path, err.text);
		return;
	}
	n = strcmp(h->boot_id, proc_boot_id(boot, sizeof(boot))) ? 0
								 : stuck(h, doctor_longest_hold(d));
	if (n)
		doctor_say(d, DOCTOR_FAIL, "held",
			d->status ? "restart poppad, which resumes it"
				  : "run poppad --repair, which resumes it",
			"%d process%s or cgroup%s still held stopped", n, n == 1 ? "" : "es",
			n == 1 ? " is" : "s are");
	else if (atomic_load(&h->fired))
		doctor_say(d, DOCTOR_WARN, "held",
			"see poppad's log; a host that is out of memory or a hypervisor that "
			"stops this machine does that",
			"nothing stays stopped, but the guard had to step in %u time%s since "
			"poppad started",
			atomic_load(&h->fired), atomic_load(&h->fired) == 1 ? "" : "s");
	else
		doctor_say(d, DOCTOR_OK, "held", NULL, "nothing stays stopped");
	held_unmap(h);
}

void doctor_state(struct doctor *d)
{
	char dir[PATH_MAX];

	if (d->status)
		check_settings(d);
	if (!*d->node_name && (strstr(d->conf.run_dir, "%n") || strstr(d->conf.spool_dir, "%n")))
		return; /* the check of the directories reports that */
	if (!d->is_node)
		return;
	check_backlog(d, nodeconf_expand(d->conf.spool_dir, d->node_name, dir, sizeof(dir)));
	check_room(d, dir);
	check_held(d, nodeconf_expand(d->conf.run_dir, d->node_name, dir, sizeof(dir)));
}
