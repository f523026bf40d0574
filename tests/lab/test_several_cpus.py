# SPDX-License-Identifier: MIT OR Apache-2.0
"""Several CPUs in virtual time: the same samples each time, each CPU as fast as the others, whatever they do, and the worst explained."""

import contextlib
import json
import shutil
import statistics
import subprocess

from explained import Explaining
from lab import check, document, latencies, long, main, sample_hashes

VANILLA = "debian:amd64"
TWO = ("--smp", "2", "-k", VANILLA)
# A load that begins soon, and little time before measuring: a virtual second takes minutes.
BRIEF, LOAD = ("--warmup", "20ms"), "hackbench,groups=2"
# Of the same figure where the other CPUs do something else.
WITHIN = 0.05
HOG_NS = 20_000_000
# No part of the kernel's tick: otherwise each fourth activation meets it, or none does, by when threads began.
APART = ("-i", "1070us")


def figures(recording, thread):
    """Mean, median and the 99th percentile."""
    ranked = sorted(latency for latency in latencies(recording, thread) if latency is not None)
    return statistics.mean(ranked), ranked[len(ranked) // 2], ranked[len(ranked) * 99 // 100 - 1]


def own_loads(*cpus):
    """The same load on each of these CPUs, in user space: processes that use the kernel share its memory, however far apart they are."""
    return [word for cpu in cpus for word in ("--load", f"cpu,cpus={cpu}")]


@contextlib.contextmanager
def busy_host():
    """Both CPUs of a small machine, meanwhile."""
    loops = [subprocess.Popen(["sh", "-c", "while :; do :; done"]) for _ in range(2)]
    try:
        yield
    finally:
        for loop in loops:
            loop.kill()
            loop.wait()


class SeveralCpus(Explaining):
    def run_cpus(self, cpus, output, *words):
        """A recording of 100 activations on each of these CPUs, unless the words say how many."""
        which = ("--smp", str(cpus), *(() if "-k" in words else ("-k", VANILLA)))
        count = () if "-n" in words else ("-n", "100")
        self.lab("run", "-q", *which, "--settle", "50ms", *count, "-o", output, *words)
        return next((self.folder / output).iterdir())

    def run_two(self, output, *words):
        return self.run_cpus(2, output, *words)

    def assert_about(self, measured, expected):
        for one, other in zip(measured, expected, strict=True):
            self.assertLess(abs(one / other - 1), WITHIN, f"{measured} {expected}")

    @long
    def test_each_of_two_cpus_has_what_it_has_alone(self):
        self.assert_each_has_what_it_has_alone(2)

    @long
    def test_each_of_four_cpus_has_what_it_has_alone(self):
        self.assert_each_has_what_it_has_alone(4)

    def assert_each_has_what_it_has_alone(self, cpus):
        """The first and the last: the latter waits longest for its turn."""
        every = self.run_cpus(cpus, "every", *own_loads(*range(cpus)), *BRIEF, *APART)
        check(self, every)
        self.assertEqual(document(every)["lab"]["ns_per_instruction"], cpus)
        self.assertTrue(document(every)["lab"]["deterministic"])
        for cpu in (0, cpus - 1):
            alone = self.run_cpus(cpus, f"alone-{cpu}", *own_loads(cpu), *BRIEF, *APART)
            self.assert_about(figures(every, cpu), figures(alone, cpu))

    def test_two_runs_of_two_cpus_are_the_same(self):
        words = (*own_loads(0, 1), *BRIEF)
        first = self.run_two("first", *words)
        check(self, first)
        self.assertEqual(sample_hashes(self.run_two("second", *words)), sample_hashes(first))

    @long
    def test_the_samples_of_two_cpus_are_the_same_on_a_busy_host(self):
        self.assert_same_on_a_busy_host(2)

    @long
    def test_the_samples_of_four_cpus_are_the_same_on_a_busy_host(self):
        self.assert_same_on_a_busy_host(4)

    def assert_same_on_a_busy_host(self, cpus):
        """With processes that wait for one another across CPUs."""
        words = ("--load", LOAD, *BRIEF, *APART)
        first = self.run_cpus(cpus, "first", *words)
        with busy_host():
            self.assertEqual(sample_hashes(self.run_cpus(cpus, "second", *words)), sample_hashes(first))

    @long
    def test_idle_cpus_are_as_fast_as_one_of_the_same_rate(self):
        # As many as meet each 10 us of the 4 ms between two ticks once: of fewer, ticks meet more on one CPU than on another.
        whole = (*APART, "-n", "400")
        for cpus in (2, 4):
            several = self.run_cpus(cpus, f"of-{cpus}", *whole)
            rate = ("--mips", str(1_000 // cpus), "--append", "idle=poll")
            self.lab("run", "-q", "-k", VANILLA, *rate, "-o", f"one-{cpus}", *whole)
            one = next((self.folder / f"one-{cpus}").iterdir())
            for cpu in range(cpus):
                self.assert_about(figures(several, cpu), figures(one, 0))

    @long
    def test_three_cpus_are_as_fast_as_one_another(self):
        three = self.run_cpus(3, "three", *APART)
        self.assertEqual(document(three)["lab"]["ns_per_instruction"], 3)
        for cpu in (1, 2):
            self.assert_about(figures(three, cpu), figures(three, 0))

    @long
    def test_a_hog_is_late_and_skipped_where_it_runs_and_nowhere_else(self):
        # So often that one of them lies in the run as a whole, whenever that begins.
        hog = f'cmd:"/teiji lab-init stall=20x{HOG_NS // 1_000}us/60ms",cpus=1'
        recording = self.run_cpus(4, "hog", "--load", hog, *BRIEF)
        check(self, recording)
        hogged = latencies(recording, 1)
        late = [index for index, latency in enumerate(hogged) if latency is not None and latency > 1_000_000]
        for index in late:
            # Of the activations due while it runs, the first is late by what is left of it, and the others are skipped.
            skipped = hogged[index + 1 :][: hogged[index] // 1_000_000]
            self.assertEqual(skipped, [None] * len(skipped), hogged)
        self.assertEqual(sum(latency is None for latency in hogged), sum(min(hogged[i] // 1_000_000, 99 - i) for i in late))
        longest = max(hogged[index] for index in late)
        self.assertTrue(HOG_NS - 1_000_000 < longest < HOG_NS + 100_000, longest)
        for cpu in (0, 2, 3):
            others = latencies(recording, cpu)
            self.assertTrue(all(latency is not None and latency < 100_000 for latency in others), others)

    def explained(self, recording, threads):
        """The 20 worst, each of them checked."""
        explained = json.loads(self.explain(recording, "--worst", "20", "--json").stdout)
        self.assertEqual(len(explained["accounts"]), 20)
        self.check_accounts(recording, explained, threads)
        for account in explained["accounts"]:
            for part in account["parts"]:
                # Of several others nothing says for which one it waited.
                named = part["kind"] == "other-cpu" and document(recording)["lab"]["guest"]["cpus"] == 2
                self.assertEqual("other_cpu" in part, named, part)
        return explained

    @long
    def test_the_worst_of_four_cpus_are_explained(self):
        recording = self.run_cpus(4, "four", "-a", "0-3", "--load", LOAD, *BRIEF)
        self.explained(recording, 4)

    @long
    def test_the_worst_of_two_cpus_are_explained(self):
        for kernel in (VANILLA, "debian:rt-amd64"):
            with self.subTest(kernel=kernel):
                recording = self.run_two(kernel.replace(":", "-"), "-k", kernel, "--load", LOAD, *BRIEF)
                explained = self.explained(recording, 2)
                self.assertEqual({account["thread"] for account in explained["accounts"]}, {0, 1})

    @long
    def test_what_isolcpus_takes_away(self):
        """The worst of a CPU that hackbench runs on, and of the same one left alone: what the first has and the other lacks."""
        explained = {}
        load = "hackbench,groups=3"
        for name, words in (
            ("shared", ("--load", load)),
            ("isolated", ("--append", "isolcpus=1", "--load", f"{load},cpus=0")),
        ):
            recording = self.run_two(name, "-a", "1", *words, *BRIEF)
            explained[name] = self.explained(recording, 1)["accounts"]
        shared, isolated = ([account["latency_ns"] for account in explained[name]] for name in ("shared", "isolated"))
        # The worst alone is a matter of which of hackbench's calls it met.
        self.assertGreater(min(shared), max(isolated) + 1_000)
        tasks = {part["task"] for account in explained["isolated"] for part in account["parts"]}
        self.assertNotIn("load-hackbench", tasks)
        tasks = {part["task"] for account in explained["shared"] for part in account["parts"]}
        self.assertIn("load-hackbench", tasks)

    def test_others_are_refused(self):
        for words, says in (
            (("--smp", "5"), "only up to 4 CPUs of x86_64"),
            (("--smp", "2", "--mips", "1000"), "at most 500"),
            (("--smp", "3", "--mips", "250"), "without --mips they execute 333 million"),
            (("--smp", "4", "--mips", "500"), "at most 250"),
        ):
            ended = self.lab("run", "-q", "-k", VANILLA, "-n", "10", "-o", "out", *words, code=2)
            self.assertIn(says, ended.stderr)

    def test_an_old_emulator_is_refused(self):
        folder = self.folder / "bin"
        folder.mkdir()
        emulator = folder / "qemu-system-x86_64"
        emulator.write_text("#!/bin/sh\necho 'QEMU emulator version 7.2.22 (Debian)'\n")
        emulator.chmod(0o755)
        self.refused(*TWO, "--qemu", str(emulator), says=["need QEMU 10 or later", "teiji lab fetch qemu"])
        shutil.rmtree(folder)

    def test_an_emulator_that_cannot_end_turns_is_refused(self):
        """It says what QEMU says of a plugin that refuses to be installed."""
        emulator = self.folder / "qemu-system-x86_64"
        refuses = "echo 'Could not load plugin ./plugin.so: qemu_plugin_install returned error code 1' >&2; exit 1"
        version = "echo 'QEMU emulator version 10.0.13 (Debian)'"
        emulator.write_text(f'#!/bin/sh\n[ "$1" = --version ] && {version} && exit\n{refuses}\n')
        emulator.chmod(0o755)
        self.refused(*TWO, "--qemu", str(emulator), says=["cannot load the plugin", "teiji lab fetch qemu"])


if __name__ == "__main__":
    main()
