# SPDX-License-Identifier: MIT OR Apache-2.0
"""What a user meets on a machine whose first process is not teiji."""

import json
import os
import re
from pathlib import Path

import booted
from lab import TEIJI, Lab, long, main


def parts(text):
    """What the script printed between its headings, {heading: text}."""
    found = re.split(r"^=== (.*)$", text.replace("\r", ""), flags=re.MULTILINE)
    return {heading: part.strip() for heading, part in zip(found[1::2], found[2::2])}


def kernel():
    return Path(os.environ["XDG_CACHE_HOME"]) / "teiji" / "kernels" / "debian" / "amd64" / "vmlinuz"


@long
class Starved(Lab):
    """A machine on whose only CPU nothing of ordinary priority runs any more, from some seconds after the start on."""

    SCRIPT = """
        echo -1 >/proc/sys/kernel/sched_rt_runtime_us
        cat >/tmp/spin <<'END'
sleep 6
ulimit -t 15
exec chrt -f 50 sh -c 'while :; do :; done'
END
        echo "=== output"
        teiji measure -q -p 99 -d 60s --load "cmd:sh /tmp/spin" -o x.teiji
        echo "exit $?"
        echo "=== document"
        cat x.teiji/run.json
        echo "=== verify"
        teiji verify x.teiji
        echo "=== end"
    """

    def test_a_machine_that_has_no_time_left(self):
        output = parts(booted.run(self.folder, kernel(), "", TEIJI, self.SCRIPT, cpus=1, more=["chrt"]))
        self.assertIn("end", output, output)
        document = json.loads(output["document"])
        self.assertEqual(document["end"], {"reason": "guard", "starved_ns": 5_000_000_000, "cpu": None}, output["output"])
        # The load was quiet for six seconds, and what then runs for 15 s of CPU time is not waited for.
        self.assertTrue(5_000 < document["threads"][0]["activations"]["due"] < 45_000, document["threads"][0]["activations"])
        self.assertRegex(output["output"], r"exit 4$")
        self.assertIn("every figure agrees with its", output["verify"])


class Isolated(Lab):
    """The kernel keeps its first process, and so everybody, away from isolated CPUs."""

    SCRIPT = """
        output() {
            echo "=== $1"
            shift
            "$@"
            echo "exit $?"
        }
        short="-q -i 5ms -n 40"
        echo "=== inherited"
        grep Cpus_allowed_list /proc/self/status
        output asked teiji measure $short -a 1 -o asked.teiji
        output usual teiji measure $short -o usual.teiji
        output all teiji measure $short -a all -o all.teiji
        output load teiji measure $short -a 0 --load cpu@20%,cpus=1 -o load.teiji
        printf '[measure]\nsamples = 40\ninterval = "5ms"\n' >plan.toml
        output plan teiji run -q plan.toml -o plan
        output absent teiji measure $short -a 2 -o absent.teiji
        mkdir /tmp/cgroup
        mount -t cgroup2 cgroup2 /tmp/cgroup
        echo +cpuset >/tmp/cgroup/cgroup.subtree_control
        mkdir /tmp/cgroup/one
        echo 0 >/tmp/cgroup/one/cpuset.cpus
        echo $$ >/tmp/cgroup/one/cgroup.procs
        output forbidden teiji measure $short -a 1 -o forbidden.teiji
        output confined teiji measure $short -o confined.teiji
        for name in asked usual all load confined; do
            echo "=== $name.json"
            cat $name.teiji/run.json
        done
        echo "=== end"
    """

    def test_isolated_cpus_on_a_users_machine(self):
        output = parts(booted.run(self.folder, kernel(), "isolcpus=1", TEIJI, self.SCRIPT))
        self.assertIn("end", output, output)
        self.assertRegex(output["inherited"], r"Cpus_allowed_list:\s*0$")

        def measured(name):
            self.assertRegex(output[name], r"exit 0$", name)
            described = json.loads(output[f"{name}.json"])
            warned = [warning for warning in described["warnings"] if warning["code"] == "isolated-not-measured"]
            return [thread["cpu"] for thread in described["threads"]], warned, described

        self.assertEqual(measured("asked")[:2], ([1], []))
        self.assertEqual(measured("all")[:2], ([0, 1], []))
        self.assertEqual(measured("load")[:2], ([0], []))
        self.assertEqual(measured("load")[2]["load"][0]["cpus"], [1])

        cpus, warned, _ = measured("usual")
        self.assertEqual((cpus, len(warned)), ([0], 1), output["usual"])
        self.assertEqual(warned[0], {"code": "isolated-not-measured", "isolated": [1], "measured": [0], "left_out": [1]})
        self.assertIn("CPU 1 is set apart and was not measured: add -a 1", output["usual"])

        self.assertRegex(output["plan"], "CPU 1 is set apart and was not measured: add -a 1")

        # Only what the kernel refuses is refused.
        for name in ("absent", "forbidden"):
            self.assertRegex(output[name], r"(?s)error: CPU \d cannot be used: .*\nexit 2$", name)
        cpus, warned, described = measured("confined")
        self.assertEqual((cpus, warned), ([0], []), "no advice that the kernel would refuse")
        self.assertIn({"code": "cpus-not-allowed", "allowed": [0], "left_out": [1]}, described["warnings"])


if __name__ == "__main__":
    main()
