/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Reads the time that PUs were busy. */
#include "trial/busy.h"

#include <stdio.h>
#include <unistd.h>

#include "common/units.h"

int64_t busy_ns(const struct runner_pus *pus)
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
