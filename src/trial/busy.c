/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Reads the time that PUs were busy, and takes away what the trial has used. */
#include "trial/busy.h"

#include <math.h>
#include <stdio.h>
#include <unistd.h>

#include "common/clock.h"
#include "common/units.h"

/* For how long these PUs were busy since the boot, ns; -1 where the kernel does not tell. */
static int64_t busy_ns(const struct runner_pus *pus)
{
	FILE *f = fopen("/proc/stat", "re");
	unsigned long long user, nice, system, idle, wait, irq, soft, steal, sum = 0;
	char line[512];
	int pu, found = 0;

	while (f && fgets(line, sizeof(line), f)) {
		if (sscanf(line, "cpu%d %llu %llu %llu %llu %llu %llu %llu %llu", &pu, &user, &nice,
			    &system, &idle, &wait, &irq, &soft, &steal) != 9)
			continue;
		for (int i = 0; i < pus->count; i++)
			if (pus->pu[i] == pu) {
				sum += user + nice + system + irq + soft + steal;
				found++;
			}
	}
	if (f)
		fclose(f);
	return found == pus->count ? (int64_t)sum * (NS_PER_S / sysconf(_SC_CLK_TCK)) : -1;
}

struct busy_watch busy_watch(const struct runner_pus *pus, const struct runner_stage *stage)
{
	return (struct busy_watch){clock_now(), busy_ns(pus), runner_used_ns(stage)};
}

double busy_others(const struct busy_watch *from, const struct runner_pus *pus,
	const struct runner_stage *stage)
{
	struct busy_watch now = busy_watch(pus, stage);
	int64_t took = now.began_ns - from->began_ns;

	if (from->busy_ns < 0 || now.busy_ns < 0 || took <= 0)
		return NAN;
	return fmax(0, (double)(now.busy_ns - from->busy_ns - (now.used_ns - from->used_ns)) /
			       ((double)took * pus->count));
}
