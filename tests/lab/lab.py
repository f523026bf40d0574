# SPDX-License-Identifier: MIT OR Apache-2.0
"""What the tests of the lab share: the program as a process, what it leaves behind, its samples read by others, and how a
module of tests is run: python3 tests/lab/test_NAME.py [--long] [CLASS[.TEST]...]

Without names a module runs its tests of `make test`, or with --long those that only `make test-all` runs: see `long`.
"""

import fcntl
import hashlib
import json
import os
import re
import resource
import shutil
import signal
import subprocess
import sys
import time
import unittest
from pathlib import Path

import pyarrow

ROOT = Path(__file__).resolve().parents[2]
TEIJI = Path(os.environ["TEIJI"]).resolve()
ORACLE = ROOT / "tests" / "outside" / "check_recording.py"
# Of one command; a test that takes longer has found a hang. Beside other stages guests have only the time that these leave.
PATIENCE_S = 1800
# Of what happens at once on a quiet machine, and is looked for again and again until then.
SOON_S = 120
# Of a kernel that boots while loads of other stages take both CPUs.
BOOT_TIMEOUT = ("--boot-timeout", "900s")


class Ended:
    """A command that has ended."""

    def __init__(self, words, code, stdout, stderr):
        self.words = " ".join(str(word) for word in words)
        self.code = code
        self.stdout = stdout
        self.stderr = stderr

    def __str__(self):
        return f"{self.words}\nended with {self.code}\n{self.stdout}\n{self.stderr}"


def skip(test, need, reason):
    """Ends a test that cannot be run here, and says so where scripts/test.sh counts; `need` is a name of .ci/lacks."""
    if listed := os.environ.get("TEIJI_SKIPPED_TESTS"):
        with open(listed, "a") as file:
            file.write(f"{test.id()}\t{need}\t{reason}\n")
    raise unittest.SkipTest(reason)


def long(test):
    """Leaves a test, or all of a class, to `make test-all`: for what is long and of which `make test` has a smaller one."""
    test.long = True
    return test


def soon(is_so, timeout=SOON_S):
    """Waits until it is so; whether it came to that."""
    deadline = time.monotonic() + timeout
    while not (so := is_so()) and time.monotonic() < deadline:
        time.sleep(0.02)
    return so


class Lab(unittest.TestCase):
    """A test with a folder of its own, in which everything has to stay and nothing may be left running."""

    def id(self):
        """With the module's name also where the module was started as a program."""
        return super().id().replace("__main__.", f"{Path(sys.argv[0]).stem}.", 1)

    def setUp(self):
        module, _, name = self.id().split(".")
        self.folder = Path(os.environ["TEIJI_LAB_TESTS"]) / module.removeprefix("test_") / name
        shutil.rmtree(self.folder, ignore_errors=True)
        self.scratch = self.folder / "scratch"
        self.scratch.mkdir(parents=True)
        self.environment = os.environ | {"TMPDIR": str(self.scratch)}

    def tearDown(self):
        self.assertEqual(self.processes(), [], "processes are left")
        self.assertEqual(os.listdir(self.scratch), [], "files are left")

    def needs_kvm(self):
        """For a test that needs a /dev/kvm, whether KVM works or not."""
        if not os.access("/dev/kvm", os.R_OK | os.W_OK):
            skip(self, "kvm", "there is no /dev/kvm to be opened")

    def processes(self):
        """Ids of processes at work in this test's folder for temporary files: guests of the lab."""
        found = []
        for process in Path("/proc").glob("[0-9]*"):
            try:
                if Path(os.readlink(process / "cwd")).is_relative_to(self.scratch):
                    found.append(int(process.name))
            except OSError:
                pass
        return found

    def start(self, *words, **more):
        """Starts teiji lab. Guests may take long to boot, unless the words say how long."""
        boots = words[0] in ("run", "rerun", "bisect", "exec", "search") and BOOT_TIMEOUT[0] not in words
        return subprocess.Popen(
            [TEIJI, "lab", *words, *(BOOT_TIMEOUT if boots else ())],
            cwd=self.folder,
            env=self.environment | more,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            # A shell that starts the tests behind itself has them ignore it, and their children too.
            preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),
        )

    def lab(self, *words, code=0, **more):
        """teiji lab to its end, which is to come with this exit code."""
        return self.end(self.start(*words, **more), code)

    def end(self, process, code):
        """Waits for a process, which is to end with this exit code."""
        try:
            stdout, stderr = process.communicate(timeout=PATIENCE_S)
        except subprocess.TimeoutExpired:
            process.terminate()
            stdout, stderr = process.communicate()
            self.fail(f"{Ended(process.args, 'a hang', stdout, stderr)}")
        ended = Ended(process.args, process.returncode, stdout, stderr)
        self.assertEqual(ended.code, code, str(ended))
        return ended

    def the(self, pattern):
        (recording,) = self.folder.glob(pattern)
        return recording

    def recorded(self, *words, output="rec.teiji"):
        """A copy of the recording that teiji lab run makes of these words: made once for all tests that want the same."""
        shared = Path(os.environ["TEIJI_LAB_TESTS"]) / "recorded"
        shared.mkdir(exist_ok=True)
        # By the program that makes it, and any that goes into the guest.
        programs = [sha256(path) for path in (TEIJI, *words) if os.path.isfile(path)]
        kept = shared / hashlib.sha256(json.dumps([*programs, *words]).encode()).hexdigest()[:16]
        with open(f"{kept}.lock", "w") as lock:
            # Modules run beside one another.
            fcntl.flock(lock, fcntl.LOCK_EX)
            if not kept.exists():
                self.lab("run", "-q", *words, "-o", "recorded")
                (self.folder / "recorded").rename(kept)
        (recording,) = kept.iterdir()
        return shutil.copytree(recording, self.folder / output)

    def refused(self, *words, says, output="out", **more):
        """teiji lab run that has to come to nothing: exit code 4, these words on standard error, and no recording."""
        ended = self.lab("run", "--quiet", "-n", "100", "-o", output, *words, code=4, **more)
        self.assertTrue(ended.stderr.startswith("error: "), str(ended))
        for part in says:
            self.assertRegex(ended.stderr, part, str(ended))
        self.assertFalse((self.folder / output).exists(), "a recording is left")
        return ended


def document(recording):
    """What run.json says."""
    return json.loads((recording / "run.json").read_text())


def latencies(recording, thread=0, column="latency_ns"):
    """The samples of a thread, ns, as any other reader gets them."""
    with pyarrow.OSFile(str(recording / f"samples-{thread}.arrows")) as file, pyarrow.ipc.open_stream(file) as stream:
        return stream.read_all().column(column).to_pylist()


def largest(recording, thread=0):
    """Of the samples of a thread, ns. An activation that was skipped has none."""
    return max(latency for latency in latencies(recording, thread) if latency is not None)


def sha256(path):
    """Of a file."""
    return hashlib.sha256(Path(path).read_bytes()).hexdigest()


def sample_hashes(recording):
    """Of all its sample files, by name."""
    return {path.name: sha256(path) for path in sorted(recording.glob("samples-*"))}


def check(test, *recordings):
    """Every figure of these recordings, recomputed by other means."""
    words = [sys.executable, ORACLE, *recordings]
    done = subprocess.run(words, capture_output=True, text=True, check=False)
    test.assertEqual(done.returncode, 0, done.stdout + done.stderr)


def program(processor):
    """Flags that name the program just built for another processor, by TEIJI_AARCH64 and the like."""
    return ["--program", str(Path(os.environ[f"TEIJI_{processor.upper()}"]).resolve())]


def with_libraries(name):
    """Flags that bring a program of this machine into a guest, with the libraries it is loaded with."""
    path = shutil.which(name)
    output = subprocess.run(["ldd", path], capture_output=True, text=True, check=True).stdout
    return [flag for file in (path, *re.findall(r"(/\S+) \(0x", output)) for flag in ("--file", file)]


class Timed(unittest.TextTestResult):
    """Says what each test took, and writes it down where scripts/test.sh counts: TEIJI_TEST_TIMES, TEIJI_STAGE."""

    def startTest(self, test):
        super().startTest(test)
        self.began = time.monotonic(), cpu_time_of_children()

    def stopTest(self, test):
        super().stopTest(test)
        took = [now - then for now, then in zip((time.monotonic(), cpu_time_of_children()), self.began, strict=True)]
        print(f"   {test.id()}: {took[0]:.1f} s, CPU time {took[1]:.1f} s", flush=True)
        if listed := os.environ.get("TEIJI_TEST_TIMES"):
            with open(listed, "a") as file:
                file.write(f"{os.environ['TEIJI_STAGE']}\t{test.id()}\t{took[0]:.2f}\t{took[1]:.2f}\n")


def cpu_time_of_children():
    """Of all that have ended, and of theirs, seconds."""
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


class Marked(unittest.TestLoader):
    """Finds the tests that are marked with @long, or those that are not."""

    def __init__(self, long):
        super().__init__()
        self.long = long

    def getTestCaseNames(self, case):
        names = super().getTestCaseNames(case)
        return [name for name in names if self.long == (hasattr(case, "long") or hasattr(getattr(case, name), "long"))]


def main():
    """Runs the tests of the module that was started."""
    words = sys.argv[1:]
    module = sys.modules["__main__"]
    if names := [word for word in words if word != "--long"]:
        suite = unittest.TestLoader().loadTestsFromNames(names, module)
    else:
        suite = Marked("--long" in words).loadTestsFromModule(module)
    sys.exit(not unittest.TextTestRunner(resultclass=Timed).run(suite).wasSuccessful())
