# SPDX-License-Identifier: MIT OR Apache-2.0
"""Phases: the same run with its timers shifted; each exact and repeatable by its number, and all of them together judged as one run."""

import json
import math
import re
import shlex
import subprocess

from lab import TEIJI, Lab, check, document, latencies, long, main, sample_hashes

VANILLA, RT = "debian:amd64", "debian:rt-amd64"
BOTH = ("-k", VANILLA, "-k", RT)
SAMPLES, PHASES = 300, 3


def nearest_rank(values, share):
    """The value of this quantile, as docs/method.md defines it."""
    return sorted(values)[max(math.ceil(len(values) * share - 1e-9), 1) - 1]


class Phases(Lab):
    def teiji(self, *words, code=0):
        """Another verb than lab, to its end."""
        done = subprocess.run([TEIJI, *words], cwd=self.folder, capture_output=True, text=True, check=False)
        self.assertEqual(done.returncode, code, done.stdout + done.stderr)
        return done.stdout

    def run_again(self, command, output):
        """The command that was named, with the recording in this folder; the hash of its samples."""
        words = shlex.split(command)
        self.assertEqual(words[:3], ["teiji", "lab", "run"])
        self.lab(*words[2:], "-q", "-o", output)
        (recording,) = (self.folder / output).iterdir()
        return sample_hashes(recording)

    @long
    def test_under_hackbench(self):
        words = ("run", "-q", *BOTH, "--load", "hackbench,groups=1", "-n", str(SAMPLES))
        told = json.loads(self.lab(*words, "--phases", str(PHASES), "--json", "-o", "out").stdout)
        self.assertEqual(len(told["recordings"]), 2 * PHASES)
        self.lab(*words, "-o", "without")
        for pool, flavour in zip(told["pools"], ("amd64", "rt-amd64"), strict=True):
            with self.subTest(flavour):
                found = {number: self.the(f"out/debian-{flavour}-*-phase-{number}.teiji") for number in range(1, PHASES + 1)}
                check(self, *found.values())
                for number, recording in found.items():
                    self.assertEqual(document(recording)["run"]["phase"], number)
                without = self.the(f"without/debian-{flavour}-*.teiji")
                self.assertNotIn("phase", document(without)["run"])
                hashes = [json.dumps(sample_hashes(recording)) for recording in (*found.values(), without)]
                self.assertEqual(len(set(hashes)), PHASES + 1, "phases that are the same")
                # Threads and loads start elsewhere, not only later by what the order's bytes move.
                starts = {document(recording)["threads"][0]["start_ns"] % 1_000_000 for recording in found.values()}
                self.assertEqual(len(starts), PHASES)
                self.figures(pool, found)
                worst = pool["phases"]["worst"]
                expected = sample_hashes(found[worst["phase"]])
                self.assertEqual(self.run_again(worst["command"], f"again-{flavour}"), expected)
        self.judged_together()

    def figures(self, pool, found):
        """What is said of all phases together, from their samples laid end to end."""
        of_each = {number: latencies(recording) for number, recording in found.items()}
        together = [latency for samples in of_each.values() for latency in samples]
        counts = [document(recording)["threads"][0]["activations"] for recording in found.values()]
        for name in ("due", "late", "skipped"):
            self.assertEqual(pool[name], sum(count[name] for count in counts))
        self.assertEqual(pool["due"], SAMPLES * PHASES)
        self.assertNotIn(None, together)
        self.assertEqual((pool["min_ns"], pool["max_ns"]), (min(together), max(together)))
        self.assertAlmostEqual(pool["mean_ns"], sum(together) / len(together), places=6)
        for name, share in (("p50_ns", 0.5), ("p90_ns", 0.9), ("p99_ns", 0.99)):
            self.assertEqual(pool[name], nearest_rank(together, share), name)
        maxima = {number: max(samples) for number, samples in of_each.items()}
        phases = pool["phases"]
        self.assertEqual({one["phase"]: one["max_ns"] for one in phases["of_each"]}, maxima)
        self.assertEqual(
            [phases[name] for name in ("smallest_max_ns", "median_max_ns", "largest_max_ns")],
            [min(maxima.values()), nearest_rank(maxima.values(), 0.5), max(maxima.values())],
        )
        self.assertEqual(phases["worst"]["max_ns"], max(maxima.values()))
        self.assertEqual(of_each[phases["worst"]["phase"]][phases["worst"]["activation"]], max(maxima.values()))

    def judged_together(self):
        """A folder's phases are one run for every verb."""
        shown = json.loads(self.teiji("show", "out", "--json"))["combinations"]
        self.assertEqual([row["n"] for row in shown], [SAMPLES * PHASES] * 2)
        self.assertEqual([row["phases"]["count"] for row in shown], [PHASES] * 2)
        self.assertEqual([row["caveats"] for row in shown], [[], []])
        gate = json.loads(self.teiji("gate", "out", "--limit", "max<1ms", "--json"))
        self.assertEqual(len(gate["limits"]), 2)
        self.assertTrue(all(limit["recording"].endswith("-phase-*.teiji") for limit in gate["limits"]), gate)
        # p99.9 needs 1,000 activations: 900 are not enough, and 300 were not either.
        self.assertIn(f"{SAMPLES * PHASES} activations: too few", self.teiji("gate", "out", "--limit", "p99.9<1ms", code=3))
        (compared,) = json.loads(self.teiji("compare", "out", "--json"))
        self.assertEqual(compared["factor"], "kernel")
        differs = [fact["fact"] for fact in compared["compared"]["comparisons"][0]["differs"]]
        self.assertFalse([name for name in differs if "hase" in name], differs)
        self.teiji("report", "out", "-o", "page.html")

    def test_a_phase_is_made_again(self):
        output = self.lab("run", "-q", "-k", VANILLA, "--load", "cpu@50%", "-n", "100", "--phases", "2", "--repeat", "2", "--verify-identical", "-o", "out").stdout
        self.assertRegex(output, r"debian:amd64=\S+: 2 repeats of each of 2 phases, identical samples")
        self.assertEqual(len(list((self.folder / "out").iterdir())), 4)
        # A copy adds nothing.
        self.assertRegex(output, r"debian-amd64-\S+\s+200 ")
        output = self.lab("rerun", "-q", self.the("out/*-phase-2-1.teiji")).stdout
        self.assertIn("made again, 100 identical samples", output)

    @long
    def test_kernels_are_bisected_by_phases(self):
        words = ("bisect", "-q", "--kernels", f"{RT},{VANILLA}", "-n", "50", "--phases", "2", "--limit", "p50<1ns", "-o", "out")
        output = self.lab(*words).stdout
        self.assertRegex(output, r"debian:rt-amd64=\S+ exceeds p50<1ns")
        self.assertRegex(output, r"Maxima of 2 phases from [\d.]+ to [\d.]+ µs")
        self.assertRegex(output, r"\n  teiji lab run -k debian:rt-amd64=\S+ -n 50 (--boot-timeout \S+ )?--phase [12]\n")
        self.assertEqual(sorted(path.name for path in (self.folder / "out").iterdir()), ["01-phase-1.teiji", "01-phase-2.teiji"])

    @long
    def test_a_plan_with_phases(self):
        text = f'[measure]\nkernel = "{VANILLA}"\nsamples = 50\nboot-timeout = "900s"\n[vary]\nphase = "1..2"\n[limits]\nmax = "1ms"\n'
        (self.folder / "plan.toml").write_text(text)
        self.teiji("run", "-q", "plan.toml", "-o", "plan")
        table = json.loads(self.teiji("show", "plan", "--json"))
        (row,) = table["combinations"]
        self.assertEqual((row["n"], row["runs"], row["factors"], row["beyond"]), (100, 2, {}, []))
        shown = self.teiji("show", "plan")
        self.assertNotIn("~", shown)
        self.assertTrue(re.search(r"Maxima of 2 phases.*Again:\n  teiji lab rerun plan/\S*phase=[12].teiji", shown, re.DOTALL), shown)


if __name__ == "__main__":
    main()
