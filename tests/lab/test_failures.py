# SPDX-License-Identifier: MIT OR Apache-2.0
"""Kernels that do not come up, and emulators that go: each a clear error with exit code 4, and nothing left."""

import contextlib
import fcntl
import os
import signal
from pathlib import Path
from shutil import which

import images
from lab import Lab, long, main, soon

KERNEL = "debian:amd64"
# Of a guest that boots while others keep the machine busy.
BOOTED_S = 900


class Failures(Lab):
    def image(self, content):
        """A kernel's image with this content."""
        path = self.folder / "vmlinuz"
        path.write_bytes(content)
        return str(path)

    def debian(self, flavour="amd64"):
        """The image of a kernel in the cache."""
        return Path(os.environ["XDG_CACHE_HOME"]) / "teiji" / "kernels" / "debian" / flavour / "vmlinuz"

    def test_a_panic(self):
        self.refused("-k", KERNEL, "--append", "mem=40M", says=["the kernel panicked: ", "last lines:", "--memory"])

    def test_a_kernel_that_unpacks_no_initramfs(self):
        # What one without CONFIG_BLK_DEV_INITRD says; Debian's kernels all have it.
        text = b"[    0.9] List of all partitions:\r\n"
        text += b"[    1.0] Kernel panic - not syncing: VFS: Unable to mount root fs on unknown-block(0,0)\r\n"
        says = ["the kernel panicked: VFS: Unable to mount root fs", "CONFIG_BLK_DEV_INITRD", "List of all partitions"]
        self.refused("-k", self.image(images.kernel(text)), says=says)

    def test_a_kernel_without_serial_ports(self):
        self.refused("-k", KERNEL, "--append", "8250.nr_uarts=0", says=["no driver for this machine's serial lines"])

    def test_a_configuration_without_a_needed_option(self):
        self.image(self.debian().read_bytes())
        (self.folder / "vmlinuz").rename(self.folder / "vmlinuz-mine")
        (self.folder / "config-mine").write_text("CONFIG_64BIT=y\nCONFIG_SERIAL_8250_CONSOLE=y\n")
        self.refused("-k", str(self.folder / "vmlinuz-mine"), says=["CONFIG_BLK_DEV_INITRD"])

    def test_a_kernel_that_hangs(self):
        image = self.image(images.kernel(b"[    0.000000] Linux version 0.0 by hand\r\n[    0.000001] and no further\r\n"))
        says = ["did not finish booting in 10 s", "--boot-timeout", "last lines:\n.*by hand\n.*and no further"]
        self.refused("-k", image, "--boot-timeout", "10s", says=says)

    def test_a_kernel_that_says_nothing(self):
        says = ["printed nothing for 6 s", "serial", "--boot-timeout"]
        self.refused("-k", self.image(images.kernel()), "--boot-timeout", "6s", says=says)

    def test_a_kernel_that_panics_and_stands_still(self):
        text = b"[    0.1] before\r\n[    0.2] Kernel panic - not syncing: by hand\r\n"
        self.refused("-k", self.image(images.kernel(text)), says=["the kernel panicked: by hand", "before"])

    def test_a_kernel_for_another_processor(self):
        says = ["is for aarch64, and the machine x86_64 has x86_64", "--machine aarch64"]
        self.refused("-k", str(self.debian("arm64")), "--machine", "x86_64", says=says)

    def test_a_truncated_image(self):
        whole = self.debian().read_bytes()
        image = self.image(whole[: len(whole) // 2])
        self.refused("-k", image, says=["is truncated", rf"it has {len(whole) // 2}\. Copy it again"])

    def test_no_image_at_all(self):
        image = self.image(b"#!/bin/sh\n")
        self.refused("-k", image, says=["is not a bootable kernel"])
        # How long it takes was said first.
        ended = self.lab("exec", "-k", image, "--run", "/teiji", code=4)
        self.assertRegex(ended.stderr, r"\Aerror: \S+ is not a bootable kernel")

    def test_no_emulator(self):
        empty = self.folder / "empty"
        empty.mkdir()
        says = ["qemu-system-x86_64 is not on this machine", "apt-get install qemu-system-x86"]
        self.refused("-k", KERNEL, "--qemu", "system", says=says, PATH=str(empty))

    def test_an_emulator_that_does_not_run(self):
        folder = self.folder / "bin"
        folder.mkdir()
        (folder / "qemu-system-x86_64").write_text("#!/bin/sh\nexit 3\n")
        (folder / "qemu-system-x86_64").chmod(0o755)
        self.refused("-k", KERNEL, "--qemu", "system", says=["does not run", "3"], PATH=f"{folder}:{os.environ['PATH']}")

    def test_ctrl_c_while_a_kernel_is_waited_for(self):
        cache = self.folder / "cache" / "teiji" / "kernels" / "debian"
        cache.mkdir(parents=True)
        with open(cache / ".lock", "w") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
            for words in (["run", "-o", "out"], ["exec", "--run", "/teiji"]):
                process = self.start(*words, "-k", KERNEL, XDG_CACHE_HOME=str(self.folder / "cache"))
                self.addCleanup(process.kill)
                while "waiting for another teiji" not in process.stderr.readline():
                    self.assertIsNone(process.poll())
                process.send_signal(signal.SIGINT)
                soon(lambda: process.poll() is not None)
                self.assertEqual(process.poll(), -signal.SIGINT, words)
                process.communicate()
        self.assertFalse((self.folder / "out").exists())

    def test_ctrl_c_while_kvm_is_tried(self):
        self.needs_kvm()
        # An emulator that hangs with KVM, as there are machines on which it does.
        folder = self.folder / "bin"
        folder.mkdir()
        emulator = folder / "qemu-system-x86_64"
        emulator.write_text(f'#!/bin/sh\ncase "$*" in *"-accel kvm"*) exec sleep 3600 ;; esac\nexec {which(emulator.name)} "$@"\n')
        emulator.chmod(0o755)
        words = ["run", "--quiet", "-k", KERNEL, "--qemu", "system", "--time", "host", "-n", "50", "-o", "out"]
        process = self.start(*words, PATH=f"{folder}:{os.environ['PATH']}")
        soon(self.processes)
        process.send_signal(signal.SIGINT)
        soon(lambda: process.poll() is not None)
        self.assertIn("SIGINT", self.end(process, 4).stderr)

    def has_worked(self, pid):
        """Whether a process has used half a second of CPU time: by then QEMU executes its guest."""
        fields = Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()
        return int(fields[11]) + int(fields[12]) > os.sysconf("SC_CLK_TCK") / 2

    def guest(self, process):
        """The process id of a run's guest, once it continues from its snapshot, which is in its only folder. Before, it boots in
        another one, which goes with that boot."""

        def continues():
            # Anything may go just as it is looked at.
            with contextlib.suppress(OSError):
                (folder,) = self.scratch.iterdir()
                (pid,) = self.processes()
                return (folder / "task").stat().st_size and self.has_worked(pid) and pid

        def look():
            with contextlib.suppress(ValueError):
                return process.poll() is not None or continues()

        pid = soon(look, BOOTED_S)
        self.assertIsNone(process.poll(), "it has ended")
        self.assertTrue(pid, "no guest continues from a snapshot")
        return pid

    def test_an_emulator_that_is_killed(self):
        process = self.start("run", "--quiet", "-k", KERNEL, "-n", "100000", "-o", "out")
        os.kill(self.guest(process), signal.SIGKILL)
        ended = self.end(process, 4)
        self.assertRegex(ended.stderr, r"error: .*QEMU ended before the guest had sent its results \(signal: 9", str(ended))
        self.assertIn("last lines:", ended.stderr)
        self.assertFalse((self.folder / "out").exists(), "a recording is left")

    def test_an_emulator_that_is_asked_to_end(self):
        process = self.start("run", "--quiet", "-k", KERNEL, "-n", "100000", "-o", "out")
        os.kill(self.guest(process), signal.SIGTERM)
        self.assertRegex(self.end(process, 4).stderr, "QEMU ended before .* terminating on signal 15")

    @long
    def test_a_kernel_that_prints_for_ever(self):
        image = self.image(images.kernel(b"all work and no play\r\n" * 40, again=True))
        self.refused("-k", image, says=["printed more than 8 MiB", "last lines:", "no play"])

    def test_the_other_guest_goes_on(self):
        # Long enough that the first is still there when it is killed.
        process = self.start("run", "--quiet", "-k", KERNEL, "-k", "debian:rt-amd64", "-n", "1500", "-o", "out", "--jobs", "1")
        os.kill(self.guest(process), signal.SIGKILL)
        ended = self.end(process, 4)
        self.assertIn("QEMU ended", ended.stderr)
        self.assertEqual([path.name.split("-6")[0] for path in (self.folder / "out").iterdir()], ["debian-rt-amd64"])

    def test_ctrl_c(self):
        process = self.start("run", "--quiet", "-k", KERNEL, "-n", "100000", "-o", "out")
        self.guest(process)
        process.send_signal(signal.SIGINT)
        ended = self.end(process, 4)
        self.assertIn("SIGINT", ended.stderr)
        self.assertFalse((self.folder / "out").exists(), "a recording is left")

    def test_a_killed_lab_leaves_no_guest(self):
        process = self.start("run", "--quiet", "-k", KERNEL, "-n", "100000", "-o", "out")
        self.guest(process)
        process.kill()
        self.end(process, -signal.SIGKILL)
        soon(lambda: not self.processes())
        self.assertEqual(self.processes(), [], "a guest is left")
        self.assertEqual(list((self.folder / "out").iterdir()), [])
        # Files for the emulator cannot be removed by a program that was killed; no recording is among them.
        self.assertLessEqual(
            {path.name for path in self.scratch.glob("*/*")},
            {"console", "results", "complaints", "initramfs", "owner", "root", "snapshot.qcow2", "task"},
        )
        # The next one removes them, and not those of one that is alive.
        alive = self.start("run", "--quiet", "-k", KERNEL, "-n", "5000000", "-o", "alive")
        self.addCleanup(alive.kill)
        # In the only folder that is left.
        self.guest(alive)
        folders = os.listdir(self.scratch)
        self.lab("exec", "--quiet", "-k", KERNEL, "--run", "/teiji --version")
        self.assertEqual(os.listdir(self.scratch), folders)
        alive.send_signal(signal.SIGINT)
        self.end(alive, 4)


if __name__ == "__main__":
    main()
