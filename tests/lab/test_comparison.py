# SPDX-License-Identifier: MIT OR Apache-2.0
"""Vanilla kernels and PREEMPT_RT side by side, for three processors."""

import subprocess
from statistics import quantiles

from lab import Lab, check, document, largest, latencies, long, main, program, sha256

VANILLA, RT = "debian:amd64", "debian:rt-amd64"


@long
class Comparison(Lab):
    def compare(self, vanilla, rt, samples, *more):
        """Both kernels under hackbench; their recordings."""
        words = ["run", "--quiet", "-k", vanilla, "-k", rt, "--load", "hackbench", "-n", str(samples), "-o", "out", *more]
        output = self.lab(*words).stdout
        print("   " + output.replace("\n", "\n   ").rstrip())
        found = sorted((self.folder / "out").iterdir(), key=lambda path: "-rt-" in path.name)
        self.assertEqual(len(found), 2)
        check(self, *found)
        for recording in found:
            lab = document(recording)["lab"]
            self.assertEqual(len(latencies(recording)), samples)
            self.assertEqual(lab["kernel"]["image"]["sha256"], sha256(lab["kernel"]["image"]["path"]))
            self.assertEqual(lab["program"]["sha256"], sha256(lab["program"]["path"]))
            # Its program, and what else is needed to start that.
            line = lab["qemu"]["command_line"]
            words = [*line[: line.index("-nodefaults")], "--version"]
            version = subprocess.run(words, capture_output=True, text=True, check=True)
            self.assertIn(f"version {lab['qemu']['version']}\n", version.stdout)
            console = (recording / "console.log").read_text(errors="replace")
            self.assertIn("Linux version ", console)
            self.assertIn("icount", " ".join(lab["qemu"]["command_line"]))
        self.assertRegex(output, "[Vv]irtual")
        return found

    def test_two_kernels(self):
        vanilla, rt = self.compare(VANILLA, RT, 1_000)
        self.assertLess(largest(rt), largest(vanilla), "PREEMPT_RT's maximum")
        self.assertLess(quantiles(latencies(rt), n=100)[98], quantiles(latencies(vanilla), n=100)[98], "PREEMPT_RT's p99")

    def test_two_kernels_on_aarch64(self):
        # Here the vanilla kernel's maximum is one of a few activations in thousands, and the next program may have others.
        self.compare("debian:arm64", "debian:rt-arm64", 1_000, *program("aarch64"))

    def test_two_kernels_on_armv7(self):
        self.compare("debian:armmp", "debian:rt-armmp", 300, *program("armv7"))


if __name__ == "__main__":
    main()
