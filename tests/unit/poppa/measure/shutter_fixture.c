/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Makes and removes what the tests of shutters share. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/timerfd.h>
#include <sys/wait.h>
#include <unistd.h>

#include "unit/poppa/measure/shutter_fixture.h"
#include "unit/poppa/waiting_process.h"

char dir[64];
struct held_file *held;
struct guard guard;
struct shutter *shutter;
int notify_fd;
static int held_fd;

int shutter_setup(void)
{
	char path[128];
	struct errmsg err = {""};

	strcpy(dir, "/tmp/shutter-XXXXXX");
	if (!mkdtemp(dir))
		return -1;
	snprintf(path, sizeof(path), "%s/held", dir);
	held = held_create(path, &held_fd, &err);
	guard.pid = waiting_process();
	guard.pidfd = syscall(SYS_pidfd_open, guard.pid, 0);
	guard.timerfd = timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC | TFD_NONBLOCK);
	shutter = shutter_start(held, &guard, &notify_fd, &err);
	return held && shutter && guard.pidfd >= 0 ? 0 : -1;
}

int shutter_teardown(const pid_t *child, int children)
{
	char command[128];

	assert_null(shutter_stop(shutter));
	guard_stop(&guard);
	for (int i = 0; i < children; i++) {
		kill(child[i], SIGKILL);
		waitpid(child[i], NULL, 0);
	}
	held_unmap(held);
	close(held_fd);
	snprintf(command, sizeof(command), "rm -rf %s", dir);
	return system(command);
}
