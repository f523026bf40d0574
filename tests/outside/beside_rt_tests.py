# SPDX-License-Identifier: MIT OR Apache-2.0
"""teiji cyclictest beside rt-tests' cyclictest: the same exit code, and the same standard output once figures are masked.

beside_rt_tests.py TEIJI [WORD...]: only the command lines that have one of these words.

What differs on purpose: where theirs prints its help, ours says on standard error what is wrong with the command line; an unknown
option ends with 2 and not with 0; an option of another version is taken as there.
"""

import json
import os
import re
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path

# Debian's, which is compared; others have golden files.
VERSION = "2.4"

SHORT = "-l 30"
COMMAND_LINES = [
    *(f"{SHORT} {options}" for options in (
        "-q",
        "-q -p 80",
        "-q -m -p 80 -t 2",
        "-q -m -S -p 80",
        "-q -t -a -p 49",
        "-q -t 0",
        "-q -t2 -a 0-1",
        "-q -t3 -a 1",
        "-q -a 0",
        "-q -t 2 -d 0",
        "-q -t 2 -d 200 -i 500",
        "-q -A 100 -t 2",
        "-q --secaligned=100 -t 2",
        "-q -N -p 80",
        "-q -n -p 80",
        "-q --policy=rr -p 10",
        "-q --policy=rr",
        "-q --policy=batch",
        "-q --policy=idle",
        "-q --policy=other -p 5",
        "-q -p 20 -t 3 --priospread",
        "-q -smp",
        "-q -c 0",
        "-q -c 1 -p 80",
        "-q -r -p 80",
        "-q -s -p 80",
        "-q -x -p 80",
        "-q -x -r -p 80",
        "-q -x -s -p 80",
        "-q -R -p 80",
        "-q -u -p 80",
        "-q --laptop",
        "-q --default-system",
        "-q --latency=50",
        "-q --mainaffinity=1",
        "-q -h 40",
        "-q -h 40 -t 2 -p 80",
        "-q -H 40 -t 2 -p 80",
        "-q -H 40",
        "-q -h 30 -H 40 -S",
        "-q -H 30 -h 40 -S",
        "-q -h 40 -d 300 -t 2",
        "-q -N -h 30",
        "-q -h 20 -t 2 -p 80 -i 500 -v",
        "-h 20 -p 80",
        "-q -h 40 --histfile=FILE",
        "-q --histfile=FILE",
        "-q --json=FILE -p 80",
        "-q --json=FILE -t 2 -h 50 -p 80",
        "-q --json=- -p 80",
        "-q -N --json=FILE -p 80",
        "-p 80",
        "-t 2 -p 80",
        "-S",
        "-M -p 80 -D 1",
        "-v -p 80",
        "-v -q -t 2",
        "-v -o 5 -p 80",
        "-q -b 100000 -p 80",
        "-q -b 1 -p 80",
        "-q -b 1 -p 80 -t 2 -h 40",
        "-b 1 -p 80",
        "-v -b 1 -p 80",
        "-q --spike=1 -p 80",
        "-q --spike=1 --spike-nodes=5 -p 80",
        "-q --spike=1 -h 5 -b 3 -p 80",
        "-q -S -t 3 -a 0",
        "-q -t3 -S",
        "-q -F FILE",
        "-q -F /not/there",
        "-q --policy=RR -p 10",
        "-q --policy=Fifo",
        "-q --priospread -t 3",
        "-q -x -s -t 2 -d0 -p 50",
        "-q -c 1 -r -p 50",
        "-q -c 1 -x -p 50",
        "-q -c 1 -s -p 50",
        "-v -c 1 -p 50",
        "-v -x -p 50",
        "-v -a 0 -p 50",
        "-a 0,1 -t 2 -v -p 50",
        "-v -t 3 -a 1 -p 50",
        "-S -v -a 0 -p 50",
        "-q -a all -t 2",
    )),
    "-q -D 1 -p 80",
    "-D 1s -q",
    "-q -l 10 -D 1m",
    "-q -i 10000 -l 5 -p 80",
    "-D 1 -i 1000000 -q",
    # What it refuses.
    "-p 120 -q",
    "-p -5 -q",
    "-t0 -q",
    "-t -1 -l 10 -q",
    "-h 0 -q",
    "-c 3 -q",
    "-o 5 -q -l 5",
    "-A 1 --secaligned -q -l 5",
    "--smi -q -l 5",
    "--smi -q -l 5 -p 80 -a 0 -h 40",
    "--deepest-idle-state=1 -q -l 5",
    "--help",
    "-a 5000 -q -l 5",
    "-a !5000 -q -l 5",
    "-a -S -q -l 5",
    "-a 0 --smp -q -l 5",
    "--nosuch -q",
    "-l",
]

# Taken as in the version that has them.
OF_OTHER_VERSIONS = ("-n", "--deepest-idle-state")

HACKBENCH_LINES = [
    "-g 1 -l 2",
    "-g 2 -l 3 -T",
    "-g 1 -l 2 -p",
    "-g 1 -l 2 -i",
    "-g1 -l2 -s 10 -f 3",
    "-g 1 -l 2 -P",
    "-g 1 -l 2 -T -P",
    "-g 1 -l 2 -P -T",
    "-F -g 1 -l 2",
    "-T -p -F -g 1 -l 2",
    # What it refuses, with its help and 1; ours is silent on standard output and ends with 2.
    "-g 0",
    "-l 0",
    "-s 0",
    "-f 0",
    "-g abc",
    "-l",
    "--bad",
    "-p -i -g 1 -l 1",
]


def masked(text):
    """The shape: what is not a figure, and how often lines come that come as often as time allows."""
    lines = []
    for line in text.replace("\r", "").split("\n"):
        line = re.sub(r"loadavg: .*$", "loadavg: #", line)
        if line.startswith("# Thread ") and "Ids" not in line:
            line = re.sub(r":.*", ": #", line)
        if re.match(r'\s+"\d+": \d+,?$', line):
            line = '"#": #'
        line = re.sub(r'"(start_time|end_time)": "\w{3}, \d\d \w{3} \d{4} \d\d:\d\d:\d\d \+0000"', r'"\1": #', line)
        line = re.sub(r'"histogram": \{\s*(\},)?$', '"histogram": #', line)
        line = re.sub(r"^( {7}\d: {0,7}\d+: {0,7}\d+)$", "a value", line)
        # A figure keeps its width where the format gives one.
        line = re.sub(r"\(\s*\d+\)", "(#)", line)
        line = re.sub(r"(C|Min|Act|Avg|Max):( *)(-?\d+)", lambda m: f"{m[1]}:{field_width(m[2], m[3])}#", line)
        line = re.sub(r"Spike:( *\d+): TS:( *\d+)", lambda m: f"Spike:{len(m[1])}: TS:{len(m[2])}", line)
        line = re.sub(r'^( +"(cycles|min|max|avg)"): [-.\w]+', r"\1: #", line)
        if re.match(r"(# (Total|Min|Avg|Max|Histogram|Thread Ids|Break)|spikes)", line):
            line = re.sub(r" \d+", " #", line)
        line = re.sub(r"^(\d{6}) .*", lambda m: m[1] + "\t#" * m[0].count("\t"), line)
        if lines and lines[-1] == line and not line.startswith("0"):
            continue
        lines.append(line)
    text = "\n".join(lines)
    # Frames, as many as there was time for.
    text = re.sub(r"\x1b\[\d+Apolicy: [^\n]*\n\n(T:[^\n]*\n)+", "", text)
    # -M ends within its first frame, or waits for another.
    text = re.sub(r"\x1b\[\d+A(?=\x1b\[\d+B)", "", text)
    return re.sub(r'("#": #\n?)+\s*\},', "#", text)


def field_width(padding, digits):
    """Of a figure; one that has more digits than its field has no padding."""
    width = len(padding + digits)
    return width if padding else max((known for known in (5, 7, 8) if known <= width), default=width)


def run(command, words, file, env=None):
    """Exit code, standard output and the file, masked."""
    words = [word.replace("FILE", str(file)) for word in words]
    file.unlink(missing_ok=True)
    done = subprocess.run([*command, *words], capture_output=True, text=True, timeout=30, env=env)
    written = "" if not file.is_file() else file.read_text()
    return done.returncode, masked(done.stdout), masked(written), done


def begun(process):
    """The process, once it takes signals: its file in shared memory is there by then."""
    soon(lambda: Path(f"/dev/shm/cyclictest{process.pid}").exists())
    return process


def soon(look):
    """What is seen, once there is something, or after five seconds."""
    for _ in range(1000):
        if seen := look():
            return seen
        time.sleep(0.005)
    return look()


def interrupted(command, words, signals, env=None):
    """The same of a run that is sent signals, one after the other."""
    process = subprocess.Popen([*command, *words], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=env)
    shared = Path(f"/dev/shm/cyclictest{begun(process).pid}")
    seen = []
    for number in signals:
        time.sleep(0.3)
        process.send_signal(number)
        if number == signal.SIGUSR2:
            # The second one begins with zeros there, and not here.
            seen.append(masked(soon(lambda: shared.read_text().lstrip("\0"))))
    out, err = process.communicate(timeout=30)
    status = "\n".join(line for line in err.split("\n") if line.startswith(("#", "T:")))
    return process.returncode, masked(out), masked(status), seen, shared.exists()


def consumers(teiji, version, folder):
    """What programs that read cyclictest's output find in ours, by their own rules: what went wrong."""
    wrong = []

    def expect(what, holds):
        if not holds:
            wrong.append(f"{what}, as version {version}")

    def ours(words):
        command = [teiji, "cyclictest", "--as-version", version, *words.split()]
        return subprocess.run(command, capture_output=True, text=True, timeout=30).stdout

    (folder / "out").write_text(ours("-l 200 -q -p 80 -S -H 400"))
    text = (folder / "out").read_text()
    # crucible: the last number is the maximum of all threads.
    maxima = [int(number) for number in re.search(r"^# Max Latencies:(.*)$", text, re.M)[1].split()]
    threads = os.cpu_count()
    summed = maxima[-1] == max(maxima[:threads]) and len(maxima) == (threads + 1 if threads > 1 else 1)
    expect("crucible: the last of Max Latencies is the largest", summed)
    # OpenShift: the numbers have one blank between them.
    found = re.search(r"# Max Latencies:\t*\s*(.*)\s*\t*", text)[1].split(" ")
    expect("OpenShift: numbers behind Max Latencies", [int(number) for number in found] == maxima)
    # rteval: it takes what begins with '#' by these words alone, and the rest as rows of the histogram.
    expect("rteval: Max Latencies begins its line", "\n# Max Latencies: " in text)
    broken = ours("-i 1000 -qmu -h 3500 -p 95 -t 2 -a 0-1 -D 1m -b 1")
    values = [int(line.split(":")[1]) for line in broken.splitlines() if line.startswith("# Break value: ")]
    expect("rteval: what the run was ended for", len(values) == 1 and values[0] > 1)
    rows = [line.split() for line in ours("-i 1000 -qmu -h 3500 -p 95 -t 2 -a 0-1 -l 200").splitlines()]
    rows = [[int(value) for value in row] for row in rows if row and not row[0].startswith("#")]
    expect("rteval: an index and a count of each thread", bool(rows) and all(len(row) == 3 for row in rows))
    expect("rteval: the run's cycles are in the rows", 150 <= sum(row[1] for row in rows) <= 200)
    # OSADL's plot: its own pipes.
    plot = """grep -v -e "^#" -e "^$" out | tr " " "\\t" >histogram
grep "Max Latencies" out | tr " " "\\n" | sort -n | tail -1 | sed s/^0*//
cut -f2 histogram | awk '{ n += $1 } END { print n }'"""
    done = subprocess.run(["sh", "-c", plot], cwd=folder, capture_output=True, text=True)
    largest, cycles = done.stdout.split()
    beyond = int(re.search(r"^# Histogram Overflows: (\d+)", text, re.M)[1])
    expect("OSADL: the maximum", int(largest) == max(maxima))
    expect("OSADL: cycles in the first column", int(cycles) + beyond == 200)
    # Linaro.
    data = json.loads(ours(f"-l 50 -q -p 80 -t 2 --json={folder}/json") and (folder / "json").read_text())
    threads = [str(index) for index in range(data["num_threads"])]
    expect("Linaro: as many threads as it says", threads == list(data["thread"]) == ["0", "1"])
    fields = [data["thread"][index][key] for index in threads for key in ("min", "avg", "max")]
    expect("Linaro: figures of each thread", all(isinstance(value, (int, float)) and value >= 0 for value in fields))
    # rt-tests' own.
    command = [teiji, "cyclictest", "--as-version", version, "-q", "-p", "80", "-D", "1m"]
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    pid = str(begun(process).pid)
    line = "# cyclictest current status:\nT: 0 ("
    ask = ["get_cyclictest_snapshot", "-s", pid, "-p", pid]
    # It reads as soon as it has asked, which is too soon on a busy machine.
    found = soon(lambda: line in subprocess.run(ask, capture_output=True, text=True).stdout)
    process.send_signal(signal.SIGINT)
    process.wait(timeout=30)
    expect("get_cyclictest_snapshot: the line of the thread", found)
    return wrong


def main(teiji, words):
    theirs, ours = ["cyclictest"], [teiji, "cyclictest", "--as-version", VERSION]
    env = {**os.environ, "TEIJI_AS_VERSION": ""}
    failed, compared, deliberate = [], 0, 0
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "file"
        for line in COMMAND_LINES:
            if words and not any(word in line.split() for word in words):
                continue
            left, right = run(theirs, line.split(), file, env), run(ours, line.split(), file, env)
            compared += 1
            prints_help = "Usage:" in left[3].stdout
            if prints_help:
                deliberate += 1
                expected = {0: (2, 0), 1: (1,)}[left[0]]
                asked = line == "--help"
                prints = asked or any(word.split("=")[0] in OF_OTHER_VERSIONS for word in line.split())
                if right[0] not in expected or bool(right[3].stdout) != prints or bool(right[3].stderr) == asked:
                    failed.append(line)
                    print(f"--- {line}\ntheirs: help, {left[0]}\nours: {right[0]} {right[3].stdout}{right[3].stderr}")
            elif left[:3] != right[:3]:
                failed.append(line)
                print(f"--- {line}\ntheirs: {left[0]}\n{left[1]}\n{left[2]}\nours: {right[0]}\n{right[1]}\n{right[2]}\n{right[3].stderr}")
        for line, signals in [
            ("-q -p 80 -t 2", [signal.SIGINT]),
            ("-q -h 20 -p 80", [signal.SIGTERM]),
            ("-q -p 80", [signal.SIGUSR1, signal.SIGTERM]),
            ("-q -p 80 -t 2", [signal.SIGUSR2, signal.SIGUSR2, signal.SIGINT]),
            ("-p 80", [signal.SIGINT]),
            ("-q -S -H 40 -p 80", [signal.SIGUSR1, signal.SIGUSR2, signal.SIGINT]),
            ("-q -N -h 40 -p 80", [signal.SIGUSR1, signal.SIGUSR1, signal.SIGTERM]),
            ("-q -x -p 80", [signal.SIGUSR2, signal.SIGTERM]),
            ("-q -r -c 1 -p 80", [signal.SIGUSR1, signal.SIGINT]),
            ("-q --spike=1 -p 80", [signal.SIGUSR1, signal.SIGTERM]),
            ("-q -b 100000000 -p 80", [signal.SIGUSR2, signal.SIGINT]),
            ("-q --json=- -p 80", [signal.SIGTERM]),
            ("-v -p 80", [signal.SIGUSR2, signal.SIGINT]),
            ("-p 80 -t 2", [signal.SIGUSR1, signal.SIGTERM]),
            ("-q -p 80", [signal.SIGALRM, signal.SIGTERM]),
        ]:
            if words:
                continue
            left, right = interrupted(theirs, line.split(), signals, env), interrupted(ours, line.split(), signals, env)
            compared += 1
            if left != right:
                failed.append(line)
                print(f"--- {line}, {signals}\ntheirs: {left}\nours: {right}")
        for line in HACKBENCH_LINES:
            if words:
                continue
            left, right = run(["hackbench"], line.split(), file), run([teiji, "hackbench"], line.split(), file)
            compared += 1
            left, right = ((code, re.sub(r"Time: \d+\.\d{3}$", "Time: #", out, flags=re.M)) for code, out, *_ in (left, right))
            if "Usage:" in left[1]:
                deliberate += 1
                left = (2, "")
            if left != right:
                failed.append(line)
                print(f"--- hackbench {line}\ntheirs: {left}\nours: {right}")
        for version in [] if words else ["1", "2.4", "2.9"]:
            wrong = consumers(teiji, version, Path(folder))
            failed.extend(wrong)
            print("".join(f"--- {text}\n" for text in wrong), end="")
    print(f"{compared} command lines compared, {deliberate} of them where theirs prints its help; {len(failed)} differ")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1], sys.argv[2:]))
