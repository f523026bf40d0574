# SPDX-License-Identifier: MIT OR Apache-2.0
"""The QEMU that the lab brings along: fetched as it has to be, noticed where it is not, and named where it is another."""

import fcntl
import json
import os
import re
import shutil
import subprocess
from pathlib import Path

from lab import ROOT, TEIJI, Lab, document, long, main, sample_hashes, skip

KERNEL = "debian:amd64"
TABLE = (ROOT / "crates" / "lab" / "src" / "pinned.txt").read_text()
VERSION = re.search(r"^version (\S+)$", TABLE, re.MULTILINE)[1]
# A port on which nobody listens, as a proxy: no network.
OFFLINE = {"http_proxy": "http://127.0.0.1:9", "https_proxy": "http://127.0.0.1:9"}


class Qemu(Lab):
    def setUp(self):
        super().setUp()
        self.cache = self.folder / "cache" / "teiji"
        self.cache.mkdir(parents=True)
        # The kernels of all tests, and no QEMU.
        (self.cache / "kernels").symlink_to(Path(os.environ["XDG_CACHE_HOME"]).resolve() / "teiji" / "kernels")
        self.environment["XDG_CACHE_HOME"] = str(self.folder / "cache")

    def fetched(self, part="qemu"):
        """The folder of a part that was fetched: it is the only one there."""
        (found,) = self.cache.joinpath("qemu").glob(f"{part}-[0-9]*")
        return found

    def copy(self):
        """Brings the QEMU of all tests into this cache."""
        (found,) = (Path(os.environ["XDG_CACHE_HOME"]) / "teiji" / "qemu").glob("qemu-[0-9]*")
        shutil.copytree(found, self.cache / "qemu" / found.name)
        return self.cache / "qemu" / found.name

    def run_here(self, *words, output="out", **more):
        """A small run; what it printed, and its recording."""
        ended = self.lab("run", "-k", KERNEL, "-n", "100", "-o", output, *words, **more)
        (recording,) = (self.folder / output).iterdir()
        return ended, recording


class Fetching(Qemu):
    def test_a_fresh_cache(self):
        output = self.lab("fetch", "qemu").stdout
        folder = self.fetched()
        self.assertEqual(output.strip(), f"qemu: {folder}")
        self.assertTrue(folder.name.startswith(f"qemu-{VERSION}-"), folder)
        files = {str(path.relative_to(folder)) for path in folder.rglob("*") if path.is_file()}
        for expected in ("qemu-system-x86_64", "lib/ld-linux-x86-64.so.2", "lib/libc.so.6", "share/bios-256k.bin", "share/linuxboot_dma.bin"):
            self.assertIn(expected, files)
        self.assertTrue(all(re.fullmatch(r"qemu-system-x86_64|lib/[^/]+\.so[.\w]*|share/[\w-]+\.bin", file) for file in files), files)
        # Nothing else is left, and each library that the program is loaded with is one of these.
        self.assertLessEqual({path.name for path in folder.parent.iterdir()}, {folder.name, ".lock", ".apt"})
        loader = [folder / "lib" / "ld-linux-x86-64.so.2", "--inhibit-cache", "--library-path", folder / "lib", "--list", folder / "qemu-system-x86_64"]
        loaded = subprocess.run(loader, capture_output=True, text=True, check=True).stdout
        self.assertEqual([path for path in re.findall(r"=> (\S+) \(", loaded) if not path.startswith(f"{folder}/lib/")], [])
        # A second time nothing is downloaded.
        self.assertNotIn("downloading", self.lab("fetch", "qemu", **OFFLINE).stderr)

    @long
    def test_the_emulators_of_other_machines(self):
        self.lab("fetch", "qemu-arm")
        folder = self.fetched("qemu-arm")
        self.assertTrue((folder / "qemu-system-aarch64").is_file() and (folder / "qemu-system-arm").is_file())
        self.assertEqual(list(self.cache.joinpath("qemu").glob("qemu-[0-9]*")), [])

    @long
    def test_a_run_fetches_it_by_itself(self):
        ended, recording = self.run_here()
        self.assertIn("qemu: downloading Debian 13's QEMU", ended.stderr)
        qemu = document(recording)["lab"]["qemu"]
        self.assertEqual(qemu["origin"], "pinned")
        self.assertTrue(qemu["version"].startswith(f"{VERSION} "), qemu)
        folder = self.fetched()
        self.assertEqual(qemu["command_line"][0], str(folder / "lib" / "ld-linux-x86-64.so.2"))
        self.assertEqual(qemu["command_line"][4:7], [str(folder / "qemu-system-x86_64"), "-L", str(folder / "share")])

    def test_a_killed_fetch_leaves_nothing_for_long(self):
        process = self.start("fetch", "qemu")
        while "downloading" not in process.stderr.readline():
            self.assertIsNone(process.poll())
        process.kill()
        process.communicate()
        parts = list(self.cache.joinpath("qemu").glob(".part-*"))
        self.assertEqual(len(parts), 1, parts)
        self.lab("fetch", "qemu")
        self.assertEqual(list(self.cache.joinpath("qemu").glob(".part-*")), [])
        self.fetched()

    def test_two_at_once(self):
        both = [self.start("fetch", "qemu") for _ in range(2)]
        printed = [self.end(process, 0) for process in both]
        self.assertEqual(sum("downloading" in ended.stderr for ended in printed), 1, [str(ended) for ended in printed])

    def test_a_full_disk(self):
        # 40 MiB: room for the packages, and not for what is in them. It is mounted where only this shell sees it.
        (self.folder / "full").mkdir()
        script = 'mount -t tmpfs -o size=40m none full || exit 77; XDG_CACHE_HOME=$PWD/full "$0" lab fetch qemu; code=$?; ls -A full/teiji/qemu; exit $code'
        namespace = ["unshare", "--mount", *(["--map-root-user"] if os.geteuid() else [])]
        done = subprocess.run([*namespace, "sh", "-c", script, TEIJI], cwd=self.folder, env=self.environment, capture_output=True, text=True, check=False)
        if done.returncode in (1, 77):
            skip(self, "mount", f"no file system can be mounted: {done.stderr}")
        self.assertEqual(done.returncode, 4, done.stderr)
        self.assertRegex(done.stderr, "cannot be had: .*No space left on device")
        self.assertLessEqual(set(done.stdout.split()), {".lock", ".apt"})


class Damaged(Qemu):
    def test_it_is_fetched_anew_or_not_used(self):
        folder = self.copy()
        program = folder / "share" / "bios-256k.bin"
        whole = program.read_bytes()
        # One bit of the firmware.
        program.write_bytes(whole[:1000] + bytes([whole[1000] ^ 1]) + whole[1001:])
        self.assertRegex(self.lab("kernels").stdout, rf"{folder.name} .* damaged")
        refused = self.lab("run", "-q", "-k", KERNEL, "-n", "100", "-o", "out", "--qemu", "pinned", code=4, **OFFLINE)
        self.assertIn(f"the lab's own QEMU {VERSION} cannot be had", refused.stderr)
        self.assertFalse((self.folder / "out").exists())
        self.assertIn("is damaged and is fetched anew", self.lab("fetch", "qemu").stderr)
        self.assertEqual(program.read_bytes(), whole)
        self.assertEqual(self.fetched(), folder)

    def test_a_file_that_is_gone(self):
        folder = self.copy()
        (folder / "lib" / "libfdt.so.1").unlink()
        self.assertIn("is damaged and is fetched anew", self.lab("fetch", "qemu").stderr)
        self.assertTrue((folder / "lib" / "libfdt.so.1").is_file())


class Another(Qemu):
    @long
    def test_without_network_the_systems_is_used_and_named(self):
        # Also where no progress is shown: the figures are others.
        ended, recording = self.run_here("-q", **OFFLINE)
        self.assertRegex(ended.stderr, rf"Guests run in this system's QEMU \S+ .*and not in {VERSION}, .*: Failed to fetch http")
        self.assertEqual(document(recording)["lab"]["qemu"]["origin"], "system")
        page = self.folder / "report.md"
        subprocess.run([TEIJI, "report", recording, "--md", page, "-o", self.folder / "report.html"], capture_output=True, check=True)
        self.assertIn(", the system's", page.read_text())
        self.lab("run", "-q", "-k", KERNEL, "-n", "100", "-o", "refused", "--qemu", "pinned", code=4, **OFFLINE)

    def test_without_any(self):
        empty = self.folder / "empty"
        empty.mkdir()
        error = self.lab("run", "-q", "-k", KERNEL, "-n", "100", "-o", "out", code=4, PATH=str(empty), **OFFLINE).stderr
        self.assertRegex(error, f"qemu-system-x86_64 is not on this machine.*The lab's own QEMU {VERSION} cannot be had either: Failed to fetch")

    @long
    def test_each_kind_says_what_it_is_and_is_made_again(self):
        self.copy()
        recordings = {}
        for kind, qemu in (("pinned", "pinned"), ("system", "system"), ("path", shutil.which("qemu-system-x86_64"))):
            _, recordings[kind] = self.run_here("-q", "--qemu", qemu, output=kind)
            self.assertEqual(document(recordings[kind])["lab"]["qemu"]["origin"], kind)
        self.assertEqual(sample_hashes(recordings["system"]), sample_hashes(recordings["path"]))
        # Recordings that do not tell are older than this: made in the system's.
        described = document(recordings["system"])
        del described["lab"]["qemu"]["origin"]
        (recordings["system"] / "run.json").write_text(json.dumps(described))
        # Where the cache lies is no difference.
        elsewhere = self.folder / "elsewhere"
        elsewhere.mkdir()
        self.cache.rename(elsewhere / "teiji")
        for kind, recording in recordings.items():
            again = f"again-{kind}.teiji"
            # A path is not taken from a recording.
            named = ("--qemu", shutil.which("qemu-system-x86_64")) if kind == "path" else ()
            output = self.lab("rerun", "-q", recording, *named, "-o", again, XDG_CACHE_HOME=str(elsewhere)).stdout
            self.assertIn("made again, 100 identical samples", output)
            self.assertNotIn("differs", output)
            self.assertEqual(document(self.folder / again)["lab"]["qemu"]["origin"], kind)

    @long
    def test_a_plan_goes_on_with_the_one_it_began_with(self):
        (self.folder / "plan.toml").write_text(f'[measure]\nsamples = 50\nkernel = "{KERNEL}"\nboot-timeout = "900s"\n[vary]\nload = ["none", "cpu@50%"]\n')
        words = [TEIJI, "run", "-q"]
        begun = subprocess.run([*words, "plan.toml", "-o", "out"], cwd=self.folder, env=self.environment | OFFLINE, capture_output=True, text=True, check=True)
        self.assertEqual(begun.stderr.count("Guests run in this system's QEMU"), 1, begun.stderr)
        first, second = sorted((self.folder / "out").glob("*.teiji"))
        shutil.rmtree(second)
        # Now it could be had.
        self.copy()
        subprocess.run([*words, "--resume", "out"], cwd=self.folder, env=self.environment, capture_output=True, text=True, check=True)
        for recording in (first, second):
            self.assertEqual(document(recording)["lab"]["qemu"]["origin"], "system")

    @long
    def test_a_plan_sets_and_varies_it(self):
        self.copy()
        (self.folder / "plan.toml").write_text(f'[measure]\nsamples = 50\nkernel = "{KERNEL}"\nboot-timeout = "900s"\n[vary]\nqemu = ["pinned", "system"]\n')
        subprocess.run([TEIJI, "run", "-q", "plan.toml", "-o", "out"], cwd=self.folder, env=self.environment, capture_output=True, text=True, check=True)
        found = [document(path)["lab"]["qemu"]["origin"] for path in sorted((self.folder / "out").glob("*.teiji"))]
        self.assertEqual(found, ["pinned", "system"])


@long
class Everywhere(Qemu):
    def test_debian_13_makes_the_same_samples(self):
        if os.geteuid():
            skip(self, "mount", "only root may change into another system")
        folder = self.folder / "debian-13"
        words = [ROOT / "scripts" / "qemu-on-debian-13.sh", TEIJI, folder]
        done = subprocess.run(words, env=self.environment, capture_output=True, text=True, check=False)
        shutil.rmtree(folder, ignore_errors=True)
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        self.assertIn("made again, 300 identical samples", done.stdout)
        self.assertNotIn("differs", done.stdout)


class Contents(Qemu):
    def test_what_the_cache_holds_is_listed_and_removed(self):
        folder = self.copy()
        output = self.lab("kernels").stdout
        self.assertRegex(output, rf"(?m)^{re.escape(folder.name)} +\d\d\.\d  x86_64, QEMU {VERSION}, default$")
        self.assertRegex(output, r"(?m)^debian:amd64=\S+ +\d+\.\d  x86_64, PREEMPT")
        self.assertIn(f"To remove all: rm -r {self.cache}", output)
        self.assertIn("the cache has no 'nothing'; it has: debian:", self.lab("kernels", "--remove", "nothing", code=2).stderr)
        self.assertRegex(self.lab("kernels", "--remove", folder.name).stdout, rf"^Removed {re.escape(folder.name)}, \d\d\.\d MiB$")
        self.assertFalse(folder.exists())
        self.assertNotIn("QEMU", self.lab("kernels").stdout)

    def test_nothing_is_removed_while_something_is_fetched(self):
        folder = self.copy()
        with open(self.cache / "qemu" / ".lock", "w") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
            process = self.start("kernels", "--remove", folder.name)
            self.assertIn("waiting for another teiji", process.stderr.readline())
            self.assertTrue(folder.exists())
        self.end(process, 0)
        self.assertFalse(folder.exists())


if __name__ == "__main__":
    main()
