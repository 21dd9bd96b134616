"""What the contract tests of definitions share: people who write and publish, and what must be true of the rows at any time."""

import time
from collections.abc import Callable
from datetime import UTC, datetime
from typing import Any, TypeVar

from sqlalchemy import text

from orchestrator.reports.consistency import EffectChecker
from state.journal import definitions
from state.journal.stream_turn import STREAM
from state.model.definitions import Author, DefinitionKey, DefinitionsBusy, DefinitionVersion
from state.sql import SqlStore
from state.verify.journal import verify_journal
from tests.contract.store_kit import NOW, World

T = TypeVar("T")
KIND = "flow"
KEY = "приём заявки"
PATIENCE = 60.0


def author(name: str = "Анна", user: int | None = 7, *, at: datetime = NOW) -> Author:
    """Somebody who changes definitions."""
    return Author(key=f"tg:{user or 1}", name=name, user=user, via="http", at=at)


ANNA = author()
BORIS = author("Борис", 8)


def insist(work: Callable[[Author], T], who: Author = ANNA) -> T:
    """Do it as soon as nobody else is at it; the author's time is that of each attempt."""
    until = time.monotonic() + PATIENCE
    while True:
        try:
            return work(Author(key=who.key, name=who.name, user=who.user, via=who.via, at=datetime.now(UTC)))
        except DefinitionsBusy:
            if time.monotonic() > until:
                raise
            time.sleep(0.002)


def create(
    store: SqlStore, document: Any = None, *, who: Author = ANNA, key: str = KEY, kind: str = KIND, source: str = ""
) -> DefinitionVersion:
    """A new version, with the text of its author."""
    document = document if document is not None else {"n": 1}
    return definitions.create_version(store, who, kind, key, document, title="Приём", note="первая", write_source=lambda _: source)


def save(store: SqlStore, version: int, document: Any, expected: int, *, who: Author = ANNA) -> DefinitionVersion:
    """Another text of a draft."""
    return definitions.save_version(store, who, KIND, KEY, version, document, title="Приём", note="иначе", expected=expected)


def publish(store: SqlStore, version: int, expected: int, *, who: Author = BORIS) -> DefinitionVersion:
    """A version made active."""
    return definitions.publish_version(store, who, KIND, KEY, version, expected=expected, check=lambda _: None)


def list_active(store: SqlStore) -> list[int]:
    """The versions of the key that say they are active."""
    return [one.version for one in definitions.list_versions(store, KIND, KEY) if one.active]


def history(store: SqlStore) -> list[tuple[str, int, str]]:
    """What was done with which version by whom, oldest first."""
    return [(one.what, one.version, one.by) for one in reversed(definitions.list_history(store, KIND, KEY))]


def check(world: World) -> set[tuple[str, str, str]]:
    """What the check of the journal says about the database, but for a clock that went back: each author brings a time of their own."""
    checked = verify_journal(world.url, judge=EffectChecker, anchors={}, progress=lambda _: None)
    return {(one.kind, one.place, one.why) for one in checked.findings if not one.why.startswith("the clock went back")}


def head(store: SqlStore) -> DefinitionKey:
    """The definition as a whole."""
    found = definitions.find_key(store, KIND, KEY)
    assert found is not None
    return found


def everything(store: SqlStore) -> list[list[tuple[Any, ...]]]:
    """Every row of the tables of definitions, and the end of their stream."""
    names = ("definition_keys", "definitions", "definition_texts", "definition_sources", "definition_history")
    with store._dialect.engine.connect() as connection:
        rows = [[tuple(row) for row in connection.execute(text(f"SELECT * FROM {name} ORDER BY 1, 2"))] for name in names]  # noqa: S608
    return [*rows, [store.read_head(STREAM)]]


def damage(store: SqlStore) -> None:
    """Somebody writes into the database by hand."""
    with store._dialect.engine.begin() as connection:
        connection.execute(text("UPDATE definition_texts SET document = :text"), {"text": '{"n":666}'})
