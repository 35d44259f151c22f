# SPDX-License-Identifier: GPL-2.0-or-later
# What tests builds, runs and ships.
include tests/sim/sim.mk
include tests/cli/cli.mk
include tests/unit/unit.mk
include tests/gen/gen.mk
include tests/integration/integration.mk
include tests/bench/bench.mk
include tests/scale/scale.mk
include tests/slurm-suite/suite.mk
include tests/vm/vm.mk
include tests/fuzz/fuzz.mk

EXTRA_DIST += .ci/run .devcontainer/devcontainer.json .github/workflows/ci.yml tests/all tests/install tests/ansible tests/containers tests/lint tests/site.t tests/packages tests/tap.sh tests/browser.sh tests/pmu/run tests/pmu/guest.c tests/release/arm64 tests/release/compile tests/release/compilers tests/release/debian.sh tests/release/debs tests/release/main-job tests/release/pages.sh tests/release/plain.sh tests/release/plain_machine.sh tests/release/move tests/release/prefix tests/release/prefix-run tests/release/reconfigure tests/release/run tests/release/storm tests/release/systemctl tests/quick tests/integration/README.md tests/integration/lib.sh tests/integration/settle.sh tests/integration/slowfs.sh tests/integration/lanes.sh tests/integration/bill.sh tests/integration/kills.sh tests/integration/cheats.sh tests/integration/neighbours.sh tests/integration/clients.sh tests/integration/clouds.sh tests/integration/schedulers.sh tests/integration/timelimit.sh tests/integration/turns.sh tests/integration/two_nodes.sh \
	tests/integration/00-cluster.t \
	tests/integration/20-submit.t tests/integration/21-defaults.t \
	tests/integration/30-striping.t \
	tests/integration/31-lanes.t \
	tests/integration/32-submissions.t \
	tests/integration/33-stock.t \
	tests/integration/34-truth.t \
	tests/integration/35-bad-moments.t \
	tests/integration/36-units.t \
	tests/integration/37-break-even.t \
	tests/integration/37-exploration.t \
	tests/integration/38-planned-starts.t \
	tests/integration/38-shapes.t \
	tests/integration/39-learning.t \
	tests/integration/39-profiles.t \
	tests/integration/39-segments.t \
	tests/integration/39-spread.t \
	tests/integration/40-poppad.t \
	tests/integration/41-pausing.t \
	tests/integration/41-schedule.t \
	tests/integration/42-guard.t \
	tests/integration/43-counters.t \
	tests/integration/43-farm.t tests/integration/43-heartbeat.t tests/integration/43-preload.t \
	tests/integration/44-limits.t \
	tests/integration/44-turns.t tests/integration/44-turns-bill.t tests/integration/44-turns-mpi.t tests/integration/44-turns-nodes.t \
	tests/integration/45-doctor.t \
	tests/integration/45-seeing.t \
	tests/integration/46-cheats.t tests/integration/46-leftovers.t tests/integration/46-neighbours.t tests/integration/46-programs.t \
	tests/integration/47-capabilities.t \
	tests/integration/50-measured.t \
	tests/integration/50-settle.t \
	tests/integration/51-crowded.t \
	tests/integration/51-ledger.t \
	tests/integration/55-mail.t tests/integration/55-people.t \
	tests/integration/56-security.t tests/integration/attack.py \
	tests/integration/52-limits.t \
	tests/integration/80-kills.t \
	tests/integration/53-plugins.t tests/integration/57-failover.t \
	tests/integration/58-crashes.t tests/integration/58-refunds.t tests/integration/58-stall.t tests/integration/59-lost-ends.t \
	tests/integration/60-timelimit.t tests/integration/61-timelimit-bounds.t tests/integration/62-timelimit-work.t tests/integration/70-poppa-trial.t tests/integration/71-pages.t \
	tests/integration/54-ends.t \
	tests/integration/90-down.t
