/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Loads a module as interpreters do, so that its libraries are seen by no other. */
#include <dlfcn.h>
#include <stdio.h>

int main(int argc, char **argv)
{
	void *module = dlopen(argc > 1 ? argv[1] : "", RTLD_NOW | RTLD_LOCAL);
	int (*run)(void);

	if (!module) {
		fprintf(stderr, "%s\n", dlerror());
		return 1;
	}
	*(void **)&run = dlsym(module, "run");
	return run ? run() : 1;
}
