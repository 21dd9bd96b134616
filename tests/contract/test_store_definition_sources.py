"""The text that an author wrote, stored beside the data of a version, over every kind of database."""

import sqlite3
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import text

from state.journal import definitions
from state.journal.stream_turn import STREAM
from state.model.definitions import DefinitionUnstorable, DefinitionVersion
from state.sql import SqlStore, build_sqlite_url, open_store
from tests.contract.definitions_kit import ANNA, KEY, KIND, create, everything, publish
from tests.contract.store_kit import every_store

SOURCE = "n: 1  # почему один\n"


def save(store: SqlStore, source: str, document: Any = None) -> DefinitionVersion:
    found = definitions.find_version(store, KIND, KEY)
    assert found is not None
    given = found.document if document is None else document
    return definitions.save_version(
        store, ANNA, KIND, KEY, found.version, given, title="", note="", expected=found.revision, write_source=lambda _: source
    )


@every_store
class TestSources:
    def test_it_is_read_as_it_was_written_wherever_a_version_is(self, store: SqlStore) -> None:
        """But in lists, which are read without documents, too."""
        made = create(store, source=SOURCE)
        assert made.source == SOURCE
        assert definitions.find_version(store, KIND, KEY) == definitions.find_by_id(store, made.id) == made
        published = publish(store, 1, 1)
        assert published.source == SOURCE
        assert definitions.find_active(store, KIND, KEY) == published
        assert [one.source for one in definitions.list_versions(store, KIND, KEY)] == [""]

    def test_another_comment_is_another_revision_of_the_same_document(self, store: SqlStore) -> None:
        made = create(store, source=SOURCE)
        saved = save(store, "n: 1  # иначе\n")
        assert (saved.digest, saved.revision, saved.source) == (made.digest, 2, "n: 1  # иначе\n")
        assert definitions.find_version(store, KIND, KEY) == saved

    def test_it_goes_where_a_save_brings_none(self, store: SqlStore) -> None:
        create(store, source=SOURCE)
        assert save(store, "").source == ""
        assert definitions.find_version(store, KIND, KEY).source == ""  # type: ignore[union-attr]

    def test_it_is_written_for_what_is_stored_with_its_number(self, store: SqlStore) -> None:
        """Also of a draft that is saved again."""
        write = lambda document: f"version: {document['version']}\n"  # noqa: E731
        create(store)
        made = definitions.create_version(
            store, ANNA, KIND, KEY, {"version": 9}, title="", note="", number_field="version", write_source=write
        )
        saved = definitions.save_version(
            store, ANNA, KIND, KEY, 2, {"version": 7}, title="", note="", expected=1, number_field="version", write_source=write
        )
        assert made.source == saved.source == "version: 2\n"

    def test_a_version_that_comes_between_gives_it_another_number(self, store: SqlStore) -> None:
        """It is written before the turn is taken, for the number that would be next then."""
        seen = list[int]()

        def write(document: dict[str, int]) -> str:
            seen.append(document["version"])
            if len(seen) == 1:
                create(store)
            return f"version: {document['version']}\n"

        made = definitions.create_version(
            store, ANNA, KIND, KEY, {"version": 9}, title="", note="", number_field="version", write_source=write
        )
        assert (made.version, made.document, made.source, seen) == (2, {"version": 2}, "version: 2\n", [1, 2])

    def test_one_that_was_changed_by_hand_does_not_count_and_the_document_does(self, store: SqlStore) -> None:
        made = create(store, source=SOURCE)
        for change in ("UPDATE definition_sources SET text = 'n: 666'", "DELETE FROM definition_sources"):
            with store._dialect.engine.begin() as connection:
                connection.execute(text(change))
            found = definitions.find_version(store, KIND, KEY)
            assert found is not None
            assert (found.document, found.digest, found.source) == (made.document, made.digest, "")

    @pytest.mark.parametrize("source", ["a\x00b", "\ud800", "я" * 2_000_001], ids=["nul", "surrogate", "size"])
    def test_what_cannot_be_stored_faithfully_is_refused(self, store: SqlStore, source: str) -> None:
        create(store)
        before = everything(store)
        for change in (lambda: create(store, source=source), lambda: save(store, source)):
            with pytest.raises(DefinitionUnstorable):
                change()
        assert everything(store) == before

    def test_the_journal_says_which_it_is_and_nothing_of_it(self, store: SqlStore) -> None:
        """Records without one are as they were before there were any."""
        create(store, source=SOURCE)
        create(store)
        first, second = store.read_events(STREAM)
        assert first.data["source_digest"] == everything(store)[3][0][0]
        assert "source_digest" not in second.raw
        assert not any("почему" in event.raw for event in (first, second))


def test_what_an_earlier_program_has_stored_has_none_and_gets_one(tmp_path: Path) -> None:
    path = tmp_path / "sdelka.db"
    store = open_store(build_sqlite_url(path))
    create(store)
    store.close()
    connection = sqlite3.connect(path)
    with connection:
        connection.execute("ALTER TABLE definitions DROP COLUMN source")
        connection.execute("DROP TABLE definition_sources")
        connection.execute("UPDATE alembic_version SET version_num = '0009'")
    connection.close()
    store = open_store(build_sqlite_url(path))
    found = definitions.find_version(store, KIND, KEY)
    assert found is not None
    assert (found.document, found.source) == ({"n": 1}, "")
    assert save(store, SOURCE).source == SOURCE
    store.close()
