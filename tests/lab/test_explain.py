# SPDX-License-Identifier: MIT OR Apache-2.0
"""`teiji explain`: where the largest latencies went, checked by an own sum, on both kernels."""

import json
import os
import re
import subprocess

from explained import Explaining
from lab import TEIJI, Ended, document, largest, latencies, long, main

VANILLA, RT = "debian:amd64", "debian:rt-amd64"
WORST = 5

# What the kernel's events cannot tell apart, in one word. The first instructions of an interrupt come before its event, and the last ones
# after: up to 520 ns each that are its neighbours'. Once the CPU has gone to the thread, the scheduler may run in it and choose it again.
EVENTS_SEE = {
    "interrupts-off": "timer late",
    "timer-pending": "timer late",
    "preemption-off": "held",
    "scheduling": "held",
    "other-thread": "held",
    "leaving-idle": "held",
    "switch": "back",
    "return": "back",
    "thread": "back",
    "unattributed": "idle",
}
APART_NS, APART = 550, 0.02


class Explain(Explaining):
    def record(self, kernel, *words):
        """A recording under hackbench."""
        length = () if "-n" in words else ("-n", "300")
        return self.recorded("-k", kernel, "--load", "hackbench", *length, *words)

    def test_the_worst_of_a_vanilla_kernel(self):
        recording = self.record(VANILLA)
        files = ["--svg", "worst.svg", "--folded", "stacks", "--trace", "trace.json"]
        explained = json.loads(self.explain(recording, "--worst", str(WORST), "--json", *files).stdout)
        self.check_accounts(recording, explained)
        self.assertEqual(sum(cause["count"] for cause in explained["causes"]), WORST)
        # What was kept is the same, and the folded stacks hold each ns once.
        kept = json.loads((recording / "explain.json").read_text())
        self.assertEqual(kept["accounts"], explained["accounts"])
        stacks = [line.rsplit(" ", 1) for line in (self.folder / "stacks").read_text().splitlines()]
        self.assertEqual(sum(int(ns) for _, ns in stacks), sum(account["latency_ns"] for account in explained["accounts"]))
        self.assertTrue(any(";__schedule;" in stack for stack, _ in stacks), stacks[:5])
        events = json.loads((self.folder / "trace.json").read_text())["traceEvents"]
        whole = [event for event in events if event.get("cat") == "part" and event["pid"] == 0]
        self.assertAlmostEqual(sum(event["dur"] for event in whole) * 1_000, explained["accounts"][0]["latency_ns"], places=3)
        self.assertIn("</svg>", (self.folder / "worst.svg").read_text())
        self.assertEqual(self.lab_free("verify", recording).code, 0)

    def test_events_agree_with_instructions(self):
        self.assert_agree(VANILLA, "hackbench", 300)

    def assert_agree(self, kernel, load, activations):
        """The 20 worst of the same run, by events inside of the guest and by instructions from outside."""
        recording = self.recorded("-k", kernel, "--load", load, "-n", str(activations), "--explain=1us", output=f"{kernel}-{load}.teiji".replace(":", "-"))
        by_events = {
            (account["thread"], account["activation"]): account
            for account in json.loads((recording / "explain.json").read_text())["accounts"]
        }
        self.assertGreater(len(by_events), activations // 2)
        words = [word for key in list(by_events)[:20] for word in ("--activation", str(key[1]))]
        by_instructions = json.loads(self.explain(recording, *words, "--json").stdout)["accounts"]
        self.assertEqual(len(by_instructions), 20)
        for account in by_instructions:
            other = by_events[account["thread"], account["activation"]]
            self.assertEqual(account["latency_ns"], other["latency_ns"])
            self.assertTrue(all(part.get("evidence") for part in other["parts"] if part["kind"] != "unattributed"), other)
            seen, told = (self.sums(one) for one in (account, other))
            interrupts = sum(part["kind"] == "hard-interrupt" for part in account["parts"])
            for kind in seen.keys() | told.keys():
                # Of an interrupt both ends are outside of its events.
                ends = 2 * interrupts if kind == "hard-interrupt" else max(1, interrupts)
                allowed = max(APART_NS * ends, APART * seen.get(kind, 0))
                self.assertLessEqual(abs(seen.get(kind, 0) - told.get(kind, 0)), allowed, (kind, account["parts"], other["parts"]))
            # The cause is the same, unless two are as large as what an interrupt's ends decide.
            cause = max(seen, key=seen.get)
            self.assertGreater(told[cause] + 2 * APART_NS, max(told.values()), (account, other))

    @staticmethod
    def sums(account):
        """Time by what events see."""
        sums, is_back = {}, False
        for part in account["parts"]:
            kind = EVENTS_SEE.get(part["kind"], part["kind"])
            is_back = is_back or kind == "back" and part["task"] == "teiji-0"
            if is_back and kind == "held" and part["task"] == "teiji-0":
                kind = "back"
            sums[kind] = sums.get(kind, 0) + part["length_ns"]
        return sums

    @long
    def test_the_worst_of_preempt_rt(self):
        recording = self.record(RT)
        self.check_accounts(recording, json.loads(self.explain(recording, "--worst", str(WORST), "--json").stdout))

    def test_an_idle_guest(self):
        recording = self.recorded("-k", VANILLA, "-n", "200")
        explained = json.loads(self.explain(recording, "--worst", str(WORST), "--json").stdout)
        self.check_accounts(recording, explained)
        # Where the kernel's tick falls due with it, there is more to do before the thread runs.
        kinds = [part["kind"] for part in explained["accounts"][0]["parts"] if part["kind"] != "softirq"]
        self.assertEqual(kinds[:3], ["idle", "hard-interrupt", "leaving-idle"])
        # Named twice, with one as late as it in between.
        samples = latencies(recording)
        common = max(set(samples), key=samples.count)
        first, second = [activation for activation, latency in enumerate(samples) if latency == common][:2]
        words = [word for activation in (first, second, first) for word in ("--activation", str(activation))]
        again = json.loads(self.explain(recording, *words, "--json").stdout)["accounts"]
        self.assertEqual(sorted(account["activation"] for account in again), sorted([first, second]))

    @long
    def test_beside_another_program_that_sleeps(self):
        # It wakes less often than the thread, from another function; the thread from one that also reads the clock in between.
        other = "cmd:/teiji measure -q --policy other --sleep timerfd --interval 1ms -n 3000 -o /tmp/other.teiji"
        recording = self.recorded("-k", VANILLA, "--sleep", "itimer", "-i", "200us", "-n", "300", "--load", other)
        explained = json.loads(self.explain(recording, "--worst", "50", "--json").stdout)
        self.check_accounts(recording, explained)
        # The last that happens is that the thread, its timer long past, goes back to its program: nearly always in the same time.
        returns = sorted(sum(part["length_ns"] for part in account["parts"] if part["kind"] == "return") for account in explained["accounts"])
        self.assertLess(returns[len(returns) // 2], 2 * returns[0], returns)

    @long
    def test_a_sentence_and_its_parts(self):
        recording = self.record(VANILLA)
        worst = largest(recording)
        text = self.explain(recording, "--quiet").stdout
        # Lines are as long as a terminal is wide.
        sentence = " ".join(text.split())
        self.assertRegex(sentence, rf"^{worst // 1000}\.{worst % 1000:03} µs at activation \d+: [a-z ]+ for [\d.]+ µs in \w+")
        self.assertRegex(text, rf"\n +{worst // 1000}\.{worst % 1000:03}  in all\n")
        self.assertEqual(len(re.findall(r"\bteiji-0\b", text)), 3, text)

    def test_samples_that_are_not_the_recorded_ones(self):
        recording = self.recorded("-k", VANILLA, "-n", "200")
        made = document(recording)
        # As if it had been recorded with one kernel argument more.
        made["lab"]["guest"]["kernel_args"] = "nohz=off"
        (recording / "run.json").write_text(json.dumps(made))
        ended = self.explain(recording, "--quiet", code=4)
        self.assertRegex(ended.stderr, r"made again, and is not the same, so nothing of it is explained: first difference at")
        self.assertFalse((recording / "explain.json").exists())

    @long
    def test_a_qemu_without_plugins(self):
        recording = self.record(VANILLA, "-n", "20", "--qemu", "system")
        folder = self.folder / "bin"
        folder.mkdir()
        qemu = folder / "qemu-system-x86_64"
        real = document(recording)["lab"]["qemu"]["command_line"][0]
        says = "echo 'qemu-system-x86_64: -plugin: invalid option' >&2"
        qemu.write_text(f'#!/bin/sh\ncase "$*" in *-plugin*) {says}; exit 1 ;; esac\nexec {real} "$@"\n')
        qemu.chmod(0o755)
        self.environment["PATH"] = f"{folder}:{os.environ['PATH']}"
        ended = self.explain(recording, "--quiet", code=4)
        self.assertIn("teiji lab fetch qemu", ended.stderr)

    def lab_free(self, *words):
        """A verb that is none of the lab's."""
        done = subprocess.run([TEIJI, *words], cwd=self.folder, env=self.environment, capture_output=True, text=True)
        return Ended(words, done.returncode, done.stdout, done.stderr)


if __name__ == "__main__":
    main()
