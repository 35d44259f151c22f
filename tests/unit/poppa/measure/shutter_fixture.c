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

#include "common/units.h"
#include "poppa/hold/pause.h"
#include "poppa/hold/proc.h"
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

struct shutter_plan *shutter_new_plan(const pid_t *child, int jobs, int beyond)
{
	struct shutter_plan *p = shutter_plan_new(jobs, jobs, 4, beyond);
	struct proc_stat st;

	assert_non_null(p);
	p->schedule.block_ns = 6 * NS_PER_MS;
	p->schedule.spread = SCHEDULE_SPREAD;
	p->schedule.jobs = jobs;
	p->shutter_ns = 2 * NS_PER_MS;
	p->jobs = jobs;
	for (int i = 0; i < jobs; i++) {
		assert_int_equal(proc_stat(child[i], &st), 0);
		p->task[i] = (struct shutter_task){.pid = child[i]};
		p->unit[i] = (struct shutter_unit){
			.unit = pause_open_process(held, child[i], st.starttime),
			.task = i,
			.process = true};
		assert_non_null(p->unit[i].unit);
		p->job[i] = (struct shutter_job){
			.job_id = 10 + i, .first_task = i, .tasks = 1, .first_unit = i, .units = 1};
		p->schedule.job[i] = (struct schedule_job){.measured = true, .seed = {{i, 7}}};
	}
	return p;
}
