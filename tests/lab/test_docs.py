# SPDX-License-Identifier: MIT OR Apache-2.0
"""Commands of the documentation whose outputs are printed there: run as they stand, and compared.

A block that begins with a prompt is commands, each with what it printed. What `trimmed` blocks leave out may be printed between, and
figures are those of the run and the build. So what is compared is every word, in its order, and that each figure is there. What came
from files is compared as it is, punctuation and figures too. What was explained is another latency with each build: of that the kinds
of its parts are compared with those that the page lists, and the sentence above them with their sums.
"""

import os
import re
import subprocess

from lab import PATIENCE_S, ROOT, TEIJI, Lab, long, main

# Their outputs have nothing of the machine.
EXACT = ("od ", "teiji export ")
# Which of these a latency went through is a matter of the build; functions of the kernel are no words here.
PARTS = """a off on in by of the for and from until was were with interrupts interrupt hard preemption softirqs scheduling context
switch return to user space thread itself task timer not yet fired interrupted called switched before again stack innermost first idle
preempt schedule waiting another cpu""".split()
# The parts of every wake-up of a thread in the lab.
ALWAYS = {"scheduling", "context switch", "return to user space", "the thread itself"}


class Docs(Lab):
    def prints(self, page, *only, as_is=False):
        """Runs the blocks of a page, all or those with one of these in a command, and compares what they print, `as_is` or in shape."""
        text = (ROOT / "docs" / page).read_text()
        compared = 0
        for kind, block in re.findall(r"^```(\w*)\n(.*?)^```$", text, re.MULTILINE | re.DOTALL):
            if kind == "python" and (named := re.search(r"# (\w+\.py)\b", block.split("\n", 1)[0])):
                (self.folder / named[1]).write_text(block)
            elif kind == "python" and 'open("' in block:
                subprocess.run(["python3", "-c", block], cwd=self.folder, check=True)
            elif re.match(r"[$#] \S", block) and (not only or any(part in block for part in only)):
                for command, expected in commands(block):
                    with self.subTest(command):
                        self.compare(command, expected, as_is)
                        compared += 1
        return compared

    def compare(self, command, expected, as_is):
        environment = self.environment | {"COLUMNS": "80", "PATH": f"{TEIJI.parent}:{os.environ['PATH']}"}
        words = ["bash", "-c", command]
        done = subprocess.run(
            words, cwd=self.folder, env=environment, capture_output=True, text=True, timeout=PATIENCE_S, check=False
        )
        said = f"{command}\nended with {done.returncode}\n{done.stdout}\n{done.stderr}"
        if command.startswith(EXACT):
            self.assertEqual(done.stdout, expected, said)
            return
        explained = command.startswith("teiji explain ")
        if explained:
            for text in (done.stdout, expected):
                self.accounts_for_its_latency(text)
        printed = iter(shape(done.stdout, explained, as_is))
        for word in shape(expected, explained, as_is):
            self.assertIn(word, printed, f"'{word}', or its place, is another one:\n{said}")

    def accounts_for_its_latency(self, text):
        """The parts are of kinds that the page lists, they add up, and the sentence names the kind that took most."""
        page = (ROOT / "docs/explain.md").read_text().split("\n## The parts\n")[1].split("\n## ")[0]
        kinds = set(re.findall(r"^\| ([a-z ]+?) \|", page, re.MULTILINE)) - {"part"}
        parts = re.findall(r"^ *[\d.,]+ +([\d.,]+)  (\w[\w ]*?)  +\S", text, re.MULTILINE)
        sums = {}
        for length, kind in parts:
            sums[kind] = sums.get(kind, 0) + nanoseconds(length)
        self.assertLessEqual(sums.keys(), kinds, text)
        self.assertLessEqual(ALWAYS, sums.keys(), text)
        latency, sentence = re.match(r"([\d.,]+) µs at activation [\d,]+: (.*?)\n\n", text, re.DOTALL).groups()
        self.assertEqual(sum(sums.values()), nanoseconds(latency), text)
        self.assertTrue(sentence.replace("\n", " ").startswith(f"{max(sums, key=sums.get)} for "), text)

    def test_streams_from_files(self):
        # The corpus is named from the repository's root.
        (self.folder / "fuzz").symlink_to(ROOT / "fuzz")
        self.assertEqual(self.prints("cokernels.md", as_is=True), 6)
        self.assertEqual(self.prints("probes.md", as_is=True), 3)

    @long
    def test_too_short_a_run(self):
        self.assertEqual(self.prints("../README.md", "ten.teiji"), 2)

    @long
    def test_skipped_periods(self):
        self.assertEqual(self.prints("tour.md", "idle.teiji", "hog.py"), 3)

    @long
    def test_the_lab(self):
        # Which cause the worst wake-up has, and which differences are significant, is a matter of the build.
        self.assertEqual(self.prints("tour.md", "lab exec", "-o lab"), 2)

    @long
    def test_explain(self):
        self.assertEqual(self.prints("explain.md"), 2)


def commands(block):
    """Each command of a block with the text below it."""
    found = []
    for line in block.splitlines(keepends=True):
        if re.match(r"[$#] \S", line) and not line.startswith(("# Total", "# Max", "# Histogram")):
            found.append([line[2:], ""])
        elif found[-1][0].endswith("\\\n"):
            found[-1][0] += line
        else:
            found[-1][1] += line
    # Root's PATH has no program of a test, and the tests are root.
    return [(command.strip().removeprefix("sudo "), expected) for command, expected in found]


def nanoseconds(us):
    """Of a figure in µs with three decimals."""
    return int(us.replace(",", "").replace(".", ""))


def shape(text, explained, as_is):
    """Its words, and a sign for each figure, unless a build decides how many there are. Without what a machine is warned of."""
    text = re.split(r"^Warning:", text, maxsplit=1, flags=re.MULTILINE)[0]
    text = re.sub(r"^ *Caution:.*\n", "", text, flags=re.MULTILINE)
    # The kernel is the machine's.
    text = re.sub(r"\bon Linux \S+,.*", "on Linux", text)
    if as_is:
        return [token for token in text.split() if token != "..."]
    tokens = [token.strip(".,:;()") for token in text.split()]
    words = [token for token in tokens if re.fullmatch(r"[A-Za-z][A-Za-z'-]*", token)]
    if explained:
        return [word for word in words if word.lower() not in PARTS]
    return ["#" if re.fullmatch(r"[\d,.e-]*\d", token) else token for token in tokens if token in words or token[:1].isdigit()]


if __name__ == "__main__":
    main()
