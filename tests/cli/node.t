#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# poppa status and doctor: without a cluster, with a made-up one, and with a real poppad.
# shellcheck source=tests/cli/tap.sh
. "$(dirname "$0")/tap.sh"

: "${POPPA:?is the program to test}" "${POPPAD:?is the daemon}"

export POPPA_CONF=$TAP_DIR/poppa.conf
unset SLURMD_NODENAME
cat >"$POPPA_CONF" <<END
RunDir=$TAP_DIR/run-%n
SpoolDir=$TAP_DIR/spool-%n
MungeSocket=$TAP_DIR/munge.sock
END

runs "status without poppad" 1 "$POPPA" status
like "status without poppad: says so" "$ERR" "^poppa status: poppad does not run here"
runs "status of a node without poppad" 1 "$POPPA" status --node n1
like "status of a node without poppad: names the socket" "$ERR" "run-n1/poppad.sock"
echo "RunDri=/x" >"$TAP_DIR/bad.conf"
runs "status with a bad poppa.conf" 1 "$POPPA" status --conf "$TAP_DIR/bad.conf"
like "status with a bad poppa.conf: names file, line and key" "$ERR" "bad.conf.*line 1.*RunDri"

# A scontrol that answers as a well configured cluster's would.
mkdir -p "$TAP_DIR/bin" "$TAP_DIR/ours" "$TAP_DIR/slurm"
touch "$TAP_DIR/slurm/select_cons_tres.so" "$TAP_DIR"/ours/{select_cons_tres,prep_poppa,job_submit_colocate,spank_colocate}.so
echo "required spank_colocate.so" >"$TAP_DIR/plugstack.conf"
cat >"$TAP_DIR/config" <<END
Configuration data as of now
AccountingStorageType   = accounting_storage/slurmdbd
JobSubmitPlugins        = lua,colocate
PluginDir               = $TAP_DIR/ours:$TAP_DIR/slurm
PlugStackConfig         = $TAP_DIR/plugstack.conf
PrEpParameters          = poppa_period=250ms
PrEpPlugins             = prep/script,prep/poppa
SelectType              = select/cons_tres
SelectTypeParameters    = CR_CORE_MEMORY
SlurmctldHost[0]        = localhost(127.0.0.1)
END
printf '#!/bin/sh\ncat "%s/config"\n' "$TAP_DIR" >"$TAP_DIR/bin/scontrol"
chmod +x "$TAP_DIR/bin/scontrol"
PATH=$TAP_DIR/bin:$PATH

# Without munge, ledger and poppad some checks fail, so the status is 1; each line is looked at.
runs "doctor" 1 "$POPPA" doctor
for line in "OK +poppa.conf +$POPPA_CONF is good" "OK +SelectType" "OK +plugin files" "OK +select wrapper" \
	"OK +JobSubmitPlugins +has colocate" "OK +PrEpPlugins +has prep/poppa" "OK +PrEpParameters +poppa_period=250ms," \
	"OK +plugstack.conf" "OK +accounting" "FAIL +munge .* -> start munged" "FAIL +ledger .* -> start poppa-ledgerd" \
	"(FAIL|WARN) +poppad .* -> start poppad" "OK +counters +usable here: .*heartbeat" "SCHED_FIFO" "freezer"; do
	like "doctor: $line" "$OUT" "$line"
done
is "doctor: nothing on stderr" "$ERR" ""
runs "doctor --json" 1 "$POPPA" doctor --json
like "doctor --json: form" "$OUT" '^\{"checks": \[\{"check": "poppa.conf", "status": "ok", "detail": ".*", "mend": null\}, .*"ok": [0-9]+, "warn": [0-9]+, "fail": [0-9]+\}$'

# One fault at a time.
fault() {
	cp "$TAP_DIR/config" "$TAP_DIR/good"
	sed -i "$1" "$TAP_DIR/config"
	OUT=$("$POPPA" doctor 2>&1)
	mv "$TAP_DIR/good" "$TAP_DIR/config"
	like "doctor finds: $1" "$OUT" "FAIL +$2"
}
fault "s/cons_tres/linear/" "SelectType .*select/linear.* -> set SelectType=select/cons_tres"
fault "s/lua,colocate/lua/" "JobSubmitPlugins +lacks colocate"
fault "s/script,prep.poppa/script/" "PrEpPlugins +lacks prep/poppa.* -> set PrEpPlugins=prep/script,prep/poppa"
fault "s/poppa_period=250ms/poppa_perod=250ms/" "PrEpParameters .*poppa_perod"
fault "s#$TAP_DIR/ours:$TAP_DIR/slurm#$TAP_DIR/slurm:$TAP_DIR/ours#" "select wrapper .*/slurm\""
fault "s#$TAP_DIR/ours:##" "plugin files +prep_poppa.so is in no directory"
fault "s#accounting_storage/slurmdbd#(null)#" "accounting"
echo "# empty" >"$TAP_DIR/plugstack.conf"
fault "" "plugstack.conf .* -> add the line"
printf '#!/bin/sh\nexit 1\n' >"$TAP_DIR/bin/scontrol"
runs "doctor without slurmctld" 1 "$POPPA" doctor
like "doctor without slurmctld: warns" "$OUT" "WARN +Slurm +slurmctld does not answer"
runs "doctor with a bad poppa.conf" 1 "$POPPA" doctor --conf "$TAP_DIR/bad.conf"
like "doctor with a bad poppa.conf: names the line" "$OUT" "FAIL +poppa.conf .*line 1.*RunDri"

if [ "$(id -u)" = 0 ]; then
	"$POPPAD" -f -N t0 -c "$POPPA_CONF" 2>"$TAP_DIR/poppad.log" &
	pid=$!
	for _ in $(seq 100); do
		[ -S "$TAP_DIR/run-t0/poppad.sock" ] && break
		sleep 0.1
	done
	runs "status of a real poppad" 0 "$POPPA" status
	like "status of a real poppad: node" "$OUT" "^node +t0,"
	like "status of a real poppad: no jobs" "$OUT" "jobs +none"
	runs "status --json" 0 "$POPPA" status --json --node t0
	like "status --json: settings and jobs" "$OUT" '"node": "t0".*"settings": "poppa_period=.*"jobs": \[\]'
	runs "doctor sees it" 1 "$POPPA" doctor
	like "doctor sees it: poppad" "$OUT" "OK +poppad +answers at"
	like "doctor sees it: no slurmd" "$OUT" "FAIL +slurmd to poppad"
	kill "$pid"
	wait "$pid"
else
	skip "status and doctor of a real poppad" "poppad needs root"
fi
tap_done
