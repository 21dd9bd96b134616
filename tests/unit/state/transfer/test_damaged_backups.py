"""A backup that is not whole, or that somebody made to do harm, is refused by name, and nothing is written."""

import gzip
import io
import json
import shutil
import tarfile
import zipfile
from collections.abc import Callable
from hashlib import sha256
from pathlib import Path
from typing import Any

import pytest

from state.journal.store import StoreError, StoreUnwritable
from state.sql.schema import NewerDatabase
from state.transfer.archive import LEVEL, _build_end, unpack_backup
from state.transfer.manifest import BadBackup
from tests.unit.state.transfer.moving_kit import Home, Homes
from tests.unit.verify_kit import conversation

Members = list[tuple[tarfile.TarInfo, bytes]]
OLD = Path(__file__).parents[3] / "corpus" / "house_v1" / "house.backup"


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> bytes:
    """A backup of a conversation."""
    folder = tmp_path_factory.mktemp("whole")
    conversation(folder / "state" / "sdelka.db")
    shutil.move(folder / "state" / "logs", folder / "logs")
    return Home(folder, f"sqlite:///{folder / 'state' / 'sdelka.db'}").back_up(folder / "one.backup").path.read_bytes()


def members(whole: bytes) -> Members:
    with tarfile.open(fileobj=io.BytesIO(whole)) as archive:
        return [(member, content.read()) for member in archive if (content := archive.extractfile(member))]


def archive_of(parts: Members) -> bytes:
    file = io.BytesIO()
    with gzip.GzipFile("", "wb", LEVEL, file, mtime=0) as packed, tarfile.open(fileobj=packed, mode="w") as archive:
        for member, data in parts:
            member.size = len(data)
            archive.addfile(member, io.BytesIO(data))
    file.write(_build_end(file, file.tell()))
    return file.getvalue()


def told(change: Callable[[dict[str, Any]], object]) -> Callable[[Members], Members]:
    """The archive with another manifest."""

    def changed(parts: Members) -> Members:
        manifest = json.loads(parts[0][1])
        change(manifest)
        return [(parts[0][0], json.dumps(manifest).encode()), *parts[1:]]

    return changed


def beside(name: str, data: bytes = b"x", *, kind: bytes = tarfile.REGTYPE) -> Callable[[Members], Members]:
    """The archive with one more member, which its manifest knows as an audit log."""

    def more(parts: Members) -> Members:
        member = tarfile.TarInfo(name)
        member.type, member.linkname = kind, "/etc/passwd"
        part = {"size": len(data), "sha256": sha256(data).hexdigest()}
        return [*told(lambda manifest: manifest["logs"].update({name.removeprefix("logs/"): part}))(parts), (member, data)]

    return more


def other_database(parts: Members) -> Members:
    """A file of which the manifest knows, and which is no database."""
    data = b"SQLite format 4" * 1000
    part = {"size": len(data), "sha256": sha256(data).hexdigest()}
    return [*told(lambda manifest: manifest.update(database=part))(parts)[:1], (parts[1][0], data), *parts[2:]]


DAMAGE: list[tuple[str, Callable[[Members], Members], type[StoreError], str]] = [
    ("path traversal", beside("logs/../../evil.jsonl"), BadBackup, "no file of an audit log"),
    ("absolute path", beside("/etc/evil.jsonl"), BadBackup, "no file of an audit log"),
    ("a name that is no log", beside("logs/.bashrc"), BadBackup, "no file of an audit log"),
    ("a symlink", beside("logs/a.jsonl", b"", kind=tarfile.SYMTYPE), BadBackup, "'logs/a.jsonl', of which its manifest says nothing"),
    ("a folder", beside("logs/a.jsonl", b"", kind=tarfile.DIRTYPE), BadBackup, "'logs/a.jsonl', of which its manifest says nothing"),
    ("a member too many", lambda parts: [*parts, (tarfile.TarInfo("../more"), b"")], BadBackup,
     "'../more', of which its manifest says nothing"),
    ("a member twice", lambda parts: [*parts, parts[1]], BadBackup, "'sdelka.db', of which its manifest says nothing"),
    ("a member missing", lambda parts: parts[:-1], BadBackup, "lacks logs/"),
    ("no manifest", lambda parts: parts[1:], BadBackup, "no manifest"),
    ("nothing", lambda parts: parts[:0], BadBackup, "no manifest"),
    ("a manifest that is no JSON", lambda parts: [(parts[0][0], b"{"), *parts[1:]], BadBackup, "manifest.json is no JSON"),
    ("a newer format", told(lambda manifest: manifest.update(format=3)), BadBackup, "format 3, this program reads up to 2"),
    ("a newer schema", told(lambda manifest: manifest.update(revision="9999")), NewerDatabase, "schema '9999'"),
    ("an unknown field", told(lambda manifest: manifest.update(more=1)), BadBackup, "manifest.json cannot be used: more"),
    ("a digest that does not fit", told(lambda manifest: manifest["database"].update(sha256="0" * 64)), BadBackup,
     "sdelka.db is not what was"),
    ("another length", told(lambda manifest: manifest["database"].update(size=1)), BadBackup, "sdelka.db is not what was written there"),
    ("a bomb", told(lambda manifest: manifest["database"].update(size=1 << 60)), StoreUnwritable,
     "1,152,921,504,606,.* bytes are needed, and .* are free"),
    ("no database", other_database, StoreUnwritable, "was not unpacked: file is not a database"),
]  # fmt: skip


@pytest.mark.parametrize(("change", "error", "sentence"), [row[1:] for row in DAMAGE], ids=[row[0] for row in DAMAGE])
def test_it_is_refused_by_name(
    whole: bytes, homes: Homes, tmp_path: Path, change: Callable[[Members], Members], error: type[StoreError], sentence: str
) -> None:
    """The sentence names what is wrong; neither database nor log is found anywhere."""
    refuse(archive_of(change(members(whole))), homes, tmp_path, error, sentence)


def refuse(data: bytes, homes: Homes, folder: Path, error: type[StoreError], sentence: str) -> None:
    path, home = folder / "x" / "bad.backup", homes.home("new")
    path.parent.mkdir()
    path.write_bytes(data)
    with pytest.raises(error, match=sentence):
        home.restore(path)
    assert [one.name for one in home.folder.rglob("*") if one.is_file() and one.name != "sdelka.lock"] == []
    assert [one.name for one in folder.rglob("evil*")] == []


def look(path: Path, data: bytes, folder: Path) -> str:
    """Why it is refused, "" if it is not."""
    path.write_bytes(data)
    folder.mkdir()
    try:
        unpack_backup(path, folder, lambda _: None)
    except BadBackup as error:
        return str(error)
    finally:
        shutil.rmtree(folder)
    return ""


def test_what_is_cut_or_flipped_anywhere_is_refused(whole: bytes, tmp_path: Path) -> None:
    """Cut at any length, one bit changed in any place: never taken for the whole; the sentence names the backup and what in it."""
    path, step = tmp_path / "bad.backup", max(1, len(whole) // 150)
    assert look(path, whole, tmp_path / "x") == ""
    for end in (*range(12), *range(12, len(whole), step), len(whole) - 1):
        assert "bad.backup" in look(path, whole[:end], tmp_path / "x"), end
    reasons = []
    for place in (*range(40), *range(40, len(whole), step), *range(len(whole) - 8, len(whole))):
        flipped = bytearray(whole)
        flipped[place] ^= 0x10
        reasons.append(look(path, bytes(flipped), tmp_path / "x"))
        assert "bad.backup" in reasons[-1], place
    assert any("sdelka.db" in reason for reason in reasons)


def rezipped(change: Callable[[dict[str, bytes]], object]) -> bytes:
    """The old backup of the corpus with other members."""
    with zipfile.ZipFile(OLD) as archive:
        parts = {name: archive.read(name) for name in archive.namelist()}
    change(parts)
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, data in parts.items():
            archive.writestr(name, data)
    return file.getvalue()


def replaced(name: str, old: bytes, new: bytes) -> Callable[[dict[str, bytes]], object]:
    return lambda parts: parts.update({name: parts[name].replace(old, new)})


OLD_DAMAGE: list[tuple[str, Callable[[dict[str, bytes]], object], type[StoreError], str]] = [
    ("a part missing", lambda parts: parts.pop("tables/inbox.jsonl"), BadBackup, "does not hold the parts of which its manifest speaks"),
    ("a part too many", lambda parts: parts.update({"../evil": b""}), BadBackup, "does not hold the parts of which its manifest speaks"),
    ("no manifest", lambda parts: parts.pop("manifest.json"), BadBackup, "no manifest"),
    ("another row", replaced("tables/inbox.jsonl", b"message", b"massage"), BadBackup, "tables/inbox.jsonl is not what was written there"),
    ("a row less", lambda parts: parts.update({"tables/inbox.jsonl": b""}), BadBackup, "tables/inbox.jsonl is not what was written there"),
    ("a newer schema", replaced("manifest.json", b'"revision": "0004"', b'"revision": "9999"'), NewerDatabase, "schema '9999'"),
    ("SQL for a name", replaced("manifest.json", b'"received_at"', b'"r\\") --"'), BadBackup, "is none of this schema"),
]


@pytest.mark.parametrize(("change", "error", "sentence"), [row[1:] for row in OLD_DAMAGE], ids=[row[0] for row in OLD_DAMAGE])
def test_one_in_the_old_form_is_refused_by_name(
    homes: Homes, tmp_path: Path, change: Callable[[dict[str, bytes]], object], error: type[StoreError], sentence: str
) -> None:
    """As one of today's form."""
    refuse(rezipped(change), homes, tmp_path, error, sentence)


def test_one_in_the_old_form_is_refused_when_cut_or_flipped(tmp_path: Path) -> None:
    """Each part has its checksum; a bit that changes nothing of them (a date in the directory) changes nothing that is read."""
    path, data = tmp_path / "bad.backup", OLD.read_bytes()
    places = range(0, len(data), len(data) // 40)
    assert all("bad.backup" in look(path, data[:end], tmp_path / "x") for end in places)
    flipped = [look(path, data[:place] + bytes([data[place] ^ 0x10]) + data[place + 1 :], tmp_path / "x") for place in places]
    assert sum(not reason for reason in flipped) < len(flipped) / 4
