/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Parses a text of the documents as the suite does, for tests/cli/commands.t: parse
 * colocate|settings TEXT */
#include <stdio.h>
#include <string.h>

#include "common/settings.h"
#include "striping/submit/colocate_option.h"

int main(int argc, char **argv)
{
	struct errmsg err = {0};
	struct colocate option = {0};
	struct poppa_settings settings;
	int failed;

	if (argc == 3 && !strcmp(argv[1], "colocate")) {
		failed = colocate_parse(argv[2], &option, &err);
	} else if (argc == 3 && !strcmp(argv[1], "settings")) {
		settings_defaults(&settings);
		failed = settings_parse(argv[2], &settings, &err);
	} else {
		fputs("usage: parse colocate|settings TEXT\n", stderr);
		return 2;
	}
	if (failed)
		printf("%s\n", err.text);
	return failed ? 1 : 0;
}
