"""Who may read and write the files of an audit log, before and after an operator erases, rewrites or packs it."""

import os
import stat
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from state.audit_log.interaction_log import InteractionLogger, rewrite_log
from state.audit_log.log_files import hold_lock
from tests.fixed_clock import FixedClock

NOT_READABLE = stat.S_IRWXO
SOMEBODY = 4321


def written(folder: Path, count: int = 12) -> InteractionLogger:
    """A log with archives."""
    log = InteractionLogger(folder, clock=FixedClock(datetime(2026, 11, 21, 22, 48, tzinfo=UTC)), limit=300)
    for number in range(count):
        log.record("anna", {"number": number, "text": "Ромашка"})
    return log


def modes(folder: Path) -> dict[str, int]:
    return {path.name: stat.S_IMODE(path.stat().st_mode) for path in folder.iterdir()}


def without_names(line: bytes) -> bytes:
    return line.replace("Ромашка".encode(), b"")


@pytest.fixture(autouse=True)
def common_mask() -> Any:
    """The umask that most systems have, whatever that of the test run is."""
    before = os.umask(0o022)
    yield
    os.umask(before)


@pytest.mark.req("S004-A12")
def test_no_file_of_a_log_is_readable_by_others(tmp_path: Path) -> None:
    """The live file, archives and the lock, and the folder itself; also after a rewriting."""
    folder = tmp_path / "logs"
    written(folder)
    assert len(modes(folder)) > 4
    assert rewrite_log(folder, "anna", without_names) == 12
    assert not [name for name, mode in modes(folder).items() if mode & NOT_READABLE]
    assert not folder.stat().st_mode & NOT_READABLE


@pytest.mark.parametrize("mode", [0o600, 0o640, 0o660, 0o644])
def test_a_rewritten_log_keeps_the_mode_that_it_had(tmp_path: Path, mode: int) -> None:
    """Each file its own, also one that an operator chose; what is new is like the live file."""
    written(tmp_path)
    for path in tmp_path.iterdir():
        path.chmod(mode)
    rewrite_log(tmp_path, "anna", without_names)
    assert set(modes(tmp_path).values()) == {mode}


@pytest.mark.skipif(os.geteuid() != 0, reason="only root may give files away")
def test_a_log_that_root_rewrites_stays_the_programs(tmp_path: Path) -> None:
    """Otherwise the program could write nothing more into it, and would say nothing about it."""
    written(tmp_path)
    for path in (tmp_path, *tmp_path.iterdir()):
        os.chown(path, SOMEBODY, SOMEBODY)
    rewrite_log(tmp_path, "anna", without_names)
    with hold_lock(tmp_path / "boris.jsonl"):
        pass
    assert {(path.stat().st_uid, path.stat().st_gid) for path in tmp_path.iterdir()} == {(SOMEBODY, SOMEBODY)}


def test_an_owner_that_may_not_be_given_stops_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Somebody who is not root rewrites: the records change, the mode stays."""

    def refuse(*_: object) -> None:
        raise PermissionError(1, "Operation not permitted")

    written(tmp_path)
    if os.geteuid() == 0:
        os.chown(tmp_path / "anna.jsonl", SOMEBODY, SOMEBODY)
    monkeypatch.setattr(os, "chown", refuse)
    assert rewrite_log(tmp_path, "anna", without_names) == 12
    assert stat.S_IMODE((tmp_path / "anna.jsonl").stat().st_mode) == 0o640
