/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Reads stripe_default. */
#include "common/stripe_default.h"

#include <string.h>
#include <strings.h>

const char *stripe_default_next(const char *at, struct stripe_default *element)
{
	static const char word[] = "qos";

	element->len = strcspn(at, ":");
	element->qos = element->len == strlen(word) && !strncmp(at, word, strlen(word));
	if (element->qos) {
		at += element->len + (at[element->len] == ':');
		element->len = strcspn(at, ":");
	}
	element->name = at;
	at += element->len;
	return *at ? at + 1 : NULL;
}

bool stripe_default_has(const char *list, bool qos, const char *name)
{
	int (*const differs)(const char *, const char *, size_t) = qos ? strncasecmp : strncmp;
	const size_t len = strlen(name);
	struct stripe_default element;

	for (const char *at = list; at;) {
		at = stripe_default_next(at, &element);
		if (len && element.qos == qos && element.len == len &&
			!differs(element.name, name, len))
			return true;
	}
	return false;
}
