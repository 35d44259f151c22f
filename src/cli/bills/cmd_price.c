/* SPDX-License-Identifier: GPL-2.0-or-later */
/* poppa price: what a co-located job is charged. */
#include <math.h>
#include <stdio.h>

#include "accounting/record/price.h"
#include "cli/ask/cli.h"

/* Amounts are worked out in millionths of an SU; a bill itself is a whole number. */
#define MICRO 1e6
#define MAX_RAW 1e12

struct options {
	bool json;
	double raw, degradation, upper; /* NAN where not given */
	double paused;
	struct price_policy policy;
};

/* Texts of --help, made from the table of price kinds. */
static char policies[256], charges[512];

static const struct argp_option option_table[] = {
	{"raw", 'r', "SU", 0, "What Slurm charges without a discount", 0},
	{"degradation", 'd', "D", 0, "Degradation from 0 to 1, such as 0.2", 0},
	{"upper", 'u', "D", 0,
		"Upper end of its 95 % interval, for a policy with estimate=upper (D itself)", 0},
	{"paused-fraction", 'z', "Z", 0, "Share of the run time that the job was held stopped (0)",
		0},
	{"policy", 'p', "POLICY", 0, policies, 0}, CLI_JSON_OPTION, {0}};

static error_t parse_option(int key, char *arg, struct argp_state *state)
{
	struct options *o = state->input;
	struct errmsg err;

	switch (key) {
	case 'r':
		o->raw = cli_double("--raw", arg, 0, MAX_RAW);
		return 0;
	case 'd':
		/* A measurement around 0 can come out below it; the price takes it as 0. */
		o->degradation = cli_double("--degradation", arg, -1, 1);
		return 0;
	case 'u':
		o->upper = cli_double("--upper", arg, -1, 1);
		return 0;
	case 'z':
		o->paused = cli_double("--paused-fraction", arg, 0, 1);
		return 0;
	case 'p':
		if (price_policy_parse(arg, &o->policy, &err))
			cli_usage_error("--policy: %s", err.text);
		return 0;
	default:
		return cli_parse_rest(key, arg, &o->json);
	}
}

int cmd_price(int argc, char **argv)
{
	static const struct argp argp = {
		.options = option_table, .parser = parse_option, .doc = charges};
	struct options o = {.raw = NAN,
		.degradation = NAN,
		.upper = NAN,
		.policy = {.kind = PRICE_THESIS, .cap = 1}};
	char policy[PRICE_MAX_TEXT], list[256];
	double charged, discount;

	snprintf(policies, sizeof(policies), "As poppa_price has it: %s",
		PRICE_KINDS_TEXT(list, sizeof(list), option));
	snprintf(charges, sizeof(charges), "What a co-located job is charged. Policy %s.",
		PRICE_KINDS_TEXT(list, sizeof(list), help));
	cli_parse(&argp, argc, argv, &o);
	if (isnan(o.raw) || isnan(o.degradation))
		cli_usage_error("--raw and --degradation are both needed, such as --raw 1000 "
				"--degradation 0.2");
	if (o.upper < o.degradation)
		cli_usage_error("--upper: %g is below the degradation %g: the upper end of its "
				"interval is at least as high",
			o.upper, o.degradation);
	price_policy_format(&o.policy, policy);
	o.policy.floor *= (uint64_t)MICRO;
	charged = (double)price_charge(&o.policy, (uint64_t)llround(o.raw * MICRO), o.degradation,
			  o.upper, o.paused) /
		  MICRO;
	discount = o.raw > 0 ? 1 - charged / o.raw : 0;
	if (o.json)
		return cli_print_json(json_pack("{s:f, s:f, s:f, s:s}", "raw", o.raw, "charged",
			charged, "discount", discount, "policy", policy));
	printf("raw       %.3f SU\ncharged   %.3f SU\ndiscount  %.2f %%\npolicy    %s\n", o.raw,
		charged, 100 * discount, policy);
	return CLI_OK;
}
