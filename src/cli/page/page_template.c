/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Fills the values of a JSON object into a page of HTML. */
#include "cli/page/page_template.h"

#include <math.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "cli/ask/number_text.h"
#include "cli/ask/shorten_text.h"
#include "cli/ask/value_text.h"

/* What tags are looked up in: the innermost section's value first. */
struct scope {
	const json_t *value;
	const struct scope *outer;
};

static void put_escaped(FILE *out, const char *text)
{
	static const char special[] = "&<>\"'";
	static const char *const entities[] = {"&amp;", "&lt;", "&gt;", "&quot;", "&#39;"};

	for (; *text; text++) {
		const char *at = strchr(special, *text);

		if (at)
			fputs(entities[at - special], out);
		else
			fputc(*text, out);
	}
}

/* Hours with a comma after thousands: "1,234,567.8". */
static const char *grouped_hours(struct number_cell *c, int64_t seconds)
{
	struct number_cell plain;
	size_t whole = strcspn(number_signed_hours(&plain, seconds), "."), to = 0;

	for (size_t i = 0; plain.text[i]; i++) {
		if (i && i < whole && (whole - i) % 3 == 0 && plain.text[i - 1] != '-')
			c->text[to++] = ',';
		c->text[to++] = plain.text[i];
	}
	c->text[to] = '\0';
	return c->text;
}

static const char *formatted(struct number_cell *c, const json_t *v, const char *format)
{
	double real = json_is_number(v) ? json_number_value(v) : NAN;
	json_int_t whole = json_integer_value(v);

	if (!strncmp(format, "real ", 5))
		return number_real(c, atoi(format + 5), real);
	if (!strcmp(format, "percent"))
		return number_percent(c, real);
	if (!strcmp(format, "hours"))
		return grouped_hours(c, whole);
	if (!strcmp(format, "plain_hours"))
		return number_hours(c, (uint64_t)whole);
	if (!strncmp(format, "count ", 6))
		return number_count(c, whole, format + 6);
	if (!strcmp(format, "short"))
		return number_short(c, real);
	if (!strcmp(format, "short_hours"))
		return number_short(c, real / 3600);
	if (!strcmp(format, "minute"))
		return number_time(c, whole, TIME_MINUTE);
	snprintf(c->text, sizeof(c->text), "%" JSON_INTEGER_FORMAT, whole);
	return c->text;
}

/* Every value goes through here, and so does every name that a user chose. */
static void put_value(FILE *out, const json_t *v, const char *format)
{
	struct number_cell c;

	if (!json_is_string(v))
		fputs(formatted(&c, v, format), out);
	else if (!strncmp(format, "cut ", 4))
		shorten_text(out, json_string_value(v), atoi(format + 4), "…", put_escaped);
	else
		put_escaped(out, json_string_value(v));
}

static const json_t *look_up(const struct scope *s, const char *path)
{
	const json_t *v = NULL;

	for (; s && !v; s = s->outer)
		v = value_at(s->value, path);
	return v;
}

static bool says_yes(const json_t *v)
{
	if (json_is_array(v))
		return json_array_size(v) > 0;
	if (json_is_string(v))
		return *json_string_value(v);
	return json_is_true(v) || json_is_object(v) || (json_is_number(v) && json_number_value(v));
}

/*
 * Writes up to the end of the section that text is in, or only goes there when show is false;
 * returns what follows that section.
 */
static const char *fill(FILE *out, const char *text, const struct scope *scope, bool show)
{
	const char *tag, *end;

	while ((tag = strstr(text, "{{")) && (end = strstr(tag, "}}"))) {
		char name[64], *format;
		const json_t *v;

		if (show)
			fwrite(text, 1, (size_t)(tag - text), out);
		text = end + 2;
		if (tag[2] == '/')
			return text;
		snprintf(name, sizeof(name), "%.*s", (int)(end - tag - 2), tag + 2);
		format = name + strcspn(name, "|");
		if (*format)
			*format++ = '\0';
		if (*name == '#' || *name == '^') {
			size_t i, each;

			v = look_up(scope, name + 1);
			each = *name == '#' && show ? json_array_size(v) : 0;
			for (i = 0; i + 1 < each; i++)
				fill(out, text, &(struct scope){json_array_get(v, i), scope}, true);
			if (each)
				v = json_array_get(v, i);
			text = fill(out, text, &(struct scope){v, scope},
				show && (each || says_yes(v) == (*name == '#')));
		} else if (show) {
			put_value(out, look_up(scope, name), format);
		}
	}
	if (show)
		fputs(text, out);
	return text + strlen(text);
}

void page_template_fill(FILE *out, const char *template, const json_t *values)
{
	fill(out, template, &(struct scope){values, NULL}, true);
}
