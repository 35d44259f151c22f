#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# Two poppads that share nothing but the clock and the seeds of their jobs let these take turns at the same moments.
# shellcheck source=tests/integration/lib.sh
. "$(dirname "$0")/lib.sh"
# shellcheck source=tests/integration/two_nodes.sh
. "$(dirname "$0")/two_nodes.sh"
on_exit nodes_end

APART_MS=5 # half of the switches are not further apart than this on the two nodes
settings=poppa_period=300ms,poppa_shutter=20ms,poppa_overhead_max=0,poppa_min_blocks=4,poppa_turn=300ms,poppa_turns=yes
for n in a b; do
	node $n aa $settings sh -c 'exec "$0" "$1" "$2" 900 0.75' "$build/tests/integration/quarrel" "$dir/$n/quarrel"
done
wait_until 20 all_work 4 "$build/tests/integration/quarrel $dir/"
turning() { grep -q "take turns" "$dir/$1/poppad.err"; }
for n in a b; do ok "the jobs of node $n take turns" wait_until 240 turning $n; done

# switches SECONDS: the distances in ms between the moments in which a job was frozen or thawed on one node and on the
# other, in order; what the one does and the other does not within half a slice is left out. Then how often both nodes
# held a job, and how often not the same one.
switches() {
	perl -MTime::HiRes=time,usleep -e '
		my ($s, @f) = @ARGV; my (@was, @at); my $end = time + $s; my ($held, $other) = (0, 0);
		while ((my $now = time) < $end) {
			for my $i (0 .. $#f) {
				open my $h, "<", $f[$i] or next;
				my $is = <$h> =~ /^THAWED/ ? 0 : 1;
				push @{$at[$i]}, [$is, $now] if defined $was[$i] && $is != $was[$i];
				$was[$i] = $is;
			}
			$held++ if ($was[0] || $was[1]) && ($was[2] || $was[3]);
			$other++ if ($was[0] && $was[3] && !$was[1]) || ($was[1] && $was[2] && !$was[0]);
			usleep 200;
		}
		print "held $held $other\n";
		for my $j (0, 1) {
			for my $x (@{$at[$j]}) {
				my @d = sort { $a <=> $b } map { abs($_->[1] - $x->[1]) } grep { $_->[0] == $x->[0] } @{$at[$j + 2]};
				printf "%.2f\n", 1000 * $d[0] if @d && $d[0] < 0.15;
			}
		}' "$1" "$(step_of a 1)/freezer.state" "$(step_of a 2)/freezer.state" "$(step_of b 1)/freezer.state" "$(step_of b 2)/freezer.state"
}
seen=$(switches 20)
read -r _ held other < <(grep held <<<"$seen")
distances=$(grep -v held <<<"$seen" | sort -n)
count=$(wc -l <<<"$distances")
median=$(sed -n "$(((count + 1) / 2))p" <<<"$distances")
diag "$count switches, median distance $median ms, worst $(tail -n 1 <<<"$distances") ms"
cmp_num "both nodes switch" "$count" '>' 40
cmp_num "at the same moments, within ms" "$median" '<' "$APART_MS"
diag "both nodes held a job in $held looks, and in $other of them not the same one"
cmp_num "both nodes hold a job" "$held" '>' 1000
# With other seeds on one of them it is half of the time.
cmp_num "and the same one" "$other" '<' "$((held / 10))"
[ "$tap_failed" = 0 ] || tail -n 20 "$dir"/[ab]/poppad.err | sed 's/^/# /'
done_testing
