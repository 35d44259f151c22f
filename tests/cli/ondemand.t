#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# The parts for Open OnDemand: YAML as Ruby reads it, and --colocate for the choices of the form and for nothing else.
# shellcheck source=tests/cli/lib.sh
. "$(dirname "$0")/lib.sh"

dir=$(cd "$(dirname "$0")/../../contrib/ondemand" && pwd)
needs ruby jq
# form FILTER: form.yml through jq.
form() {
	ruby -ryaml -rjson -e 'puts JSON.generate(YAML.safe_load(File.read(ARGV[0])))' "$dir/form.yml" | jq -r "$1"
}
# submits CHOICE: what submit.yml.erb makes of it, as Open OnDemand evaluates it, through JSON.
submits() {
	ruby -rerb -ryaml -rjson -e '
		colocate = ARGV[1]
		text = ERB.new(File.read(ARGV[0]), trim_mode: "-").result(binding)
		puts JSON.generate(YAML.safe_load(text))' "$dir/submit.yml.erb" "$1"
}
is "the form shows the attribute" "$(form '.form | join(" ")')" "$(form '.attributes | keys | join(" ")')"
is "which is a choice" "$(form '.attributes.colocate.widget')" select
is "the first is not to share" "$(form '.attributes.colocate.options[0][1]')" ""
mapfile -t choices < <(form '.attributes.colocate.options[][1] | select(. != "")')
is "there are some to share" "$([ "${#choices[@]}" -ge 2 ] && echo yes)" yes
for choice in "${choices[@]}"; do
	is "\"$choice\" reaches sbatch" "$(submits "$choice")" "{\"script\":{\"native\":[\"--colocate=$choice\",\"--nodes=1\"]}}"
done
for other in "" no stripe,with:1 'stripe"' $'stripe\n    - "--uid=0"' '<%= 1 %>' " stripe"; do
	is "$(printf %q "$other") does not" "$(submits "$other")" '{"script":{"native":["--nodes=1"]}}'
done
is "both files have the same choices" "$(sed -n 's/^share = \[\(.*\)\]\.find.*/\1/p' "$dir/submit.yml.erb" | tr -d '" ' | tr , '\n')" \
	"$(printf '%s\n' "${choices[@]}")"
done_testing
