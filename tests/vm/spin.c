/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A program of some threads that compute without a rest, until a file is there. */
/*
 *   spin THREADS FILE
 * Its first thread is one of them. Nothing binds them.
 */
#include <pthread.h>
#include <stdlib.h>
#include <unistd.h>

static void *spin(void *file)
{
	for (unsigned i = 1; i % (1U << 24) || access(file, F_OK); i++)
		__asm__ volatile("" : : "r"(i));
	return NULL;
}

int main(int argc, char **argv)
{
	int threads = argc > 2 ? atoi(argv[1]) : 0;
	pthread_t thread;

	if (threads < 1)
		return 2;
	for (int i = 1; i < threads; i++)
		if (pthread_create(&thread, NULL, spin, argv[2]))
			return 1;
	spin(argv[2]);
	return 0;
}
