"""Fixtures of the crash lab, and its count at the end of the report."""

from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from state.sql import build_sqlite_url
from tests.crash.lab import Nursery
from tests.crash.lab_disk import lab_folder, sweep
from tests.crash.lab_run_walk import RunLab
from tests.crash.lab_shim import built
from tests.crash.lab_walk import Lab
from tests.postgres_kit import Server


@pytest.fixture(params=["file", "postgresql"])
def shared(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[str]:
    """The address of a database for several processes."""
    if request.param == "file":
        yield build_sqlite_url(tmp_path / "shared.db")
        return
    server: Server = request.getfixturevalue("postgres")
    url = server.fresh()
    yield url
    server.drop(url)


@pytest.fixture(scope="session")
def library(tmp_path_factory: pytest.TempPathFactory) -> Path | None:
    """The compiled shim, None without a compiler; what an earlier session left behind is gone before anything runs."""
    sweep()
    return built(tmp_path_factory.mktemp("shim"))


@pytest.fixture(scope="session")
def nursery(library: Path | None) -> Iterator[Nursery]:
    """A warm process that forks the children."""
    with Nursery(library) as made:
        yield made


@pytest.fixture(scope="session")
def second_nursery() -> Iterator[Nursery]:
    """One more, for two children at the same time."""
    with Nursery() as made:
        yield made


@pytest.fixture
def lab(nursery: Nursery, record_property: Callable[[str, object], None]) -> Iterator[Lab]:
    """Runs of scripts, counted."""
    with lab_folder() as folder:
        yield Lab(nursery, folder, record_property)


@pytest.fixture
def lab_folder_of_runs() -> Iterator[Path]:
    """A folder for the runs of one test."""
    with lab_folder() as folder:
        yield folder


@pytest.fixture
def run_lab(nursery: Nursery, lab_folder_of_runs: Path, record_property: Callable[[str, object], None]) -> RunLab:
    """Runs of definitions on SQLite, counted."""
    return RunLab(nursery, lab_folder_of_runs, record_property)


@pytest.fixture
def shimmed(lab: Lab) -> Lab:
    """The same, for tests that cannot do without the shim."""
    if lab.nursery.shim is None:
        pytest.skip("no C compiler on this machine: what the system is asked to do cannot be troubled")
    return lab


def pytest_terminal_summary(terminalreporter: Any) -> None:
    """What befell the runs, and the sum of it all."""
    reports = [report for outcome in ("passed", "failed") for report in terminalreporter.stats.get(outcome, ())]
    told = [value for report in reports for name, value in report.user_properties if name == "crash"]
    total: Counter[str] = Counter()
    runs: Counter[str] = Counter()
    for report in reports:
        if report.when == "call":
            for name, value in report.user_properties:
                total.update(value if name == "crash_count" else {})
                runs.update(value if name == "crash_runs" else {})
    if told or total:
        terminalreporter.section("crash lab")
        for line in sorted(told):
            terminalreporter.write_line(line)
        terminalreporter.write_line(summary(total))
    if runs:
        terminalreporter.write_line(summarize_runs(runs))


def summary(total: Counter[str]) -> str:
    """The sum in one line."""
    outside = f"{total['deaths']:,} deaths, {total['troubles']:,} troubles, {total['presses']:,} double presses in {total['runs']:,} runs"
    inside = f"{total['doubles']} doubles, {total['lost']} lost, {total['wrong']} other findings"
    return f"crash lab: {outside}: {inside}; {total['caught']} of {total['faults']} planted faults caught"


def summarize_runs(total: Counter[str]) -> str:
    """Return the line about runs, which are executions of definitions by an engine."""
    found = f"{total['doubles']} doubles, {total['lost']} lost wake-ups, {total['repeated']} answered model calls repeated"
    faults = f"{total['caught']} of {total['faults']} planted faults caught"
    return f"crash lab of runs: {total['points']:,} kill points: {found}, {total['other']} other findings; {faults}"
