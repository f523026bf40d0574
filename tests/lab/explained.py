# SPDX-License-Identifier: MIT OR Apache-2.0
"""What the tests of `teiji explain` share: the command, and an own sum over what it says."""

import itertools
import subprocess

from lab import BOOT_TIMEOUT, PATIENCE_S, TEIJI, Ended, Lab, latencies

# From the timer's interrupt to the clock's reading: the kernel's shortest way takes some 3 µs.
LAST = ["scheduling", "switch", "return", "thread"]
ANYWHERE = {"other-cpu", "hard-interrupt", "softirq"}
# Of these a kernel's function is not always to be named: a program may have run, or several functions.
NAMELESS = {"timer-pending", "other-thread", "switch", "thread"}


class Explaining(Lab):
    """A test that explains recordings."""

    # Where the kernel is entered by the timer's interrupt.
    TIMER_INTERRUPT = {"asm_sysvec_apic_timer_interrupt"}

    def explain(self, recording, *words, code=0):
        """teiji explain to its end."""
        command = [TEIJI, "explain", recording, *words, *BOOT_TIMEOUT]
        done = subprocess.run(command, cwd=self.folder, env=self.environment, capture_output=True, text=True, timeout=PATIENCE_S)
        ended = Ended(command, done.returncode, done.stdout, done.stderr)
        self.assertEqual(ended.code, code, str(ended))
        return ended

    def check_accounts(self, recording, explained, threads=1):
        """Each ns of each latency is in one part, and the latencies are the largest of the recording."""
        samples = [latencies(recording, thread) for thread in range(threads)]
        accounts = explained["accounts"]
        largest = sorted((latency for of_thread in samples for latency in of_thread if latency is not None), reverse=True)
        self.assertEqual([account["latency_ns"] for account in accounts], largest[: len(accounts)])
        self.assertEqual(explained["identical_samples"], len(largest))
        for account in accounts:
            self.assertEqual(samples[account["thread"]][account["activation"]], account["latency_ns"])
            at = 0
            for part in account["parts"]:
                self.assertEqual(part["begin_ns"], at, account)
                self.assertGreater(part["length_ns"], 0)
                at += part["length_ns"]
            self.assertEqual(at, account["latency_ns"], "parts add up")
            self.assertNotIn("unattributed", [part["kind"] for part in account["parts"]], account)
            # A CPU may wait for a lock anywhere on its way, and an interrupt may come anywhere, with its softirqs.
            kinds = (part["kind"] for part in account["parts"] if part["kind"] not in ANYWHERE)
            kinds = [kind for kind, _ in itertools.groupby(kinds)]
            self.assertEqual(kinds[-len(LAST) :], LAST, account)
            interrupts = [part for part in account["parts"] if part["kind"] == "hard-interrupt"]
            self.assertTrue(self.TIMER_INTERRUPT & {part["function"] for part in interrupts}, account)
            # The thread that measures is the one that the processor went to.
            switches, name = [part for part in account["parts"] if part["kind"] == "switch"], f"teiji-{account['thread']}"
            last = [part["next_task"] for part in switches if part.get("next_task")][-1]
            self.assertEqual((last, account["parts"][-1]["task"]), (name, name), account)
            self.assertTrue(all(part["task"] for part in account["parts"]), "each part has its task")
            for part in account["parts"]:
                named = part["function"] is not None and not part["function"].startswith("0x")
                self.assertTrue(named or part["kind"] in NAMELESS, part)
