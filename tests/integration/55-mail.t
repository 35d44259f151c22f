#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# Mails by poppa-mail: that of a co-located job's end has the price that sacct shows, and slurmctld never waits for it.
# shellcheck source=tests/integration/lib.sh
. "$(dirname "$0")/lib.sh"
# shellcheck source=tests/integration/bill.sh
. "$(dirname "$0")/bill.sh"

box=$POPPA_SANDBOX/tmp/mails
slurm_conf=$POPPA_SANDBOX/etc/slurm.conf
conf=$POPPA_SANDBOX/etc/poppa.conf
rm -rf "$box"
mkdir "$box"
chmod 777 "$box"
on_exit rm -rf "$box"
# The site's own program: a mail of a job becomes a file, whole at once.
cat >"$box/sitemail" <<-END
	#!/bin/sh
	new=\$(mktemp $box/new.XXXXXX)
	{ printf '%s\n' "TO \$3" "SUBJECT \$2"; cat; } >"\$new"
	chmod 644 "\$new"
	mv "\$new" "$box/\$SLURM_JOB_ID.\$SLURM_JOB_MAIL_TYPE"
END
# slurmctld gives its MailProg neither PATH nor SLURM_CONF, and this cluster's slurm.conf is not the usual one.
cat >"$box/prog" <<-END
	#!/bin/sh
	export PATH=$PATH SLURM_CONF=$slurm_conf
	exec $POPPA_SANDBOX/usr/libexec/poppa/poppa-mail "\$@"
END
chmod 755 "$box/sitemail" "$box/prog"
ok "poppa-mail is installed" test -x "$POPPA_SANDBOX/usr/libexec/poppa/poppa-mail"

cp -p "$conf" "$conf.before"
on_exit mv "$conf.before" "$conf"
printf 'MailProg=%s\nMailWait=300\n' "$box/sitemail" >>"$conf"
ctl reconfigure poppa_settle_timeout=8s
on_exit ctl reconfigure --reset
# "ctl reconfigure" writes slurm.conf anew, so this goes with it at the end.
echo "MailProg=$box/prog" >>"$slurm_conf"
ok "slurmctld takes MailProg" scontrol reconfigure
is "and has it" "$(scontrol show config | sed -n 's/^MailProg *= //p')" "$box/prog"

complaints() { grep -c 'MailProg returned error' "$(ctl log slurmctld)"; }
before=$(complaints)

has_mail() {
	[ -e "$box/$1.$2" ]
}
body() {
	sed 1,2d "$box/$1.$2" | tr '\n' ' ' | sed 's/ *$//'
}

# --- A pair: one of them has a mail of its end. This test reports what the poppads of these nodes would.
evil='mail"; touch '$box'/evil; $(touch '$box'/evil)'
node=${SANDBOX_FAKE_PREFIX}3
submit -n1 -p fake -w "$node" --colocate -J partner --wrap 'sleep 7'
partner=$job
submit -n1 -p fake -w "$node" --colocate -J "$evil" --mail-type=BEGIN,END --mail-user=ada@example.org --wrap 'sleep 5'
one=$job
submit -n1 -p fake -J plain --mail-type=END --mail-user=bob@example.org --wrap 'sleep 1'
plain=$job
submit -n1 -p fake --colocate -J unmeasured --mail-type=END --wrap 'sleep 1'
nodata=$job
wait_running "$one"
ok "a record of it is taken" report_node "$one" "$node" ".partners = [$partner]" ".degradation = 0.2"
wait_end "$plain"
ok "a plain job's mail comes" wait_until 30 has_mail "$plain" Ended
is "and is as slurmctld made it: no body" "$(body "$plain" Ended)" ""
like "for whom and about what" "$(head -n 2 "$box/$plain.Ended")" \
	"^TO bob@example.org"$'\n'"SUBJECT Slurm Job_id=$plain Name=plain Ended, Run time .*, COMPLETED, ExitCode 0$"
ok "the mail of a co-located job's start comes" wait_until 30 has_mail "$one" Began
is "and has no body" "$(body "$one" Began)" ""

wait_end "$one"
ok "it is settled" wait_until 60 in_database "$one"
ok "the mail of its end comes" wait_until 60 has_mail "$one" Ended
text=$(body "$one" Ended)
charged=$(db_billing "$one")
raw=$(value "$(part "$one")" raw)
like "with the price that sacct shows" "$text" ": a billing of $charged is charged for each of its [0-9]+ seconds instead of $raw, [0-9.]+ % less\. "
like "with what it lost, and beside whom" "$text" "^It lost 20\.0 % of its time .* beside job $partner: "
like "and where to read more" "$text" "\"poppa why $one\" explains it\.$"
is "its subject has the job's name as it is" "$(sed -n 's/^SUBJECT \(.*\) Ended.*/\1/p' "$box/$one.Ended")" "Slurm Job_id=$one Name=$evil"
nok "of which nothing was run" test -e "$box/evil"
is "the same price as poppa job" "$(as_user poppa job --json "$one" | jq -c '[.price.charged, .price.raw]')" "[$charged,$raw]"

wait_end "$nodata"
ok "the mail of a job without data comes, when it is settled" wait_until 240 has_mail "$nodata" Ended
like "and says so" "$(body "$nodata" Ended)" "^What it lost could not be measured \(no-record\): the full billing of $(db_billing "$nodata") is charged"

# --- slurmctld is not held by a price that is not made, and its end ends the waiting.
ctl stop ledgerd
on_exit sh -c "'$tree/contrib/sandbox/ctl' pid ledgerd >/dev/null 2>&1 || '$tree/contrib/sandbox/ctl' start ledgerd"
submit -n1 -p fake --colocate -J late --mail-type=END --wrap 'sleep 1'
late=$job
wait_end "$late"
# Other clusters have jobs of that number, too.
waiting() {
	pgrep -f "^$POPPA_SANDBOX/usr/libexec/poppa/poppa-mail -s Slurm Job_id=$late "
}
ok "a process waits for the price" wait_until 20 waiting
nok "the mail does not come" has_mail "$late" Ended
submit -n1 -p fake -J after --mail-type=END --wrap true
ok "another job's mail does" wait_until 30 has_mail "$job" Ended
waiting | xargs kill
ok "told to end, it sends the mail" wait_until 30 has_mail "$late" Ended
like "without the price, and says so" "$(body "$late" Ended)" '^Its price had not been made when this mail was sent\.'
ended() { ! waiting; }
ok "and nothing waits any more" wait_until 10 ended
ctl start ledgerd
is "slurmctld has no complaint about MailProg" "$(complaints)" "$before"
done_testing
