# SPDX-License-Identifier: MIT OR Apache-2.0
"""The program as a process: where it is, how keyword arguments become its flags, and its errors as exceptions."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sysconfig
import tempfile
from importlib import metadata
from pathlib import Path
from typing import TYPE_CHECKING, Any, Dict, List, Optional, Sequence, Tuple, Union, cast
from unittest import SkipTest

if TYPE_CHECKING:
    from ._recording import Recording

PathLike = Union[str, "os.PathLike[str]"]


class ProgramError(Exception):
    """The program ended with another exit code than 0; its words are the message."""

    def __init__(self, words: str, exit_code: int, command: Sequence[str], recording: Optional[Recording] = None) -> None:
        super().__init__(words)
        self.words = words
        self.exit_code = exit_code
        self.command = list(command)
        # What it left, complete or not.
        self.recording = recording

    def __str__(self) -> str:
        return f"{self.words}\n{' '.join(self.command)}: exit code {self.exit_code}"


class NotEnoughEvidence(SkipTest):
    """A limit can neither pass nor fail: asked for a truth value, its verdict has none. A test of unittest is skipped."""


def program() -> str:
    """The path of the program that came with this module, or else of the one in PATH."""
    candidates = [*_installed(), *_beside()]
    for candidate in candidates:
        if os.access(candidate, os.X_OK):
            return str(candidate)
    found = shutil.which("teiji")
    if found is None:
        raise FileNotFoundError(f"no program teiji in {', '.join(str(one.parent) for one in candidates)} or PATH")
    return found


def _installed() -> List[Path]:
    """Where pip wrote down that it has put the program."""
    try:
        files = metadata.files("teiji") or []
    except metadata.PackageNotFoundError:
        return []
    return [Path(str(file.locate())).resolve() for file in files if file.name == "teiji" and not file.suffix and len(file.parts) > 1]


def _beside() -> List[Path]:
    """Where pip puts programs: of this Python, of this user, and below a folder named by --target."""
    folders = [Path(sysconfig.get_path("scripts"))]
    user = f"{os.name}_user"
    if user in sysconfig.get_scheme_names():
        folders.append(Path(sysconfig.get_path("scripts", user)))
    folders.append(Path(__file__).resolve().parents[1] / "bin")
    return [folder / "teiji" for folder in folders]


def flags(named: Dict[str, Any]) -> List[str]:
    """Keyword arguments as flags: underscores are dashes, True is a flag without value, a list repeats its flag."""
    words = []
    for name, value in named.items():
        for one in value if isinstance(value, (list, tuple)) else [value]:
            if one is None or one is False:
                continue
            if len(name) == 1:
                words += [f"-{name}"] if one is True else [f"-{name}", str(one)]
            else:
                flag = "--" + name.replace("_", "-")
                words.append(flag if one is True else f"{flag}={one}")
    return words


def call(words: Sequence[str]) -> Tuple[int, str, str, List[str]]:
    """Exit code, standard output, what it said, and the command."""
    command = [program(), *words]
    done = subprocess.run(command, stdin=subprocess.DEVNULL, capture_output=True, encoding="utf-8", errors="replace", check=False)
    return done.returncode, done.stdout, done.stderr.strip().removeprefix("error: "), command


def succeed(words: Sequence[str]) -> str:
    """Its standard output; raises where the exit code is another than 0."""
    code, output, said, command = call(words)
    if code != 0:
        # What a limit came to is on standard output.
        raise ProgramError(said or output.strip(), code, command)
    return output


class Folder:
    """A folder for recordings: one that was named, or one that is removed when nobody refers to it any more."""

    def __init__(self, output: Optional[PathLike], name: str) -> None:
        self.temporary = None if output is not None else tempfile.TemporaryDirectory(prefix="teiji-")
        parent = self.temporary.name if self.temporary is not None else ""
        self.path = Path(output) if output is not None else Path(parent) / name


def measure(output: Optional[PathLike] = None, command: Sequence[str] = (), **named: Any) -> Recording:
    """One run, now, on this machine: `teiji measure`, whose flags are the keyword arguments.

    The recording lies in the folder `output`, or in a temporary one, which is removed when nothing refers to the recording any
    more. `command` is what the probe app starts and measures. Raises ProgramError where the program ends with another exit code
    than 0: also where `limit=` fails, then with the recording in its attribute `recording`.
    """
    from ._recording import Recording

    if "," in str(named.get("probe", "")):
        raise ValueError("one probe at a time: several leave a folder of recordings")
    folder = Folder(output, "measured.teiji")
    behind = ["--", *command] if command else []
    # Of an earlier run, which the program does not touch.
    is_there = folder.path.exists()
    try:
        succeed(["measure", "--quiet", *flags(named), f"--output={folder.path}", *behind])
    except ProgramError as error:
        if not is_there and (folder.path / "run.json").is_file():
            error.recording = Recording(folder.path, folder)
        raise
    return Recording(folder.path, folder)


def explain(recording: Union[Recording, PathLike], **named: Any) -> Dict[str, Any]:
    """Why the latencies of a recording of the lab were as large as they were: `teiji explain --json`."""
    path = os.fspath(recording)
    return cast(Dict[str, Any], json.loads(succeed(["explain", "--quiet", "--json", *flags(named), path])))
