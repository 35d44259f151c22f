/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A task for tests of poppad: publishes a heartbeat, is mostly asleep, and ends with its parent. */
#include <signal.h>
#include <sys/prctl.h>
#include <time.h>

#include "heartbeat/poppa_heartbeat.h"

int main(void)
{
	const struct timespec step = {0, 200000};

	prctl(PR_SET_PDEATHSIG, SIGKILL);
	poppa_heartbeat_open();
	for (;;) {
		poppa_heartbeat_add(1);
		nanosleep(&step, NULL);
	}
}
