# SPDX-License-Identifier: MIT OR Apache-2.0
"""teiji from Python: measure, read recordings, and judge them in tests.

Figures and verdicts are the program's own: this module computes none. What is unknown is None, never 0. Samples are read
with pyarrow, which is imported where it is needed and nowhere else, as are polars, pandas and pytest.
"""

from ._figures import Column, Count, Figure, Rate, Verdict
from ._program import NotEnoughEvidence, ProgramError, explain, measure, program
from ._recording import Activations, Figures, Recording, RecordingError, Thread, open
from ._times import Time, ms, ns, us
from . import lab

__all__ = [
    "Activations",
    "Column",
    "Count",
    "Figure",
    "Figures",
    "NotEnoughEvidence",
    "ProgramError",
    "Rate",
    "Recording",
    "RecordingError",
    "Thread",
    "Time",
    "Verdict",
    "explain",
    "lab",
    "measure",
    "ms",
    "ns",
    "open",
    "program",
    "us",
]
