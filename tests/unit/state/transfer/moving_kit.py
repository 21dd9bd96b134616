"""A home with a database of either kind and audit logs, its backup, and the restore of it: for tests of them."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import column, inspect, make_url, select, table
from typer import Typer
from typer.testing import CliRunner

from orchestrator.domain.errors import SettingsError
from orchestrator.reports.consistency import EffectChecker
from orchestrator.reports.erasure.erase import ErasureFiles
from orchestrator.reports.log_rebuild.verify import verify_logs
from orchestrator.reports.restore import RestoreReport, prepare_restored
from state.findings import Finding
from state.sql import SqlStore, build_sqlite_url, open_reader, open_store
from state.sql.schema import CLOSED_KEY as KEY
from state.transfer.backup import CreatedBackup, create_backup
from state.transfer.manifest import ErasedPerson
from state.transfer.restore import open_place, put_into_place, unpack
from state.transfer.table_copy import list_tables, open_reading
from state.verify.journal import verify_journal
from tests.fixed_clock import FixedClock
from tests.unit.spine_kit import NOW

KINDS = ["file", "postgresql"]
MADE_AT = datetime(2026, 11, 21, 12, 5, tzinfo=UTC)


@dataclass
class Homes:
    """Makes homes, each with a folder and an empty database of a kind."""

    folder: Path
    server: Callable[[], Any]
    made: list[str] = field(default_factory=list)

    def home(self, name: str, kind: str = "file") -> "Home":
        folder = self.folder / name
        if kind == "file":
            return Home(folder, build_sqlite_url(folder / "state" / "sdelka.db"))
        self.made.append(self.server().empty())
        return Home(folder, self.made[-1])


@dataclass(frozen=True)
class Home:
    """A folder with the logs, and a database in it or on a server."""

    folder: Path
    url: str

    @property
    def logs(self) -> Path:
        return self.folder / "logs"

    @contextmanager
    def store(self) -> Iterator[SqlStore]:
        made = open_store(self.url)
        try:
            yield made
        finally:
            made.close()

    def back_up(self, path: Path) -> CreatedBackup:
        """A backup as of MADE_AT."""
        return create_backup(self.url, self.logs, path, now=lambda: MADE_AT, program="test")

    def restore(self, path: Path, gone: tuple[ErasedPerson, ...] = ()) -> RestoreReport:
        """The backup in this home, on the tests' clock."""
        with open_place(self.url, self.logs) as folder, unpack(path, folder) as unpacked:
            with unpacked.open() as dialect:
                place = ErasureFiles(logs=unpacked.logs)
                report = prepare_restored(dialect, unpacked.header, gone, place, by="cli:ops", clock=FixedClock(NOW))
            put_into_place(unpacked, self.url, self.logs)
        return report

    def rows(self) -> dict[str, list[tuple[Any, ...]]]:
        """All rows by table, in the order of their keys, without the mark of a moved database."""
        with open_reading(self.url) as found:
            rows = {}
            for name, columns in list_tables(found).items():
                keys = [columns.index(key) for key in inspect(found).get_pk_constraint(name)["constrained_columns"]]
                stored = map(tuple, found.execute(select(table(name, *map(column, columns)))))
                rows[name] = sorted((row for row in stored if row[0] != KEY), key=lambda row: [row[key] for key in keys])
            return rows

    def findings(self) -> list[Finding]:
        """What is not as it was written."""
        checked = verify_journal(self.url, judge=EffectChecker, anchors={}, progress=lambda _: None)
        assert not checked.uncheckable, checked.uncheckable
        store = open_reader(self.url)
        logs = list(verify_logs(store, self.logs, now=NOW))
        store.close()
        return [finding for finding in (*checked.findings, *logs) if finding.kind != "note"]


@contextmanager
def some_homes(folder: Path, request: pytest.FixtureRequest) -> Iterator[Homes]:
    def server() -> Any:
        return request.getfixturevalue("postgres")

    made = Homes(folder, server)
    yield made
    for url in made.made:
        server().drop(url)


def called(app: Typer, *arguments: str) -> tuple[int, str]:
    """A command of `sdelka`, its exit code and all it says."""
    result = CliRunner().invoke(app, arguments)
    if isinstance(result.exception, SettingsError):  # as bot.cli.app tells it
        return 2, f"{result.output}{result.exception.reason}"
    if result.exception is not None and not isinstance(result.exception, SystemExit):
        raise result.exception
    return result.exit_code, result.output


def database_name(url: str) -> str:
    return str(make_url(url).database)
