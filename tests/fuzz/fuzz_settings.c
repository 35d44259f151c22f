/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Fuzzes the cluster's settings: PrEpParameters and the price policies in it. */
#include <stdlib.h>
#include <string.h>

#include "accounting/record/price.h"
#include "common/price_rules.h"
#include "common/settings.h"
#include "fuzz.h"

static void check_policy(const struct price_policy *p)
{
	char text[PRICE_MAX_TEXT], again[PRICE_MAX_TEXT];
	struct price_policy read;
	struct errmsg err = {""};

	price_policy_format(p, text);
	MUST(!price_policy_parse(text, &read, &err));
	MUST(!strcmp(price_policy_format(&read, again), text));
	for (double d = -0.5; d <= 1.5; d += 0.25) {
		MUST(price_charge(p, 1000, d, d + 0.1, 0.01) <= 1000);
		/* More degradation never costs more. */
		MUST(price_charge(p, 1000, d + 0.25, d + 0.35, 0.01) <=
			price_charge(p, 1000, d, d + 0.1, 0.01));
	}
}

static void check_rules(const struct poppa_settings *s)
{
	struct price_rules *rules = malloc(sizeof(*rules));
	struct errmsg err = {""};

	MUST(rules);
	MUST(!price_rules_parse(s, rules, &err));
	MUST(rules->count >= 0 && rules->count <= PRICE_MAX_RULES);
	check_policy(&rules->general);
	for (int i = 0; i < rules->count; i++) {
		const struct price_rule *r = &rules->rule[i];

		check_policy(&r->policy);
		MUST(price_rules_choose(rules, r->qos ? NULL : r->name, r->qos ? r->name : NULL));
	}
	free(rules);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	char *text = fuzz_text(data, size), form[SETTINGS_MAX_TEXT], again[SETTINGS_MAX_TEXT];
	struct poppa_settings s, read;
	struct errmsg err = {""};

	if (settings_parse(text, &s, &err)) {
		MUST(*err.text);
	} else {
		settings_format(&s, form, sizeof(form));
		MUST(!settings_parse(form, &read, &err));
		MUST(!strcmp(settings_format(&read, again, sizeof(again)), form));
		check_rules(&s);
	}
	free(text);
	return 0;
}
