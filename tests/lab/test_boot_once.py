# SPDX-License-Identifier: MIT OR Apache-2.0
"""Guests that boot once: every run continues from the same snapshot, and whatever happens to it, figures stay what they are."""

import json
import os
import shutil
import signal
import subprocess
import time
from pathlib import Path

from lab import Lab, document, long, main, sample_hashes, skip

KERNEL = "debian:amd64"
# More processes than one pair: of what follows the snapshot, this depends on most.
RUN = ("run", "-q", "-k", KERNEL, "--load", "hackbench,groups=2", "--settle", "0", "-n", "60")


class BootOnce(Lab):
    def setUp(self):
        super().setUp()
        # Kernels and QEMU of the cache of all tests, snapshots of its own.
        self.cache = self.folder / "cache" / "teiji"
        self.cache.mkdir(parents=True)
        for name in ("kernels", "qemu"):
            (self.cache / name).symlink_to(Path(os.environ["XDG_CACHE_HOME"]) / "teiji" / name)
        self.environment["XDG_CACHE_HOME"] = str(self.cache.parent)
        self.made = 0

    def run_once(self, *more, words=RUN):
        """The recording of a run."""
        self.made += 1
        output = f"out-{self.made}"
        self.lab(*words, *more, "-o", output)
        return next((self.folder / output).iterdir())

    def snapshots(self):
        return sorted((self.cache / "snapshots").glob("snapshot-*"))

    def booted_at(self):
        """When the snapshots were made."""
        return [(path / "snapshot.qcow2").stat().st_mtime_ns for path in self.snapshots()]

    def test_every_run_continues_from_the_same_instruction(self):
        first = self.run_once()
        self.assertEqual(len(self.snapshots()), 1)
        made = self.booted_at()
        self.assertEqual(sample_hashes(self.run_once()), sample_hashes(first))
        self.assertEqual(self.booted_at(), made, "it was booted again")
        about = json.loads((self.snapshots()[0] / "about.json").read_text())
        self.assertEqual(document(first)["lab"]["snapshot"]["key"], about["key"])
        self.assertIn("Linux version", (first / "console.log").read_text(), "what was printed before the snapshot")
        # Another task, from the same snapshot.
        other = self.run_once(words=("run", "-q", "-k", KERNEL, "-n", "20"))
        self.assertEqual(self.booted_at(), made)
        self.assertNotEqual(document(other)["lab"]["snapshot"]["task_sha256"], document(first)["lab"]["snapshot"]["task_sha256"])
        name = f"snapshot-{about['key'][:12]}"
        self.assertIn(name, self.lab("kernels").stdout)
        self.lab("kernels", "--remove", name)
        self.assertEqual(self.snapshots(), [])
        self.assertEqual(sample_hashes(self.run_once()), sample_hashes(first), "of a snapshot that was made anew")

    @long
    def test_a_guest_is_saved_under_idle_scheduling(self):
        # Waking preempts nothing there: the main loop heard too late, in each trial, that the guest had stopped.
        if os.geteuid() != 0:
            skip(self, "root", "only root leaves SCHED_IDLE")
        words = ("run", "-q", "-k", KERNEL, "-n", "20")
        first = self.run_once(words=words)
        shutil.rmtree(self.snapshots()[0])
        os.sched_setscheduler(0, os.SCHED_IDLE, os.sched_param(0))
        try:
            again = self.run_once(words=words)
        finally:
            os.sched_setscheduler(0, os.SCHED_OTHER, os.sched_param(0))
        self.assertEqual(sample_hashes(again), sample_hashes(first))

    @long
    def test_a_damaged_snapshot_is_made_anew(self):
        words = ("run", "-q", "-k", KERNEL, "-n", "20")
        first = sample_hashes(self.run_once(words=words))
        disk = self.snapshots()[0] / "snapshot.qcow2"
        with open(disk, "r+b") as file:
            file.seek(disk.stat().st_size // 2)
            byte = file.read(1)
            file.seek(-1, os.SEEK_CUR)
            file.write(bytes([byte[0] ^ 1]))
        made = self.booted_at()
        self.assertEqual(sample_hashes(self.run_once(words=words)), first)
        self.assertNotEqual(self.booted_at(), made)
        # Whole by its hashes, and of no machine that QEMU knows.
        about = self.snapshots()[0] / "about.json"
        disk.write_bytes(b"QFI\xfb and nothing else")
        digest = subprocess.run(["sha256sum", disk], capture_output=True, text=True, check=True).stdout.split()[0]
        about.write_text(json.dumps(json.loads(about.read_text()) | {"disk_sha256": digest}))
        self.assertEqual(sample_hashes(self.run_once(words=words)), first)
        self.assertGreater(disk.stat().st_size, 1 << 20)

    @long
    def test_killed_while_it_is_saved(self):
        words = ("run", "-q", "-k", KERNEL, "-n", "20")
        process = self.start(*words, "-o", "killed")
        # QEMU writes the image in one go, once the guest has stopped.
        deadline = time.monotonic() + 900
        while time.monotonic() < deadline and process.poll() is None:
            if any(image.stat().st_size > 1 << 20 for image in self.scratch.glob("*/snapshot.qcow2")):
                break
            time.sleep(0.005)
        process.send_signal(signal.SIGKILL)
        process.communicate()
        self.assertEqual(process.returncode, -signal.SIGKILL)
        while self.processes():
            time.sleep(0.05)
        first = sample_hashes(self.run_once(words=words))
        self.assertEqual(len(self.snapshots()), 1)
        self.assertEqual(list((self.cache / "snapshots").glob(".part-*")), [])
        self.assertEqual(sample_hashes(self.run_once(words=words)), first)

    @long
    def test_each_emulator_has_its_own(self):
        words = ("run", "-q", "-k", KERNEL, "-n", "20")
        self.run_once(words=words)
        recorded = document(self.run_once("--qemu", "system", words=words))["lab"]
        self.assertEqual(recorded["qemu"]["origin"], "system")
        self.assertEqual(len(self.snapshots()), 2)

    @long
    def test_a_full_disk(self):
        words = ("run", "-q", "-k", KERNEL, "-n", "20")
        small = self.cache / "snapshots"
        small.mkdir()
        subprocess.run(["mount", "-t", "tmpfs", "-o", "size=20m", "tmpfs", small], check=True)
        try:
            # It cannot be kept, and the run is what it would be.
            self.run_once(words=words)
            self.assertEqual([path.name for path in small.iterdir() if path.is_dir()], [])
        finally:
            subprocess.run(["umount", small], check=True)
        subprocess.run(["mount", "-t", "tmpfs", "-o", "size=40m", "tmpfs", self.scratch], check=True)
        try:
            ended = self.lab(*words, "-o", "full", code=4)
            self.assertRegex(ended.stderr, "cannot save the booted guest|No space left", str(ended))
            self.assertFalse((self.folder / "full").exists())
        finally:
            subprocess.run(["umount", self.scratch], check=True)

    def test_a_guest_that_cannot_stop_boots_for_each_run(self):
        ended = self.lab("run", "-k", KERNEL, "--append", "lockdown=integrity", "-n", "20", "-o", "locked")
        self.assertIn("boots for each run: it cannot be saved, since it may not use I/O ports", ended.stderr)
        self.assertIsNone(document(next((self.folder / "locked").iterdir()))["lab"]["snapshot"])
        self.assertEqual(self.snapshots(), [])


if __name__ == "__main__":
    main()
