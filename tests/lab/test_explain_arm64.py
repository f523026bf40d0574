# SPDX-License-Identifier: MIT OR Apache-2.0
"""`teiji explain` of guests of aarch64: the same checks as of a PC's, and what is different there."""

import json

from explained import Explaining
from lab import long, main, program

VANILLA, RT = "debian:arm64", "debian:rt-arm64"
WORST = 20
# The timer is set in steps of 16 ns, from a clock that was read some instructions before.
TIMER_LATE_NS = 100


class ExplainArm64(Explaining):
    TIMER_INTERRUPT = {"el1h_64_irq", "el0t_64_irq"}

    def explained(self, kernel, *words, worst=WORST):
        """The largest latencies of a run made for the test, which have to add up."""
        arm64 = program("aarch64")
        recording = self.recorded("-k", kernel, *arm64, *words)
        text = self.explain(recording, "--worst", str(worst), "--json", *arm64).stdout
        explained = json.loads(text)
        self.check_accounts(recording, explained)
        for account in explained["accounts"]:
            for part in account["parts"]:
                # With interrupts on, the timer's comes as soon as it is due.
                if part["kind"] == "timer-pending":
                    self.assertLessEqual(part["length_ns"], TIMER_LATE_NS, account)
                if part["kind"] == "interrupts-off":
                    self.assertTrue(part["off_at"] and part["on_at"], part)
        return explained["accounts"]

    @long
    def test_the_worst_of_a_vanilla_kernel(self):
        accounts = self.explained(VANILLA, "--load", "hackbench", "-n", "300")
        kinds = {part["kind"] for account in accounts for part in account["parts"]}
        self.assertLessEqual({"interrupts-off", "preemption-off"}, kinds)

    def test_an_idle_guest(self):
        accounts = self.explained(RT, "-n", "200", worst=5)
        kinds = [part["kind"] for part in accounts[0]["parts"] if part["kind"] != "softirq"]
        # It halts with interrupts off.
        self.assertEqual(kinds[:4], ["idle", "leaving-idle", "hard-interrupt", "leaving-idle"])


if __name__ == "__main__":
    main()
