# SPDX-License-Identifier: MIT OR Apache-2.0
"""`teiji explain`: where the largest latencies went, checked by an own sum, on both kernels."""

import json
import os
import re
import subprocess

from explained import Explaining, Instructions, by_events, functions_of
from lab import TEIJI, Ended, document, largest, latencies, long, main

VANILLA, RT = "debian:amd64", "debian:rt-amd64"
WORST = 5

# By events, a part may be so much longer or shorter than by instructions, ns or its share: docs/explain.md.
APART_NS, APART = 500, 0.02
# The largest is the same, unless two of a wake-up are as large but for this, ns.
TIE_NS = 50
# The code on the way into an interrupt or out of it, which no event separates from its neighbour, takes at most so long. PREEMPT_RT
# wakes the thread of softirqs there.
LONGEST_WAY_NS = {VANILLA: 750, RT: 2_500}


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


class EventsAgree(Explaining):
    """The causes of the 20 worst that events explain, by these inside of the guest and by instructions from outside."""

    def test_of_a_vanilla_kernel_under_hackbench(self):
        self.assert_agree(VANILLA, "hackbench")

    @long
    def test_of_a_vanilla_kernel(self):
        self.assert_all_agree(VANILLA, "timer", "net", "fork")

    @long
    def test_of_preempt_rt(self):
        self.assert_all_agree(RT, "hackbench", "timer", "net", "fork")

    def assert_all_agree(self, kernel, *loads):
        for load in loads:
            with self.subTest(kernel=kernel, load=load):
                self.assert_agree(kernel, load)

    def assert_agree(self, kernel, load):
        name = f"{kernel.split(':')[1]}-{load}"
        recording = self.recorded("-k", kernel, "--load", load, "-n", "300", "--explain=1us", output=f"{name}.teiji")
        accounts = json.loads((recording / "explain.json").read_text())["accounts"]
        events = {account["activation"]: account for account in accounts}
        # The largest first. Events may be overwritten before they are read.
        self.assertGreater(len(accounts), 200)
        worst = [account["activation"] for account in accounts[:20]]
        words = [word for activation in worst for word in ("--activation", str(activation))]
        explained = json.loads(self.explain(recording, *words, "--json", "--trace", f"{name}.json").stdout)["accounts"]
        functions = functions_of(self.folder / f"{name}.json")
        self.assertEqual(sorted(account["activation"] for account in explained), sorted(worst))
        largest, longest_way, causes = 0, 0, {}
        for account, functions_of_it in zip(explained, functions, strict=True):
            other = events[account["activation"]]
            self.assertEqual(account["latency_ns"], other["latency_ns"])
            self.assertTrue(all(part.get("evidence") for part in other["parts"] if part["kind"] != "unattributed"), other)
            instructions = Instructions(account, functions_of_it)
            seen, told = instructions.sums(), by_events(other)
            apart = {cause: (seen.get(cause, 0), told.get(cause, 0)) for cause in seen.keys() | told.keys()}
            for cause, (one_ns, other_ns) in apart.items():
                allowed = max(APART_NS, APART * one_ns)
                self.assertLessEqual(abs(one_ns - other_ns), allowed, (cause, account["activation"], apart, account["parts"], other["parts"]))
                largest = max(largest, abs(one_ns - other_ns))
            cause = max(seen, key=seen.get)
            self.assertGreater(told[cause] + TIE_NS, max(told.values()), apart)
            causes[cause] = causes.get(cause, 0) + 1
            longest_way = max(longest_way, instructions.longest_way_ns)
        self.assertLessEqual(longest_way, LONGEST_WAY_NS[kernel])
        counts = ", ".join(f"{' '.join(filter(None, cause))} {count}" for cause, count in causes.items())
        apart = f"apart by at most {largest} ns; ways in and out of at most {longest_way} ns"
        print(f"   {kernel} under {load}: {counts}; {len(accounts)} with events; {apart}")


if __name__ == "__main__":
    main()
