#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# A ledger of its own with much to do: jobs of many nodes, and a user who asks without end.
# shellcheck source=tests/integration/lib.sh
. "$(dirname "$0")/lib.sh"

for c in jq sqlite3 python3 munge; do command -v "$c" >/dev/null || bail_out "$c is not installed: see contrib/sandbox/install-deps"; done

munge_socket=$(sed -n 's/^MungeSocket=//p' "$POPPA_CONF")
port=$(sed -n 's/^LedgerListen=.*://p' "$POPPA_CONF")

# --- Jobs of more nodes than fit into one line, settled as slurmctld does it, at a ledger of their own.
other=$(mktemp -d "$POPPA_SANDBOX/tmp/ledger.XXXX")
chown slurm: "$other"
# The last of the ten ports of this sandbox, which has no use for it.
other_port=$((port + 6))
load=${POPPA_SANDBOX_BUILD:-$POPPA_SANDBOX/build}/tests/bench/ledger_load
sed "s|^StateDir=.*|StateDir=$other|; s|^LedgerListen=.*|LedgerListen=127.0.0.1:$other_port|" "$POPPA_CONF" >"$other/poppa.conf"
poppa-ledgerd -c "$other/poppa.conf" >"$other/log" 2>&1 &
other_pid=$!
on_exit eval "kill $other_pid; wait $other_pid; rm -rf $other"
other_answers() { (exec 3<>"/dev/tcp/127.0.0.1/$other_port"); }
wait_until 10 other_answers 2>/dev/null || bail_out "no other ledger: $(cat "$other/log")"
for nodes in 100 600; do
	# Both have the same job ids: runs are told apart by their start, whose seconds are whole ones.
	sleep 1.1
	ok "jobs of $nodes nodes are settled by what all of these say" \
		"$load" --conf "$other/poppa.conf" --ledger "127.0.0.1:$other_port" --clients 2 --jobs 2 --rate 2 --nodes "$nodes" day
done
is "none of their records was taken for a stranger's" \
	"$(sqlite3 -readonly "$other/ledger.sqlite" "select count(*) from record where foreign_node")" 0

# --- A user who asks on 500 connections, with valid credentials. What is compared is the time from a job's last record to
# its price, asked for as slurmctld does it. Both kinds take turns, because this machine has other work as well; for its sake
# what takes less than 5 ms counts as that. Without its limits the ledger takes a hundred times as long.
install -m 755 "$tests_dir/integration/attack.py" "$other/attack.py"
chmod 755 "$other"
# settle_delays: the medians of ten parts of the jobs, ms.
settle_delays() {
	sleep 1.1
	"$load" --conf "$other/poppa.conf" --ledger "127.0.0.1:$other_port" --clients 2 --jobs 30 --rate 10 --nodes 2 day |
		jq '.parts[].median_ms'
}
median() { sort -n | awk '{ v[NR] = $1 } END { print v[int((NR + 1) / 2)] }'; }
alone='' beside=''
for round in 1 2 3; do
	alone+=$(settle_delays)$'\n'
	as poppa-guest timeout 300 "$other/attack.py" sealed 200 "tcp:$other_port" "$munge_socket" >"$other/attack.$round" 2>&1 &
	ok "a user asks on 500 connections" wait_until 60 grep -q '^begun' "$other/attack.$round"
	attacker=$(sed -n 's/^begun //p' "$other/attack.$round")
	on_exit kill "$attacker"
	beside+=$(settle_delays)$'\n'
	ok "and goes on with it" kill "$attacker"
	wait "$!"
done
alone=$(median <<<"${alone%?}") beside=$(median <<<"${beside%?}")
cmp_num "and delays no price by more than twice: ms from the last record" "$beside" '<=' \
	"$(awk -v a="$alone" 'BEGIN { print 2 * (a > 5 ? a : 5) }')"
diag "$alone ms alone, $beside ms beside the user"
done_testing
