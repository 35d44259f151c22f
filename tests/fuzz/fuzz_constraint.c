/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Fuzzes a --constraint, which slurmctld reads for each node: a line, and the features of a node.
 */
#include <stdlib.h>
#include <string.h>

#include "fuzz.h"
#include "striping/submit/constraint.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static const char more[] = ",a-feature-that-nobody-names";
	struct constraint_answers known = {{NULL}, {false}};
	char *constraint = fuzz_text(data, size), *features, *grown;
	bool allowed;

	features = constraint + strcspn(constraint, "\n");
	if (*features)
		*features++ = '\0';
	allowed = constraint_allows(constraint, features);
	for (int i = 0; i < 2; i++)
		MUST(constraint_allows_again(constraint, features, &known) == allowed);
	MUST(constraint_allows_again(constraint, NULL, &known) ==
		constraint_allows(constraint, ""));
	/* Nothing can be asked not to be there, so a node with more of it suits no fewer jobs. */
	grown = malloc(strlen(features) + strlen(constraint) + sizeof(more) + 1);
	MUST(grown);
	strcat(strcpy(grown, features), more);
	if (!strstr(constraint, more + 1))
		MUST(constraint_allows(constraint, grown) == allowed);
	strcat(strcat(strcpy(grown, features), ","), constraint);
	MUST(!allowed || constraint_allows(constraint, grown));
	free(grown);
	free(constraint);
	return 0;
}
