# SPDX-License-Identifier: MIT OR Apache-2.0
"""What the emulator's process may do on this machine, seen from outside, and recordings that want more than they may have."""

import contextlib
import json
import os
import shutil
import socket
import subprocess
import tempfile
import time
from pathlib import Path

from lab import BOOT_TIMEOUT, PATIENCE_S, TEIJI, Lab, document, main, sample_hashes, skip

KERNEL = "debian:amd64"


class Confined(Lab):
    def emulator(self, process):
        """The process of the first guest, once it has worked for half a second: by then it is QEMU, and executes its guest."""
        deadline = time.monotonic() + 900
        while time.monotonic() < deadline and process.poll() is None:
            for pid in self.processes():
                with contextlib.suppress(OSError):
                    fields = Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()
                    if int(fields[11]) + int(fields[12]) > os.sysconf("SC_CLK_TCK") / 2:
                        return pid
            time.sleep(0.02)
        self.fail("there is no emulator")

    def status(self, pid):
        """The fields of /proc/PID/status."""
        lines = Path(f"/proc/{pid}/status").read_text().splitlines()
        return dict(line.split(":\t", 1) for line in lines if ":\t" in line)

    def limits(self, pid):
        """The hard limits of a process, by name."""
        lines = Path(f"/proc/{pid}/limits").read_text().splitlines()[1:]
        return {line[:26].strip(): line[26:].split()[1] for line in lines}

    def test_an_emulator_has_what_it_needs_and_no_more(self):
        for qemu in ("pinned", "system"):
            with self.subTest(qemu):
                process = self.start("run", "--quiet", "-k", KERNEL, "--qemu", qemu, "-n", "100000", "-o", qemu)
                pid = self.emulator(process)
                status, limits = self.status(pid), self.limits(pid)
                self.assertEqual((status["Seccomp"], status["NoNewPrivs"]), ("2", "1"))
                self.assertEqual({status[name] for name in ("CapInh", "CapPrm", "CapEff", "CapAmb")}, {"0" * 16})
                self.assertEqual((limits["Max core file size"], limits["Max open files"]), ("0", "256"))
                self.assertEqual(int(limits["Max file size"]), (512 + 64) << 20)
                self.assertEqual(int(limits["Max address space"]), (512 << 20) + (6 << 30))
                self.assertNotIn("SHELL", Path(f"/proc/{pid}/environ").read_text())
                if os.geteuid() == 0:
                    self.is_alone(pid, status)
                process.terminate()
                self.end(process, 4)

    def is_alone(self, pid, status):
        """Of a user, with a network and with files of its own."""
        users = set(status["Uid"].split() + status["Gid"].split())
        self.assertEqual(users, {str(1_900_000_000 + pid)})
        self.assertEqual(status["Groups"].strip(), "")
        for kind in ("net", "mnt", "ipc"):
            self.assertNotEqual(os.readlink(f"/proc/{pid}/ns/{kind}"), os.readlink(f"/proc/self/ns/{kind}"))
        self.assertNotIn(":", "".join(Path(f"/proc/{pid}/net/dev").read_text().replace("lo:", "").splitlines()[2:]), "it has an interface")
        root = Path(f"/proc/{pid}/root")
        self.assertFalse((root / "etc" / "passwd").exists() or (root / "proc" / "self").exists() or (root / "home").exists())
        self.assertEqual(sorted(os.listdir(root / "dev")), ["null", "urandom"])
        (folder,) = self.scratch.iterdir()
        inside = set(os.listdir(root / folder.relative_to("/")))
        self.assertLessEqual(inside, {"console", "results", "initramfs", "task", "snapshot.qcow2", "plugin.so"})
        # Nothing of all that can be written but the guest's own files.
        self.assertRegex((Path(f"/proc/{pid}/mountinfo")).read_text().splitlines()[0], r" / / ro,")

    def stand_in(self, tries, user=None):
        """A run of a QEMU that makes these tries before it is one, by their names, and ends with the names of those that it could."""
        folder = self.folder / "bin"
        folder.mkdir()
        (folder / "secret").write_text("precious")
        qemu = folder / "qemu-system-x86_64"
        real = shutil.which(qemu.name)
        tried = "\n".join(f"{{ {words}; }} 2>/dev/null >&2 && found=\"$found {name}\"" for name, words in tries.items())
        qemu.write_text(f'#!/bin/bash\ncase "$*" in *--version*) exec {real} "$@" ;; esac\n{tried}\n[ -z "$found" ] || {{ echo "it could:$found" >&2; exit 1; }}\nexec {real} "$@"\n')
        qemu.chmod(0o755)
        words = ["run", "--quiet", "-k", KERNEL, "--qemu", str(qemu), "-n", "50", "-o", "out", *BOOT_TIMEOUT]
        if user is None:
            return self.lab(*words)
        kernel = self.folder / "vmlinuz"
        kernel.write_bytes((Path(os.environ["XDG_CACHE_HOME"]).resolve() / "teiji/kernels/debian/amd64/vmlinuz").read_bytes())
        words[3] = str(kernel)
        teiji = self.folder / "teiji"
        shutil.copy(TEIJI, teiji)
        for path in [self.folder, *self.folder.rglob("*")]:
            os.chown(path, user, user)
        reach = ["setpriv", f"--reuid={user}", f"--regid={user}", "--clear-groups"]
        environment = self.environment | {"XDG_CACHE_HOME": str(self.folder / "cache")}
        return subprocess.run([*reach, teiji, "lab", *words], cwd=self.folder, env=environment, capture_output=True, text=True, timeout=PATIENCE_S)

    def test_a_taken_emulator_finds_nothing(self):
        tries = {
            "cat": f"cat {self.folder}/bin/secret",
            "passwd": "cat /etc/passwd",
            "make": f"echo x >{self.folder}/made",
            "make-here": "echo x >made",
            "shm": "echo x >/dev/shm/made",
        }
        if os.geteuid() == 0:
            tries |= {"kill": "kill -0 1", "kill-test": f"kill -0 {os.getpid()}", "udp": "echo x >/dev/udp/127.0.0.1/9"}
        self.stand_in(tries)

    def test_an_ordinary_users_taken_emulator_reaches_nothing_of_that_user(self):
        if os.geteuid():
            skip(self, "root", "only root can become another user")
        # Where another user can go, wherever the tests lie; and a path of a socket is short.
        outside, place = Path(tempfile.mkdtemp()), Path(tempfile.mkdtemp())
        for folder in (outside, place):
            self.addCleanup(shutil.rmtree, folder)
        place.chmod(0o755)
        self.folder, self.scratch = place, place / "scratch"
        self.scratch.mkdir()
        self.environment["TMPDIR"] = str(self.scratch)
        (outside / "file").write_text("x")
        with socket.socket(socket.AF_UNIX) as listens:
            listens.bind(str(outside / "socket"))
            listens.listen()
            for path in [outside, *outside.iterdir()]:
                os.chown(path, 65534, 65534)
            sleeps = subprocess.Popen(["setpriv", "--reuid=65534", "--regid=65534", "--clear-groups", "sleep", "3600"])
            self.addCleanup(sleeps.wait)
            self.addCleanup(sleeps.kill)
            connect = "import socket; socket.socket(socket.AF_UNIX).connect"
            ended = self.stand_in(
                {
                    "see": f"test -e {outside}/file",
                    "see-secret": f"test -e {self.folder}/bin/secret",
                    "connect": f"python3 -c \"{connect}('{outside}/socket')\"",
                    "make-a-socket": 'python3 -c "import socket; socket.socket(socket.AF_UNIX)"',
                    "chmod": f"chmod 600 {outside}/file",
                    "chmod-its-own": "chmod 600 console",
                    "touch": f"touch -c -d 2001-01-01 {outside}/file",
                    "limit": f"prlimit --pid {sleeps.pid} --nofile=50:60",
                    "ioprio": f"ionice -c 3 -p {sleeps.pid}",
                    "memory": "ipcmk -M 4096",
                    "queue": "ipcmk -Q",
                },
                user=65534,
            )
        self.assertEqual((ended.returncode, ended.stderr), (0, ""), ended)

    def test_a_qemu_without_seccomp(self):
        qemu = self.folder / "qemu"
        refuses = "echo '-sandbox support is not enabled in this QEMU binary' >&2; exit 1"
        qemu.write_text(f'#!/bin/sh\ncase "$*" in *-sandbox*) {refuses} ;; esac\nexec {shutil.which("qemu-system-x86_64")} "$@"\n')
        qemu.chmod(0o755)
        ended = self.lab("run", "-k", KERNEL, "--qemu", str(qemu), "-n", "50", "-o", "out")
        self.assertIn("This QEMU was built without seccomp", ended.stderr)
        self.assertNotIn("-sandbox", document(self.the("out/*.teiji"))["lab"]["qemu"]["command_line"])

    def test_files_for_root_alone(self):
        if os.geteuid():
            skip(self, "root", "only root can have them")
        # A kernel as some distributions install it, and a folder nobody else may pass.
        closed = self.folder / "closed"
        closed.mkdir(mode=0o700)
        cached = Path(os.environ["XDG_CACHE_HOME"]).resolve() / "teiji" / "kernels" / "debian" / "amd64" / "vmlinuz"
        kernel = closed / "vmlinuz"
        kernel.write_bytes(cached.read_bytes())
        kernel.chmod(0o600)
        before = os.umask(0o077)
        self.addCleanup(os.umask, before)
        self.lab("run", "--quiet", "-k", str(kernel), "-n", "50", "-o", "out")

    def test_a_guest_that_fills_its_results(self):
        # A serial line takes a quarter of an hour for that many bytes.
        qemu = self.folder / "qemu"
        qemu.write_text(f'#!/bin/sh\ncase "$*" in *--version*) exec {shutil.which("qemu-system-x86_64")} "$@" ;; esac\nexec yes >results\n')
        qemu.chmod(0o755)
        says = ["QEMU was ended as it wrote more than 256 MiB into one file"]
        self.refused("-k", KERNEL, "--qemu", str(qemu), "--memory", "192", says=says)


class Again(Lab):
    def test_ordinary_recordings_are_made_again(self):
        recording = self.recorded("-k", KERNEL, "--load", "cpu@50%", "-n", "100")
        output = self.lab("rerun", "-q", recording, "-o", "again.teiji").stdout
        self.assertIn("made again, 100 identical samples", output)
        self.assertNotIn("What differs", output)
        self.assertEqual(sample_hashes(recording), sample_hashes(self.folder / "again.teiji"))

    def test_an_older_recording_is_the_same(self):
        recording = self.recorded("-k", KERNEL, "-n", "50")
        described = document(recording)
        words = described["lab"]["qemu"]["command_line"]
        place = words.index("-sandbox")
        described["lab"]["qemu"]["command_line"] = words[:place] + words[place + 2 :]
        (recording / "run.json").write_text(json.dumps(described))
        self.assertNotIn("What differs", self.lab("rerun", "-q", recording).stdout)

    def test_a_script_in_a_recording_is_not_run(self):
        recording = self.recorded("-k", KERNEL, "-n", "50")
        script = recording / "qemu.sh"
        script.write_text(f"#!/bin/sh\ntouch {self.folder}/mark\n")
        script.chmod(0o755)
        described = document(recording)
        described["lab"]["qemu"]["origin"] = "path"
        described["lab"]["qemu"]["command_line"][0] = str(script)
        (recording / "run.json").write_text(json.dumps(described))
        self.assertIn("the QEMU has to be named: --qemu FILE", self.lab("rerun", "-q", recording, code=2).stderr)
        self.assertFalse((self.folder / "mark").exists())
        self.assertIn("identical samples", self.lab("rerun", "-q", recording, "--qemu", "pinned").stdout)


if __name__ == "__main__":
    main()
