"""Stored definitions in a backup and in a move: every row to the byte, and what a database computes of them is made anew there."""

from itertools import permutations, product
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import text

from state.journal import definitions
from state.journal.store import StoreError
from state.sql import SqlStore
from state.transfer import restore
from state.transfer.move import move_database
from tests.contract.definitions_kit import ANNA, KEY, KIND, create, publish, save
from tests.unit.state.transfer.moving_kit import KINDS, Home, Homes

TABLES = ("definition_keys", "definitions", "definition_texts", "definition_history")
DOCUMENT = {"steps": [{"say": "Здравствуйте, «Ромашка»\n\t\\"}], "metadata": {"description": "Приём"}}


def fill(home: Home) -> None:
    """Two versions of a flow, one of them active, and another definition that is switched off."""
    with home.store() as store:
        create(store, DOCUMENT)
        save(store, 1, {"n": [1, 2.5, None]}, 1)
        publish(store, 1, 2)
        create(store, DOCUMENT)
        create(store, key="агент", kind="agent")
        definitions.switch_key(store, ANNA, "agent", "агент", enabled=False, expected=1)


def look(store: SqlStore) -> tuple[list[Any], Any]:
    """What the views show: (version, document) of each, and one value out of a document as the database itself finds it."""
    path = "definition_jsonb #>> '{steps,0,say}'" if store._gathers else "json_extract(definition_jsonb, '$.steps[0].say')"
    with store._dialect.engine.connect() as connection:
        shown = connection.execute(text("SELECT name, version, description FROM flow_definition ORDER BY version")).all()
        return list(shown), connection.execute(text(f"SELECT {path} FROM flow_definition WHERE version = 2")).scalar()  # noqa: S608


def goes_on(home: Home) -> None:
    """The restored or moved definitions are whole and can be changed."""
    assert home.findings() == []
    with home.store() as store:
        active = definitions.find_active(store, KIND, KEY)
        assert active is not None
        assert (active.version, active.document) == (1, {"n": [1, 2.5, None]})
        assert definitions.find_active(store, "agent", "агент") is None
        assert look(store) == ([(KEY, 1, ""), (KEY, 2, "Приём")], DOCUMENT["steps"][0]["say"])  # type: ignore[index]
        assert create(store).version == 3
        assert publish(store, 2, 1).active
    assert home.findings() == []


@pytest.mark.parametrize(("source", "target"), list(product(KINDS, KINDS)))
def test_a_backup_holds_the_definitions(homes: Homes, source: str, target: str, tmp_path: Path) -> None:
    old, new = homes.home("old", source), homes.home("new", target)
    fill(old)
    before = old.rows()
    new.restore(old.back_up(tmp_path / "one.backup").path)
    after = new.rows()
    assert [after[name] for name in TABLES] == [before[name] for name in TABLES]
    assert all(before[name] for name in TABLES)
    goes_on(new)


@pytest.mark.parametrize(("source", "target"), list(permutations(KINDS)))
def test_a_move_carries_the_definitions(homes: Homes, source: str, target: str) -> None:
    old, new = homes.home("old", source), homes.home("new", target)
    fill(old)
    before = old.rows()
    move_database(old.url, new.url)
    assert new.rows() == before
    goes_on(new)


@pytest.mark.parametrize("kind", KINDS)
def test_a_restore_that_broke_off_begins_anew(homes: Homes, kind: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """What the first attempt made, views included, is in nobody's way."""
    old, new = homes.home("old"), homes.home("new", kind)
    fill(old)
    made = old.back_up(tmp_path / "one.backup")

    def break_off(*_: object) -> None:
        raise StoreError("broken off")

    with monkeypatch.context() as patch:
        patch.setattr(restore, "_restore_logs", break_off)
        with pytest.raises(StoreError, match="broken off"):
            new.restore(made.path)
    new.restore(made.path)
    goes_on(new)
