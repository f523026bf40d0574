# SPDX-License-Identifier: MIT OR Apache-2.0
"""Real kernels in an emulator, in virtual time."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any, List, Optional, Union

from ._program import Folder, PathLike, flags, succeed
from ._recording import Recording


def run(output: Optional[PathLike] = None, **named: Any) -> List[Recording]:
    """`teiji lab run`, whose flags are the keyword arguments; the recordings in the order of their names.

    They lie in the folder `output`, or in a temporary one, which is removed when nothing refers to one of them any more.
    """
    folder = Folder(output, "lab")
    succeed(["lab", "run", "--quiet", *flags(named), f"--output={folder.path}"])
    return [Recording(found, folder) for found in sorted(folder.path.glob("*.teiji"), key=_in_order)]


def _in_order(path: Path) -> List[Union[int, str]]:
    """Phase 2 before phase 10."""
    return [int(part) if part.isdigit() else part for part in re.split(r"(\d+)", path.name)]
