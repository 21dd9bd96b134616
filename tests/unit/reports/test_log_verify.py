"""`sdelka logs verify`: every record is compared with what the journal tells, and what is wrong is named with file and line."""

import gzip
import shutil
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import orjson
import pytest

from orchestrator.reports.log_rebuild.rebuild import rebuild_logs
from orchestrator.reports.log_rebuild.verify import find_difference, verify_logs
from state.audit_log.interaction_log import InteractionLogger, read_records
from state.findings import Finding
from state.sql import SqlStore, build_sqlite_url, open_store
from tests.corpus.house_kit import CORPUS
from tests.fixed_clock import FixedClock
from tests.unit.reports.test_log_rebuilding import conversation
from tests.unit.spine_kit import ANNA, NOW, a_world

LATER = datetime(2100, 1, 1, tzinfo=UTC)
LOG = "tg%3a1007.jsonl"
Records = list[dict[str, Any]]


@pytest.fixture(name="store")
async def a_store(tmp_path: Path) -> Any:
    """The journal of a whole conversation, with the logs that were written meanwhile."""
    store = open_store(build_sqlite_url(tmp_path / "sdelka.db"))
    async with a_world(tmp_path, store=store) as world:
        await conversation(world)
        world.tools.audit.wait()
        store = open_store(build_sqlite_url(tmp_path / "sdelka.db"))
    yield store
    store.close()


def find(store: SqlStore, folder: Path, *, now: datetime = LATER) -> list[Finding]:
    """What is more than a note."""
    return [finding for finding in verify_logs(store, folder / "logs", now=now) if finding.kind != "note"]


def write(folder: Path, records: Records) -> None:
    (folder / "logs" / LOG).write_bytes(b"".join(orjson.dumps(record) + b"\n" for record in records))


def read(folder: Path) -> Records:
    return list(read_records(folder / "logs", ANNA.key))


@pytest.mark.req("S004-43", "S004-44", "S004-45", "S004-46", "S004-47")
async def test_what_was_written_and_what_is_rebuilt_is_as_the_journal_tells(store: SqlStore, tmp_path: Path) -> None:
    """Reads, cards, a broken answer, an unknown outcome, a choice: no record differs, none is missing, none was added."""
    assert find(store, tmp_path) == []
    shutil.rmtree(tmp_path / "logs")
    rebuild_logs(store, tmp_path / "logs")
    assert find(store, tmp_path) == []


CHANGES: dict[str, tuple[Callable[[dict[str, Any]], Any], str]] = {
    "text": (lambda record: record.update(user_message="другое"), "user_message"),
    "time": (lambda record: record.update(timestamp="2026-11-22T12:00:00.000000Z"), "timestamp"),
    "person": (lambda record: record.update(requested_by={"key": "tg:1"}), "requested_by"),
    "answer of the portal": (lambda record: record["executed_actions"][0].update(answer=[]), "executed_actions[0].answer"),
    "call": (lambda record: record["executed_actions"].pop(), "executed_actions"),
    "class of a call": (lambda record: record["executed_actions"][0].pop("class"), "executed_actions[0].class"),
    "answer that is gone": (lambda record: record["executed_actions"][0].pop("answer"), "executed_actions[0].answer"),
    "new field of a call": (lambda record: record["executed_actions"][0].update(note="x"), "executed_actions[0].note"),
    "mode": (lambda record: record.update(mode="shadow"), "mode"),
    "mode that is gone": (lambda record: record.pop("mode"), "mode"),
    "methods": (lambda record: record["targets"].clear(), "targets"),
    "state": (lambda record: record["state"].update(goals=["x"]), "state"),
    "field": (lambda record: record.pop("model_response"), "model_response"),
    "new field": (lambda record: record.update(note="x"), "note"),
}


@pytest.mark.parametrize("change", CHANGES)
async def test_a_record_that_was_edited_is_named_with_its_field(store: SqlStore, tmp_path: Path, change: str) -> None:
    """The first of them, with file and line; how many more there are is said."""
    records = read(tmp_path)
    edit, field = CHANGES[change]
    edit(records[0])
    records[-1]["user_message"] = "x"
    write(tmp_path, records)
    [finding] = [one for one in find(store, tmp_path) if "what the journal tells" in one.why]
    assert (finding.kind, finding.place, finding.file, finding.seq) == ("inconsistent", ANNA.key, LOG, 1)
    assert finding.why.startswith(f"{field} is not what the journal tells (and 1 more)")


@pytest.mark.parametrize(
    ("session", "written", "known", "field"),
    [
        ("run:1", "shadow", "full", ""),
        ("run:1", "full", "full", ""),
        ("run:1", "full", "canary", "mode"),
        ("tg:7", "shadow", "full", "mode"),
        ("tg:7", "shadow", "", ""),
        ("tg:7", "free", "", "mode"),
    ],
)
def test_a_mode_is_compared_with_what_the_journal_has_of_it(session: str, written: str, known: str, field: str) -> None:
    """A run goes on as strictly as its owner's rights have become, never more freely; a turn without a plan has no mode in the journal."""
    record = {"type": "node", "session": session, "mode": written, "timestamp": "2026-11-21T12:00:00.000000Z"}
    projected = {**record, "mode": known} if known else {name: value for name, value in record.items() if name != "mode"}
    assert find_difference(record, projected) == field


async def test_a_record_that_is_gone_is_named_with_its_place(store: SqlStore, tmp_path: Path) -> None:
    """Behind which line it should stand, and the command that brings it back; first of all of them, and the last of all too."""
    records = read(tmp_path)
    for gone, line in ((3, 3), (0, None), (len(records) - 1, len(records) - 1)):
        write(tmp_path, [record for number, record in enumerate(records) if number != gone])
        [finding] = find(store, tmp_path)
        assert (finding.kind, finding.file, finding.seq) == ("missing", LOG if line else "", line)
        assert "`sdelka logs rebuild`" in finding.why
    (tmp_path / "logs" / LOG).unlink()
    [finding] = find(store, tmp_path)
    assert (finding.kind, finding.place, f"and {len(records) - 1} more" in finding.why) == ("missing", ANNA.key, True)
    assert find(store, tmp_path, now=NOW + timedelta(seconds=30)) == []  # it may be on its way


async def test_a_record_that_was_added_is_named(store: SqlStore, tmp_path: Path) -> None:
    """One that stands there twice, and one that no event tells of; a press that did not count and a note of the program are none."""
    records = read(tmp_path)
    press = {**next(one for one in records if one["type"] == "decision"), "outcome": {"notice": "card-already-executed"}}
    trouble = {"timestamp": records[-1]["timestamp"], "user": ANNA.key, "v": 2, "type": "trouble", "session": ANNA.key, "turn_id": "t"}
    write(tmp_path, [*records, press, trouble])
    assert find(store, tmp_path) == []
    write(tmp_path, [*records, records[1]])
    [finding] = find(store, tmp_path)
    assert (finding.kind, finding.seq) == ("inconsistent", len(records) + 1)
    write(tmp_path, [{**records[0], "turn_id": "another"}, *records])
    [finding] = find(store, tmp_path)
    assert (finding.seq, "does not tell of this iteration" in finding.why) == (1, True)


async def test_half_a_record_is_a_note_while_nothing_is_missing(store: SqlStore, tmp_path: Path) -> None:
    """A writer that died left it; where a record is missing, the line may be what is left of it."""
    records = read(tmp_path)
    write(tmp_path, records)
    path = tmp_path / "logs" / LOG
    data = path.read_bytes()
    path.write_bytes(data.replace(b"\n", b'\n{"half\n', 1))
    [note] = [one for one in verify_logs(store, tmp_path / "logs", now=LATER) if "half a record" in one.why]
    assert (note.kind, note.seq) == ("note", 2)
    path.write_bytes(data[:-9])
    assert [(one.kind, one.seq) for one in find(store, tmp_path)] == [("missing", len(records) - 1), ("damaged", len(records))]


@pytest.mark.req("S004-51")
async def test_what_went_with_the_oldest_archives_is_told_as_such(store: SqlStore, tmp_path: Path) -> None:
    """A record before the first one of ten archives is not missed; with fewer archives it is."""
    records = read(tmp_path)
    for archives, kinds in ((10, ["note"]), (9, ["missing"])):
        shutil.rmtree(tmp_path / "logs")
        logger = InteractionLogger(tmp_path / "logs", clock=FixedClock(NOW), limit=1, keep=archives)
        for record in records[-archives - 1 :]:
            logger.append(ANNA.key, orjson.dumps(record))
        mine = [one for one in verify_logs(store, tmp_path / "logs", now=LATER) if one.place == ANNA.key]
        assert [(one.kind, "went with the oldest archives" in one.why) for one in mine] == [(kind, kind == "note") for kind in kinds]


async def test_a_damaged_archive_is_named_and_its_records_are_not_called_missing(store: SqlStore, tmp_path: Path) -> None:
    """Nobody can tell what stands in it."""
    (tmp_path / "logs" / f"{LOG}.20261121T120000Z.gz").write_bytes(gzip.compress((tmp_path / "logs" / LOG).read_bytes())[:-20])
    (tmp_path / "logs" / LOG).unlink()
    [finding] = find(store, tmp_path)
    assert (finding.kind, f"{LOG}.20261121T120000Z.gz" in finding.why) == ("damaged", True)


async def test_records_of_older_versions_are_compared_in_what_they_have(store: SqlStore, tmp_path: Path) -> None:
    """Their chains are skipped, and fields that were added later are not missed; what they tell of must be right all the same."""
    records = read(tmp_path)
    for number, record in enumerate(records, start=1):
        record["chain"] = {"n": number, "prev": "0" * 64, "hash": "0" * 64}
        record["v"] = 1
        for name in ("provider", "failed_before"):
            record.pop(name, None)
        record.get("state", {}).pop("event_bindings", None)
    write(tmp_path, records)
    assert find(store, tmp_path) == []
    records[2]["user_message"] = "x"
    write(tmp_path, records)
    assert [finding.seq for finding in find(store, tmp_path)] == [3]


def test_the_logs_of_the_corpus_are_as_their_journal_tells(tmp_path: Path) -> None:
    """Written by an older version, chained, with archives, an erased person and a token's users in one log."""
    shutil.copytree(CORPUS / "house_v1", tmp_path / "house")
    store = open_store(build_sqlite_url(tmp_path / "house" / "sdelka.db"))
    assert find(store, tmp_path / "house") == []
    assert any("when the person was erased" in finding.why for finding in verify_logs(store, tmp_path / "house" / "logs", now=LATER))
    path = tmp_path / "house" / "logs" / LOG
    path.write_bytes(path.read_bytes().replace(b'"iteration":1', b'"iteration":7', 1))
    assert [finding.kind for finding in find(store, tmp_path / "house")] == ["inconsistent", "missing"]
    store.close()
