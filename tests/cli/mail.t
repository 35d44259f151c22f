#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# poppa-mail between slurmctld and a site's mail program: what goes through, what waits for the price, and what fails.
# shellcheck source=tests/cli/lib.sh
. "$(dirname "$0")/lib.sh"

: "${POPPA:?is the program to test}"
mail=$(dirname "$POPPA")/poppa-mail
here=$(cd "$(dirname "$0")" && pwd)
export POPPA_CONF=$TAP_DIR/poppa.conf
sent=$TAP_DIR/sent
mkdir "$TAP_DIR/slurm"
# The site's program writes down how it was called, what it was given and in which environment.
cat >"$TAP_DIR/site mail" <<-END
	#!/bin/bash
	{
		printf 'arg %q\n' "\$@"
		echo "job \$SLURM_JOB_ID, path \$PATH, secret \$SPANK_SECRET"
		sed 's/^/body /'
	} >$(printf %q "$sent.new")
	mv $(printf %q "$sent.new") $(printf %q "$sent")
	exit \$(cat $(printf %q "$TAP_DIR/status"))
END
cat >"$TAP_DIR/slurm/sacct" <<-END
	#!/bin/bash
	echo "secret \$SPANK_SECRET, name \$SLURM_JOB_NAME" >>$(printf %q "$TAP_DIR/asked")
	for w; do case \$w in --delimiter=*) b=\${w#*=} ;; --format=JobIDRaw,Start,*) exit 0 ;; esac; done
	sed "s/|/\$b/g" $(printf %q "$TAP_DIR/bills.txt")
END
printf '#!/bin/sh\nexit 1\n' >"$TAP_DIR/slurm/scontrol"
cp "$TAP_DIR/slurm/scontrol" "$TAP_DIR/slurm/squeue"
chmod +x "$TAP_DIR/site mail" "$TAP_DIR"/slurm/*
echo 0 >"$TAP_DIR/status"
cp "$here/bills.txt" "$TAP_DIR/bills.txt"
conf() {
	printf '%s\n' "$@" >"$POPPA_CONF"
}
site="MailProg=\"$TAP_DIR/site mail\""
conf "$site" MailWait=30

# called NAME STATUS TYPE JOB ARG...: as slurmctld calls it for a job; OPTION is that of --colocate.
called() {
	local name=$1 status=$2 type=$3 job=$4
	shift 4
	rm -f "$sent" "$TAP_DIR/asked"
	runs "$name" "$status" env -i PATH="$TAP_DIR/slurm:$PATH" POPPA_CONF="$POPPA_CONF" TZ=UTC SLURM_JOB_ID="$job" \
		SLURM_JOB_RESTART_COUNT=0 SLURM_JOB_MAIL_TYPE="$type" SLURM_JOB_NAME=name SPANK_SECRET=x \
		${OPTION:+SPANK_COLOCATE="$OPTION"} "$mail" "$@" </dev/null
}
arrives() {
	local _
	for _ in $(seq 300); do
		[ ! -e "$sent" ] || return 0
		sleep 0.1
	done
	return 1
}
mailed() {
	cat "$sent" 2>/dev/null
}
bodies() {
	sed -n 's/^body //p' "$sent" 2>/dev/null | tr '\n' ' ' | sed 's/ $//'
}
subject="Slurm Job_id=12 Name=lammps Ended, Run time 00:10:00, COMPLETED, ExitCode 0"

# Jobs that are not co-located, and other mails: straight through.
called "a plain job" 0 Ended 12 -s "$subject" ada
is "a plain job: its mail is as slurmctld made it" "$(mailed)" "arg -s
arg $(printf %q "$subject")
arg ada
job 12, path $TAP_DIR/slurm:$PATH, secret x"
nok "a plain job: nobody was asked" test -e "$TAP_DIR/asked"
echo 7 >"$TAP_DIR/status"
called "a plain job where the site's program fails" 7 Ended 12 -s "$subject" ada
echo 0 >"$TAP_DIR/status"
for type in Began Requeued "Reached time limit"; do
	OPTION=stripe called "a co-located job: $type" 0 "$type" 12 -s "$subject" ada
	is "a co-located job: $type: no body" "$(bodies)" ""
done
OPTION=no called "a job that kept out" 0 Ended 12 -s "$subject" ada
is "a job that kept out: no body" "$(bodies)" ""
OPTION=stripe called "an array's summary" 0 Ended 12 -s "Slurm Array Summary Job_id=12_* (12) Name=x Ended" ada
is "an array's summary: no body" "$(bodies)" ""

# A co-located job that has its price.
price="It lost 20.0 % of its time (between 18.0 and 22.0 % with 95 % confidence) beside job 13: a billing of 636 is charged for \
each of its 600 seconds instead of 1000, 36.4 % less. \"poppa why 12\" explains it."
OPTION=stripe called "a co-located job" 0 Ended 12 -s "$subject" ada
ok "a co-located job: the mail comes" arrives
is "a co-located job: the same arguments" "$(mailed | grep '^arg')" "arg -s
arg $(printf %q "$subject")
arg ada"
is "a co-located job: the same environment" "$(mailed | grep '^job')" "job 12, path $TAP_DIR/slurm:$PATH, secret x"
is "a co-located job: its price" "$(bodies)" "$price"
is "a co-located job: no line is long" "$(grep '^body' "$sent" | awk 'length > 77')" ""
is "a co-located job: Slurm was asked without what its user chose" "$(sort -u "$TAP_DIR/asked")" "secret , name "
OPTION=stripe called "it failed" 0 Failed 16 -s "$subject" ada
ok "it failed: the mail comes" arrives
like "it failed: its price" "$(bodies)" "a billing of 4624 is charged for each of its 100 seconds instead of 10000"
OPTION=stripe called "no data" 0 Ended 21 -s "$subject" ada
ok "no data: the mail comes" arrives
like "no data: says so" "$(bodies)" '^What it lost could not be measured \(no-record\): the full billing of 1000 is charged'
rm "$sent"
runs "a body of the caller's" 0 env PATH="$TAP_DIR/slurm:$PATH" SPANK_COLOCATE=stripe SLURM_JOB_ID=12 SLURM_JOB_MAIL_TYPE=Ended "$mail" \
	--foreground -s "$subject" ada <<<"Hello."
is "a body of the caller's: comes first" "$(sed -n 's/^body \{0,1\}//p' "$sent" | head -n 2 | tr '\n' '/')" "Hello.//"
like "a body of the caller's: then the price" "$(bodies)" '^Hello\. +It lost 20\.0 %'

# slurmctld is not held while the price is made, and reads to the end of what the program prints.
sed -i '/^12|/s/; poppa: .*policy=thesis backend=perf|/|/' "$TAP_DIR/bills.txt"
OPTION=stripe called "a price that is not made yet" 0 Ended 12 -s "$subject" ada
nok "a price that is not made yet: the mail waits" test -e "$sent"
cp "$here/bills.txt" "$TAP_DIR/bills.txt"
ok "and comes" arrives
is "with the price" "$(bodies)" "$price"

# It waits for so long, and no longer.
late="Its price had not been made when this mail was sent. \"poppa job 24\" shows it later."
conf "$site" MailWait=1
OPTION=stripe called "no price in time" 0 Ended 24 -s "$subject" ada
ok "no price in time: the mail comes" arrives
is "no price in time: says so" "$(bodies)" "$late"
mv "$TAP_DIR/slurm/sacct" "$TAP_DIR/slurm/sacct.away"
printf '#!/bin/sh\nexec sleep 5\n' >"$TAP_DIR/slurm/sacct"
chmod +x "$TAP_DIR/slurm/sacct"
OPTION=stripe called "sacct that does not answer" 0 Ended 24 -s "$subject" ada
ok "sacct that does not answer: the mail comes" arrives
is "sacct that does not answer: says so" "$(bodies)" "$late"
mv "$TAP_DIR/slurm/sacct.away" "$TAP_DIR/slurm/sacct"
conf "$site" MailWait=0
OPTION=stripe called "MailWait=0" 0 Ended 24 -s "$subject" ada
is "MailWait=0: straight through" "$(bodies)" ""

# Told to end, it sends what it has.
conf "$site" MailWait=3600
rm -f "$sent" "$TAP_DIR/asked"
env PATH="$TAP_DIR/slurm:$PATH" SPANK_COLOCATE=stripe SLURM_JOB_ID=24 SLURM_JOB_MAIL_TYPE=Ended "$mail" --foreground -s "$subject" ada \
	</dev/null 2>/dev/null &
waiting=$!
for _ in $(seq 100); do
	[ ! -e "$TAP_DIR/asked" ] || break
	sleep 0.1
done
kill -TERM "$waiting"
wait "$waiting"
is "told to end: exit status" "$?" 0
is "told to end: the mail goes without the price" "$(bodies)" "$late"

# What fails.
echo 9 >"$TAP_DIR/status"
rm -f "$sent"
runs "the site's program fails after the wait" 9 env PATH="$TAP_DIR/slurm:$PATH" SPANK_COLOCATE=stripe SLURM_JOB_ID=12 \
	SLURM_JOB_MAIL_TYPE=Ended "$mail" --foreground -s "$subject" ada </dev/null
like "the site's program fails after the wait: says so" "$ERR" 'poppa-mail: error: .*site mail has failed with exit status 9: a mail may be lost'
OPTION=stripe called "and slurmctld is told nothing of it" 0 Ended 12 -s "$subject" ada
ok "but the mail was handed on" arrives
echo 0 >"$TAP_DIR/status"
conf "MailProg=$TAP_DIR/none" MailWait=30
for OPTION in "" stripe; do
	called "no such program, for $OPTION jobs" 127 Ended 12 -s "$subject" ada
	like "no such program, for $OPTION jobs: says so, and what to do" "$ERR" \
		"cannot run $TAP_DIR/none: No such file or directory; name the site's own program by MailProg= in poppa.conf"
done
unset OPTION
conf "MailProg=$mail"
called "itself" 127 Ended 12 -s "$subject" ada
like "itself: says so" "$ERR" "MailProg=.* in poppa.conf is poppa-mail itself: name the site's own program"
conf "$site" "MailWait=soon"
if [ -x /bin/mail ] || [ -x /usr/bin/mail ]; then
	skip "there is a mail program here, which would send a mail" "a mistake in poppa.conf"
else
	called "a mistake in poppa.conf: the default program" 127 Ended 12 -s "$subject" ada
	like "a mistake in poppa.conf: names it, and goes on" "$ERR" "MailWait: .*: the defaults of MailProg and MailWait hold"
	like "a mistake in poppa.conf: which program that is" "$ERR" "cannot run /usr/bin/mail: "
fi
conf "$site"

# Who chooses a job's name, or an address, gets nothing run.
evil=$'x"; touch evil; $(touch evil) `touch evil` | ~! \nBcc: all@example.org\r\x1b[31m'
cd "$TAP_DIR" || exit
for OPTION in "" stripe; do
	called "a hostile name, for $OPTION jobs" 0 Ended 12 -s "Slurm Job_id=12 Name=$evil Ended" ada
	ok "a hostile name, for $OPTION jobs: the mail comes" arrives
	is "a hostile name, for $OPTION jobs: is one line of text" "$(mailed | sed -n 2p)" \
		"arg $(printf %q "Slurm Job_id=12 Name=$(tr '\n\r\033' '???' <<<"$evil" | sed 's/?$//') Ended")"
done
unset OPTION
nok "a hostile name: nothing was run" test -e evil
called "a recipient that is an option" 2 Ended 12 -s "$subject" "-Sfile=/etc/passwd"
like "a recipient that is an option: says so" "$ERR" '"-Sfile=/etc/passwd" is no recipient'
nok "a recipient that is an option: no mail" test -e "$sent"
OPTION=stripe called "a job number that is none" 0 Ended "12;x" -s "$subject" ada
is "a job number that is none: straight through" "$(bodies)" ""
runs "no arguments" 2 "$mail"
like "no arguments: usage" "$ERR" "^Usage: poppa-mail"
runs "--version" 0 "$mail" --version
is "--version: that of the suite" "$OUT" "$("$POPPA" --version | sed 's/^poppa/poppa-mail/')"
is "nothing waits any more" "$(left)" 0
done_testing
