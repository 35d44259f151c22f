/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A list of held things, and a process to stop. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "unit/poppa/hold/pause_fixture.h"
#include "unit/poppa/waiting_process.h"

char dir[64], held_path[128];
struct held_file *held;
int held_fd;
pid_t child;
struct proc_stat child_stat;

int pause_setup(void **state)
{
	struct errmsg err;

	(void)state;
	strcpy(dir, "/tmp/pause-XXXXXX");
	if (!mkdtemp(dir))
		return -1;
	snprintf(held_path, sizeof(held_path), "%s/held", dir);
	held = held_create(held_path, &held_fd, &err);
	child = waiting_process();
	return held && !proc_stat(child, &child_stat) ? 0 : -1;
}

int pause_teardown(void **state)
{
	char command[128];

	(void)state;
	kill(child, SIGKILL);
	waitpid(child, NULL, 0);
	held_unmap(held);
	close(held_fd);
	snprintf(command, sizeof(command), "rm -rf %s", dir);
	return system(command);
}

char state_of(pid_t pid)
{
	struct proc_stat st = {.state = '?'};

	proc_stat(pid, &st);
	return st.state;
}

/* A stop takes effect when the task has had its turn; waits seconds, not for a fixed time. */
bool becomes(pid_t pid, bool stopped)
{
	for (int ms = 0; ms < 5000; ms++) {
		if ((state_of(pid) == 'T') == stopped)
			return true;
		usleep(1000);
	}
	return false;
}
