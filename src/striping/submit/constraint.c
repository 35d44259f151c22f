/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Evaluates --constraint for one node. */
#include "striping/submit/constraint.h"

#include <stdint.h>
#include <string.h>

static bool has(const char *features, const char *name, size_t len)
{
	for (const char *at = features; len && *at; at += strcspn(at, ","), at += *at == ',')
		if (strcspn(at, ",") == len && !strncmp(at, name, len))
			return true;
	return false;
}

static bool has_any(const char *constraint, const char *features)
{
	static const char between[] = "&|,()[]*";

	for (const char *at = constraint; *(at += strspn(at, between)); at += strcspn(at, between))
		if (has(features, at, strcspn(at, between)))
			return true;
	return false;
}

/* The value of the text up to the closing bracket or the end, to which *at moves. */
static bool value_of(const char **at, bool inside, const char *features)
{
	bool value = true;

	for (char op = '&';; op = *(*at)++) {
		size_t len = strcspn(*at, "&|,()");
		bool operand;

		if (!inside && **at == '(') {
			(*at)++;
			operand = value_of(at, true, features);
			*at += **at == ')';
		} else {
			operand = has(features, *at, len);
			*at += len;
		}
		value = op == '|' ? value || operand : value && operand;
		if (!**at || **at == ')')
			return value;
	}
}

bool constraint_allows(const char *constraint, const char *features)
{
	if (!features)
		features = "";
	if (strpbrk(constraint, "[]*"))
		return has_any(constraint, features);
	return value_of(&constraint, false, features);
}

bool constraint_allows_again(
	const char *constraint, const char *features, struct constraint_answers *known)
{
	uint32_t hash = 2166136261U; /* FNV-1a */
	int at;

	if (!features)
		features = "";
	for (const char *p = features; *p; p++)
		hash = (hash ^ (unsigned char)*p) * 16777619U;
	at = (int)(hash % CONSTRAINT_ANSWERS);
	if (!known->features[at] || strcmp(known->features[at], features)) {
		known->features[at] = features;
		known->allowed[at] = constraint_allows(constraint, features);
	}
	return known->allowed[at];
}
