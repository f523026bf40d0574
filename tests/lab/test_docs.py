# SPDX-License-Identifier: MIT OR Apache-2.0
"""Commands of the documentation whose outputs are printed there: run as they stand, and compared.

A block that begins with a prompt is commands, each with what it printed. What `trimmed` blocks leave out may be printed between, and
figures are those of the run and the build. So what is compared is every word, in its order, and that each figure is there. What came
from files is compared as it is, punctuation and figures too. What was explained is another latency with each build: of that the kinds
of its parts are compared with those that the page lists, and the sentence above them with their sums.

Each block of output is in CLAIMED, with the test that compares it. One that is not fails.
"""

import csv
import os
import re
import subprocess
from pathlib import Path

from lab import PATIENCE_S, ROOT, TEIJI, Lab, long, main

# Languages of what is typed, or written into a file.
INPUTS = ("sh", "python", "r", "toml")
# Their outputs have nothing of the machine.
EXACT = ("od ", "teiji export ")
# Which of these a latency went through is a matter of the build; functions of the kernel are no words here.
PARTS = """a off on in by of the for and from until was were with interrupts interrupt hard preemption softirqs scheduling context
switch return to user space thread itself task timer not yet fired interrupted called switched before again stack innermost first idle
preempt schedule waiting another cpu""".split()
# The parts of every wake-up of a thread in the lab.
ALWAYS = {"scheduling", "context switch", "return to user space", "the thread itself"}
# A page, a piece of a block of output in it, and what compares the two: a test of this module, or a file. FORMULA is printed by nothing.
FORMULA = "a formula"
CLAIMED = [
    ("README.md", "ten.teiji", "test_too_short_a_run"),
    ("docs/cokernels.md", "od -A d -t u8 -w8 rtf0", "test_streams_from_files"),
    ("docs/cokernels.md", "od -A d -t d4 -w4 rtf1", "test_streams_from_files"),
    ("docs/explain.md", "-o spike", "test_explain"),
    ("docs/lab.md", "-o phases", "test_phases"),
    ("docs/method.md", "latency(k) =", FORMULA),
    ("docs/method.md", "due = on time", FORMULA),
    ("docs/method.md", "p = 1 −", FORMULA),
    ("docs/method.md", "threads start later by", FORMULA),
    ("docs/probes.md", "od -A d -t u8 -w8 fuzz/", "test_streams_from_files"),
    ("docs/python.md", "pytest -rs", "tests/python/test_wheel.py"),
    ("docs/rights.md", "@realtime", "crates/check/src/area_rights.rs"),
    ("docs/rights.md", "cpu_dma_latency", FORMULA),
    ("docs/tour.md", "-o idle.teiji", "test_skipped_periods"),
    ("docs/tour.md", "q end the run", "crates/teiji/tests/cli/live.rs"),
    ("docs/tour.md", "hog.py &", "test_skipped_periods"),
    ("docs/tour.md", "lab exec", "test_the_lab"),
    ("docs/tour.md", "-o lab", "test_the_lab"),
    ("docs/tour.md", "teiji explain", "test_the_lab"),
    ("docs/tour.md", "teiji gate", "test_the_lab"),
]


class Docs(Lab):
    def prints(self, as_is=False):
        """Runs the blocks that this test claims, in their order, and compares what they print, `as_is` or in shape."""
        compared = 0
        claimed = [(page, piece) for page, piece, test in CLAIMED if test == self._testMethodName]
        for page in dict.fromkeys(page for page, _ in claimed):
            for kind, block in blocks(page):
                if kind == "python" and (named := re.search(r"# (\w+\.py)\b", block.split("\n", 1)[0])):
                    (self.folder / named[1]).write_text(block)
                elif kind == "python" and 'open("' in block:
                    subprocess.run(["python3", "-c", block], cwd=self.folder, check=True)
                elif is_output(kind, block) and any(page == of and piece in block for of, piece in claimed):
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

    def test_each_block_of_output_is_claimed(self):
        pages = [f"docs/{page.name}" for page in sorted((ROOT / "docs").glob("*.md"))]
        counts = dict.fromkeys(CLAIMED, 0)
        for page in ["README.md", "README.ja.md", *pages]:
            for kind, block in blocks(page):
                if not is_output(kind, block):
                    continue
                english = page.replace(".ja.md", ".md")
                if english != page:
                    self.assertIn(block, [block for _, block in blocks(english)], f"{page} has another block than {english}")
                    continue
                claims = [claim for claim in CLAIMED if claim[0] == page and claim[1] in block]
                with self.subTest(page):
                    self.assertEqual(len(claims), 1, f"not compared by one test, but by {claims}:\n{block}")
                    counts[claims[0]] += 1
        self.assertEqual([claim for claim, count in counts.items() if count != 1], [], "each is of one block")
        for page, _, test in CLAIMED:
            if "/" in test:
                self.assertTrue(Path(page).name in (ROOT / test).read_text(), f"{test} does not read {page}")
            elif test != FORMULA:
                self.assertTrue(hasattr(self, test), test)

    def test_streams_from_files(self):
        # The corpus is named from the repository's root.
        (self.folder / "fuzz").symlink_to(ROOT / "fuzz")
        self.assertEqual(self.prints(as_is=True), 9)

    @long
    def test_too_short_a_run(self):
        self.assertEqual(self.prints(), 2)

    @long
    def test_skipped_periods(self):
        self.assertEqual(self.prints(), 3)

    @long
    def test_the_lab(self):
        # Which cause the worst wake-up has is a matter of the build.
        self.assertEqual(self.prints(), 5)

    @long
    def test_phases(self):
        self.assertEqual(self.prints(), 1)

    @long
    def test_explain(self):
        self.assertEqual(self.prints(), 2)

    @long
    def test_memory_loads_beside_published_figures(self):
        """The table of the tour: 2010's figures are those of the file, and the lab's means and the size of its maxima are the table's."""
        plan = (ROOT / "plans/toshiba-memory.toml").read_text()
        self.assertIn('interval = ["300us", "500us", "1ms"]', plan)
        (self.folder / "plan.toml").write_text(plan.replace('["300us", "500us", "1ms"]', '["300us"]'))
        subprocess.run([TEIJI, "run", "-q", "--quick", "plan.toml", "-o", "memory"], cwd=self.folder, env=self.environment, check=True)
        shown = subprocess.run([TEIJI, "show", "memory", "--csv"], cwd=self.folder, env=self.environment, check=True, capture_output=True, text=True)
        lab = {(row["kernel"].split("=")[0], row["load"]): (float(row["mean_ns"]), float(row["max_ns"])) for row in csv.DictReader(shown.stdout.splitlines())}
        with open(ROOT / "plans/published.csv") as file:
            published = {
                (row["patch"], row["load"] if row["load"] == "none" else f"{row['load']}@{row['load_pct']}%"): row
                for row in csv.DictReader(file)
                if "(Toshiba)" in row["source"] and row["period_us"] == "300"
            }
        table = (ROOT / "docs/tour.md").read_text().split("| load | vanilla 6.1, lab |")[1].split("\n\n")[0]
        rows = [[cell.strip(" `") for cell in line.strip("|").split("|")] for line in table.splitlines()[2:]]
        self.assertEqual(len(rows), 9)
        none, alloc = ([cells[place].split(", ")[1] for place in (1, 3)] for cells in (rows[0], rows[4]))
        said = f"from {none[0]} to {alloc[0]} µs, PREEMPT_RT's from {none[1]} to {alloc[1]} µs"
        self.assertIn(said, (ROOT / "docs/documents.md").read_text())
        for load, *cells in rows:
            for patch, kernel, ours, theirs in [("none", "debian:amd64", *cells[:2]), ("PREEMPT_RT", "debian:rt-amd64", *cells[2:])]:
                with self.subTest(f"{load}, {kernel}"):
                    row = published[patch, load]
                    mean, largest, *late = [float(figure.split()[0].replace(",", "")) for figure in theirs.split(", ")]
                    self.assertAlmostEqual(mean, float(row["avg_us"]), delta=0.051)
                    self.assertAlmostEqual(largest, float(row["max_us"]), delta=0.051 if largest < 100 else 0.51)
                    self.assertEqual(late or [0], [int(row["overruns"])])
                    mean, largest = (float(figure) * 1000 for figure in ours.split(", "))
                    self.assertAlmostEqual(lab[kernel, load][0], mean, delta=mean / 4)
                    self.assertEqual(lab[kernel, load][1] > 100_000, largest > 100_000, f"{lab[kernel, load]}")


def blocks(page):
    """The blocks of a page, those between fences with their language and those that are indented."""
    found = []
    text = re.sub(r"^( *)```(\w*)\n(.*?)^ *```$", lambda fenced: found.append((fenced[2], fenced[3])) or "", (ROOT / page).read_text(), flags=re.M | re.S)
    return found + [("", re.sub("^    ", "", block, flags=re.M)) for block in re.findall(r"^\n((?:    .*\n|\n(?=    ))+)", text, re.M)]


def is_output(kind, block):
    """Whether a block has more than what is typed or written into a file."""
    lines = re.sub(r"\\\n", " ", block).splitlines()
    return kind not in INPUTS and not all(re.match(r"(\$ )?(sudo|teiji|make|pip) |$", line) for line in lines)


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
    return ["#" if re.fullmatch(r"[\d,.e–-]*\d", token) else token for token in tokens if token in words or token[:1].isdigit()]


if __name__ == "__main__":
    main()
