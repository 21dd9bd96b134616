"""What is kept beside conversations comes along in a backup and in a move, from each kind of database to the other, and goes on there."""

from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from itertools import product
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import text

from engines.workflows.core.blocks import manager
from engines.workflows.core.blocks.manager import Finish, Opening
from state.journal import definitions, flow_memory, record_blocks
from state.journal.daily_count import StartCount
from state.journal.flow_memory import MemoryEntry, MemoryPlace, MemoryWrite, Retention
from state.journal.record_blocks import RecordPlace
from state.journal.store import CapReached, Commit, EffectChange, StoreError
from state.sql import SqlStore
from state.transfer.move import move_database
from state.transfer.restore import open_place, put_into_place, unpack
from tests.contract.definitions_kit import ANNA, KEY, KIND, create, publish, save
from tests.unit.state.transfer.moving_kit import KINDS, Home, Homes

NOW = datetime(2026, 11, 21, 12, 0, tzinfo=UTC)
SOURCE = "n: 1  # почему один\n"
DOCUMENT = {"steps": [{"say": "Здравствуйте, «Ромашка»\n\t\\"}], "metadata": {"description": "Приём"}}
MEMORY = MemoryPlace("offer", "employee:7")
DEAL = RecordPlace("deal", 481)


def begin(store: SqlStore, effect_id: str, many: int) -> None:
    """A start of so many changes, of five that are allowed, by a person who is counted already or whose first one this is."""
    count = StartCount(person="employee:7", many=many, limit=5, known=() if effect_id == "first" else None)
    change = EffectChange(effect_id=effect_id, expect=("absent",), status="started", call={"method": "x"}, count=count)
    held = store.acquire("tg:7", effect_id, NOW, NOW + timedelta(minutes=1))
    assert held is not None
    try:
        step = Commit(stream="session:tg:7", epoch=held.epoch, actor="tg:7", now=NOW)
        store.commit(step._replace(effects=[change]))
        store.commit(step._replace(effects=[EffectChange(effect_id=effect_id, expect=("started",), status="succeeded")]))
    finally:
        store.release(held)


def remember(store: SqlStore, node: str, words: str) -> None:
    """A run of a flow leaves an entry."""
    entry = MemoryEntry("log", {"content": words}, ["model", "prose"])
    assert flow_memory.add_entries(store, MEMORY, MemoryWrite("tg:1007", "r1", node, [entry]), {"log": Retention(10, 30)}, NOW)


def leave(store: SqlStore, run: str, words: str) -> None:
    """A run of a workflow opens a block of a record and leaves its text there."""
    block = f"deal:481:{run}"
    given = Opening(block=block, run=run, definition="dossier", version=1, by="tg:1007", title="Ромашка", input={"TITLE": "Ромашка"})
    end = Finish(raw_text=words, origins=("model", "prose"), operations=(), post_ai={}, post_user={})
    opened = record_blocks.change_blocks(store, DEAL, lambda known: manager.open_block(known, given, frozenset(), 1), "tg:1007", NOW)
    assert opened.refusal == ""
    assert record_blocks.change_blocks(store, DEAL, lambda known: manager.finish_block(known, block, end), "tg:1007", NOW)


def fill(home: Home) -> None:
    """Two versions of a flow, one of them active, a definition that is switched off, an entry, a block, and three of five changes."""
    with home.store() as store:
        create(store, DOCUMENT)
        save(store, 1, {"n": [1, 2.5, None]}, 1)
        publish(store, 1, 2)
        create(store, DOCUMENT)
        create(store, key="агент", kind="agent", source=SOURCE)
        definitions.switch_key(store, ANNA, "agent", "агент", enabled=False, expected=1)
        remember(store, "1", "первое")
        leave(store, "1", "первое")
        begin(store, "first", 3)


def look(store: SqlStore) -> tuple[list[Any], Any]:
    """What the views show: (version, document) of each, and one value out of a document as the database itself finds it."""
    path = "definition_jsonb #>> '{steps,0,say}'" if store._gathers else "json_extract(definition_jsonb, '$.steps[0].say')"
    with store._dialect.engine.connect() as connection:
        shown = connection.execute(text("SELECT name, version, description FROM flow_definition ORDER BY version")).all()
        return list(shown), connection.execute(text(f"SELECT {path} FROM flow_definition WHERE version = 2")).scalar()  # noqa: S608


def find_damage(home: Home) -> list[Any]:
    """What is not whole, but for the effects of `begin`, which has no events for them."""
    return [finding for finding in home.findings() if not finding.place.startswith("effect ")]


def goes_on(home: Home) -> None:
    """All of it is whole and can be added to; a cap is not had twice."""
    assert not find_damage(home)
    with home.store() as store:
        active = definitions.find_active(store, KIND, KEY)
        assert active is not None
        assert (active.version, active.document) == (1, {"n": [1, 2.5, None]})
        assert definitions.find_active(store, "agent", "агент") is None
        assert definitions.find_version(store, "agent", "агент").source == SOURCE  # type: ignore[union-attr]
        assert look(store) == ([(KEY, 1, ""), (KEY, 2, "Приём")], DOCUMENT["steps"][0]["say"])  # type: ignore[index]
        assert create(store).version == 3
        assert publish(store, 2, 1).active
        remember(store, "2", "второе")
        entries = flow_memory.list_entries(store, MEMORY, NOW)
        assert [(one.data["content"], one.origins) for one in entries] == [(word, ["model", "prose"]) for word in ("первое", "второе")]
        leave(store, "2", "второе")
        blocks = record_blocks.read_blocks(store, DEAL)
        assert [(one.raw_text, one.origins) for one in blocks] == [(word, ("model", "prose")) for word in ("первое", "второе")]
        assert [one.parent for one in blocks] == ["", "deal:481:1"]
        with pytest.raises(CapReached):
            begin(store, "second", 3)
        begin(store, "third", 2)
    assert not find_damage(home)


def restored(old: Home, new: Home, folder: Path) -> None:
    new.restore(old.back_up(folder / "one.backup").path)


def moved(old: Home, new: Home, folder: Path) -> None:
    del folder
    move_database(old.url, new.url)


@pytest.mark.req("S002-A8")
@pytest.mark.req("S003-54")
@pytest.mark.parametrize("way", [restored, moved])
@pytest.mark.parametrize(("source", "target"), list(product(KINDS, KINDS)))
def test_it_comes_along_and_goes_on(
    homes: Homes, tmp_path: Path, way: Callable[[Home, Home, Path], None], source: str, target: str
) -> None:
    """Definitions with what the database computes of them, memory of flows, blocks of records, and what was begun today."""
    old, new = homes.home("old", source), homes.home("new", target)
    fill(old)
    before = old.rows()
    way(old, new, tmp_path)
    after = new.rows()
    for name in ("definition_keys", "definitions", "definition_texts", "definition_sources", "definition_history", "values", "effects"):
        assert before[name]
        assert [row for row in after[name] if row[0] != "restored"] == before[name]
    goes_on(new)


@pytest.mark.parametrize("kind", KINDS)
def test_a_restore_that_broke_off_begins_anew(homes: Homes, kind: str, tmp_path: Path) -> None:
    """Of the first attempt nothing is there, views included."""
    old, new = homes.home("old"), homes.home("new", kind)
    fill(old)
    made = old.back_up(tmp_path / "one.backup")
    new.folder.mkdir()
    new.logs.write_bytes(b"a file where the folder should be")
    with open_place(new.url, tmp_path) as folder, unpack(made.path, folder) as unpacked:
        (unpacked.logs / "tg%3a7.jsonl").write_bytes(b"{}\n")
        with pytest.raises(StoreError, match="audit logs were not written"):
            put_into_place(unpacked, new.url, new.logs)
    new.logs.unlink()
    new.restore(made.path)
    goes_on(new)
