# SPDX-License-Identifier: MIT OR Apache-2.0
"""`teiji check` in guests with two CPUs whose kernel arguments are known: it finds what was set."""

import json
import re

from lab import PATIENCE_S, Lab, long, main

TWO_CPUS = ("-k", "debian:rt-amd64", "--time", "host", "--smp", "2")


class Check(Lab):
    def findings(self, arguments, words=""):
        """By name, in a guest with these arguments."""
        process = self.start("exec", "-q", *TWO_CPUS, "--append", arguments, "--run", f"/teiji check --json {words}")
        stdout, stderr = process.communicate(timeout=PATIENCE_S)
        # 1 where something is bad.
        self.assertIn(process.returncode, (0, 1), stderr)
        text = stdout[re.search(r"^\{", stdout, re.MULTILINE).start() :]
        document, _ = json.JSONDecoder().raw_decode(text)
        return {finding["id"]: finding for finding in document["findings"]}

    def status(self, findings, name):
        return findings[name]["status"] if name in findings else None

    def check_findings(self, arguments, expected):
        """What is found in a guest with these arguments."""
        findings = self.findings(arguments)
        self.assertEqual(findings["preemption"]["status"], "ok")
        self.assertEqual({name: self.status(findings, name) for name in expected}, expected, findings)

    def test_what_was_set_is_found(self):
        expected = {
            "isolation": "ok",
            "arguments-agree": "bad",
            "arguments-in-effect": "ok",
            "interrupts-on-measured-cpus": "bad",
            "full-dynticks": "warn",
            "rcu-callbacks": "warn",
        }
        self.check_findings("isolcpus=1 irqaffinity=1", expected)

    @long
    def test_whatever_was_set_is_found(self):
        for arguments, expected in [
            ("quiet", {"isolation": "warn", "arguments-agree": None, "interrupts-at-boot": None}),
            (
                "isolcpus=1",
                {
                    "isolation": "ok",
                    "arguments-agree": "ok",
                    "arguments-in-effect": "ok",
                    "interrupts-at-boot": "warn",
                    "full-dynticks": "warn",
                    "rcu-callbacks": "warn",
                },
            ),
            (
                "isolcpus=1 nohz_full=1 irqaffinity=0",
                {
                    "arguments-agree": "ok",
                    "arguments-in-effect": "ok",
                    "interrupts-at-boot": "ok",
                    "interrupts-on-measured-cpus": "ok",
                    "full-dynticks": "ok",
                    "rcu-callbacks": "ok",
                },
            ),
            ("isolcpus=1 nohz_full=0", {"arguments-agree": "bad"}),
            ("isolcpus=7", {"arguments-in-effect": "bad"}),
            ("isolcpu=1", {"arguments-spelled": "bad", "isolation": "warn"}),
        ]:
            with self.subTest(arguments):
                self.check_findings(arguments, expected)


if __name__ == "__main__":
    main()
