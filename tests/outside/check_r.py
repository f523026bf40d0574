# SPDX-License-Identifier: MIT OR Apache-2.0
"""Runs the lines of R of docs/recording.md: check_r.py TEIJI, and holds what they print against run.json."""

import json
import os
import re
import subprocess
import sys
import tempfile
from pathlib import Path

PAGE = Path(__file__).parents[2] / "docs/recording.md"


def main(teiji):
    """Runs them in a folder of their own, beside a recording of the name that they have."""
    (lines,) = re.findall(r"^```r\n(.*?)^```$", PAGE.read_text(), re.MULTILINE | re.DOTALL)
    with tempfile.TemporaryDirectory() as folder:
        (Path(folder) / "teiji").symlink_to(teiji)
        paths = {**os.environ, "PATH": f"{folder}:{os.environ['PATH']}"}
        measure = ["teiji", "measure", "-q", "-d", "1s", "-t", "2", "-o", "idle.teiji"]
        subprocess.run(measure, cwd=folder, env=paths, check=True, stdout=subprocess.DEVNULL)
        ran = subprocess.run(["Rscript", "-e", lines], cwd=folder, env=paths, check=True, capture_output=True, text=True)
        threads = json.loads((Path(folder) / "idle.teiji/run.json").read_text())["threads"]
    due, woke, largest = (int(figure) for figure in ran.stdout.splitlines()[1].split())
    counts = [thread["activations"] for thread in threads]
    assert due == sum(count["due"] for count in counts)
    assert woke == sum(count["on_time"] + count["late"] for count in counts)
    assert largest == max(thread["latency_ns"]["max"] for thread in threads)


if __name__ == "__main__":
    main(Path(sys.argv[1]).resolve())
