"""A backup that is not whole, or that somebody made to do harm, is refused by name, and nothing is written."""

import io
import json
import shutil
import stat
import zipfile
from collections.abc import Callable
from hashlib import sha256
from pathlib import Path
from typing import Any

import pytest

from state.journal.store import StoreError
from state.sql.schema import NewerDatabase
from state.transfer.archive import BadBackup, open_archive
from tests.unit.state.transfer.moving_kit import Home, Homes
from tests.unit.verify_kit import conversation

Members = list[tuple[zipfile.ZipInfo, bytes]]


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> bytes:
    """A backup of a conversation."""
    folder = tmp_path_factory.mktemp("whole")
    conversation(folder / "state" / "sdelka.db")
    shutil.move(folder / "state" / "logs", folder / "logs")
    return Home(folder, f"sqlite:///{folder / 'state' / 'sdelka.db'}").back_up(folder / "one.backup").path.read_bytes()


def members(whole: bytes) -> Members:
    with zipfile.ZipFile(io.BytesIO(whole)) as archive:
        return [(info, archive.read(info)) for info in archive.infolist()]


def archive_of(parts: Members) -> bytes:
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED) as archive:
        for info, data in parts:
            archive.writestr(info, data)
    return file.getvalue()


def told(change: Callable[[dict[str, Any]], object]) -> Callable[[Members], Members]:
    """The archive with another manifest."""

    def changed(parts: Members) -> Members:
        manifest = json.loads(parts[-1][1])
        change(manifest)
        return [*parts[:-1], (parts[-1][0], json.dumps(manifest).encode())]

    return changed


def beside(name: str, data: bytes = b"x", *, mode: int = stat.S_IFREG | 0o600) -> Callable[[Members], Members]:
    """The archive with one more member, which its manifest knows as an audit log."""

    def more(parts: Members) -> Members:
        info = zipfile.ZipInfo(name)
        info.external_attr = mode << 16
        info.compress_type = zipfile.ZIP_DEFLATED
        manifest = json.loads(parts[-1][1])
        manifest["logs"][name.removeprefix("logs/")] = {"size": len(data), "sha256": sha256(data).hexdigest()}
        return [*parts[:-1], (info, data), (parts[-1][0], json.dumps(manifest).encode())]

    return more


def replaced(name: str, change: Callable[[bytes], bytes]) -> Callable[[Members], Members]:
    """The archive with another content of a member, and a manifest that knows of it."""

    def other(parts: Members) -> Members:
        found = [(info, change(data) if info.filename == name else data) for info, data in parts]
        manifest = json.loads(parts[-1][1])
        data = next(data for info, data in found if info.filename == name)
        manifest["tables"][name[7:-6]] |= {"size": len(data), "sha256": sha256(data).hexdigest()}
        return [*found[:-1], (parts[-1][0], json.dumps(manifest).encode())]

    return other


def lying(manifest: dict[str, Any]) -> None:
    manifest["tables"]["events"]["sha256"] = "0" * 64


DAMAGE: list[tuple[str, Callable[[Members], Members], type[StoreError], str]] = [
    ("path traversal", beside("logs/../../evil.jsonl"), BadBackup, "leads out of the archive"),
    ("absolute path", beside("/etc/evil.jsonl"), BadBackup, "leads out of the archive"),
    ("backslash", beside("logs\\..\\evil.jsonl"), BadBackup, "leads out of the archive|no file of an audit log"),
    ("a name that is no log", beside("logs/.bashrc"), BadBackup, "no file of an audit log"),
    ("a symlink", beside("logs/a.jsonl", b"/etc/passwd", mode=stat.S_IFLNK | 0o777), BadBackup, "'logs/a.jsonl' is a link"),
    ("a folder", beside("logs/a.jsonl/", b""), BadBackup, "is a link or a folder"),
    ("a bomb", beside("logs/a.jsonl", bytes(110 * 1024 * 1024)), BadBackup, "'logs/a.jsonl' would unpack to 115,343,360 bytes"),
    ("a member too many", lambda parts: [*parts, (zipfile.ZipInfo("more"), b"")], BadBackup, "'more', of which its manifest says nothing"),
    ("a member missing", lambda parts: parts[1:], BadBackup, "lacks 'logs/"),
    ("no manifest", lambda parts: parts[:-1], BadBackup, "no manifest"),
    ("a manifest that is no JSON", lambda parts: [*parts[:-1], (parts[-1][0], b"{")], BadBackup, "no JSON"),
    ("a newer format", told(lambda manifest: manifest.update(format=2)), BadBackup, "format 2, this program reads up to 1"),
    ("a newer schema", told(lambda manifest: manifest.update(revision="9999")), NewerDatabase, "schema '9999'"),
    ("an unknown field", told(lambda manifest: manifest.update(more=1)), BadBackup, "manifest cannot be used: more"),
    ("a digest that does not fit", told(lying), BadBackup, "tables/events.jsonl is not what was written there"),
    (
        "SQL for a name",
        told(lambda manifest: manifest["tables"]["values"].update(columns=["key", 'v") --'])),
        BadBackup,
        "manifest cannot be used",
    ),
    ("no row", replaced("tables/timers.jsonl", lambda data: data + b'{"a":1}\n'), BadBackup, "a line of table timers is no row"),
    ("half a row", replaced("tables/timers.jsonl", lambda data: data + b'["a"'), BadBackup, "a line without an end"),
    ("a row twice", replaced("tables/timers.jsonl", lambda data: data * 2), StoreError, "was not filled"),
    (
        "a row more than told",
        replaced("tables/timers.jsonl", lambda data: data + b'["a","b","c","d","e"]\n'),
        StoreError,
        "table timers was not stored",
    ),
]


@pytest.mark.parametrize(("change", "error", "sentence"), [row[1:] for row in DAMAGE], ids=[row[0] for row in DAMAGE])
def test_it_is_refused_by_name(
    whole: bytes, homes: Homes, tmp_path: Path, change: Callable[[Members], Members], error: type[StoreError], sentence: str
) -> None:
    """The sentence names what is wrong; neither database nor log can be started on or found anywhere."""
    path, home = tmp_path / "x" / "bad.backup", homes.home("new")
    path.parent.mkdir()
    path.write_bytes(archive_of(change(members(whole))))
    with pytest.raises(error, match=sentence):
        home.restore(path)
    if "was not" not in sentence and "line" not in sentence:  # else it was filled, and stays closed
        assert not (home.folder / "state" / "sdelka.db").exists()
    else:
        with pytest.raises(StoreError, match="did not come to its end"):
            home.store().__enter__()
    assert not home.logs.exists()
    assert not (tmp_path / "evil.jsonl").exists()


def test_what_is_cut_or_flipped_anywhere_is_refused(whole: bytes, homes: Homes, tmp_path: Path) -> None:
    """Cut at any length; one bit changed in any place: never taken for the whole."""
    path, step = tmp_path / "bad.backup", max(1, len(whole) // 120)
    with open_archive(_write(path, whole)) as archive:
        archive.check()
        manifest = archive.manifest
    for end in range(0, len(whole) - 1, step):
        with pytest.raises(BadBackup), open_archive(_write(path, whole[:end])) as archive:
            archive.check()
    accepted = []
    for place in range(0, len(whole), step):
        flipped = bytearray(whole)
        flipped[place] ^= 0x10
        try:
            with open_archive(_write(path, bytes(flipped))) as archive:
                archive.check()
                accepted.append(archive.manifest == manifest)  # a date or an attribute in the directory: nothing that is read
        except BadBackup:
            continue
    assert all(accepted)
    assert len(accepted) < 40


def _write(path: Path, data: bytes) -> Path:
    path.write_bytes(data)
    return path
