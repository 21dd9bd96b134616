"""Calls on files: what became of one whose outcome is unknown is found by reading, and nothing is done to a file that was not looked at."""

from pathlib import Path
from typing import Any

import pytest

from orchestrator.gate.call.effect import BeforeImage, Call
from orchestrator.gate.call.kinds.file_methods import METHODS
from orchestrator.gate.call.ports import Rejected, Succeeded, Unknown
from orchestrator.performers.files.folder import FileDoubtful, Folder
from orchestrator.performers.files.performer import FilePerformer


def build_call(method: str, **params: Any) -> Call:
    spec = METHODS[method].spec
    return Call(kind="file", method=method, params={"path": "note.txt", **params}, spec=spec, classes=spec.classes, portal="")


WRITES: dict[str, tuple[bytes | None, Call]] = {
    "create": (None, build_call("file.create", text="new")),
    "write a new one": (None, build_call("file.write", text="")),
    "replace": (b"old", build_call("file.write", text="new")),
    "replace no text": (b"\xff\xfe", build_call("file.write", text="new")),
    "append": (b"old ", build_call("file.append", text="new")),
    "append to a long file": (b"x" * 100_000, build_call("file.append", text="new")),
    "append to an empty file": (b"", build_call("file.append", text="new")),
    "delete": (b"old", build_call("file.delete")),
}


def list_files(place: Path) -> list[Path]:
    return list(place.iterdir())


async def look(performer: FilePerformer, call: Call) -> BeforeImage:
    found = await performer.read_before(call)
    assert not isinstance(found, Rejected), found
    return found


@pytest.mark.parametrize("what", WRITES)
async def test_a_call_of_unknown_outcome_is_settled_by_reading(tmp_path: Path, what: str) -> None:
    old, call = WRITES[what]
    file = tmp_path / "note.txt"
    if old is not None:
        file.write_bytes(old)
    before = await look(FilePerformer(Folder(tmp_path)), call)
    assert (await FilePerformer(Folder(tmp_path)).reconcile(call, before)).verdict == "not_done"
    performer = FilePerformer(Folder(tmp_path))  # as after a restart
    await look(performer, call)
    assert isinstance(await performer.execute(call), Succeeded)
    assert (await FilePerformer(Folder(tmp_path)).reconcile(call, before)).verdict == "done"
    file.write_bytes(b"a change by somebody else")
    assert (await performer.reconcile(call, before)).verdict == "unclear"


@pytest.mark.parametrize("what", WRITES)
async def test_a_file_that_was_not_looked_at_is_not_touched(tmp_path: Path, what: str) -> None:
    old, call = WRITES[what]
    if old is not None:
        (tmp_path / "note.txt").write_bytes(old)
    result = await FilePerformer(Folder(tmp_path)).execute(call)
    assert isinstance(result, Rejected)
    assert (result.code, result.sent) == ("file-changed", False)
    assert [file.read_bytes() for file in list_files(tmp_path)] == ([] if old is None else [old])


async def test_a_change_that_the_disk_does_not_confirm_is_unknown(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def doubt(*_: object, **__: object) -> None:
        raise FileDoubtful("not confirmed")

    performer, call = FilePerformer(Folder(tmp_path)), build_call("file.write", text="new")
    await look(performer, call)
    monkeypatch.setattr(Folder, "write", doubt)
    assert isinstance(await performer.execute(call), Unknown)


async def test_a_file_never_grows_beyond_its_limit(tmp_path: Path) -> None:
    (tmp_path / "note.txt").write_bytes(b"x" * 1_048_576)
    found = await FilePerformer(Folder(tmp_path)).read_before(build_call("file.append", text="y"))
    assert isinstance(found, Rejected)
    assert found.code == "file-too-large"
