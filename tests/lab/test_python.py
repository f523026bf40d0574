# SPDX-License-Identifier: MIT OR Apache-2.0
"""The Python module in the lab: phases measured, and the worst latency explained, by its functions."""

import os
import subprocess
import sys

from lab import BOOT_TIMEOUT, PATIENCE_S, ROOT, TEIJI, Lab, latencies, main

CODE = f"""
import teiji
one, *more = teiji.lab.run("runs", samples=200, phases=11, warmup="0", boot_timeout="{BOOT_TIMEOUT[1]}")
assert [run.run["phase"] for run in (one, *more)] == list(range(1, 12)), "in their order"
explained = teiji.explain(one, boot_timeout="{BOOT_TIMEOUT[1]}")
assert explained["accounts"][0]["latency_ns"] == one.max.ns, explained
assert (one.max <= teiji.ns(one.max.ns)) and not one.max < teiji.ns(one.max.ns)
print(one.path, one.max.ns)
"""


class Python(Lab):
    def test_phases_and_the_worst_of_one_explained(self):
        # What a wheel puts into PATH.
        environment = self.environment | {
            "PATH": f"{TEIJI.parent}:{os.environ['PATH']}",
            "PYTHONPATH": str(ROOT / "packaging" / "python"),
        }
        words = [sys.executable, "-B", "-c", CODE]
        done = subprocess.run(words, cwd=self.folder, env=environment, capture_output=True, text=True, timeout=PATIENCE_S, check=False)
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        path, largest = done.stdout.split()
        self.assertEqual(max(latencies(self.folder / path)), int(largest))


if __name__ == "__main__":
    main()
