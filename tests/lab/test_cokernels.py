# SPDX-License-Identifier: MIT OR Apache-2.0
"""Probes of co-kernels, and the choice of one, on kernels with Cobalt and with EVL, and on one without. Those with one are
TEIJI_COBALT_KERNEL and TEIJI_EVL_KERNEL, images that boot without PCI and with a serial console."""

import json
import os
import re
import shutil
import subprocess

from lab import TEIJI, Lab, check, document, main, sample_hashes, skip, with_libraries

# Eight virtual ns an instruction: with fewer the timer comes before the planned time, by the core's gravity.
SLOW = ("--mips", "125")


class NoCoKernel(Lab):
    def test_without_a_co_kernel_nothing_changes(self):
        hashes = []
        for name, probe in (("named", ["--probe", "cyclic"]), ("chosen", [])):
            self.lab("run", "-q", "-k", "debian:amd64", "-n", "200", *probe, "-o", name)
            (recording,) = (self.folder / name).iterdir()
            self.assertEqual(document(recording)["run"]["probe"], "cyclic")
            self.assertNotIn("co_kernel", document(recording)["instrument"])
            hashes.append(sample_hashes(recording))
        self.assertTrue(hashes[0])
        self.assertEqual(hashes[0], hashes[1])


class OnACore:
    """What holds for each core: its name, its probe, where its image is, and the kernel argument that stops it."""

    def kernel(self):
        path = os.environ.get(f"TEIJI_{self.probe.upper()}_KERNEL")
        if not path:
            skip(self, f"{self.probe}-kernel", f"no {self.name} kernel given")
        return ("-k", path, *SLOW)

    def test_threads_measure_on_the_core_and_stay_there(self):
        kernel = self.kernel()
        words = ["run", "-q", *kernel, "-i", "1ms", "-n", "5000"]
        ended = self.lab(*words, "--repeat", "2", "--verify-identical", "-o", "out")
        self.assertIn("2 repeats, identical samples", ended.stdout)
        recordings = sorted((self.folder / "out").iterdir())
        check(self, *recordings)
        shown = subprocess.run([TEIJI, "show", recordings[0]], capture_output=True, text=True, check=True).stdout
        self.assertRegex(shown, rf"SCHED_FIFO 90 on {self.name} [^,]*\(ABI\s+revision \d+,\s+gravity [^)]*\),\s+beside\s+Linux")
        for recording in recordings:
            described = document(recording)
            self.assertEqual((described["run"]["probe"], described["probe"]["name"]), (self.probe, self.probe))
            core = described["instrument"]["co_kernel"]
            self.assertEqual((core["name"], core["chosen"]), (self.name, True))
            thread = described["threads"][0]
            self.assertEqual(thread["activations"], {"due": 5_000, "on_time": 5_000, "late": 0, "skipped": 0})
            self.assertEqual((thread["evidence"]["fallen_back"], thread["evidence"]["samples_lost"]), (0, 0))
            self.assertNotIn("fell-back", [warning["code"] for warning in described["warnings"]])
            self.assertTrue(2_000 < thread["latency_ns"]["mean"] < 30_000, thread["latency_ns"])
            self.assertLess(thread["latency_ns"]["max"], 2 * thread["latency_ns"]["mean"])

    def test_linux_in_the_same_boot_is_slower(self):
        measure = "/teiji measure -q --json --probe auto,cyclic -t 1 -n 1000 -o /tmp/both"
        ended = self.lab("exec", *self.kernel(), "--run", measure)
        # An array among other lines.
        (core, linux), _ = json.JSONDecoder().raw_decode(ended.stdout[re.search(r"^\[", ended.stdout, re.MULTILINE).start() :])
        self.assertEqual((core["run"]["probe"], linux["run"]["probe"]), (self.probe, "cyclic"))
        self.assertNotIn("co_kernel", linux["instrument"])
        self.assertEqual([one["threads"][0]["activations"]["on_time"] for one in (core, linux)], [1_000, 1_000])
        latencies = [one["threads"][0]["latency_ns"] for one in (core, linux)]
        self.assertGreater(latencies[1]["p50"], 2 * latencies[0]["p50"])
        self.assertGreater(latencies[1]["min"], latencies[0]["max"])

    def test_a_run_whose_probe_was_chosen_is_made_again(self):
        self.lab("run", "-q", *self.kernel(), "-n", "500", "-o", "out")
        (recording,) = (self.folder / "out").iterdir()
        self.assertTrue(document(recording)["lab"]["probe_left_open"])
        self.assertIn("500 identical samples", self.lab("rerun", "-q", recording).stdout)

    def test_a_thread_that_is_stopped_has_fallen_back(self):
        """By SIGSTOP and SIGCONT in mid-run, which a core need not count by itself."""
        shell, sleep = shutil.which("dash"), shutil.which("sleep")
        measure = "/teiji measure -q -t 1 -i 1ms -n 800 --json -o /tmp/x"
        script = f"{measure} & p=$!; {sleep} 0.4; kill -STOP $p; {sleep} 0.05; kill -CONT $p; wait $p"
        files = {word: None for word in (*with_libraries("dash"), *with_libraries("sleep")) if word != "--file"}
        words = ["exec", *self.kernel(), *(word for file in files for word in ("--file", file))]
        ended = self.lab(*words, "--run", f"{shell} -c '{script}'")
        described, _ = json.JSONDecoder().raw_decode(ended.stdout[re.search(r"^\{", ended.stdout, re.MULTILINE).start() :])
        (thread,) = described["threads"]
        activations = thread["activations"]
        self.assertGreater(activations["skipped"], 30)
        self.assertEqual(activations["due"], activations["on_time"] + activations["late"] + activations["skipped"])
        self.assertGreaterEqual(thread["evidence"]["fallen_back"], 1)
        self.assertIn("fell-back", [warning["code"] for warning in described["warnings"]])

    def test_both_stages_in_one_table(self):
        ended = self.lab("run", "-q", *self.kernel(), "-n", "200", "--probe", f"{self.probe},cyclic", "-o", "both")
        self.assertIn("Recordings: both/", ended.stdout)
        names = sorted(path.stem.rsplit("-", 1)[-1] for path in (self.folder / "both").iterdir())
        self.assertEqual(names, ["cobalt", "cyclic"] if self.probe == "cobalt" else ["cyclic", "evl"])

    def test_a_core_that_refuses_is_not_passed_over(self):
        kernel = self.kernel()
        stopped = ("--append", f"{self.stopped}=stopped")
        for probe in ((), ("--probe", self.probe)):
            self.refused(*kernel, *stopped, *probe, says=[f"{self.name} is stopped", f"{self.stopped}=stopped"])
        self.refused(*kernel, *stopped, says=["--probe cyclic"])
        self.lab("run", "-q", *kernel, *stopped, "--probe", "cyclic", "-n", "100", "-o", "linux")
        # One that was not started at all is not there.
        self.lab("run", "-q", *kernel, "--append", f"{self.stopped}=disabled", "-n", "100", "-o", "none")
        for name in ("linux", "none"):
            (recording,) = (self.folder / name).iterdir()
            self.assertEqual(document(recording)["run"]["probe"], "cyclic")

    def test_a_user_without_permission_is_refused(self):
        setpriv = "/usr/bin/setpriv --reuid 1000 --regid 1000 --clear-groups"
        words = ["exec", *self.kernel(), *with_libraries("setpriv")]
        ended = self.lab(*words, "--run", f"{setpriv} /teiji measure -q -t 1 -n 100 -o /tmp/core", code=1)
        self.assertIn("exit code 4", ended.stdout + ended.stderr)
        self.assertIn(f"{self.name} does not permit it", ended.stdout + ended.stderr)
        self.assertIn("--probe cyclic", ended.stdout + ended.stderr)


class Cobalt(OnACore, Lab):
    name, probe, stopped = "Cobalt", "cobalt", "xenomai.state"

    def test_a_timer_file_is_the_longer_way(self):
        means = []
        for way in ("absolute", "timerfd"):
            self.lab("run", "-q", *self.kernel(), "-n", "1000", "--probe", "cobalt", "--sleep", way, "-o", way)
            (recording,) = (self.folder / way).iterdir()
            check(self, recording)
            (thread,) = document(recording)["threads"]
            self.assertEqual(thread["activations"], {"due": 1_000, "on_time": 1_000, "late": 0, "skipped": 0})
            self.assertEqual((thread["evidence"]["fallen_back"], thread["evidence"]["samples_lost"]), (0, 0))
            means.append(thread["latency_ns"]["mean"])
        # By some 140 instructions at 8 ns each.
        self.assertTrue(500 < means[1] - means[0] < 4_000, means)

    def test_intervals_near_the_latency(self):
        """A timer that is set when its time has come is not waited for."""
        for interval in ("50us", "30us"):
            self.lab("run", "-q", *self.kernel(), "-i", interval, "-n", "500", "--probe", "cobalt", "--sleep", "timerfd", "-o", interval)
            (recording,) = (self.folder / interval).iterdir()
            check(self, recording)
            (thread,) = document(recording)["threads"]
            self.assertGreater(thread["activations"]["on_time"], 490, thread["activations"])
            self.assertTrue(5_000 < thread["latency_ns"]["p50"] < 25_000, thread["latency_ns"])
            self.assertGreater(thread["latency_ns"]["min"], 0)


class Evl(OnACore, Lab):
    name, probe, stopped = "EVL", "evl", "evl.state"


if __name__ == "__main__":
    main()
