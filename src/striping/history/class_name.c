/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Writes the names of classes. */
#include "striping/history/class_name.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/printable.h"

char *class_plain(char *text)
{
	for (char *p = text; *p; p++)
		if ((unsigned char)*p < ' ' || *p == 0x7f)
			*p = '_';
	return plain_text(text);
}

char *class_copy(const char *text, char *buf, size_t size)
{
	snprintf(buf, size, "%s", text ? text : "");
	return class_plain(buf);
}

bool class_generalize(char *name)
{
	char *to = name;
	bool any = false, before = false;

	for (const char *from = name; *from; from++) {
		bool digit = isdigit((unsigned char)*from);

		any |= digit;
		if (!digit || !before)
			*to++ = digit ? '#' : *from;
		before = digit;
	}
	*to = '\0';
	return any;
}

bool class_valid(const char *class)
{
	return *class && *class != CLASS_OF_USER && strlen(class) < PAIRS_CLASS_MAX &&
	       !strpbrk(class, "\t\n\r");
}

size_t class_user(const char *class)
{
	size_t digits = strspn(class, "0123456789");

	return class[digits] && strchr("/:@", class[digits]) ? digits : 0;
}

const char *class_owner(const char *class, uint32_t *uid)
{
	size_t digits = class_user(class);
	unsigned long long id = strtoull(class, NULL, 10);

	if (!digits || id > UINT32_MAX)
		return NULL;
	*uid = (uint32_t)id;
	return class + digits;
}

/* How many bytes of digits there are, of a number without leading zeros. */
static size_t number(const char *text)
{
	return *text == '0' ? 0 : strspn(text, "0123456789");
}

/* Whether the text is "+4n": a power of two, 2 at least. */
static bool is_size(const char *text, size_t length)
{
	unsigned long nodes = strtoul(text + 1, NULL, 10);
	size_t digits = number(text + 1);

	return digits && digits <= 10 && digits + 2 == length && text[digits + 1] == 'n' &&
	       nodes > 1 && !(nodes & (nodes - 1));
}

/* Ends the type of nodes with lanes of whole sockets. */
#define OF_SOCKETS "s"

/* Whether the text is "+2x8x1" or "+2x8x1s". */
static bool is_type(const char *text, size_t length)
{
	const char *end = text + length;

	for (int i = 0; i < 3; i++) {
		size_t digits;

		if (text >= end || *text != (i ? 'x' : '+'))
			return false;
		digits = number(++text);
		if (!digits)
			return false;
		text += digits;
	}
	return text == end || (text + 1 == end && *text == *OF_SOCKETS);
}

/* How many bytes are left without a last part from "+" on for which `is` holds. */
static size_t without(const char *class, size_t length, bool (*is)(const char *, size_t))
{
	const char *plus = memrchr(class, '+', length);

	return plus && plus > class && is(plus, length - (size_t)(plus - class))
		       ? (size_t)(plus - class)
		       : length;
}

size_t class_base(const char *class)
{
	return without(class, without(class, strlen(class), is_type), is_size);
}

char *class_guard(char *class)
{
	while (class[class_base(class)])
		class[class_base(class)] = '_';
	return class;
}

char *class_add_variant(char *class, unsigned int nodes, const char *type)
{
	char suffix[CLASS_VARIANT_MAX] = "";
	unsigned int size = 1;
	int at = 0;

	while (size <= nodes / 2)
		size *= 2;
	if (size > 1)
		at = snprintf(suffix, sizeof(suffix), "+%un", size);
	if (type && *type)
		at += snprintf(suffix + at, sizeof(suffix) - (size_t)at, "+%s", type);
	if (at < (int)sizeof(suffix) && strlen(class) + (size_t)at < PAIRS_CLASS_MAX)
		strcat(class, suffix);
	return class;
}

char *class_node_type(
	unsigned int sockets, unsigned int cores, unsigned int threads, bool of_sockets, char *buf)
{
	snprintf(buf, CLASS_TYPE_MAX, "%ux%ux%u%s", sockets ? sockets : 1, cores ? cores : 1,
		threads ? threads : 1, of_sockets ? OF_SOCKETS : "");
	return buf;
}

bool class_of_sockets(const char *class)
{
	const size_t length = strlen(class);

	return class_base(class) < length && class[length - 1] == *OF_SOCKETS;
}

bool class_parent(const char *class, char *buf)
{
	size_t base = class_base(class), user = class_user(class);

	if (*class == CLASS_OF_USER || (!class[base] && !user) || base >= PAIRS_CLASS_MAX)
		return false;
	if (class[base])
		snprintf(buf, PAIRS_CLASS_MAX, "%.*s", (int)base, class);
	else
		snprintf(buf, PAIRS_CLASS_MAX, "%c%.*s", CLASS_OF_USER, (int)user, class);
	return true;
}

char *class_by_names(
	const char *class_name, bool shared, unsigned int uid, const char *job_name, char *buf)
{
	bool named = class_name && *class_name;

	if (named && shared)
		snprintf(buf, PAIRS_CLASS_MAX, "%s", class_name);
	else
		snprintf(buf, PAIRS_CLASS_MAX, "%u%c%s", uid, named ? ':' : '/',
			named      ? class_name
			: job_name ? job_name
				   : "");
	return class_plain(buf);
}
