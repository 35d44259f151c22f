# SPDX-License-Identifier: GPL-2.0-or-later
# shellcheck shell=bash
# What tests of submission share: clients of the user's, honest and forging. A test sources it after lib.sh, and has a
# folder $tmp in which users may read.
#
#   try CMD...         as the user, without input; sets $rc, $out and $err, which $tmp/err holds, too
#   mark ID            what slurmctld shows of the job's --colocate
#   $LATER             an option of sbatch with which a job does not begin yet
#   has_forger         false where there is no client that forges the job's SPANK environment; skip then with $NO_FORGER
#   forged VAR... CMD  try CMD with that client; spank_forge.c names the variables

# shellcheck disable=SC2034
LATER=--begin=now+3600
forging_plugin=${POPPA_SANDBOX_BUILD:-$POPPA_SANDBOX/build}/.libs/spank_forge.so
# shellcheck disable=SC2034
NO_FORGER="$forging_plugin is not built: \"make check\" builds it"

try() {
	out=$(as_user "$@" 2>"$tmp/err" </dev/null)
	rc=$?
	err=$(cat "$tmp/err")
}

mark() {
	job_field "$1" SystemComment
}

has_forger() {
	[ -e "$forging_plugin" ] || return
	install -m 755 "$forging_plugin" "$tmp/spank_forge.so"
	echo "required $tmp/spank_forge.so" >"$tmp/plugstack.conf"
	sed "/^PlugStackConfig=/d" "$SLURM_CONF" >"$tmp/slurm.conf"
	echo "PlugStackConfig=$tmp/plugstack.conf" >>"$tmp/slurm.conf"
	chmod 644 "$tmp"/{plugstack,slurm}.conf
}

forged() {
	try env SLURM_CONF="$tmp/slurm.conf" "$@"
}
