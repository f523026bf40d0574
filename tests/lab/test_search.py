# SPDX-License-Identifier: MIT OR Apache-2.0
"""A search for a run with a large latency: what it ends with, and that its plan gives the same again."""

import json
import signal
import subprocess
import time
import tomllib

from lab import TEIJI, Lab, check, document, largest, latencies, long, main, sample_hashes

VANILLA = "debian:amd64"
# Small enough that a run takes a second or two.
LOADS = ("--load", "mem-alloc,chunk=4M", "--load", "hackbench,groups=1", "--load", "fork")
SHORT = ("-d", "100ms", "--settle", "0", "--warmup", "10ms")


class Search(Lab):
    def search(self, *words, output):
        """The search's JSON, which is also beside what it found."""
        told = self.lab("search", "-k", VANILLA, *SHORT, *words, "--json", "-o", output).stdout
        self.assertEqual(told, (self.folder / output / "search.json").read_text())
        return json.loads(told)

    @long
    def test_what_it_ends_with(self):
        words = (*LOADS, "--intervals", "300us..1ms", "--prios", "80..90", "--runs", "10")
        found = self.search(*words, output="out")
        self.assertEqual(sorted(path.name for path in (self.folder / "out").iterdir()), ["recipe.toml", "search.json", "worst.teiji"])
        worst = self.folder / "out" / "worst.teiji"
        check(self, worst)
        recorded = document(worst)
        worst_ns = largest(worst)
        self.assertEqual((found["worst"]["largest_ns"], found["is_bound"], found["explored"]), (worst_ns, False, 10))
        self.assertEqual(latencies(worst)[found["worst"]["activation"]], worst_ns)
        tried = found["tried"]
        self.assertEqual([one["run"] for one in tried], list(range(1, len(tried) + 1)))
        self.assertEqual(worst_ns, max(one["largest_ns"] for one in tried))
        self.assertEqual(sum(one["explored"] for one in tried), 10)
        # The first two are everything as given.
        for number, one in enumerate(tried[:2], 1):
            self.assertEqual((one["phase"], one["loads"], one["interval_ns"]), (number, list(LOADS[1::2]), 1_000_000))
        self.assertGreater(len({json.dumps(one["loads"]) for one in tried}), 4)
        self.assertGreater(len({one["interval_ns"] for one in tried}), 1)
        self.assertTrue(all(300_000 <= one["interval_ns"] <= 1_000_000 and 80 <= one["prio"] <= 90 for one in tried))
        self.simpler(found)
        # Its explanation is in it, and is of that latency.
        explained = json.loads((worst / "explain.json").read_text())["accounts"][0]
        self.assertEqual((explained["latency_ns"], explained["activation"]), (worst_ns, found["worst"]["activation"]))
        self.assertEqual(sum(part["length_ns"] for part in explained["parts"]), worst_ns)
        # The plan that was written gives the same samples, from another folder too.
        recipe = self.folder / "out" / "recipe.toml"
        self.assertEqual(tomllib.loads(recipe.read_text())["measure"]["phase"], str(recorded["run"]["phase"]))
        (self.folder / "elsewhere").mkdir()
        done = subprocess.run([TEIJI, "run", "-q", recipe, "-o", "again"], cwd=self.folder / "elsewhere", capture_output=True, text=True)
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        again = self.the("elsewhere/again/*.teiji")
        self.assertEqual(sample_hashes(again), sample_hashes(worst))
        # The same seed tries the same, whatever else the machine does.
        once_more = self.search(*words, "-j", "1", output="once-more")
        self.assertEqual(once_more["tried"], tried)

    def simpler(self, found):
        """What is said not to matter, or to, by the runs without it."""
        changed, phases = found["changed"], found["changed"]["other_phases_ns"]
        base = changed["largest_ns"]
        self.assertEqual(base, max(one["largest_ns"] for one in found["tried"] if one["explored"]))
        self.assertEqual(base, found["tried"][changed["run"] - 1]["largest_ns"])
        self.assertEqual(len(phases), 4)
        least = min([base * 0.95, *phases])
        self.assertTrue(any(one["what"].startswith("without ") for one in found["instead"]))
        for one in found["instead"]:
            tried = found["tried"][one["run"] - 1]
            self.assertEqual(tried["largest_ns"], one["largest_ns"])
            self.assertEqual(one["mattered"], one["largest_ns"] < least, one)
            self.assertFalse(one["mattered"] and one["largest_ns"] >= base, one)
        # The same run is made once.
        runs = [json.dumps([one[key] for key in ("phase", "loads", "interval_ns", "prio")]) for one in found["tried"]]
        self.assertEqual(len(set(runs)), len(runs))

    @long
    def test_what_is_given_stays(self):
        found = self.search("--load", "cpu@30%,start=20ms,stop=60ms", "-i", "500us", "-p", "70", "--runs", "3", output="out")
        for one in found["tried"][:3]:
            self.assertEqual((one["loads"], one["interval_ns"], one["prio"]), (["cpu@30%,start=20ms,stop=60ms"], 500_000, 70))
        (load,) = document(self.folder / "out" / "worst.teiji")["load"]
        begin = document(self.folder / "out" / "worst.teiji")["threads"][0]["start_ns"]
        # A phase shifts them by less than 20 ms.
        self.assertTrue(20_000_000 <= load["started_ns"] - begin < 41_000_000, load)
        self.assertTrue(60_000_000 <= load["stopped_ns"] - begin < 81_000_000, load)

    @long
    def test_time_is_kept(self):
        found = self.search("--load", "cpu", "--for", "1s", output="out")
        # One generation always is, and for what is simpler there is no time.
        self.assertEqual(found["explored"], 8)
        self.assertTrue(all(one["run"] is None and one["mattered"] is None for one in found["instead"]))

    @long
    def test_what_was_found_stays_without_an_explanation(self):
        words = [TEIJI, "lab", "search", "-k", VANILLA, *SHORT, *LOADS[:2], "--runs", "1", "-j", "1", "--json", "-o", "out"]
        search = subprocess.Popen(words, cwd=self.folder, env=self.environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        # The plan is written before the explanation begins, which takes some seconds.
        while search.poll() is None and not (self.folder / "out" / "recipe.toml").exists():
            time.sleep(0.05)
        time.sleep(0.5)
        search.send_signal(signal.SIGINT)
        told, complained = search.communicate()
        self.assertEqual(search.returncode, 4, complained)
        self.assertIn("Interrupted by SIGINT: the largest latency is not explained", complained)
        self.assertEqual(told, (self.folder / "out" / "search.json").read_text())
        found = json.loads(told)
        self.assertEqual((found["worst"]["explained"], found["worst"]["largest_ns"]), (False, largest(self.folder / "out" / "worst.teiji")))

    def test_wrong_use(self):
        (self.folder / "no-kernel").write_bytes(bytes(4_096))
        for words, says in (
            (("--time", "host"), "a search needs virtual time"),
            (("--load", "cpu,start=200ms"), "start is within the run, which measures for 100ms"),
            (("--intervals", "2ms..1ms"), "ends before it begins"),
            (("--prios", "0..5"), "real-time priorities are 1"),
            (("--load", "cpu,prio=85", "--prios", "50..90"), "a load's is at most 48"),
            (("-k", "./no-kernel", "--load", "cpu"), "is not a bootable kernel"),
        ):
            ended = self.lab("search", *SHORT, *words, "-o", "out", code=4 if words[0] == "-k" else 2)
            self.assertIn(says, ended.stderr)
            self.assertFalse((self.folder / "out").exists())


if __name__ == "__main__":
    main()
