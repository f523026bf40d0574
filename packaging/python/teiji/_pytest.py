# SPDX-License-Identifier: MIT OR Apache-2.0
"""The plugin of pytest: a verdict without enough evidence skips its test, and a failed one says what was measured."""

from __future__ import annotations

from pathlib import Path
from types import ModuleType
from typing import Any, Callable, Generator, List, Optional

import pytest

import teiji as module

from ._figures import _Limited


@pytest.fixture(name="teiji")
def _teiji() -> ModuleType:
    """The module teiji."""
    return module


@pytest.fixture
def teiji_measure(tmp_path: Path) -> Callable[..., module.Recording]:
    """teiji.measure, with the recordings in the test's own folder, which pytest keeps for some runs."""

    def measure(**named: Any) -> module.Recording:
        number = len(list(tmp_path.glob("measured-*.teiji"))) + 1
        return module.measure(**{"output": tmp_path / f"measured-{number}.teiji", **named})

    return measure


@pytest.hookimpl(hookwrapper=True, tryfirst=True)
def pytest_runtest_makereport(item: pytest.Item, call: pytest.CallInfo[Any]) -> Generator[None, Any, None]:
    """As pytest does with unittest's SkipTest, but with the place of the test."""
    if call.excinfo is None or not isinstance(call.excinfo.value, module.NotEnoughEvidence):
        yield
        return
    reason = str(call.excinfo.value)
    call.excinfo = pytest.CallInfo.from_call(lambda: pytest.skip(reason), call.when).excinfo
    report = (yield).get_result()
    path, line, _ = item.reportinfo()
    report.longrepr = (str(path), (line or 0) + 1, f"Skipped: {reason}")


def pytest_assertrepr_compare(op: str, left: object, right: object) -> Optional[List[str]]:
    """The program's words below what was compared."""
    relation = {"<": "<", "<=": "<=", "==": "==", ">": "<", ">=": "<="}.get(op)
    figure, bound = (right, left) if op in (">", ">=") else (left, right)
    if relation is None or not isinstance(figure, _Limited):
        return None
    return [f"{left!r} {op} {right!r}", str(figure._judge(relation, bound))]
