# SPDX-License-Identifier: MIT OR Apache-2.0
"""Guests on the host's clock: several CPUs, KVM, boards; nothing of theirs is the same twice."""

import os
import subprocess
from shutil import which

from lab import TEIJI, Lab, check, document, latencies, long, main, program

VANILLA, RT = "debian:amd64", "debian:rt-amd64"


class Isolated(Lab):
    def test_an_isolated_cpu_is_measured(self):
        # The kernel keeps everything, teiji too, away from it unless it is asked for; see also test_booted.py.
        words = ["--time", "host", "--smp", "2", "--append", "isolcpus=1", "-a", "1", "-i", "5ms", "-n", "100", "-o", "out"]
        self.lab("run", "-q", "-k", VANILLA, *words)
        described = document(next((self.folder / "out").iterdir()))
        self.assertEqual(described["threads"][0]["cpu"], 1)
        self.assertEqual(described["host"]["before"]["isolated_cpus"], "1")

    @long
    def test_arguments_unknown_to_the_kernel(self):
        # It hands them on to its first process.
        self.lab("run", "-q", "-k", VANILLA, "--append", "unheard-of", "-n", "50", "-o", "out")


class HostTime(Lab):
    def test_several_cpus(self):
        words = ["run", "-q", "-k", RT, "--time", "host", "--smp", "2", "-i", "5ms", "-n", "200", "-o", "out"]
        output = self.lab(*words).stdout
        self.assertIn("they cannot be repeated", output)
        recording = next((self.folder / "out").iterdir())
        check(self, recording)
        self.assertEqual([len(latencies(recording, thread)) for thread in range(2)], [200, 200])
        self.assertFalse(document(recording)["lab"]["deterministic"])
        self.assertIn("on the host's clock", self.lab("rerun", "-q", recording, code=2).stderr)

    @long
    def test_kvm_where_it_works(self):
        self.needs_kvm()
        # An emulator that takes itself for KVM: what the lab sees where KVM works. To be tried out, it has no initramfs.
        folder = self.folder / "bin"
        folder.mkdir()
        emulator = folder / "qemu-system-x86_64"
        emulator.write_text(
            "#!/bin/bash\n"
            'case "$*" in *-kernel*) [[ "$*" = *-initrd* ]] || { echo booted >console; exit 0; } ;; esac\n'
            "words=()\n"
            'for word; do case $word in kvm) word=tcg ;; host) word=max ;; esac; words+=("$word"); done\n'
            f"exec {which('qemu-system-x86_64')} \"${{words[@]}}\"\n"
        )
        emulator.chmod(0o755)
        words = ["-k", VANILLA, "--qemu", "system", "--time", "host", "-i", "5ms", "-n", "50", "-o", "out"]
        ended = self.lab("run", *words, PATH=f"{folder}:{os.environ['PATH']}")
        self.assertNotIn("Without KVM", ended.stderr)
        recording = next((self.folder / "out").iterdir())
        self.assertEqual(document(recording)["lab"]["accelerator"], "kvm")


@long
class RaspberryPi(Lab):
    def test_a_raspberry_pi_3b(self):
        board = ["-k", "debian:arm64", "--machine", "raspi3b", *program("aarch64")]
        output = self.lab("run", "-q", *board, "-n", "1000", "-o", "out").stdout
        print("   " + output.replace("\n", "\n   ").rstrip())
        recording = next((self.folder / "out").iterdir())
        check(self, recording)
        described = document(recording)
        self.assertFalse(described["lab"]["deterministic"])
        self.assertEqual(described["lab"]["guest"]["time"], {"mode": "host"})
        for thread in described["threads"]:
            self.assertEqual(len(latencies(recording, thread["index"])), 1_000)
        page = self.folder / "report.html"
        subprocess.run([TEIJI, "report", recording, "-o", page], check=True, capture_output=True)
        self.assertIn("raspi3b", page.read_text())


if __name__ == "__main__":
    main()
