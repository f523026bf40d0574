# SPDX-License-Identifier: MIT OR Apache-2.0
"""Every kind of row through the lab. The example probes are in test builds only, which are therefore on both sides: the tests'
own program here, and the one for other processors in the guest."""

import json
import os
import re
import shutil
import statistics
import subprocess
from pathlib import Path

from lab import BOOT_TIMEOUT, TEIJI, Lab, check, document, latencies, long, main, program, sample_hashes, skip

VANILLA = "debian:amd64"
PREEMPT_RT = "debian:rt-amd64"


class Probes(Lab):
    def repeated(self, teiji, *words, kernel=VANILLA):
        """The first of two recordings of the same run, which hold the same samples and agree with their figures."""
        words = ["lab", "run", "-q", "-k", kernel, *words, *BOOT_TIMEOUT, "--repeat", "2", "--verify-identical", "-o", "out"]
        output = self.run_well(teiji, *words)
        self.assertIn("2 repeats, identical samples", output)
        recordings = sorted((self.folder / "out").iterdir())
        self.assertEqual(len(recordings), 2)
        hashes = [sample_hashes(recording) for recording in recordings]
        self.assertTrue(hashes[0])
        self.assertEqual(hashes[0], hashes[1])
        check(self, *recordings)
        self.run_well(teiji, "verify", *recordings)
        return recordings[0]

    def run_well(self, teiji, *words):
        done = subprocess.run([teiji, *words], cwd=self.folder, env=self.environment, capture_output=True, text=True, check=False)
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        return done.stdout

    def test_activations_of_three_columns(self):
        recording = self.repeated_example("example-columns", "-n", "200")
        thread = document(recording)["threads"][0]
        self.assertEqual(thread["activations"], {"due": 200, "on_time": 200, "late": 0, "skipped": 0})
        second, parity = thread["columns"]
        self.assertEqual((parity["values"]["min"], parity["values"]["mean"], parity["values"]["max"]), (0, 0.5, 1))
        # Reading the clock takes some instructions.
        self.assertLess(thread["latency_ns"]["min"], second["values"]["min"])

    def repeated_example(self, probe, *words):
        return self.repeated(os.environ["TEIJI_EXAMPLES"], *program("aarch64"), "--probe", probe, *words, kernel="debian:arm64")

    def test_every_sleep_through_a_stall(self):
        # Once, 20 ms in which nothing of lower priority runs: at 1 ms, one activation late and 19 or 20 never run.
        stall = ["--load", 'cmd:"/teiji lab-init stall=1x20ms/300ms"', "--settle", "0"]
        medians = []
        for sleep in ("absolute", "relative", "poll", "timerfd", "signal", "itimer"):
            with self.subTest(sleep):
                shutil.rmtree(self.folder / "out", ignore_errors=True)
                recording = self.repeated(TEIJI, "--sleep", sleep, *stall, "-i", "1ms", "-n", "400")
                thread = document(recording)["threads"][0]
                self.assertTrue(19_000_000 <= thread["latency_ns"]["max"] < 20_100_000, thread["latency_ns"])
                late_by, skipped = thread["latency_ns"]["max"], thread["activations"]["skipped"]
                # What the kernel counts is what is due then. The clock is read a moment later, and what falls due in between runs in time.
                read_later = 2_000 if sleep in ("timerfd", "signal") else 0
                self.assertIn(skipped, (late_by // 1_000_000, (late_by - read_later) // 1_000_000))
                self.assertEqual(thread["activations"], {"due": 400, "on_time": 399 - skipped, "late": 1, "skipped": skipped})
                columns = {column["name"]: column["values"] for column in thread.get("columns", [])}
                self.assertEqual(list(columns), ["timer_overruns"] if sleep in ("timerfd", "signal") else [])
                for overruns in columns.values():
                    # The kernel's own count, of one row. All others awaited their expiry.
                    self.assertEqual((overruns["max"], overruns["p50"]), (skipped, 0))
                    self.assertAlmostEqual(overruns["mean"] * overruns["count"], skipped)
                self.assertTrue(2_000 < thread["latency_ns"]["p50"] < 10_000, thread["latency_ns"])
                medians.append(thread["latency_ns"]["p50"])
        # Each does more than the one before it between the interrupt and the clock read; what is left is computed alike.
        self.assertEqual(medians, sorted(medians))

    @long
    def test_interrupts_of_the_real_time_clock(self):
        spreads = {}
        for kernel in (VANILLA, PREEMPT_RT):
            for load in ((), ("--load", "hackbench")):
                with self.subTest(kernel=kernel, load=load):
                    shutil.rmtree(self.folder / "out", ignore_errors=True)
                    # Highest priority but one: under PREEMPT_RT above the handler of the interrupt, which runs in a thread.
                    recording = self.repeated(TEIJI, "--probe", "rtc", *load, "-p", "90", "-n", "200", kernel=kernel)
                    described = document(recording)
                    self.assertEqual((described["probe"]["quantity"], described["probe"]["period_ns"]), ("jitter", 976_562))
                    thread = described["threads"][0]
                    self.assertEqual(thread["activations"], {"due": 200, "on_time": 200, "late": 0, "skipped": 0})
                    # The clock runs by itself: however much intervals vary, they add up.
                    self.assertLess(abs(thread["latency_ns"]["mean"]), 100)
                    # From the 5th percentile to the 95th: one outlier decides a standard deviation.
                    low, *_, high = statistics.quantiles(latencies(recording, column="jitter_ns"), n=20)
                    spreads[kernel, bool(load)] = high - low
        self.assertTrue(200 < spreads[VANILLA, False] < 3_000, spreads)
        self.assertTrue(200 < spreads[PREEMPT_RT, False] < 4_500, spreads)
        self.assertGreater(spreads[VANILLA, True], 4 * spreads[VANILLA, False], spreads)
        self.assertGreater(spreads[VANILLA, True], 2 * spreads[PREEMPT_RT, True], spreads)

    def missed_interrupts(self, probe, period, *words):
        # Once, 20 ms in which the reader does not run. The device counts on.
        stall = ["--load", 'cmd:"/teiji lab-init stall=1x20ms/300ms"', "--settle", "0"]
        thread = document(self.repeated(TEIJI, "--probe", probe, *stall, "-n", "400", *words))["threads"][0]
        missed = thread["columns"][0]["values"]["max"]
        self.assertTrue(19 <= missed <= 21, thread["columns"])
        self.assertEqual(thread["activations"], {"due": 400, "on_time": 399 - missed, "late": 1, "skipped": missed})
        # One interval spans all periods that passed in it, and what it took to read.
        late = thread["latency_ns"]["max"]
        self.assertTrue(missed * period - 30_000 <= late <= missed * period + 1_000_000, (late, missed))

    def test_interrupts_of_the_real_time_clock_that_were_missed(self):
        self.missed_interrupts("rtc", 976_562)

    @long
    def test_interrupts_of_the_hpet_that_were_missed(self):
        printed = subprocess.run(["qemu-system-x86_64", "--version"], capture_output=True, text=True, check=True).stdout
        if int(re.search(r"version (\d+)", printed)[1]) >= 9:
            skip(self, "qemu-before-9", "the system's QEMU has an HPET that interrupts twice")
        self.missed_interrupts("hpet", 976_563, "--qemu", "system")

    def test_an_hpet_that_interrupts_twice_is_refused(self):
        self.refused("--probe", "hpet", "--qemu", "pinned", says=["HPET of QEMU 10", "twice", "--probe rtc"])

    def test_jobs_over_their_budget_are_throttled(self):
        # A runtime of 20 ms in each 100 ms: 10 ms fit, 50 ms are done in the third period, after 2 x 100 + 10 ms.
        for work, done_ms, ran in ((10, 10, 24), (50, 210, 8)):
            with self.subTest(work):
                shutil.rmtree(self.folder / "out", ignore_errors=True)
                job = ["--probe", "deadline", "--runtime", "20ms", "--work", f"{work}ms", "-i", "100ms", "-n", "24"]
                thread = document(self.repeated(TEIJI, *job, "--warmup", "0"))["threads"][0]
                self.assertEqual((thread["scheduling"]["policy"], thread["pinned"]), ("deadline", False))
                late = 0 if work == 10 else ran
                activations = {"due": 24, "on_time": ran - late, "late": late, "skipped": 24 - ran}
                self.assertEqual(thread["activations"], activations)
                on_cpu, done, cpu, over, missed = (column["values"] for column in thread["columns"])
                self.assertTrue(all(0 <= done[end] - done_ms * 1_000_000 < 20_000 for end in ("min", "max")), done)
                self.assertTrue(all(0 <= cpu[end] - work * 1_000_000 < 2_000 for end in ("min", "max")), cpu)
                self.assertEqual(on_cpu["max"], 0)
                for each in (over, missed):
                    self.assertEqual((each["min"], each["max"]), (int(late > 0), int(late > 0)))
                self.assertLess(thread["latency_ns"]["max"], 10_000)

    def gaps(self, *words, kernel=VANILLA):
        """When the gaps of a polling loop began, and how long they were, ns."""
        shutil.rmtree(self.folder / "out", ignore_errors=True)
        recording = self.repeated(TEIJI, "--probe", "noise", "-d", "2s", *words, kernel=kernel)
        lines = self.run_well(TEIJI, "export", recording, "--samples").splitlines()
        self.assertEqual(lines[0], "thread,cpu,event,time_ns,gap_ns")
        thread = document(recording)["threads"][0]
        self.assertTrue(1_799_000_000 < thread["polling"]["polled_ns"] < 1_801_000_000, thread["polling"])
        return [tuple(int(cell) for cell in line.split(",")[3:]) for line in lines[1:]]

    def test_a_hog_is_a_gap_of_its_length(self):
        self.a_hog_is_a_gap_of_its_length(VANILLA)

    @long
    def test_a_hog_is_a_gap_of_its_length_on_preempt_rt(self):
        self.a_hog_is_a_gap_of_its_length(PREEMPT_RT)

    def a_hog_is_a_gap_of_its_length(self, kernel):
        # The hog occupies the CPU from the expiry of its timer until the clock says that its length is over: that is the truth. Its way
        # back to sleep comes to that. What that takes is measured with hogs of next to no length, and not with those that are judged.
        way_back = statistics.median(self.hogs(kernel, 100_000)) - 100_000
        self.assertTrue(0 < way_back < 5_000, way_back)
        lengths = self.hogs(kernel, 20_000_000)
        self.assertTrue(all(abs(gap - way_back - 20_000_000) < 2_000 for gap in lengths), (lengths, way_back))

    def hogs(self, kernel, length):
        """The gaps of five hogs that are so many ns long."""
        hog = f'cmd:"/teiji lab-init stall=5x{length // 1_000}us/300ms"'
        gaps = [gap for gap in self.gaps("--load", hog, "--settle", "0", kernel=kernel) if gap[1] >= length]
        self.assertEqual(len(gaps), 5, gaps)
        apart = [after - before for (before, _), (after, _) in zip(gaps, gaps[1:], strict=False)]
        # Each began when its timer fired, 300 ms after the one before, to a turn of the loop or what else ran then.
        off = [abs((time + 150_000_000) % 300_000_000 - 150_000_000) for time in apart]
        self.assertLess(max(off), 10_000, apart)
        return [gap for _, gap in gaps]

    def test_the_kernel_accounts_for_gaps(self):
        hog = ["--load", 'cmd:"/teiji lab-init stall=5x20ms/300ms"', "--settle", "0"]
        words = ["--probe", "noise", "--account", "osnoise", "-d", "2s", *hog]
        recording = self.repeated(TEIJI, *words, kernel=PREEMPT_RT)
        described = document(recording)
        self.assertNotIn("account-events-lost", [warning["code"] for warning in described["warnings"]])
        lines = self.run_well(TEIJI, "export", recording, "--samples").splitlines()
        columns = "gap_ns,nmi_ns,irq_ns,softirq_ns,thread_ns,unexplained_ns,lost_events"
        self.assertEqual(lines[0], f"thread,cpu,event,time_ns,{columns}")
        rows = [tuple(int(cell) for cell in line.split(",")[3:]) for line in lines[1:]]
        for _, gap, nmi, irq, softirq, thread, unexplained, lost in rows:
            self.assertEqual(gap, nmi + irq + softirq + thread + unexplained)
            self.assertEqual((nmi, lost), (0, 0))
            # The way into the kernel and back, once for each that ran.
            self.assertTrue(0 <= unexplained < 8_000, rows)
        hogs = [row for row in rows if row[1] > 1_000_000]
        self.assertTrue(4 <= len(hogs) <= 5, hogs)
        for _, gap, _, irq, _, thread, _, _ in hogs:
            # The timer's interrupt is the beginning of the hog's time, and the tick interrupts it five times.
            self.assertLess(abs(irq + thread - 20_000_000), 2_000, hogs)
            self.assertTrue(5_000 < irq < 30_000, hogs)
        # The tick of 250 a second is an interrupt, and seldom more.
        ticks = [row for row in rows if row[3] > 0 and row[5] == 0]
        self.assertTrue(400 <= len(ticks) <= 480, len(ticks))

    def test_a_tracer_ends_after_a_hundred_busy_tasks(self):
        # Among them its end took longer than a run may: the run ended as one that did not stop by itself.
        words = ["--probe", "noise", "--account", "osnoise", "-d", "300ms", "--load", "hackbench,groups=3", "--settle", "0"]
        output = self.lab("run", "-q", "-k", PREEMPT_RT, *BOOT_TIMEOUT, *words, "-o", "out")
        (recording,) = (self.folder / "out").iterdir()
        self.assertEqual(document(recording)["end"]["reason"], "done", output.stderr)

    def test_kernels_without_the_tracer_account_for_nothing(self):
        # One kernel that has it beside one that has not.
        for kernels in ((VANILLA,), (VANILLA, PREEMPT_RT)):
            with self.subTest(kernels):
                chosen = [word for kernel in kernels for word in ("-k", kernel)]
                words = ["run", "-q", *chosen, *BOOT_TIMEOUT, "--probe", "noise", "--account", "osnoise", "-d", "1s", "-o", "out"]
                output = self.lab(*words, code=4)
                self.assertIn("CONFIG_OSNOISE_TRACER", output.stderr)
                shutil.rmtree(self.folder / "out", ignore_errors=True)

    @long
    def test_what_is_left_is_the_tick(self):
        gaps = self.gaps()
        # 250 a second while it polls, and little beside them; each takes microseconds.
        self.assertTrue(440 <= len(gaps) <= 480, len(gaps))
        self.assertLess(max(gap for _, gap in gaps), 10_000)
        on_tick = sum(1 for time, _ in gaps if 3_999_000 < time % 4_000_000 or time % 4_000_000 < 1_000)
        self.assertGreater(on_tick, 440)

    def test_timers_of_the_kernel(self):
        # The thread is held up once for 20 ms: one row is late, and what it missed is skipped.
        stall = ["--load", 'cmd:"/teiji lab-init stall=1x20ms/300ms"', "--settle", "0"]
        words = ["lab", "run", "-q", "-k", "debian:rt-amd64", "--probe", "timerlat", *stall, "-i", "1ms", "-n", "400"]
        self.run_well(TEIJI, *words, *BOOT_TIMEOUT, "--repeat", "2", "--verify-identical", "-o", "out")
        recordings = sorted((self.folder / "out").iterdir())
        self.assertEqual(sample_hashes(recordings[0]), sample_hashes(recordings[1]))
        check(self, *recordings)
        self.run_well(TEIJI, "verify", *recordings)
        thread = document(recordings[0])["threads"][0]
        irq, missed = thread["columns"]
        skipped = thread["latency_ns"]["max"] // 1_000_000
        self.assertIn(skipped, (19, 20))
        self.assertEqual(thread["activations"], {"due": 400, "on_time": 399 - skipped, "late": 1, "skipped": skipped})
        self.assertEqual((missed["values"]["max"], thread["evidence"]["samples_lost"]), (skipped, 0))
        self.assertTrue(0 < irq["values"]["p50"] < 2_000 < thread["latency_ns"]["p50"] < 10_000, thread)

    @long
    def test_tracers_on_two_cpus(self):
        # Nothing could be borrowed where osnoise/cpus named more than one CPU. On the host's clock, so no figure is judged.
        guest = ["-k", PREEMPT_RT, "--smp", "2", "--time", "host", *BOOT_TIMEOUT, "-t", "2"]
        account = ["--account", "osnoise", "-d", "1s", "--threshold", "50us"]
        for name, probe in (("timerlat", ["-i", "10ms", "-n", "50"]), ("noise", account)):
            with self.subTest(name):
                self.run_well(TEIJI, "lab", "run", "-q", *guest, "--probe", name, *probe, "-o", name)
                recording = next((self.folder / name).iterdir())
                self.run_well(TEIJI, "verify", recording)
                self.assertEqual([thread["cpu"] for thread in document(recording)["threads"]], [0, 1])

    def test_a_kernel_without_the_file_for_user_space(self):
        # Linux 6.1 has the tracer, and no timerlat_fd: the return to user space is not made up.
        words = ["run", "-q", "-k", PREEMPT_RT, *BOOT_TIMEOUT, "--probe", "timerlat", "--timerlat-thread", "user", "-n", "10"]
        output = self.lab(*words, "-o", "out", code=4)
        self.assertIn("It takes Linux 6.5 or later", output.stderr.replace("\n", " "))

    def test_a_quiet_guest_has_no_gaps_of_its_hardware(self):
        words = ["--probe", "hwlat", "--hwlat-window", "500ms", "--hwlat-width", "250ms", "-d", "3s"]
        recording = self.repeated(TEIJI, *words, kernel=PREEMPT_RT)
        thread = document(recording)["threads"][0]
        self.assertEqual((thread["latency_ns"], thread["evidence"]["samples_lost"]), (None, 0))
        # Emulated CPUs see no interrupts of the hardware, and 0 would say that there were none.
        self.assertEqual(thread["smis"], {"count": None, "unknown": "virtual-machine"})
        shown = " ".join(self.run_well(TEIJI, "show", recording).split())
        self.assertIn("system management interrupts of CPU 0: unknown (a virtual machine", shown)
        self.assertIn("No gap above 10us was found in 6 windows of 500ms", shown)

    def test_a_kernel_without_the_tracer(self):
        words = ["lab", "run", "-q", "-k", VANILLA, "--probe", "timerlat", "-n", "10", *BOOT_TIMEOUT, "-o", "out"]
        done = subprocess.run([TEIJI, *words], cwd=self.folder, env=self.environment, capture_output=True, text=True, check=False)
        self.assertEqual(done.returncode, 4, done.stdout + done.stderr)
        self.assertIn("CONFIG_TIMERLAT_TRACER", done.stderr)
        self.assertFalse((self.folder / "out").exists() and any((self.folder / "out").iterdir()))

    def test_events(self):
        recording = self.repeated_example("example-events", "--period", "3ms", "-d", "1s")
        described = document(recording)
        self.assertEqual(described["probe"]["rows"], "events")
        # Every 3 and 6 ms in turn, and what it takes to notice them: in one second as many as in any other.
        self.assertTrue(200 <= described["threads"][0]["latency_ns"]["count"] <= 223, described["threads"][0])
        self.assertTrue(self.run_well(os.environ["TEIJI_EXAMPLES"], "report", recording, "-o", "page.html"))

    def test_processes_are_started(self):
        recording = self.repeated(TEIJI, "--probe", "spawn", "--method", "vfork", "--load", "hackbench", "-n", "100")
        described = document(recording)
        self.assertEqual((described["probe"]["rows"], described["run"]["probe"]), ("trials", "spawn"))
        # A process is thousands of instructions, and vfork copies no memory map.
        self.assertTrue(50_000 < described["threads"][0]["latency_ns"]["min"] < 1_000_000, described["threads"][0])

    def test_one_thread_wakes_another(self):
        medians = {}
        for by in ("futex", "mq", "signal", "semaphore"):
            with self.subTest(by):
                shutil.rmtree(self.folder / "out", ignore_errors=True)
                recording = self.repeated(TEIJI, "--probe", "wakeup", "--by", by, "-n", "200")
                thread = document(recording)["threads"][0]
                self.assertEqual(thread["activations"], {"due": 200, "on_time": 200, "late": 0, "skipped": 0})
                columns = {column["name"]: column["values"] for column in thread.get("columns", [])}
                self.assertEqual(list(columns), ["done_ns", "wakeup_ns", "return_ns"])
                # On one CPU at one priority the woken thread runs when the other has returned and waits. A tick may come
                # while it returns.
                self.assertLess(columns["return_ns"]["p99"], thread["latency_ns"]["min"])
                self.assertGreater(columns["done_ns"]["p50"], columns["wakeup_ns"]["p50"] + thread["latency_ns"]["p50"])
                self.assertTrue(1_000 < thread["latency_ns"]["p50"] < 10_000, thread["latency_ns"])
                medians[by] = thread["latency_ns"]["p50"]
        # A signal is more work than a word in memory.
        self.assertLess(medians["futex"], medians["signal"])

    def test_another_cpu_is_not_made_up(self):
        words = ["run", "-q", "-k", VANILLA, *BOOT_TIMEOUT, "--probe", "wakeup", "--wake-on", "other", "-n", "50", "-o", "out"]
        output = self.lab(*words, code=4)
        self.assertIn("--wake-on other needs a second CPU", output.stderr.replace("\n", " "))

    def test_a_histogram_only_cannot_be_made_again(self):
        recording = self.recorded("-k", VANILLA, "-n", "50")
        described = document(recording)
        thread = described["threads"][0]
        thread |= {"detail": "histogram", "activations": None, "worst": []}
        del thread["samples_file"]
        for figures in ("latency_ns", "latency_with_skipped_ns"):
            thread[figures] |= {"mean": 0.0, "sd": None}
        (recording / "run.json").write_text(json.dumps(described))
        output = self.lab("rerun", "-q", recording, code=2)
        self.assertIn("holds no samples: nothing can be compared with it", output.stderr)


if __name__ == "__main__":
    main()
