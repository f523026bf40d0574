#!/usr/bin/env python3
# SPDX-License-Identifier: MIT OR Apache-2.0
"""The wheel as its users have it: installed into an empty environment, its module, its plugin of pytest, its page.

    WHEEL=FILE.whl TEIJI_WHEEL_TESTS=FOLDER python3 tests/python/test_wheel.py

The Python that runs this has pyarrow, polars, pandas, pytest and mypy; the environment with the wheel borrows them.
"""

import ast
import json
import os
import re
import shutil
import subprocess
import sys
import sysconfig
import unittest
import zipfile
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
WHEEL = Path(os.environ["WHEEL"]).resolve()
FOLDER = Path(os.environ["TEIJI_WHEEL_TESTS"]).resolve()
PYTHON = FOLDER / "venv" / "bin" / "python"
PROGRAM = FOLDER / "venv" / "bin" / "teiji"
BORROWED = {"PYTHONPATH": sysconfig.get_path("purelib")}
PAGE = (ROOT / "docs" / "python.md").read_text()
# Whether the pages are in memory is the kernel's matter; what was allocated is not.
ALLOCATED = "import pyarrow; print(pyarrow.total_allocated_bytes())"


def run(*words, expect=0, environment=None, folder=FOLDER):
    names = {name: value for name, value in os.environ.items() if name not in ("PYTHONPATH", "PYTHONHOME")}
    done = subprocess.run(
        [str(word) for word in words], cwd=folder, env=names | (environment or {}), capture_output=True, text=True, timeout=300, check=False
    )
    said = f"{' '.join(map(str, words))}\nended with {done.returncode}\n{done.stdout}\n{done.stderr}"
    if done.returncode != expect:
        raise AssertionError(said)
    return done.stdout


def python(code, environment=BORROWED, folder=FOLDER):
    return run(PYTHON, "-c", code, environment=environment, folder=folder)


def setUpModule():
    shutil.rmtree(FOLDER, ignore_errors=True)
    FOLDER.mkdir(parents=True)
    run(sys.executable, "-m", "venv", FOLDER / "venv")
    run(PYTHON, "-m", "pip", "install", "--quiet", "--no-index", WHEEL)
    run(PROGRAM, "measure", "--quiet", "--samples", "2000", "--threads", "1", "--policy", "other", "--output", "idle.teiji")


class Wheel(unittest.TestCase):
    def test_it_is_what_its_record_says_and_nothing_of_it_depends_on_when_it_was_built(self):
        with zipfile.ZipFile(WHEEL) as wheel:
            names = wheel.namelist()
            info = next(name for name in names if name.endswith("/METADATA")).rsplit("/", 1)[0]
            self.assertEqual({entry.date_time for entry in wheel.infolist()}, {wheel.getinfo(f"{info}/RECORD").date_time})
            metadata = wheel.read(f"{info}/METADATA").decode()
            self.assertEqual(wheel.read(f"{info}/WHEEL").decode().count("Tag: "), 2)
        version = re.search(r'^version = "(.*)"$', (ROOT / "Cargo.toml").read_text(), re.MULTILINE)[1]
        for line in (f"Version: {version}", "License: MIT OR Apache-2.0", "License-File: LICENSES-LINKED", "Requires-Python: >=3.9"):
            self.assertIn(line + "\n", metadata)
        for name in ("LICENSE-MIT", "LICENSE-APACHE", "LICENSES-LINKED"):
            self.assertIn(f"{info}/{name}", names)
        # pip compares each file with RECORD where it is asked for.
        run(PYTHON, "-m", "pip", "check")

    def test_the_program_is_in_path_and_found_by_the_module_that_came_with_it(self):
        version = run("teiji", "--version", environment={"PATH": f"{PROGRAM.parent}:{os.environ['PATH']}"})
        self.assertRegex(version, r"^teiji \d")
        nowhere = {"PATH": "/nonexistent"}
        self.assertEqual(python("import teiji; print(teiji.program())", nowhere).strip(), str(PROGRAM))
        run(PYTHON, "-m", "pip", "install", "--quiet", "--no-index", "--target", FOLDER / "target", WHEEL)
        found = run(sys.executable, "-c", "import teiji; print(teiji.program())", environment=nowhere | {"PYTHONPATH": FOLDER / "target"})
        self.assertEqual(found.strip(), str(FOLDER / "target" / "bin" / "teiji"))

    def test_nothing_else_is_needed_to_measure_and_to_judge(self):
        code = """
import sys, teiji
measured = teiji.measure(samples=200, threads=1, policy="other")
assert measured.max < teiji.ms(10_000)
assert not measured.max < teiji.ns(1)
assert measured.lost == 0
loaded = {"pyarrow", "polars", "pandas", "pytest", "numpy"} & set(sys.modules)
assert not loaded, loaded
"""
        python(code, {})

    def test_the_module_is_of_python_3_9_and_typed(self):
        folder = ROOT / "packaging" / "python" / "teiji"
        for path in folder.glob("*.py"):
            ast.parse(path.read_text(), feature_version=(3, 9))
        # Neither polars nor pytest says that it knows Python 3.9 any more, so mypy is told of a later one.
        run(sys.executable, "-m", "mypy", "--strict", "--ignore-missing-imports", f"--cache-dir={FOLDER / 'mypy'}", folder)


class Module(unittest.TestCase):
    def test_figures_and_verdicts_are_the_programs(self):
        code = "import teiji; r = teiji.open('idle.teiji')\nprint([r.{}.us for _ in '1'][0])"
        for name, written in (("max", "max"), ("p(99.9)", "p99.9"), ("mean", "mean"), ("peak_to_peak", "peak-to-peak")):
            self.assertEqual(float(python(code.format(name))), float(run(PROGRAM, "show", "--figure", written, "idle.teiji")), name)
        self.assertEqual(python(code.format("p(99.9999)")), "None\n")
        gate = json.loads(run(PROGRAM, "gate", "--json", "--limit", "p99<10s", "--limit", "max<1ns", "idle.teiji", expect=1))
        verdicts = "import teiji; r = teiji.open('idle.teiji')\nfor v in (r.p(99) < teiji.ms(10_000), teiji.ns(1) > r.max): print(v)"
        expected = [f"{limit['verdict']}: {limit['limit']}: {limit['seen']}" for limit in gate["limits"]]
        self.assertEqual(python(verdicts).splitlines(), expected)

    def test_not_enough_evidence_is_neither_true_nor_false(self):
        code = """
import teiji
r = teiji.open("idle.teiji")
for verdict in (r.p(99.9999, confidence=95) < teiji.ms(10_000), r.rate(above=teiji.ms(10_000)) < 1e-9):
    assert verdict.verdict == "not enough evidence" and verdict.lacking, verdict
    try:
        bool(verdict)
    except teiji.NotEnoughEvidence as error:
        assert str(error).startswith("not enough evidence: "), error
    else:
        raise SystemExit("it has a truth value")
"""
        python(code)
        skipped = """
import teiji, unittest
class Test(unittest.TestCase):
    def test(self):
        self.assertTrue(teiji.open("idle.teiji").p(99.9999, confidence=95) < teiji.ms(10_000))
result = unittest.TextTestRunner().run(unittest.defaultTestLoader.loadTestsFromTestCase(Test))
assert len(result.skipped) == 1 and result.wasSuccessful(), result
"""
        python(skipped)

    def test_what_means_nothing_is_an_error(self):
        for expression in (
            "r.max < 50",
            "r.max > teiji.us(50)",
            "r.max == teiji.us(50)",
            "teiji.us(1) < r.max < teiji.us(50)",
            "r.late < teiji.us(50)",
            "r.late != 0",
            "bool(r.max)",
            "r.rate(above=5) < 1e-3",
        ):
            with self.subTest(expression):
                python(f"import teiji; r = teiji.open('idle.teiji')\ntry: {expression}\nexcept TypeError: pass\nelse: raise SystemExit(1)")
        python("import teiji\ntry: teiji.us(0.0001)\nexcept ValueError: pass\nelse: raise SystemExit(1)")
        python("import teiji; assert [str(t) for t in (teiji.us(0.3), teiji.ms(1.5), teiji.ms(2), teiji.ms(10_000), teiji.ns(0))] == ['300ns', '1500us', '2ms', '10s', '0ns']")

    def test_errors_have_the_programs_words_and_its_exit_code(self):
        code = """
import teiji
try:
    teiji.measure(samples=10, prio=100)
except teiji.ProgramError as error:
    assert error.exit_code == 2 and "100" in error.words and error.recording is None, error
else:
    raise SystemExit("no error")
try:
    teiji.measure("judged.teiji", samples=100, threads=1, policy="other", limit=["max<10s", "max<1ns"])
except teiji.ProgramError as error:
    assert error.exit_code == 1 and error.recording.document["state"] == "complete", error
else:
    raise SystemExit("no error")
try:
    teiji.measure("judged.teiji", samples=100)
except teiji.ProgramError as error:
    assert error.exit_code == 2 and error.recording is None, "of an earlier run"
else:
    raise SystemExit("no error")
"""
        python(code)

    def test_samples_are_mapped_and_what_is_compressed_is_inflated(self):
        self.assertEqual(python("import teiji; s = teiji.open('idle.teiji').samples()\n" + ALLOCATED), "0\n")
        compress = """
import pyarrow, shutil
shutil.copytree("idle.teiji", "lz4.teiji")
table = pyarrow.ipc.open_stream("idle.teiji/samples-0.arrows").read_all()
with pyarrow.ipc.new_stream("lz4.teiji/samples-0.arrows", table.schema, options=pyarrow.ipc.IpcWriteOptions(compression="lz4")) as to:
    to.write_table(table)
import teiji
assert teiji.open("lz4.teiji").samples() == teiji.open("idle.teiji").samples() == table
"""
        python(compress)

    def test_skipped_is_null_and_long_values_are_whole(self):
        code = """
import json, pathlib, pyarrow, shutil, teiji
shutil.copytree("idle.teiji", "long.teiji")
values = [5, None, 2**31 - 1, None, 7, -2**31]
schema = pyarrow.schema([("latency_ns", pyarrow.int32())])
def write(name, table):
    with pyarrow.ipc.new_stream(f"long.teiji/{name}.arrows", table.schema) as to:
        to.write_table(table, max_chunksize=2)
write("samples-0", pyarrow.table({"latency_ns": pyarrow.array(values, pyarrow.int32())}))
write("samples-0-long", pyarrow.table({"row": [2, 5], "column": [0, 0], "value": [3_000_000_000, -2**31]}))
recording = teiji.open("long.teiji")
assert recording.samples()["latency_ns"].to_pylist() == [5, None, 3_000_000_000, None, 7, -2**31]
frame = recording.pandas()["latency_ns"]
assert frame.isna().tolist() == [False, True, False, True, False, False] and frame[2] == 3_000_000_000
assert recording.polars()["latency_ns"].to_list()[1:3] == [None, 3_000_000_000]
for rows, long, why in (
    ([2], [3_000_000_000], "row 5 does not fit 32 bits"),
    ([2, 5], [-3_000_000_000, -2**31], "row 2 fits 32 bits"),
    ([2, 4, 5], [3_000_000_000, 7, -2**31], "row 4 fits 32 bits"),
    ([2, 3, 5], [3_000_000_000, 2**31, -2**31], "row 3 fits 32 bits"),
    ([2, 2, 5], [3_000_000_000, 2**31, -2**31], "row 2 does not come after"),
    ([5, 2], [-2**31, 3_000_000_000], "row 2 does not come after"),
):
    write("samples-0-long", pyarrow.table({"row": rows, "column": [0] * len(rows), "value": long}))
    try:
        recording.samples()
    except ValueError as error:
        assert why in str(error), error
    else:
        raise SystemExit(f"{rows} is read")
pathlib.Path("long.teiji/samples-0-long.arrows").unlink()
try:
    recording.samples()
except ValueError as error:
    assert "row 2 does not fit 32 bits" in str(error), error
else:
    raise SystemExit("without the file")
"""
        python(code)

    def test_a_recording_that_was_cut_off_is_read_up_to_its_last_whole_batch(self):
        code = """
import json, pathlib, shutil, teiji
whole = teiji.open("idle.teiji").samples().num_rows
for name in ("cut", "damaged"):
    shutil.copytree("idle.teiji", f"{name}.teiji")
    samples = pathlib.Path(f"{name}.teiji/samples-0.arrows")
    samples.write_bytes(samples.read_bytes()[:-40])
document = json.loads(pathlib.Path("cut.teiji/run.json").read_text())
document["state"] = "running"
pathlib.Path("cut.teiji/run.json").write_text(json.dumps(document))
assert teiji.open("cut.teiji").samples().num_rows < whole
try:
    teiji.open("damaged.teiji").samples()
except OSError:
    pass
else:
    raise SystemExit("it was read")
"""
        python(code)

    def test_a_recording_opens_nothing_outside_its_folder(self):
        for name in ("../secret.arrows", str(FOLDER / "secret.arrows"), "link.arrows", "fifo.arrows"):
            with self.subTest(name):
                to = FOLDER / "hostile.teiji"
                shutil.rmtree(to, ignore_errors=True)
                shutil.copytree(FOLDER / "idle.teiji", to)
                (FOLDER / "secret.arrows").write_bytes((to / "samples-0.arrows").read_bytes())
                (to / "link.arrows").symlink_to(FOLDER / "secret.arrows")
                os.mkfifo(to / "fifo.arrows")
                document = json.loads((to / "run.json").read_text())
                document["threads"][0]["samples_file"] = name
                (to / "run.json").write_text(json.dumps(document))
                refused = "import teiji\ntry: teiji.open('hostile.teiji').samples()\nexcept ValueError as e: print(e)\nelse: raise SystemExit(1)"
                self.assertIn("not a file of the recording's own folder", python(refused))

    def test_what_is_no_recording_is_one_exception_with_path_and_reason(self):
        code = """
import json, pathlib, shutil, teiji
shutil.copytree("idle.teiji", "bad.teiji")
path = pathlib.Path("bad.teiji/run.json")
whole = json.loads(path.read_text())
def refused(why, text):
    path.write_bytes(text)
    try:
        teiji.open("bad.teiji")
    except teiji.RecordingError as error:
        assert error.path == pathlib.Path("bad.teiji") and str(error) == f"bad.teiji: {error.why}", error
        assert why in error.why, error
    else:
        raise SystemExit(f"opened: {why}")
def without(key, of=lambda document: document):
    document = json.loads(json.dumps(whole))
    del of(document)[key]
    return json.dumps(document).encode()
refused("not valid JSON", b"")
refused("not valid JSON", b"{")
refused("not UTF-8", b'{"a": "\\xff"}')
refused("nested too deeply", b"[" * 100_000)
refused("not a recording", b"[]")
refused("not a recording", without("format"))
refused("not a whole number: None", without("version"))
refused("version 99, and this module reads", json.dumps({**whole, "version": 99}).encode())
refused("no run, threads or state", without("run"))
refused("no run, threads or state", without("threads"))
for key in ("index", "cpu", "interval_ns", "start_ns", "activations", "latency_ns", "latency_with_skipped_ns"):
    refused(f"a thread without '{key}'", without(key, lambda document: document["threads"][0]))
refused("another type", json.dumps({**whole, "threads": [5]}).encode())
path.unlink()
for folder in ("bad.teiji", "nowhere.teiji"):
    try:
        teiji.open(folder)
    except teiji.RecordingError as error:
        assert "cannot read run.json: No such file" in error.why, error
    else:
        raise SystemExit("opened")
"""
        python(code, {})

    def test_what_an_import_does_not_know_is_none(self):
        code = """
import json, pathlib, shutil, teiji
shutil.copytree("idle.teiji", "figures.teiji")
path = pathlib.Path("figures.teiji/run.json")
document = json.loads(path.read_text())
thread = document["threads"][0]
thread["activations"] = None
thread["detail"] = "figures"
del thread["samples_file"]
for key in ("sd", "p50", "p90", "p99", "p999", "p9999"):
    thread["latency_with_skipped_ns"][key] = None
thread["latency_ns"] = None
path.write_text(json.dumps(document))
thread = teiji.open("figures.teiji").threads[0]
assert thread.activations is None and thread.as_measured is None and thread.figures.p99 is None and thread.figures.max > 0
try:
    thread.samples()
except ValueError as error:
    assert "figures" in str(error), error
else:
    raise SystemExit("it has samples")
"""
        python(code)

    def test_what_another_program_does_not_say_is_none(self):
        code = """
import pathlib, subprocess, teiji
pathlib.Path("theirs.txt").write_text("       0:       0:       5\\n       0:       1:       7\\n")
subprocess.run([teiji.program(), "import", "theirs.txt", "-o", "theirs"], check=True, capture_output=True)
import warnings
with warnings.catch_warnings(record=True) as said:
    warnings.simplefilter("always")
    recording = teiji.open("theirs/theirs.txt.teiji")
assert [str(one.message).split(": ", 1)[1] for one in said] == ["unit not stated: that of cyclictest by default"], said
thread = recording.threads[0]
assert [recording.run[key] for key in ("interval_ns", "scheduling", "cpus", "length")] == [None] * 4, recording.run
assert (thread.interval_ns, thread.cpu, thread.start_ns) == (None, None, None)
assert (thread.figures.count, thread.figures.max) == (2, 7000)
"""
        python(code)

    def test_a_temporary_recording_goes_with_the_last_that_refers_to_it(self):
        code = """
import gc, teiji
measured = teiji.measure(samples=50, threads=1, policy="other")
path, thread = measured.path, measured.threads[0]
del measured; gc.collect()
assert path.is_dir()
samples = thread.samples()
del thread; gc.collect()
assert not path.exists() and not path.parent.exists()
assert samples.num_rows == 50 and samples["latency_ns"].null_count < 50
"""
        python(code)


class Page(unittest.TestCase):
    def blocks(self, kind):
        return re.findall(rf"^```{kind}\n(.*?)^```$", PAGE, re.MULTILINE | re.DOTALL)

    def test_its_python_runs_as_it_stands(self):
        folder = FOLDER / "page"
        folder.mkdir()
        *blocks, _ = self.blocks("python")
        printed = python("\n".join(blocks), folder=folder)
        self.assertIn("2 priority 100 does not exist", printed)
        self.assertIn("not enough evidence: rate(>50ms)<0.001@95%: ", printed)

    def test_pytest_shows_all_three_verdicts(self):
        folder = FOLDER / "pytest"
        folder.mkdir()
        *_, tests = self.blocks("python")
        (folder / "test_latency.py").write_text(tests)
        words = ["-m", "pytest", "-rs", "-p", "no:cacheprovider", "test_latency.py"]
        printed = run(PYTHON, *words, expect=1, environment=BORROWED | {"COLUMNS": "200"}, folder=folder)
        self.assertIn("test_latency.py .Fs.", printed)
        self.assertRegex(printed, r"E +assert max \([0-9,.]+ µs\) < 1ns\nE +fail: max<1ns: [0-9,.]+ µs")
        self.assertRegex(printed, r"SKIPPED \[1\] test_latency.py:\d+: not enough evidence: p99\.9999<10s@95%: .*too few; p99\.9999 needs 1,000,000")
        self.assertRegex(printed, r"1 failed, 2 passed, 1 skipped")


if __name__ == "__main__":
    unittest.main(verbosity=2)
