#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# A job that loses more than its max-degradation is alone for a part of the time, whatever the history has promised; where
# that cannot be, the job that came last with its limit is requeued.
# shellcheck source=tests/integration/lib.sh
. "$(dirname "$0")/lib.sh"
# shellcheck source=tests/integration/bill.sh
. "$(dirname "$0")/bill.sh"
# shellcheck source=tests/integration/schedulers.sh
. "$(dirname "$0")/schedulers.sh"
# shellcheck source=tests/integration/turns.sh
. "$(dirname "$0")/turns.sh"

TMP=$(mktemp -d)
HISTORY=$POPPA_SANDBOX/state/slurmctld/poppa_pairs
LIMIT=0.3
own=$(id -u poppa-demo)

nodes_answer() { scontrol ping | grep -q UP && [ -n "$(sinfo -h -n "$SANDBOX_REAL_NODE" -t idle -o %N)" ]; }
clean_up() {
	is_gone slurmctld || ctl stop slurmctld
	if [ -e "$TMP/history" ]; then cp -p "$TMP/history" "$HISTORY"; else rm -f "$HISTORY"; fi
	ctl start slurmctld
	ctl reconfigure --reset
	wait_until 60 nodes_answer
	rm -rf "$TMP" "$FILE"
}
on_exit clean_up

# The history is wrong: by it, these two hardly harm each other.
ctl reconfigure "${turns_settings[@]}"
ctl stop slurmctld
[ ! -e "$HISTORY" ] || cp -p "$HISTORY" "$TMP/history"
printf "$own:%s\t$own:%s\t0.05\t1000\t5\t$EPOCHSECONDS\t5\t0.05\t0.0001\n" test-quiet test-loud test-loud test-quiet >"$HISTORY"
ctl start slurmctld
ok "slurmctld is back" wait_until 60 nodes_answer

submit -n1 --colocate="class:test-quiet,max-degradation:30" -o "$(home_of poppa-demo)/turns-%j.out" \
	--wrap "srun $PROGRAMS/quarrel $FILE 0 900 $LOSS"
quiet=$job
submit -n1 --colocate=class:test-loud -o "$(home_of poppa-demo)/turns-%j.out" --wrap "srun $PROGRAMS/quarrel $FILE 1 900 $LOSS"
loud=$job
pair=("$quiet" "$loud")
ok "they share a node" pair_runs
began=$SECONDS
ok "poppad holds the other one" wait_until 60 turning
held=$((SECONDS - began))
like "and says why" "$(grep " job $quiet loses more" "$(ctl log poppad)")" \
	"job $quiet loses more than its max-degradation of 30 %: it runs alone for [56][0-9] % of the time"
like "poppa status tells it" "$(poppa status -N "$SANDBOX_REAL_NODE")" "
turns     job $quiet runs alone for [56][0-9] % of the time"
doctor=$(poppa doctor -N "$SANDBOX_REAL_NODE")
like "so does poppa doctor" "$doctor" "OK +max-degradation +1 job here has one; job $quiet runs alone for [56][0-9] % of the time"
like "which takes nothing that is held for stuck" "$doctor" " held +nothing stays stopped"
# Of the run, one part in five went by before that.
wait_until 900 ran_for $((4 * held + 50))
end_programs "$quiet" "$loud"
ok "both are settled" eval 'wait_settled "$quiet" && wait_settled "$loud"'
for id in "$quiet" "$loud"; do
	text=$(part "$id")
	diag "job $id: progress $(out "$id" progress) of $(out "$id" seconds) s; $text"
	cmp_num "what it has lost is in its D's interval, within two points" "$(off_by "$id")" '<' 0.02
	[ "$id" != "$quiet" ] || lost=$(value "$text" d)
done
# What it lost before is a tenth of the run here; of an hour it is a hundredth.
cmp_num "the job with the limit has lost far less than side by side" "$lost" '<' \
	"$(awk -v l="$LIMIT" -v d="$LOSS" 'BEGIN { print l + 0.25 * (d - l) }')"
like "the bill of the other one names what it was held for" "$text" ' turned=0\.[3-7][0-9]* '

# quiet ARG...: a job that runs until it is ended.
quiet() { submit -n1 -o /dev/null "$@" --wrap "srun $PROGRAMS/quarrel $FILE 0 900 $LOSS"; }
apart() { sed -n 's/^.*; poppa-apart: \([^;]*\).*$/\1/p' <<<"$(job_field "$1" SystemComment)"; }
leaves() { [ "$(job_field "$1" JobState)" != RUNNING ]; }

# Turned off, nobody is held. The history still has it that they suit each other.
ctl reconfigure "${turns_settings[@]}" poppa_turns=no
submit -n1 --colocate=class:test-loud -o /dev/null --wrap "srun $PROGRAMS/quarrel $FILE 1 900 $LOSS"
loud=$job
wait_running "$loud"
quiet --colocate="class:test-quiet,max-degradation:30"
quiet=$job
pair=("$quiet" "$loud")
ok "one beside whom the history promises little loss starts" pair_runs
like "poppa doctor warns of it" "$(poppa doctor -N "$SANDBOX_REAL_NODE")" "WARN +max-degradation +poppa_turns=no: .* job $quiet .* -> set poppa_turns=limits"
ok "poppa_turns=no holds nobody, and who came last leaves" wait_until 120 leaves "$quiet"
nok "nobody was held" grep -q "job $quiet .* runs alone" "$(ctl log poppad)"
is "SystemComment says so" "$(apart "$quiet")" "times=1 restart=0 from=$loud"
is "the other one runs on" "$(job_field "$loud" JobState)" RUNNING
scancel "$quiet"
quiet --colocate="class:test-new,max-degradation:5"
new=$job
looked_at "$new"
is "one of which it knows nothing does not start: nobody would keep its limit" "$(job_field "$new" JobState)" PENDING

# A pair of which nothing is known, and a limit that slices cannot keep.
ctl reconfigure poppa_turns=limits
pair=("$new" "$loud")
ok "else an unknown pair shares the node" pair_runs
like "on probation" "$(job_field "$new" SystemComment)" "beside=$loud probation\$"
ok "the job leaves where the limit cannot be kept" wait_until 120 leaves "$new"
is "SystemComment says whom it has left" "$(apart "$new")" "times=1 restart=0 from=$loud"
like "so does slurmctld's log" "$(grep "JobId=$new is requeued" "$(ctl log slurmctld)")" \
	"prep/poppa: JobId=$new is requeued: its max-degradation cannot be kept beside JobId=$loud\$"
ok "the run gets its price" wait_until 60 run_settled "$new" 0
like "poppa why tells it" "$(as_user poppa why "$new.0" | tr '\n' ' ')" \
	"This run was ended and the job requeued, because its max-degradation could not be kept, or what it lost could not be \
measured, beside job $loud\. It is not placed beside that job again\."
run_again "$new"
end_jobs "$loud"
ok "it starts when the other one has gone" wait_running "$new" 60
unlike "alone" "$(job_field "$new" SystemComment)" beside=
end_jobs "$new"
done_testing
