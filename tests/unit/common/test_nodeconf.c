/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Unit tests of src/common/nodeconf.c: poppa.conf, and which file that is. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/fsio.h"
#include "common/nodeconf.h"

static void files_of_a_node(void **state)
{
	char dir[] = "/tmp/test_nodeconf.XXXXXX", path[64], out[64];
	static const char text[] =
		"# node\nRunDir=/r/%n # here\nUprobe=liba.so:f\nUprobe=/x/y:g\nCounter=uprobe\n"
		"missevent = LONGEST_LAT_CACHE:MISS\nMailProg=/opt/smail\nMailWait=90\n";
	struct nodeconf c;
	struct errmsg err = {""};

	(void)state;
	assert_non_null(mkdtemp(dir));
	snprintf(path, sizeof(path), "%s/poppa.conf", dir);
	assert_int_equal(fsio_write(path, text, strlen(text), 0644, 1, &err), 0);
	assert_int_equal(nodeconf_load(path, &c, &err), 0);
	assert_string_equal(nodeconf_expand(c.run_dir, "n1", out, sizeof(out)), "/r/n1");
	assert_int_equal(c.uprobe_count, 2);
	assert_string_equal(c.miss_event, "LONGEST_LAT_CACHE:MISS");
	assert_true(c.counter_set && c.counter == COUNTER_UPROBE);
	assert_string_equal(c.mail_prog, "/opt/smail");
	assert_int_equal(c.mail_wait_s, 90);
	assert_int_equal(fsio_write(path, "MailWait=2h\n", 12, 0644, 0, &err), 0);
	assert_int_equal(nodeconf_load(path, &c, &err), -1);
	assert_non_null(strstr(err.text, "MailWait"));
	assert_int_equal(fsio_write(path, "RunDri=/r\n", 10, 0644, 0, &err), 0);
	assert_int_equal(nodeconf_load(path, &c, &err), -1);
	assert_non_null(strstr(err.text, "line 1"));
	assert_non_null(strstr(err.text, "RunDri"));
	assert_string_equal(c.run_dir, "/r/%n");
	assert_int_equal(fsio_write(path, "RunDir\n", 7, 0644, 0, &err), 0);
	assert_int_equal(nodeconf_load(path, &c, &err), -1);
	assert_int_equal(fsio_write(path, "SpoolDir=\n", 10, 0644, 0, &err), 0);
	assert_int_equal(nodeconf_load(path, &c, &err), -1);
	assert_non_null(strstr(err.text, "SpoolDir"));
	assert_int_equal(fsio_write(path, "MungeSocket=\n", 13, 0644, 0, &err), 0);
	assert_int_equal(nodeconf_load(path, &c, &err), 0);
	assert_string_equal(c.miss_event, "");
	assert_int_equal(unlink(path), 0);
	/* Who names a file means it; the usual one need not be there. */
	assert_int_equal(nodeconf_load(path, &c, &err), -1);
	assert_non_null(strstr(err.text, path));
	setenv("POPPA_CONF", path, 1);
	assert_int_equal(nodeconf_load(path, &c, &err), 0);
	unsetenv("POPPA_CONF");
	assert_string_equal(c.run_dir, "/run/poppa");
	assert_int_equal(rmdir(dir), 0);
}

/* Which files count, in which order, and what is said where none is there. */
static void files_that_may_be_it(void **state)
{
	char dir[] = "/tmp/test_nodeconf.XXXXXX", path[64], conf[80], files[256], wanted[256];
	struct errmsg err = {""};

	(void)state;
	assert_non_null(mkdtemp(dir));
	snprintf(path, sizeof(path), "%s/slurm.conf", dir);
	snprintf(conf, sizeof(conf), "%s/poppa.conf", dir);
	setenv("SLURM_CONF", path, 1);
	snprintf(wanted, sizeof(wanted), "%s, %s/slurm/poppa.conf, /etc/slurm/poppa.conf", conf,
		POPPA_SYSCONFDIR);
	if (!strcmp(POPPA_SYSCONFDIR, "/etc"))
		snprintf(wanted, sizeof(wanted), "%s, /etc/slurm/poppa.conf", conf);
	assert_string_equal(nodeconf_looked_for(files, sizeof(files)), wanted);
	assert_int_equal(fsio_write(conf, "", 0, 0644, 0, &err), 0);
	assert_string_equal(nodeconf_path(files, sizeof(files)), conf);
	assert_int_equal(unlink(conf), 0);
	assert_string_not_equal(nodeconf_path(files, sizeof(files)), conf);
	setenv("POPPA_CONF", "/one/file", 1);
	assert_string_equal(nodeconf_path(files, sizeof(files)), "/one/file");
	assert_string_equal(nodeconf_looked_for(files, sizeof(files)), "/one/file");
	unsetenv("POPPA_CONF");
	unsetenv("SLURM_CONF");
	assert_int_equal(rmdir(dir), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(files_of_a_node),
		cmocka_unit_test(files_that_may_be_it),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
