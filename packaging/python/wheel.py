#!/usr/bin/env python3
# SPDX-License-Identifier: MIT OR Apache-2.0
"""A wheel of the module teiji and a static program. The same files and SOURCE_DATE_EPOCH give the same bytes.

    wheel.py PROGRAM VERSION PLATFORMS LICENCES TO

PLATFORMS are platform tags with dots between them, LICENCES the folder of the licence files, TO the folder for the wheel.
"""

import base64
import hashlib
import os
import sys
import time
import zipfile
from pathlib import Path

HERE = Path(__file__).resolve().parent
PYTHON = "3.9"
METADATA = """\
Metadata-Version: 2.1
Name: teiji
Version: {version}
Summary: Measures wake-up latency on Linux: how late a thread runs after the time it asked to be woken
License: MIT OR Apache-2.0
{licences}Keywords: latency,real-time,PREEMPT_RT,cyclictest,jitter,Linux
Classifier: Development Status :: 4 - Beta
Classifier: Environment :: Console
Classifier: Framework :: Pytest
Classifier: Intended Audience :: Developers
Classifier: License :: OSI Approved :: Apache Software License
Classifier: License :: OSI Approved :: MIT License
Classifier: Operating System :: POSIX :: Linux
Classifier: Programming Language :: Python :: 3 :: Only
Classifier: Topic :: System :: Benchmark
Classifier: Typing :: Typed
Requires-Python: >={python}
Provides-Extra: arrow
Requires-Dist: pyarrow; extra == 'arrow'
Description-Content-Type: text/markdown

{description}"""
ENTRY_POINTS = "[pytest11]\nteiji = teiji._pytest\n"


def contents(program, version, tags, licences):
    """Name in the wheel, bytes, and whether it is a program."""
    info = f"teiji-{version}.dist-info"
    for path in sorted((HERE / "teiji").iterdir()):
        if path.suffix == ".py" or path.name == "py.typed":
            yield f"teiji/{path.name}", path.read_bytes(), False
    yield f"teiji-{version}.data/scripts/teiji", program.read_bytes(), True
    files = sorted(licences.iterdir())
    for path in files:
        yield f"{info}/{path.name}", path.read_bytes(), False
    description = (HERE.parents[1] / "docs" / "python.md").read_text()
    named = "".join(f"License-File: {path.name}\n" for path in files)
    metadata = METADATA.format(version=version, licences=named, python=PYTHON, description=description)
    yield f"{info}/METADATA", metadata.encode(), False
    wheel = "Wheel-Version: 1.0\nGenerator: teiji\nRoot-Is-Purelib: false\n" + "".join(f"Tag: {tag}\n" for tag in tags)
    yield f"{info}/WHEEL", wheel.encode(), False
    yield f"{info}/entry_points.txt", ENTRY_POINTS.encode(), False


def digest(data):
    return "sha256=" + base64.urlsafe_b64encode(hashlib.sha256(data).digest()).rstrip(b"=").decode()


def main(program, version, platforms, licences, to):
    tags = [f"py3-none-{platform}" for platform in platforms.split(".")]
    made = time.gmtime(int(os.environ["SOURCE_DATE_EPOCH"]))[:6]
    path = Path(to) / f"teiji-{version}-py3-none-{platforms}.whl"
    record = f"teiji-{version}.dist-info/RECORD"
    lines = []
    with zipfile.ZipFile(path, "w") as wheel:

        def add(name, data, is_program):
            entry = zipfile.ZipInfo(name, made)
            entry.compress_type = zipfile.ZIP_DEFLATED
            entry.create_system = 3
            entry.external_attr = (0o100755 if is_program else 0o100644) << 16
            wheel.writestr(entry, data, compresslevel=9)

        for name, data, is_program in contents(Path(program), version, tags, Path(licences)):
            add(name, data, is_program)
            lines.append(f"{name},{digest(data)},{len(data)}\n")
        add(record, ("".join(lines) + f"{record},,\n").encode(), False)
    print(path)


if __name__ == "__main__":
    main(*sys.argv[1:])
