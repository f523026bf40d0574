# SPDX-License-Identifier: MIT OR Apache-2.0
"""The 20 worst wake-ups of two CPUs under loads, explained to the ns: test_several_cpus.py has those under hackbench. A virtual
second takes some minutes here.
"""

from explained import Explaining
from lab import long, main
from test_worst_of_loads import WorstOfLoads


@long
class TwoCpus(WorstOfLoads, Explaining):
    cpus = 2
    words = ("--smp", "2", "-n", "50", "--warmup", "20ms", "--settle", "50ms")
    runs = [("debian:amd64", "mem-alloc"), ("debian:rt-amd64", "fork"), ("debian:amd64", "disk")]
    rows = []


if __name__ == "__main__":
    main()
