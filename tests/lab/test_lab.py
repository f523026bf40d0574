# SPDX-License-Identifier: MIT OR Apache-2.0
"""Real kernels in the lab: what they show, that it is the same every time, and exact where it can be known beforehand."""

import contextlib
import json
import os
import re
import signal
import subprocess
import threading
import time
from collections import Counter
from pathlib import Path
from shutil import which

from lab import TEIJI, Lab, check, document, latencies, long, main, sample_hashes, with_libraries

VANILLA, RT = "debian:amd64", "debian:rt-amd64"
BOTH = ("-k", VANILLA, "-k", RT)


class Kernels(Lab):
    def test_kernels_are_listed(self):
        output = self.lab("kernels").stdout
        for flavour in ("amd64", "rt-amd64", "arm64", "rt-arm64"):
            self.assertRegex(output, rf"debian:{flavour}=\d")

    def test_the_clock_of_a_pc_is_there(self):
        output = self.lab("exec", "-q", *with_libraries("cat"), "--run", f"{which('cat')} /sys/class/rtc/rtc0/name").stdout
        self.assertIn("rtc_cmos", output)

    def test_what_a_program_prints_comes_as_it_is(self):
        # As rtla draws a table, which import reads.
        table = self.folder / "table"
        table.write_text("\x1b[2;37;40mTimer Latency\x1b[0;0;0m\n\n")
        words = ["exec", "-q", *with_libraries("cat"), "--file", f"{table}=/table", "--run", f"{which('cat')} /table"]
        self.assertEqual(self.lab(*words).stdout, table.read_text())

    def test_how_long_commands_take_is_said_before(self):
        # A command that has never been run, and then the same.
        words = ["exec", "--run", f"/teiji show /{time.time_ns()}.teiji"]
        first, again = [self.lab(*words, code=1).stderr for _ in range(2)]
        unknown = "How long this takes is not known: these commands have not run in such a guest\non this machine.\n"
        self.assertEqual(first[: len(unknown)], unknown)
        self.assertRegex(again, r"\AAbout [0-9]+ s to [0-9]+ (s|min), as the last runs of this kind took on this machine.\n")

    @long
    def test_results_of_megabytes_come_through(self):
        # PREEMPT_RT's serial driver needs its rest.
        run = ["exec", "-q", "--json", "-k", RT, *with_libraries("cat"), "--run", f"{which('cat')} /proc/kallsyms"]
        output = json.loads(self.lab(*run).stdout)["commands"][0]["stdout"]
        self.assertGreater(len(output), 3_000_000)


@long
class Steady(Lab):
    # The kernel's tick falls due at whole multiples of this time, and whoever wakes with it waits for its work.
    TICK_NS = 4_000_000
    # From the tick: a wake-up planned this long before may still be under way, and one this long after finds it at work.
    NEAR_NS = 25_000

    def test_the_maximum_does_not_depend_on_how_a_run_begins(self):
        words = [TEIJI, "run", "-q", Path(__file__).with_name("shifted.toml"), "-o", "out"]
        self.end(subprocess.Popen(words, cwd=self.folder, env=self.environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True), 0)
        found = sorted((self.folder / "out").glob("*.teiji"))
        self.assertEqual(len(found), 6)
        maxima, at_the_tick = [], []
        for recording in found:
            run = document(recording)
            thread = run["threads"][0]
            self.assertEqual(thread["activations"]["due"], 1_000)
            self.assertIsNotNone(run["load"][0]["settled_after_ns"], recording.name)
            ticked = [self.is_near_a_tick(thread["start_ns"] + n * thread["interval_ns"]) for n in range(1_000)]
            # At an interval of 1 ms the tick meets each fourth activation or none: never the whole of a run.
            self.assertIn(sum(ticked), (0, 250))
            samples = list(zip(latencies(recording), ticked, strict=True))
            maxima.append(max(latency for latency, near in samples if not near))
            at_the_tick += [latency for latency, near in samples if near]
        print(f"   maxima under hackbench, ns: {sorted(maxima)}; of those that met a tick: {max(at_the_tick, default=None)}")
        self.assertLess(max(maxima), 1.15 * min(maxima))
        self.assertLess(max(at_the_tick, default=0), 1.5 * min(maxima))

    def is_near_a_tick(self, planned):
        since = planned % self.TICK_NS
        return since < self.NEAR_NS or since > self.TICK_NS - self.NEAR_NS


def waits_for_sigio(process):
    """Whether this signal wakes the process and does not end it: QEMU blocks it, and few others; a process that is being started blocks all, for a moment."""
    status = Path(f"/proc/{process}/status").read_text()
    blocked = int(re.search(r"^SigBlk:\s*(\w+)", status, re.MULTILINE)[1], 16)
    return [blocked >> (number - 1) & 1 for number in (signal.SIGIO, signal.SIGWINCH)] == [1, 0]


class Identical(Lab):
    def repeated(self, *words, samples):
        """The first of two recordings of each kernel, which are the same."""
        output = self.lab("run", "-q", *BOTH, *words, "-n", str(samples), "--repeat", "2", "--verify-identical", "-o", "out").stdout
        self.assertEqual(len(re.findall("2 repeats, identical samples", output)), 2, output)
        for kernel in ("amd64", "rt-amd64"):
            repeats = sorted((self.folder / "out").glob(f"debian-{kernel}-*.teiji"))
            self.assertEqual(len(repeats), 2)
            self.assertEqual(len({json.dumps(sample_hashes(repeat)) for repeat in repeats}), 1, kernel)
            self.assertEqual(len(latencies(repeats[0])), samples)
            yield repeats[0]

    def test_repeats(self):
        self.assertEqual(len(list(self.repeated("--load", "cpu@50%", samples=100))), 2)

    @long
    def test_repeats_under_hackbench(self):
        for recording in self.repeated("--load", "hackbench", samples=400):
            # Ahead of the load's 400 tasks from the moment it has settled: as one of them it took 1.45 s of vanilla.
            self.assertLess(document(recording)["instrument"]["start_to_first_activation_ns"], 700_000_000, recording.name)

    def test_repeats_on_a_busy_host(self):
        # A guest that often falls idle: it is then that an emulator which is woken might skip time.
        words = ("run", "-q", "-k", RT, "--load", "cpu@50%", "-n", "100")
        self.lab(*words, "-o", "undisturbed")
        undisturbed = sample_hashes(next((self.folder / "undisturbed").iterdir()))
        self.assertIn("2 repeats, identical samples", self.while_emulators_are_woken(2, *words, "--repeat", "2", "--verify-identical", "-o", "out"))
        for repeat in (self.folder / "out").iterdir():
            self.assertEqual(sample_hashes(repeat), undisturbed)

    def while_emulators_are_woken(self, emulators, *words):
        """The lab's output, while one CPU of the host does nothing but wake the main loops of so many emulators."""
        lab, woken = self.start(*words), Counter()
        waker = threading.Thread(target=self.wake_emulators, args=(lab, woken))
        waker.start()
        ended = self.end(lab, 0)
        waker.join()
        self.assertEqual(len(woken), emulators, woken)
        # Some 100,000 a second; each guest runs for seconds.
        self.assertGreater(min(woken.values()), 100_000, woken)
        return ended.stdout

    def wake_emulators(self, lab, woken):
        """Until the lab has ended, sends its emulators a signal that they wait for and do not use; counts how often, by process."""
        while lab.poll() is None:
            with contextlib.suppress(ProcessLookupError, FileNotFoundError):
                waiting = [process for process in self.processes() if waits_for_sigio(process)]
                for _ in range(50_000 if waiting else 0):
                    for process in waiting:
                        os.kill(process, signal.SIGIO)
                        woken[process] += 1
            time.sleep(0.01)

    def test_a_recording_is_made_again(self):
        self.lab("run", "-q", "-k", RT, "--load", "cpu@50%", "-n", "100", "--title", "First", "-o", "out")
        recording = next((self.folder / "out").iterdir())
        self.assertIn("made again, 100 identical samples", self.lab("rerun", "-q", recording).stdout)
        # As if it had been made beside less load: what comes of that is another run.
        described = document(recording)
        described["run"]["loads"] = ["cpu@40%"]
        (recording / "run.json").write_text(json.dumps(described))
        output = self.lab("rerun", "-q", recording, "-o", "again.teiji", code=1).stdout
        pairs = zip(latencies(recording), latencies(self.folder / "again.teiji"))
        first = next(place for place, (one, other) in enumerate(pairs) if one != other)
        self.assertRegex(output, rf"not identical: .*activation {first}\b", output)

    def test_only_the_lab_can_make_a_recording_again(self):
        words = [TEIJI, "measure", "-q", "-n", "20", "-o", self.folder / "here.teiji"]
        subprocess.run(words, check=True, capture_output=True)
        self.assertIn("was not recorded in the lab", self.lab("rerun", "-q", "here.teiji", code=2).stderr)


class Exact(Lab):
    def test_a_stalled_cpu(self):
        # Five times, 20 ms in which nothing of lower priority runs: at 1 ms, one activation late and 19 never run. Where one
        # falls due just as the stall begins, its latency says so, and 20 never run.
        load = 'cmd:"/teiji lab-init stall=5x20ms/700ms"'
        self.lab("run", "-q", *BOTH, "--load", load, "--settle", "0", "-i", "1ms", "-n", "4000", "-o", "out")
        for recording in (self.folder / "out").iterdir():
            with self.subTest(recording.name):
                check(self, recording)
                found = latencies(recording)
                late = [place for place, latency in enumerate(found) if latency is not None and latency >= 1_000_000]
                self.assertEqual(len(late), 5)
                skipped = 0
                for place in late:
                    # The stall's own beginning and end take less than 0.1 ms.
                    self.assertTrue(19_000_000 <= found[place] < 20_100_000, found[place])
                    overrun = found[place] // 1_000_000
                    self.assertEqual(found[place + 1 : place + 1 + overrun], [None] * overrun, f"after activation {place}")
                    self.assertIsNotNone(found[place + 1 + overrun])
                    skipped += overrun
                counts = document(recording)["threads"][0]["activations"]
                self.assertEqual(counts, {"due": 4_000, "on_time": 3_995 - skipped, "late": 5, "skipped": skipped})

    @long
    def test_bisect_finds_the_kernel(self):
        words = ["bisect", "-q", "--kernels", f"{RT},{VANILLA}", "--load", "hackbench", "-n", "600", "-o", "out"]
        output = self.lab(*words, "--limit", "p99<10us").stdout
        first = r"debian:amd64=\S+ is the first to exceed p99<10us; debian:rt-amd64=\S+, before it, meets it"
        self.assertRegex(output, first, output)
        self.assertIn("Virtual ns", output)
        self.assertEqual(len(list((self.folder / "out").iterdir())), 2)

    def test_bisect_does_not_judge_what_it_cannot(self):
        words = ["bisect", "-q", "--kernels", f"{RT},{VANILLA}", "-n", "50", "--limit", "p99.9<1s", "-o", "out"]
        self.assertIn("cannot be judged: 50 activations: too few; p99.9 needs 1,000", self.lab(*words, code=4).stderr)


class Plans(Lab):
    def test_a_plan_again(self):
        text = f'[measure]\nsamples = 100\nboot-timeout = "900s"\n[vary]\nkernel = ["{RT}"]\nload = ["none", "cpu@50%"]\n[order]\nshuffle = true\n'
        (self.folder / "plan.toml").write_text(text)
        found = []
        for name in ("one", "two"):
            words = [TEIJI, "run", "-q", "plan.toml", "-o", name]
            subprocess.run(words, cwd=self.folder, env=self.environment, check=True, capture_output=True)
            recordings = (path for path in (self.folder / name).iterdir() if path.is_dir())
            found.append({document(path)["run"]["title"]: sample_hashes(path) for path in recordings})
        self.assertEqual(len(found[0]), 2)
        self.assertEqual(found[0], found[1])
        shown = subprocess.run([TEIJI, "show", "one"], cwd=self.folder, check=True, capture_output=True, text=True).stdout
        self.assertEqual(len(re.findall(r"^(?:none|cpu@50%) +100 ", shown, re.MULTILINE)), 2, shown)
        self.assertIn("All have kernel=debian:rt-amd64=", shown)
        self.assertIn("Virtual ns", shown)


if __name__ == "__main__":
    main()
