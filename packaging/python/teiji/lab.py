# SPDX-License-Identifier: MIT OR Apache-2.0
"""Real kernels in an emulator, in virtual time."""

from __future__ import annotations

from typing import Any, List, Optional

from ._program import Folder, PathLike, flags, succeed
from ._recording import Recording


def run(output: Optional[PathLike] = None, **named: Any) -> List[Recording]:
    """`teiji lab run`, whose flags are the keyword arguments; the recordings by their names, those of phases below their folder.

    They lie in the folder `output`, or in a temporary one, which is removed when nothing refers to one of them any more.
    """
    folder = Folder(output, "lab")
    succeed(["lab", "run", "--quiet", *flags(named), f"--output={folder.path}"])
    return [Recording(found.parent, folder) for found in sorted(folder.path.rglob("run.json"))]
