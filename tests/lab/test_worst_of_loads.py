# SPDX-License-Identifier: MIT OR Apache-2.0
"""The 20 worst wake-ups of each kernel under each of four loads: explained to the ns. It ends with a table of what the worst of
each was. Two CPUs are in test_worst_of_two_cpus.py.
"""

import json

from explained import Explaining
from lab import check, long, main

KERNELS = ("debian:amd64", "debian:rt-amd64")
LOADS = ("hackbench", "mem-alloc", "fork", "disk")
WORST = 20
# With interrupts on, the timer's comes this long after the time it is set for: steps of its own clock, ns.
TIMER_NS = range(40, 80)


class WorstOfLoads:
    """What both have in common."""

    cpus = 1
    words = ()
    runs = [(kernel, load) for kernel in KERNELS for load in LOADS]
    rows = []

    @classmethod
    def tearDownClass(cls):
        print("kernel          load       latencies  largest, µs  cause")
        for kernel, load, worst_ns, count, cause in cls.rows:
            print(f"{kernel:<15} {load:<10} {count:>9}  {worst_ns / 1000:>11.3f}  {cause}")

    def explained(self, kernel, load):
        """Explains a run's 20 worst, and checks each of them."""
        name = f"{kernel.split(':')[1]}-{load}-{self.cpus}"
        self.lab("run", "--quiet", "-k", kernel, "--load", load, *self.words, "-o", name)
        recording = next((self.folder / name).iterdir())
        check(self, recording)
        explained = json.loads(self.explain(recording, "--worst", str(WORST), "--json", "--svg", f"{name}.svg").stdout)
        self.assertEqual(len(explained["accounts"]), WORST)
        self.check_accounts(recording, explained, self.cpus)
        for account in explained["accounts"]:
            first = account["parts"][0]
            if self.cpus == 1 and first["kind"] == "timer-pending" and account["parts"][1]["kind"] == "hard-interrupt":
                # Each instruction since was counted once: one more or less would move it.
                self.assertIn(first["length_ns"], TIMER_NS, account)
        for cause in explained["causes"]:
            function = f" in {cause['function']}" if cause["function"] else ""
            what = f"{cause['kind']}{function}, {cause['worst_part_ns'] / 1000:.3f} µs of the largest"
            self.rows.append((kernel, load, cause["worst_ns"], cause["count"], what))

    def test_each_kernel_under_each_load(self):
        for kernel, load in self.runs:
            with self.subTest(kernel=kernel, load=load):
                self.explained(kernel, load)


@long
class OneCpu(WorstOfLoads, Explaining):
    words = ("-n", "500")


if __name__ == "__main__":
    main()
