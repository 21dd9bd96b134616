"""Fixtures of the crash lab, and its count at the end of the report."""

import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

sys.path.append(str(Path(__file__).parents[1] / "unit"))  # the portal's answers are those of the spine's kit

from lab import Nursery


@pytest.fixture(scope="session")
def nursery() -> Iterator[Nursery]:
    """A warm process that forks the children."""
    with Nursery() as made:
        yield made


@pytest.fixture(scope="session")
def second_nursery() -> Iterator[Nursery]:
    """One more, for two children at the same time."""
    with Nursery() as made:
        yield made


def pytest_terminal_summary(terminalreporter: Any) -> None:
    """How many runs there were, and of how many points."""
    reports = [report for outcome in ("passed", "failed") for report in terminalreporter.stats.get(outcome, ())]
    lines = [value for report in reports for name, value in report.user_properties if name == "crash"]
    if lines:
        terminalreporter.section("crash lab")
        for line in sorted(lines):
            terminalreporter.write_line(line)
