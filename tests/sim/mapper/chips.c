/* SPDX-License-Identifier: GPL-2.0-or-later */
/* How fast the simulated tasks are, by where they and the others are. */
#include "sim/mapper/chips.h"

#include <math.h>

/* Cycles for a line that a task of the socket has, and of the core. Of another socket it is the
 * application's SPC. */
#define NEAR 60
#define SAME_CORE 15
/* What two threads of a core make of their own pace when both are busy, when one is, and when none
 * is. */
static const double share[3] = {0.85, 0.75, 0.55};
#define BUSY_IPC 0.9
/* DRAM accesses a cycle that a socket serves without waiting, and how much each costs. */
#define SOCKET_MISSES 0.05
#define MEMORY 180
/* How much more an access takes to the memory of another socket. */
#define FAR_MEMORY 120

int chip_core(const struct chip *c, int pu)
{
	return pu % (c->sockets * c->cores);
}

int chip_socket(const struct chip *c, int pu)
{
	return chip_core(c, pu) / c->cores;
}

void chip_spread(struct chip *c)
{
	int cores = c->sockets * c->cores;

	for (int i = 0; i < c->tasks; i++) {
		int n = i % (cores * c->threads), core = n % cores;

		/* Every other core is of the next socket. */
		c->task[i].pu =
			n / cores * cores + core % c->sockets * c->cores + core / c->sockets;
		c->task[i].home = chip_socket(c, c->task[i].pu);
	}
}

/* Whether an application shares data in this interval. */
static bool is_sharing(const struct chip *c, const struct chip_app *a)
{
	return !a->period || c->interval / a->period % 2 == 0;
}

/* Where the other tasks of a task's application are, as parts. */
static void neighbours(const struct chip *c, int task, double *same_core, double *near, double *far)
{
	int count[3] = {0}, all = 0;

	for (int i = 0; i < c->tasks; i++) {
		if (i == task || c->task[i].app != c->task[task].app)
			continue;
		all++;
		if (chip_core(c, c->task[i].pu) == chip_core(c, c->task[task].pu))
			count[0]++;
		else
			count[1 + (chip_socket(c, c->task[i].pu) !=
					  chip_socket(c, c->task[task].pu))]++;
	}
	*same_core = all ? (double)count[0] / all : 0;
	*near = all ? (double)count[1] / all : 0;
	*far = all ? (double)count[2] / all : 0;
}

/* The pace of a task on its core, relative to a core of its own. */
static double core_share(const struct chip *c, int task)
{
	int busy = c->app[c->task[task].app].ipc > BUSY_IPC, others = 0, same_pu = 1;

	for (int i = 0; i < c->tasks; i++) {
		if (i == task || chip_core(c, c->task[i].pu) != chip_core(c, c->task[task].pu))
			continue;
		if (c->task[i].pu == c->task[task].pu) {
			same_pu++;
			continue;
		}
		others++;
		busy += c->app[c->task[i].app].ipc > BUSY_IPC;
	}
	return (others ? share[busy > 2 ? 2 : busy] : 1) / same_pu;
}

/* How many times as long the memory of a socket takes as others ask for it, too. */
static double memory_wait(const struct chip *c, int socket)
{
	double asked = 0;

	for (int i = 0; i < c->tasks; i++)
		if (c->task[i].home == socket)
			asked += c->app[c->task[i].app].misses / 1000 * c->app[c->task[i].app].ipc;
	return fmax(1, asked / SOCKET_MISSES);
}

void chip_run(struct chip *c, struct mapper_sample *sample)
{
	for (int i = 0; i < c->tasks; i++) {
		const struct chip_app *a = &c->app[c->task[i].app];
		int home = c->task[i].home;
		bool is_near = chip_socket(c, c->task[i].pu) == home;
		double events = is_sharing(c, a) ? a->coherence / 1000 : 0,
		       misses = a->misses / 1000;
		double same_core, near, far, stalls, instructions;

		neighbours(c, i, &same_core, &near, &far);
		stalls =
			events * (same_core * SAME_CORE + near * NEAR + far * a->spc) +
			misses * (MEMORY * (memory_wait(c, home) - 1) + (is_near ? 0 : FAR_MEMORY));
		instructions = CHIP_CYCLES / (1 / (a->ipc * core_share(c, i)) + stalls);
		c->work[i] += instructions;
		sample[i] = (struct mapper_sample){
			.task = i,
			.app = c->task[i].app,
			.pu = c->task[i].pu,
			.instructions = (uint64_t)instructions,
			.cycles = (uint64_t)CHIP_CYCLES,
			.inter = (uint64_t)(instructions * events * far),
			.intra = (uint64_t)(instructions * events * near),
			.local = is_near ? (uint64_t)(instructions * misses) : 0,
			.remote = is_near ? 0 : (uint64_t)(instructions * misses),
			.stalls = (uint64_t)(instructions * stalls),
		};
	}
	c->interval++;
}
