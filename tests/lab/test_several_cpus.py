# SPDX-License-Identifier: MIT OR Apache-2.0
"""Two CPUs in virtual time: the same samples each time, each CPU as fast as the other, whatever that one does, and the worst explained."""

import json
import shutil
import statistics
import unittest

from explained import Explaining
from lab import check, document, latencies, sample_hashes

VANILLA = "debian:amd64"
TWO = ("--smp", "2", "-k", VANILLA)
OWN_LOADS = ("--load", "hackbench,groups=2,cpus=0", "--load", "hackbench,groups=2,cpus=1")
# A load that begins soon, and little time before measuring: a virtual second takes minutes.
BRIEF, LOAD = ("--warmup", "20ms"), "hackbench,groups=2"
# Of the same figure where the other CPU does something else.
WITHIN = 0.05


def figures(recording, thread):
    """Mean and median, which rest on more than an activation or two."""
    ranked = sorted(latency for latency in latencies(recording, thread) if latency is not None)
    return statistics.mean(ranked), ranked[len(ranked) // 2]


class SeveralCpus(Explaining):
    def run_two(self, output, *words):
        """A recording of 100 activations on each of two CPUs."""
        which = ("--smp", "2") if "-k" in words else TWO
        self.lab("run", "-q", *which, "--settle", "50ms", "-n", "100", "-o", output, *words)
        return next((self.folder / output).iterdir())

    def assert_about(self, measured, expected):
        for one, other in zip(measured, expected, strict=True):
            self.assertLess(abs(one / other - 1), WITHIN, f"{measured} {expected}")

    def test_each_cpu_has_what_it_has_alone(self):
        both = self.run_two("both", *OWN_LOADS)
        check(self, both)
        self.assertEqual(document(both)["lab"]["ns_per_instruction"], 2)
        self.assertTrue(document(both)["lab"]["deterministic"])
        for cpu in range(2):
            alone = self.run_two(f"alone-{cpu}", *OWN_LOADS[2 * cpu : 2 * cpu + 2])
            self.assert_about(figures(both, cpu), figures(alone, cpu))
        again = self.run_two("again", *OWN_LOADS)
        self.assertEqual(sample_hashes(again), sample_hashes(both))

    def test_idle_cpus_are_as_fast_as_one_of_the_same_rate(self):
        two = self.run_two("two")
        self.lab("run", "-q", "-k", VANILLA, "--mips", "500", "--append", "idle=poll", "-n", "100", "-o", "one")
        one = next((self.folder / "one").iterdir())
        for cpu in range(2):
            self.assert_about(figures(two, cpu), figures(one, 0))

    def explained(self, recording, threads):
        """The 20 worst, each of them checked."""
        explained = json.loads(self.explain(recording, "--worst", "20", "--json").stdout)
        self.assertEqual(len(explained["accounts"]), 20)
        self.check_accounts(recording, explained, threads)
        for account in explained["accounts"]:
            for part in account["parts"]:
                self.assertEqual("other_cpu" in part, part["kind"] == "other-cpu", part)
        return explained

    def test_the_worst_of_two_cpus_are_explained(self):
        for kernel in (VANILLA, "debian:rt-amd64"):
            with self.subTest(kernel=kernel):
                recording = self.run_two(kernel.replace(":", "-"), "-k", kernel, "--load", LOAD, *BRIEF)
                explained = self.explained(recording, 2)
                self.assertEqual({account["thread"] for account in explained["accounts"]}, {0, 1})

    def test_what_isolcpus_takes_away(self):
        """The worst of a CPU that hackbench runs on, and of the same one left alone: what the first has and the other lacks."""
        explained = {}
        for name, words in (
            ("shared", ("--load", LOAD)),
            ("isolated", ("--append", "isolcpus=1", "--load", f"{LOAD},cpus=0")),
        ):
            recording = self.run_two(name, "-a", "1", *words, *BRIEF)
            explained[name] = self.explained(recording, 1)["accounts"]
        shared, isolated = (explained[name][0]["latency_ns"] for name in ("shared", "isolated"))
        self.assertGreater(shared, 2 * isolated, explained)
        tasks = {part["task"] for account in explained["isolated"] for part in account["parts"]}
        self.assertNotIn("load-hackbench", tasks)
        tasks = {part["task"] for account in explained["shared"] for part in account["parts"]}
        self.assertIn("load-hackbench", tasks)

    def test_others_are_refused(self):
        for words, says in (
            (("--smp", "3"), "only two CPUs of x86_64"),
            (("--smp", "2", "--mips", "1000"), "at most 500"),
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


if __name__ == "__main__":
    unittest.main()
