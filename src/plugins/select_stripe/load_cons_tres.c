/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Finds and loads Slurm's own plugin. */
#include "plugins/select_stripe/load_cons_tres.h"

#include <dlfcn.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "plugins/select_stripe/stripe.h"

#define FILE_NAME "select_cons_tres.so"

SLURM_WEAK(slurm_conf)

struct cons_tres cons_tres;
static void *handle;

/* Whether the path is a file, and not the one that this code was loaded from. */
static bool is_other_plugin(const char *path)
{
	struct stat st, mine;
	Dl_info me;

	if (stat(path, &st) || !S_ISREG(st.st_mode))
		return false;
	return !dladdr(&handle, &me) || stat(me.dli_fname, &mine) || mine.st_dev != st.st_dev ||
	       mine.st_ino != st.st_ino;
}

/*
 * Opens the file, and returns whether the search ends with it. Another copy of this plugin does not
 * end it: that would find this one behind itself, and the two would call each other for ever.
 */
static bool try_file(const char *path)
{
	const char *name;

	if (!is_other_plugin(path))
		return false;
	handle = dlopen(path, RTLD_LAZY | RTLD_LOCAL);
	name = handle ? dlsym(handle, "plugin_name") : NULL;
	if (!name || strcmp(name, STRIPE_NAME))
		return true;
	dlclose(handle);
	handle = NULL;
	return false;
}

/* Leaves the last name that was tried in path. */
static bool find_file(char *path, size_t size)
{
	const char *dirs = &slurm_conf ? slurm_conf.plugindir : NULL;

	for (const char *p = dirs; p && *p;) {
		size_t len = strcspn(p, ":");

		snprintf(path, size, "%.*s/" FILE_NAME, (int)len, p);
		if (len && try_file(path))
			return true;
		p += len;
		p += *p == ':';
	}
	snprintf(path, size, "%s/" FILE_NAME, POPPA_SLURM_PLUGINDIR);
	return try_file(path);
}

/* NULL, or the name of a function that the file lacks. */
static const char *find_functions(void)
{
#define CONS_TRES_FIND(result, name, params, args)                                                 \
	cons_tres.name = (result(*) params)dlsym(handle, "select_p_" #name);                       \
	if (!cons_tres.name)                                                                       \
		return "select_p_" #name;

	SELECT_PASSED_ON(CONS_TRES_FIND)
	SELECT_LOOKED_AT(CONS_TRES_FIND)
	return NULL;
}

int load_cons_tres(void)
{
	char path[PATH_MAX];
	const char *missing;
	int (*start)(void);

	if (handle)
		return SLURM_SUCCESS;
	if (!find_file(path, sizeof(path))) {
		error(STRIPE "Slurm's own " FILE_NAME " is neither in another directory of "
			     "PluginDir nor in " POPPA_SLURM_PLUGINDIR
			     ": add its directory to PluginDir, after this plugin's");
		return SLURM_ERROR;
	}
	if (!handle) {
		error(STRIPE "cannot load %s: %s; delete the suite's " FILE_NAME
			     " to go on without striping",
			path, dlerror());
		return SLURM_ERROR;
	}
	missing = find_functions();
	if (missing) {
		error(STRIPE "%s has no %s: it is of another release of Slurm; build this plugin "
			     "against the installed one or delete the suite's " FILE_NAME,
			path, missing);
		goto broken;
	}
	start = (int (*)(void))dlsym(handle, "init");
	if (start && start() != SLURM_SUCCESS) {
		error(STRIPE "%s did not start", path);
		goto broken;
	}
	debug(STRIPE "in front of %s", path);
	return SLURM_SUCCESS;
broken:
	dlclose(handle);
	handle = NULL;
	return SLURM_ERROR;
}

void unload_cons_tres(void)
{
	int (*stop)(void);

	if (!handle)
		return;
	stop = (int (*)(void))dlsym(handle, "fini");
	if (stop)
		stop();
	dlclose(handle);
	handle = NULL;
}
