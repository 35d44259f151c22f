#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# poppa gpu: decisions on recorded curves, sweeps of programs that are told how many units they have, energy, and refusals.
set -uo pipefail
# shellcheck source=tests/cli/lib.sh
. "$(dirname "$0")/lib.sh"
: "${POPPA:?is the program to test}"
needs jq

# --- Decisions.
cat >"$TAP_DIR/curves" <<'END'
program,kernel,units,seconds,activity
# A join that thrashes the cache, a scan, and what neither helps nor harms.
q5,join,4,2.0,0.30
q5,join,12,1.0,0.25
q5,join,44,1.3,0.10
q6,scan,4,8.0,0.20
q6,scan,12,3.0,0.20
q6,scan,44,1.0,0.20
q9,join,4,1.0,0.40
q9,join,12,1.0,0.20
q9,join,44,1.0,0.10
END
runs "decide" 0 "$POPPA" gpu decide --json "$TAP_DIR/curves"
is "each program has its units" "$(jq -c '[.programs[] | [.program, (.units | floor), .all]]' <<<"$OUT")" \
	'[["q5",12,false],["q6",44,true],["q9",4,false]]'
is "and what they save of the time" "$(jq -c '[.programs[].time_saved | . * 1000 | round]' <<<"$OUT")" '[231,0,0]'
is "energies follow from the model" "$(jq '.programs[2].points[2].joules * 10 | round' <<<"$OUT")" 1327
runs "decide by energy" 0 "$POPPA" gpu decide --json --goal energy --eps 0 "$TAP_DIR/curves"
is "the least of it" "$(jq -c '[.programs[].units | floor]' <<<"$OUT")" '[12,44,4]'
runs "decide by energy times time" 0 "$POPPA" gpu decide --json --goal edp "$TAP_DIR/curves"
is "likewise" "$(jq -c '[.programs[].units | floor]' <<<"$OUT")" '[12,44,4]'
runs "another model" 0 "$POPPA" gpu decide --json --power other=0,memory=0,idle=44,dynamic=0 "$TAP_DIR/curves"
is "is gone by" "$(jq -c '[.programs[2].points[].joules | round]' <<<"$OUT")" '[4,12,44]'
runs "as text" 0 "$POPPA" gpu decide "$TAP_DIR/curves"
like "a line for each" "$OUT" 'q5 +12 +-23\.1%'
like "and who wants all" "$OUT" 'q6 .*wants all'

refuses() { # NAME STATUS PATTERN ARGUMENT...
	local name=$1 status=$2 pattern=$3
	shift 3
	runs "$name" "$status" "$POPPA" gpu "$@"
	like "$name: says it" "$ERR" "^poppa gpu: .*$pattern"
	is "$name: in a line" "$(wc -l <<<"$ERR")" 1
}
refuses "no action" 2 'decide FILE, sweep'
refuses "an unknown action" 2 'decide FILE, sweep' guess
refuses "no file" 2 'a file of what was measured' decide
refuses "a file that is not there" 1 'none' decide "$TAP_DIR/none"
refuses "two files" 2 'too much' decide "$TAP_DIR/curves" b
refuses "an unknown goal" 2 'speed' decide --goal speed "$TAP_DIR/curves"
refuses "a wrong share" 2 'eps' decide --eps x "$TAP_DIR/curves"
refuses "a wrong constant" 2 'power: .*fan' decide --power fan=1 "$TAP_DIR/curves"
refuses "more units than the model has" 1 'say units=44' decide --power units=20 "$TAP_DIR/curves"
printf 'units,seconds\n1,2\n2,x\n' >"$TAP_DIR/wrong"
refuses "a wrong line" 1 'wrong: line 3: seconds' decide "$TAP_DIR/wrong"
printf 'units,seconds\n1,2\n2,1\n' >"$TAP_DIR/times"
refuses "energy that nobody knows" 1 'its energy is not known' decide --goal energy "$TAP_DIR/times"
mkfifo "$TAP_DIR/fifo"
refuses "a pipe" 1 'fifo' decide "$TAP_DIR/fifo"
: >"$TAP_DIR/empty"
refuses "an empty file" 1 'nothing was measured' decide "$TAP_DIR/empty"

# --- Sweeps. The program takes long with 1, and as long with 2 as with 4; it uses a joule for each unit.
cat >"$TAP_DIR/program" <<'END'
#!/bin/sh
echo "$UNITS" >>"$RUNS"
echo to be thrown away
[ "$UNITS" = 1 ] && sleep 0.5 || sleep 0.1
[ -z "$NVML_MJ" ] || echo $(($(cat "$NVML_MJ") + UNITS * 1000)) >"$NVML_MJ"
END
chmod +x "$TAP_DIR/program"
export RUNS=$TAP_DIR/runs
runs "a sweep" 0 "$POPPA" gpu sweep --by UNITS --units 1,4,2,2-4:2 --rounds 2 --eps 40% --save "$TAP_DIR/saved" --json -- "$TAP_DIR/program"
is "runs each number once a round, back and forth" "$(xargs <"$RUNS")" "4 2 1 1 2 4"
is "knows what is enough" "$(jq -c '.programs[] | [.program, (.units | floor)]' <<<"$OUT")" '["program",2]'
is "and no energy" "$(jq -c '.programs[0].energy_saved' <<<"$OUT")" null
is "tells each run" "$(grep -c '^poppa gpu: run [1-6] of 6: ' <<<"$ERR")" 6
runs "what it saved" 0 "$POPPA" gpu decide --json --eps 40% "$TAP_DIR/saved"
is "can be decided again" "$(jq -c '.programs[] | [.program, (.units | floor)]' <<<"$OUT")" '["program",2]'
export XDG_CONFIG_HOME=$TAP_DIR/config
runs "a sweep for a class" 0 "$POPPA" gpu sweep --by UNITS --units 1,2,3 --rounds 1 --eps 40% --class md -- "$TAP_DIR/program"
is "keeps what it needs" "$(cat "$TAP_DIR/config/poppa/gpu")" "md 67"
runs "another class" 0 "$POPPA" gpu sweep --by UNITS --units 2 --rounds 1 --class cfd -- "$TAP_DIR/program"
runs "the first one again" 0 "$POPPA" gpu sweep --by UNITS --units 2,4 --rounds 1 --eps 40% --class md -- "$TAP_DIR/program"
is "changes that one" "$(cat "$TAP_DIR/config/poppa/gpu")" "cfd 100"$'\n'"md 50"
for bad in a/b '' a,sm:5; do
	refuses "the class \"$bad\"" 2 'class: ' sweep --by UNITS --units 2 --class "$bad" -- true
done
refuses "decide for a class" 2 'class is for sweep' decide --class md "$TAP_DIR/curves"
if [ -e "${NVML:-}" ]; then
	ln -s "$NVML" "$TAP_DIR/libnvidia-ml.so.1"
	echo 5000 >"$TAP_DIR/mj"
	runs "a sweep with a library of energy (which stands in for a board's)" 0 env NVML_MJ="$TAP_DIR/mj" \
		LD_LIBRARY_PATH="$TAP_DIR${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}" \
		"$POPPA" gpu sweep --by UNITS --units 1,2,4 --rounds 1 --goal energy --json -- "$TAP_DIR/program"
	is "reads it before and after each run" "$(jq -c '[.programs[0].points[].joules | round]' <<<"$OUT")" '[1,2,4]'
	is "and goes by it" "$(jq '.programs[0].units | floor' <<<"$OUT")" 1
	energy_sweep() { # NAME STATUS VISIBLE: on three boards, of which the first may not be opened; CUDA counts only what it may open
		runs "$1" "$2" env NVML_MJ="$TAP_DIR/mj" NVML_BOARDS=3 CUDA_VISIBLE_DEVICES="$3" \
			LD_LIBRARY_PATH="$TAP_DIR${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}" \
			"$POPPA" gpu sweep --by UNITS --units 1,2,4 --rounds 1 --goal energy --json -- "$TAP_DIR/program"
	}
	for visible in 0 GPU-111 GPU-1; do
		energy_sweep "a sweep on one of several boards ($visible)" 0 "$visible"
		is "counts the energy of that one" "$(jq -c '[.programs[0].points[].joules | round]' <<<"$OUT")" '[1,2,4]'
	done
	for visible in 0,1 1,0; do
		energy_sweep "a sweep on two boards ($visible)" 0 "$visible"
		is "counts both" "$(jq -c '[.programs[0].points[].joules | round]' <<<"$OUT")" '[1001,2002,4004]'
	done
	for visible in MIG-111 0,0 2 0,x ''; do
		energy_sweep "a sweep on \"$visible\"" 1 "$visible"
		like "has no energy that is its own" "$ERR" 'nothing here tells energy'
	done
else
	skip "there is no stand-in for NVML" "energy of a sweep"
fi
printf '#!/bin/sh\necho $HSA_CU_MASK >>%s/masks\n' "$TAP_DIR" >"$TAP_DIR/amd"
printf '#!/bin/sh\necho $CUDA_MPS_ACTIVE_THREAD_PERCENTAGE >>%s/shares\n' "$TAP_DIR" >"$TAP_DIR/cuda"
chmod +x "$TAP_DIR/amd" "$TAP_DIR/cuda"
runs "AMD's way" 0 "$POPPA" gpu sweep --by amd --units 1,16 --rounds 1 -- "$TAP_DIR/amd"
is "is a mask" "$(xargs <"$TAP_DIR/masks")" "0:0-15 0:0-0"
printf '#!/bin/sh\n[ "$UNITS" != 2 ]\n' >"$TAP_DIR/fails"
chmod +x "$TAP_DIR/fails"
runs "a sweep whose program fails" 1 "$POPPA" gpu sweep --by UNITS --units 1,2,3 --rounds 1 --save "$TAP_DIR/part" -- "$TAP_DIR/fails"
is "has saved the runs before" "$(cut -d, -f1,2 "$TAP_DIR/part" | xargs)" "program,units fails,3"
mkfifo "$TAP_DIR/pipe"
cut -d, -f1,2 <"$TAP_DIR/pipe" >"$TAP_DIR/piped" &
runs "a sweep into a pipe" 0 "$POPPA" gpu sweep --by UNITS --units 1,3 --rounds 1 --save "$TAP_DIR/pipe" -- "$TAP_DIR/fails"
wait
is "writes each run once" "$(xargs <"$TAP_DIR/piped")" "program,units fails,3 fails,1"
mkdir "$TAP_DIR/going"
printf '#!/bin/sh\nrm -rf "%s"\n' "$TAP_DIR/going" >"$TAP_DIR/removes"
chmod +x "$TAP_DIR/removes"
runs "a sweep whose file cannot be written any more" 1 "$POPPA" gpu sweep --by UNITS --units 1,3 --rounds 1 --save "$TAP_DIR/going/curve" -- "$TAP_DIR/removes"
like "is decided all the same" "$OUT" 'removes +'
is "and tells of it once" "$(grep -c -e '--save: ' <<<"$ERR")" 1
export CUDA_MPS_PIPE_DIRECTORY=$TAP_DIR/mps
runs "CUDA's way without its daemon" 0 "$POPPA" gpu sweep --by cuda --units 50 --rounds 1 -- "$TAP_DIR/cuda"
like "means nothing" "$ERR" 'poppa gpu: CUDA.s MPS daemon does not run here'
runs "so nothing of it is kept" 1 "$POPPA" gpu sweep --by cuda --units 50 --rounds 1 --class nothing -- "$TAP_DIR/cuda"
is "for a class" "$(grep -c nothing "$TAP_DIR/config/poppa/gpu")" 0
mkdir "$TAP_DIR/mps"
: >"$TAP_DIR/mps/control"
: >"$TAP_DIR/shares"
runs "CUDA's way" 0 "$POPPA" gpu sweep --by cuda --rounds 1 -- "$TAP_DIR/cuda"
is "is a percentage, in tens" "$(xargs <"$TAP_DIR/shares")" "100 90 80 70 60 50 40 30 20 10"
runs "a sweep up to a half of all threads" 0 "$POPPA" gpu sweep --by cuda --units 50 --rounds 1 --class half -- "$TAP_DIR/cuda"
is "keeps so much of all" "$(grep half "$TAP_DIR/config/poppa/gpu")" "half 50"
runs "a goal that nothing here can tell" 1 "$POPPA" gpu sweep --by UNITS --units 2 --goal edp -- "$TAP_DIR/never"
like "is refused before anything runs" "$ERR" '^poppa gpu: --goal edp: nothing here tells energy: take --goal time$'
: >"$RUNS"
runs "what cannot be saved" 1 "$POPPA" gpu sweep --by UNITS --units 2 --rounds 1 --save /nonexistent/curve -- "$TAP_DIR/program"
is "is refused before anything runs" "$(cat "$RUNS")" ""
like "with its name" "$ERR" 'save: cannot write /nonexistent/curve'
refuses "no command" 2 'which program' sweep --by UNITS --units 1
refuses "no numbers" 2 'units: how many' sweep --by UNITS -- true
for bad in 0 x 4-2 2:1 1- '' 1,,2; do
	refuses "the numbers \"$bad\"" 2 'units: ' sweep --by UNITS --units "$bad" -- true
done
refuses "more than all" 2 'per cent of the threads at most' sweep --by cuda --units 101 -- true
refuses "a way that is none" 2 'by: "opencl"' sweep --by opencl --units 1 -- true
refuses "a name with a comma" 2 'without commas' sweep --by UNITS --units 1 --name a,b -- true
runs "a program that fails" 1 "$POPPA" gpu sweep --by UNITS --units 2 -- false
like "is named, with its units" "$ERR" 'poppa gpu: UNITS=2: false failed: exit status 1'
runs "a program that is not there" 1 "$POPPA" gpu sweep --by UNITS --units 2 -- "$TAP_DIR/none"
like "is named" "$ERR" 'none cannot be started'
# Whoever kills poppa kills the run.
# Another run of this test may sleep at the same time.
nap="sleep 1000.$$"
# shellcheck disable=SC2086 # a command and its argument
"$POPPA" gpu sweep --by UNITS --units 2 -- $nap 2>/dev/null &
pid=$!
for _ in $(seq 100); do pgrep -f "^$nap\$" >/dev/null && break; sleep 0.05; done
is "a run goes on" "$(pgrep -c -f "^$nap\$")" 1
kill -9 $pid
wait $pid 2>/dev/null
for _ in $(seq 100); do pgrep -f "^$nap\$" >/dev/null || break; sleep 0.05; done
is "and ends with poppa" "$(pgrep -c -f "^$nap\$")" 0
# Also what a script has started, in a process group of its own, however poppa ends.
for signal in TERM HUP INT KILL; do
	perl -e '$SIG{INT} = "DEFAULT"; exec @ARGV' "$POPPA" gpu sweep --by UNITS --units 2 --save "$TAP_DIR/ended" -- \
		sh -c "[ -e $TAP_DIR/ended.once ] || { touch $TAP_DIR/ended.once; exit 0; }; setsid $nap & wait" 2>"$TAP_DIR/err" &
	pid=$!
	for _ in $(seq 100); do pgrep -f "^$nap\$" >/dev/null && break; sleep 0.05; done
	kill "-$signal" $pid
	wait $pid 2>/dev/null
	rc=$?
	for _ in $(seq 100); do pgrep -f "^$nap\$" >/dev/null || break; sleep 0.05; done
	is "SIG$signal: nothing is left of a run" "$(pgrep -c -f "^$nap\$")" 0
	[ "$signal" = KILL ] || is "SIG$signal: the user is told" "$rc $(grep -c 'poppa gpu: ended by signal' "$TAP_DIR/err")" "1 1"
	is "SIG$signal: the runs before are kept" "$(grep -c '^sh,2,' "$TAP_DIR/ended")" 1
	rm "$TAP_DIR"/ended{,.once}
done
# What a run leaves behind would disturb the next one.
runs "a program that leaves something behind" 0 "$POPPA" gpu sweep --by UNITS --units 2 --rounds 2 -- \
	sh -c "pgrep -f '^$nap\$' && exit 1; setsid $nap >/dev/null 2>&1 & exit 0"
is "it has ended" "$(pgrep -c -f "^$nap\$")" 0
"$POPPA" gpu sweep --by UNITS --units 2 -- true >/dev/full 2>"$TAP_DIR/err"
is "a result that cannot be written" "$? $(grep -c 'cannot write the result' "$TAP_DIR/err")" "1 1"
runs "a program that ends with 127" 1 "$POPPA" gpu sweep --by UNITS --units 2 -- sh -c 'exit 127'
like "is not one that cannot be started" "$ERR" 'sh failed: exit status 127'

# --- A real device: a CPU by PoCL, of which a part is used.
# Its compiler keeps what it has compiled, and what it leaks is not ours.
export POCL_CACHE_DIR=$TAP_DIR/pocl ASAN_OPTIONS=${ASAN_OPTIONS:+$ASAN_OPTIONS:}detect_leaks=0
mkdir "$POCL_CACHE_DIR"
DEVICE_UNITS=${DEVICE_UNITS:-build/contrib/workloads/device_units}
if [ ! -x "$DEVICE_UNITS" ]; then
	skip "configure found no OpenCL" "sweeps of a real device"
elif ! units=$("$DEVICE_UNITS" --count 2>"$TAP_DIR/why"); then
	skip "$(head -n 1 "$TAP_DIR/why")" "sweeps of a real device"
elif [ "$units" -lt 2 ]; then
	skip "the device has one unit only" "sweeps of a real device"
else
	runs "a device of $units units" 0 "$POPPA" gpu sweep --by POPPA_GPU_UNITS --units "1,$units" --rounds 2 --json -- \
		"$DEVICE_UNITS" --kernel compute --work 64
	is "was swept" "$(jq -c '[.programs[0].points[].units | floor]' <<<"$OUT")" "[1,$units]"
	runs "more units than it has" 1 "$POPPA" gpu sweep --by POPPA_GPU_UNITS --units 100000 -- "$DEVICE_UNITS"
	like "are refused by it" "$ERR" 'POPPA_GPU_UNITS'
fi
done_testing
