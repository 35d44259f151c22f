/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Unit tests of settlements: every row of the table of fields, through every form and back. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sqlite3.h>

#include "accounting/ledgerd/ledger_file.h"
#include "accounting/record/settlement.h"
#include "unit/accounting/ledger_fixture.h"

/* No test names a field: a row that is added to the table is in all of them. In each sample every
 * field has a value that it has in no other sample, and no other field has. */
#define SAMPLES 2
#define MAX_ROWS 64

static const struct field *row(size_t i)
{
	return &settlement_fields.field[i];
}

static const struct settlement_forms *forms_of(const struct field *f)
{
	return f->forms;
}

static const char *key_of(const struct field *f, enum settlement_form form)
{
	return forms_of(f) ? forms_of(f)->in[form].key : NULL;
}

static size_t items_of(const struct field *f, const struct settlement *s)
{
	return f->count ? (size_t) * (const int *)((const char *)s + f->count) : 1;
}

static void *item_of(const struct field *f, const struct settlement *s, size_t item)
{
	return (char *)s + f->offset + item * (f->step ? f->step : f->size);
}

/* How a row is called where it fails. */
static const char *name_of(const struct field *f)
{
	for (int form = 0; !f->name && form < SETTLEMENT_FORMS; form++)
		if (key_of(f, (enum settlement_form)form))
			return key_of(f, (enum settlement_form)form);
	return f->name ? f->name : "(a row without a key)";
}

/* A real has as many digits as the comment shows of it. */
static void set_row(struct settlement *s, size_t i, int sample)
{
	const struct field *f = row(i);

	if (f->count)
		*(int *)((char *)s + f->count) = 2 + sample;
	for (size_t k = 0; f->size && k < items_of(f, s); k++) {
		int64_t number = f->min + 1 + 2 * (int64_t)i + sample + 100 * (int64_t)k;

		if (f->type == FIELD_TEXT)
			snprintf(item_of(f, s, k), f->size, "text-%zu-%d", i, sample);
		else if (f->type == FIELD_REAL)
			*(double *)item_of(f, s, k) =
				(double)(10 + (2 * i + 31 * (size_t)sample + 7 * k) % 80) / 100;
		else if (f->type == FIELD_BOOL)
			field_set_value(f, s, k, !sample);
		else
			field_set_value(f, s, k, number);
		assert_true(f->type != FIELD_INT || number <= f->max);
	}
}

static struct settlement sample_of(int sample)
{
	struct settlement s;

	settlement_clear(&s);
	for (size_t i = 0; i < settlement_fields.count; i++)
		set_row(&s, i, sample);
	/* What is charged is never more than raw. */
	s.raw += 100000;
	settlement_write_comment(&s);
	return s;
}

/* Whether a field is the same; unknown is as unknown. */
static bool is_same(const struct field *f, const struct settlement *a, const struct settlement *b)
{
	if (f->size && items_of(f, a) != items_of(f, b))
		return false;
	for (size_t k = 0; f->size && k < items_of(f, a); k++) {
		const void *x = item_of(f, a, k), *y = item_of(f, b, k);

		if (f->type == FIELD_TEXT ? strcmp(x, y) != 0
			: f->type == FIELD_REAL
				? fabs(*(const double *)x - *(const double *)y) > 1e-12 ||
					  isnan(*(const double *)x) != isnan(*(const double *)y)
				: field_value(f, a, k) != field_value(f, b, k))
			return false;
	}
	return true;
}

static void assert_same(const struct settlement *a, const struct settlement *b, const char *where)
{
	for (size_t i = 0; i < settlement_fields.count; i++)
		if (!is_same(row(i), a, b))
			fail_msg("%s: %s differs", where, name_of(row(i)));
}

/* So what survives is known to have travelled. */
static void samples_tell_fields_apart(void **state)
{
	struct settlement s = sample_of(0), t = sample_of(1);

	(void)state;
	for (size_t i = 0; i < settlement_fields.count; i++)
		assert_true(!row(i)->size || !is_same(row(i), &s, &t));
}

static void every_field_through_json(void **state)
{
	(void)state;
	for (int sample = 0; sample < SAMPLES; sample++) {
		struct settlement s = sample_of(sample), back;
		struct errmsg err = {""};
		json_t *json = settlement_to_json(&s);
		size_t named = 0;

		memset(&back, 0xff, sizeof(back));
		if (settlement_from_json(json, &back, &err))
			fail_msg("%s", err.text);
		assert_same(&s, &back, "JSON");
		for (size_t i = 0; i < settlement_fields.count; i++) {
			named += row(i)->name != NULL;
			if (row(i)->name && !json_object_get(json, row(i)->name))
				fail_msg("%s is not in JSON", row(i)->name);
		}
		assert_int_equal(json_object_size(json), named);
		json_decref(json);
	}
}

/* " KEY=" of a row's key, at the start without the blank. */
static bool tells(const char *text, const char *key)
{
	char fact[64];

	snprintf(fact, sizeof(fact), " %s=", key);
	return strstr(text, fact) || !strncmp(text, fact + 1, strlen(fact + 1));
}

static void every_field_through_the_comment(void **state)
{
	(void)state;
	for (int sample = 0; sample < SAMPLES; sample++) {
		struct settlement s = sample_of(sample), back;
		struct errmsg err = {""};
		size_t keys = 0, facts = 1;

		for (size_t i = 0; i < settlement_fields.count; i++) {
			const char *key = key_of(row(i), SETTLEMENT_COMMENT);
			bool told = row(i)->type != FIELD_BOOL || !sample;

			keys += key && told;
			if (key && tells(s.text, key) != told)
				fail_msg("%s in %s", key, s.text);
		}
		for (const char *p = s.text; *p; p++)
			facts += *p == ' ';
		assert_int_equal(facts, keys);
		/* What JSON has itself comes from there, the rest by the comment alone. */
		settlement_clear(&back);
		if (settlement_read_comment(s.text, &back, &err))
			fail_msg("%s", err.text);
		for (size_t i = 0; i < settlement_fields.count; i++)
			if ((!row(i)->name || key_of(row(i), SETTLEMENT_COMMENT)) &&
				!is_same(row(i), &s, &back))
				fail_msg("%s differs: %s", name_of(row(i)), s.text);
		settlement_write_comment(&back);
		assert_string_equal(back.text, s.text);
		/* And through the text of a settlement's JSON. */
		settlement_change(&s, s.charged - 1);
		assert_string_not_equal(back.text, s.text);
		settlement_read_comment(s.text, &back, &err);
		assert_int_equal(back.charged, s.charged);
		assert_int_equal(back.changes, s.changes);
	}
}

/* The value of a row that is shown as it is. */
static void assert_shown(const struct field *f, const struct settlement *s, const json_t *v)
{
	json_t *own = forms_of(f)->show ? forms_of(f)->show(s) : field_to_json(f, s);

	if (!json_equal(own, v) || json_is_null(v))
		fail_msg("%s is not shown", name_of(f));
	json_decref(own);
}

/* What poppa why and poppa report show is the rows that have a key there, and nothing else. */
static void every_field_is_shown(void **state)
{
	(void)state;
	for (int sample = 0; sample < SAMPLES; sample++)
		for (int form = SETTLEMENT_WHY; form < SETTLEMENT_FORMS; form++) {
			struct settlement s = sample_of(sample), other = sample_of(!sample);
			json_t *json = settlement_show(&s, (enum settlement_form)form);
			json_t *differs = settlement_show(&other, (enum settlement_form)form);
			size_t keys = 0;

			for (size_t i = 0; i < settlement_fields.count; i++) {
				const char *key = key_of(row(i), (enum settlement_form)form);

				if (!key)
					continue;
				keys++;
				assert_shown(row(i), &s, json_object_get(json, key));
				assert_false(json_equal(
					json_object_get(json, key), json_object_get(differs, key)));
			}
			assert_true(keys > 0);
			assert_int_equal(json_object_size(json), keys);
			json_decref(json);
			json_decref(differs);
		}
}

/* A form has each of its rows once, in the order of ranks. */
static void forms_are_in_order(void **state)
{
	(void)state;
	for (int form = 0; form < SETTLEMENT_FORMS; form++) {
		const struct field *list[MAX_ROWS];
		int n = settlement_form_fields((enum settlement_form)form, list), keys = 0;

		assert_true(settlement_fields.count <= MAX_ROWS);
		for (size_t i = 0; i < settlement_fields.count; i++)
			keys += key_of(row(i), (enum settlement_form)form) != NULL;
		assert_int_equal(n, keys);
		for (int i = 1; i < n; i++) {
			int before = forms_of(list[i - 1])->in[form].rank,
			    after = forms_of(list[i])->in[form].rank;

			assert_true(before < after || (before == after && list[i - 1] < list[i]));
		}
	}
}

/* What a settlement's row in the file has beside its body. */
static void assert_columns(const struct settlement *s)
{
	int columns = 0, column;
	sqlite3_stmt *st;
	sqlite3 *db;

	assert_int_equal(sqlite3_open_v2(path, &db, SQLITE_OPEN_READONLY, NULL), SQLITE_OK);
	assert_int_equal(
		sqlite3_prepare_v2(db, "SELECT * FROM settlement", -1, &st, NULL), SQLITE_OK);
	assert_int_equal(sqlite3_step(st), SQLITE_ROW);
	for (size_t i = 0; i < settlement_fields.count; i++) {
		const struct field *f = row(i);
		const char *name = f->column_name ? f->column_name : f->name;

		if (!f->column)
			continue;
		columns++;
		for (column = sqlite3_column_count(st) - 1; column >= 0; column--)
			if (!strcmp(sqlite3_column_name(st, column), name))
				break;
		if (column < 0)
			fail_msg("there is no column %s", name);
		if (f->type == FIELD_TEXT)
			assert_string_equal(
				(const char *)sqlite3_column_text(st, column), item_of(f, s, 0));
		else
			assert_int_equal(sqlite3_column_int64(st, column), field_value(f, s, 0));
	}
	/* And the body. */
	assert_int_equal(sqlite3_column_count(st), columns + 1);
	sqlite3_finalize(st);
	sqlite3_close(db);
}

static void no_fault(const char *line, void *arg)
{
	(void)arg;
	print_error("%s\n", line);
}

static void every_field_through_the_ledger(void **state)
{
	for (int sample = 0; sample < SAMPLES; sample++) {
		struct settlement s = sample_of(sample), back;
		struct ledger_check check;
		struct errmsg err = {""};
		struct ledger *l;

		make_dir(state);
		l = open_ledger();
		memset(&back, 0xff, sizeof(back));
		assert_int_equal(ledger_settle(l, &s, 64, &back, &err), 1);
		assert_same(&s, &back, "what was stored");
		memset(&back, 0xff, sizeof(back));
		assert_int_equal(ledger_settle(l, &s, 64, &back, &err), 0);
		assert_same(&s, &back, "what is there");
		assert_int_equal(ledger_settlement(l, s.cluster, s.job_id, s.restart, s.start_unix,
					 &back, &err),
			1);
		assert_same(&s, &back, "the ledger");
		assert_columns(&s);
		ledger_close(l);
		assert_int_equal(ledger_file_check(path, NULL, &check, no_fault, NULL, &err), 0);
		assert_int_equal(check.faults, 0);
		assert_int_equal(check.settlements, 1);
		remove_dir(state);
	}
}

/* A settlement of which nothing is known tells nothing but its billing, and stays so. */
static void what_is_unknown_stays_unknown(void **state)
{
	struct settlement s, back;
	struct errmsg err = {""};

	(void)state;
	settlement_clear(&s);
	settlement_write_comment(&s);
	assert_string_equal(s.text, "raw=0 charged=0");
	memset(&back, 0, sizeof(back));
	settlement_clear(&back);
	assert_int_equal(settlement_read_comment(s.text, &back, &err), 0);
	assert_same(&s, &back, "the comment");
}

/* Where a run has no data, an administrator's degradation takes the reason's place. */
static void changes_of_unmeasured_runs(void **state)
{
	struct settlement s;
	struct errmsg err = {""};

	(void)state;
	settlement_clear(&s);
	assert_int_equal(settlement_read_comment("nodata=uncertain partners=12 raw=10000 "
						 "charged=10000 policy=thesis restart=1",
				 &s, &err),
		0);
	assert_int_equal(settlement_change_degradation(&s, 0.2, &err), 0);
	assert_string_equal(s.text, "d=0.2000 partners=12 raw=10000 charged=6400 policy=thesis "
				    "restart=1 changed=1");
	assert_int_equal(settlement_read_comment("policy=auction", &s, &err), 0);
	assert_int_equal(settlement_change_degradation(&s, 0.2, &err), -1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(samples_tell_fields_apart),
		cmocka_unit_test(every_field_through_json),
		cmocka_unit_test(every_field_through_the_comment),
		cmocka_unit_test(every_field_is_shown),
		cmocka_unit_test(forms_are_in_order),
		cmocka_unit_test(every_field_through_the_ledger),
		cmocka_unit_test(what_is_unknown_stays_unknown),
		cmocka_unit_test(changes_of_unmeasured_runs),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
