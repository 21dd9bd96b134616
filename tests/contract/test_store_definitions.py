"""Stored definitions over every kind of database: drafts, versions, what is active, and what must be refused."""

import copy
from typing import Any
from uuid import UUID

import pytest
from sqlalchemy import text

from state.journal import definitions
from state.journal.stream_turn import STREAM
from state.model.definitions import (
    DefinitionDamaged,
    DefinitionKey,
    DefinitionMissing,
    DefinitionUnstorable,
    DefinitionVersion,
    NotADraft,
    StaleRevision,
    Writer,
)
from state.sql import SqlStore
from tests.contract.definitions_kit import (
    ANNA,
    BORIS,
    KEY,
    KIND,
    author,
    create,
    damage,
    everything,
    head,
    history,
    list_active,
    publish,
    save,
)
from tests.contract.store_kit import every_store, incoming


@every_store
class TestDefinitions:
    @pytest.mark.req("S002-7", "S002-8")
    def test_a_new_version_is_an_inactive_draft_with_the_next_number(self, store: SqlStore) -> None:
        one, two = create(store), create(store, {"n": 2}, who=BORIS)
        assert (one.version, one.status, one.active, one.revision, two.version) == (1, "draft", False, 1, 2)
        assert (two.document, two.author, two.author_name, two.writers) == ({"n": 2}, "tg:8", "Борис", (Writer(key="tg:8", user=8),))
        assert definitions.find_version(store, KIND, KEY) == two
        assert definitions.find_version(store, KIND, KEY, 1) == definitions.find_by_id(store, one.id) == one
        assert definitions.find_active(store, KIND, KEY) is None
        assert head(store) == DefinitionKey(
            kind=KIND,
            key=KEY,
            title="Приём",
            enabled=True,
            active_version=0,
            last_version=2,
            has_draft=True,
            revision=1,
            updated_at=two.created_at,
            updated_by="tg:8",
        )
        assert [one.document for one in definitions.list_versions(store, KIND, KEY)] == [None, None]

    def test_whoever_saved_a_text_is_one_of_its_writers(self, store: SqlStore) -> None:
        """Also when the text was replaced since, and when one account came with another user of the portal."""
        create(store)
        save(store, 1, {"n": 2}, 1, who=BORIS)
        save(store, 1, {"n": 3}, 2)
        found = save(store, 1, {"n": 4}, 3, who=author(user=9))
        assert found.writers == (Writer(key="tg:7", user=7), Writer(key="tg:8", user=8), Writer(key="tg:9", user=9))
        assert (found.revision, found.document, found.updated_by, found.author) == (4, {"n": 4}, "tg:9", "tg:7")
        assert definitions.find_version(store, KIND, KEY) == found

    @pytest.mark.req("S002-8")
    def test_publishing_makes_one_version_active_and_the_other_inactive(self, store: SqlStore) -> None:
        create(store)
        create(store, {"n": 2})
        first = publish(store, 1, 1)
        assert (first.status, first.active, first.revision, first.published_by, first.published_by_name) == (
            *("published", True, 2, "tg:8", "Борис"),
        )
        assert definitions.find_active(store, KIND, KEY) == first
        second = publish(store, 2, 1)
        assert definitions.find_active(store, KIND, KEY) == second
        assert (list_active(store), head(store).active_version, head(store).revision) == ([2], 2, 3)
        assert history(store) == [
            ("created", 1, "tg:7"),
            ("created", 2, "tg:7"),
            ("published", 1, "tg:8"),
            ("deactivated", 1, "tg:8"),
            ("published", 2, "tg:8"),
        ]

    def test_publishing_the_active_version_does_nothing(self, store: SqlStore) -> None:
        create(store)
        published = publish(store, 1, 1)
        before = everything(store)
        assert publish(store, 1, 2, who=ANNA) == published
        assert everything(store) == before

    def test_an_older_version_can_become_active_again(self, store: SqlStore) -> None:
        """But not by somebody who saw it active and does not know that another one has replaced it."""
        create(store)
        create(store, {"n": 2})
        publish(store, 1, 1)
        publish(store, 2, 1)
        with pytest.raises(StaleRevision) as stale:
            publish(store, 1, 2)
        assert isinstance(stale.value.present, DefinitionVersion)
        assert not stale.value.present.active
        assert publish(store, 1, stale.value.present.revision).active
        assert list_active(store) == [1]

    def test_a_stale_saver_learns_how_the_version_is_now(self, store: SqlStore) -> None:
        create(store)
        saved = save(store, 1, {"n": 2}, 1)
        with pytest.raises(StaleRevision) as stale:
            save(store, 1, {"n": 3}, 1, who=BORIS)
        assert stale.value.present == saved
        with pytest.raises(StaleRevision):
            publish(store, 1, 1)
        assert definitions.find_version(store, KIND, KEY) == saved
        assert definitions.find_active(store, KIND, KEY) is None

    def test_a_published_text_never_changes(self, store: SqlStore) -> None:
        create(store)
        published = publish(store, 1, 1)
        with pytest.raises(NotADraft) as refused:
            save(store, 1, {"n": 2}, published.revision)
        assert refused.value.present == published
        assert definitions.find_version(store, KIND, KEY) == published

    def test_what_the_rules_forbid_is_not_published(self, store: SqlStore) -> None:
        """The rules see the version as it is stored; nothing of the commit is kept when they refuse."""
        create(store, {"n": 5})
        seen = []

        def forbid(version: DefinitionVersion) -> None:
            seen.append(version)
            raise PermissionError("not alone")

        before = everything(store)
        with pytest.raises(PermissionError):
            definitions.publish_version(store, ANNA, KIND, KEY, 1, expected=1, check=forbid)
        assert (seen, everything(store)) == ([definitions.find_version(store, KIND, KEY)], before)
        assert publish(store, 1, 1).active

    def test_a_key_that_is_switched_off_has_nothing_to_begin_with(self, store: SqlStore) -> None:
        create(store)
        publish(store, 1, 1)
        off = definitions.switch_key(store, ANNA, KIND, KEY, enabled=False, expected=2, note="беда")
        assert (off.enabled, off.active_version, off.revision) == (False, 1, 3)
        assert definitions.find_active(store, KIND, KEY) is None
        with pytest.raises(StaleRevision) as stale:
            definitions.switch_key(store, BORIS, KIND, KEY, enabled=True, expected=2)
        assert stale.value.present == off == definitions.switch_key(store, BORIS, KIND, KEY, enabled=False, expected=3)
        assert definitions.switch_key(store, BORIS, KIND, KEY, enabled=True, expected=3).enabled
        assert definitions.find_active(store, KIND, KEY) is not None
        assert history(store)[-2:] == [("switched_off", 1, "tg:7"), ("switched_on", 1, "tg:8")]
        assert definitions.list_history(store, KIND, KEY)[1].note == "беда"

    def test_saving_a_draft_stops_nobody_from_switching_the_key_off(self, store: SqlStore) -> None:
        """The revision of the key grows when what runs changes, so an emergency need not race with an editor."""
        create(store)
        before = head(store).revision
        save(store, 1, {"n": 2}, 1)
        create(store, {"n": 3})
        assert not definitions.switch_key(store, BORIS, KIND, KEY, enabled=False, expected=before).enabled

    def test_what_is_not_there_is_said(self, store: SqlStore) -> None:
        create(store)
        assert definitions.find_key(store, KIND, "x") is definitions.find_version(store, KIND, "x") is None
        assert definitions.find_by_id(store, "x") is definitions.find_version(store, KIND, KEY, 2) is None
        for version in (0, 2, -1):
            with pytest.raises(DefinitionMissing):
                save(store, version, {}, 1)
            with pytest.raises(DefinitionMissing):
                publish(store, version, 1)
        with pytest.raises(DefinitionMissing):
            definitions.switch_key(store, ANNA, KIND, "x", enabled=False, expected=1)

    def test_inputs_are_stored_with_the_change_or_not_at_all(self, store: SqlStore) -> None:
        definitions.create_version(store, ANNA, KIND, KEY, {}, title="", note="", inbox_new=[incoming("new")])
        definitions.publish_version(store, BORIS, KIND, KEY, 1, expected=1, check=lambda _: None, inbox_new=[incoming("done")])
        with pytest.raises(StaleRevision):
            definitions.publish_version(store, BORIS, KIND, KEY, 1, expected=1, check=lambda _: None, inbox_new=[incoming("late")])
        assert [store.find_inbox(source) is not None for source in ("new", "done", "late")] == [True, True, False]

    def test_keys_are_listed_in_one_order_by_every_database(self, store: SqlStore) -> None:
        """By kind and key, byte by byte; a page goes on after any place, also one that is gone or never was."""
        names = [("flow", "b"), ("flow", "A"), ("flow", "a-1"), ("flow", "я"), ("flow", "a"), ("flow", "a_1"), ("agent", "z"), ("x", "a")]
        for kind, key in names:
            create(store, kind=kind, key=key)
        everywhere = [one.place for one in definitions.list_keys(store)]
        assert everywhere == ["agent/z", "flow/A", "flow/a", "flow/a-1", "flow/a_1", "flow/b", "flow/я", "x/a"]
        assert [one.place for one in definitions.list_keys(store, "flow")] == everywhere[1:-1]
        for kind, expected in (("", everywhere), ("flow", everywhere[1:-1])):
            found, after = list[str](), ""
            while page := definitions.list_keys(store, kind, after, 3):
                found += [one.place for one in page]
                after = found[-1]
            assert found == expected
        assert [one.place for one in definitions.list_keys(store, after="flow/az")] == ["flow/b", "flow/я", "x/a"]
        assert definitions.list_keys(store, "nothing") == []

    def test_the_list_shows_the_title_of_what_runs(self, store: SqlStore) -> None:
        for number in (1, 2):
            definitions.create_version(store, ANNA, KIND, KEY, {}, title=f"T{number}", note="")
            assert head(store).title == f"T{number}"
        definitions.save_version(store, ANNA, KIND, KEY, 1, {}, title="old", note="", expected=1)
        assert head(store).title == "T2"
        publish(store, 1, 2)
        create(store)
        assert head(store).title == "old"

    def test_a_text_that_was_changed_by_hand_is_never_used(self, store: SqlStore) -> None:
        """Nobody reads or publishes it; switching the key off and saving another text work."""
        create(store)
        publish(store, 1, 1)
        create(store, {"n": 2})
        damage(store)
        for read in (
            lambda: definitions.find_active(store, KIND, KEY),
            lambda: definitions.find_version(store, KIND, KEY),
            lambda: publish(store, 2, 1),
        ):
            with pytest.raises(DefinitionDamaged):
                read()
        assert len(definitions.list_versions(store, KIND, KEY)) == 2
        assert not definitions.switch_key(store, ANNA, KIND, KEY, enabled=False, expected=2).enabled
        assert save(store, 2, {"n": 3}, 1).document == {"n": 3}
        assert publish(store, 2, 2).active

    @pytest.mark.req("S002-A14")
    def test_a_document_that_says_its_number_says_the_right_one(self, store: SqlStore) -> None:
        """Its digest is that of the text with the number; a document that is no object, or says none, stays as it is."""
        for given, stored in (({"version": 9}, {"version": 1}), ({"n": 1}, {"n": 1}), ([1], [1]), ({"version": None}, {"version": 4})):
            made = definitions.create_version(store, ANNA, KIND, KEY, given, title="", note="", number_field="version")
            assert (made.document, definitions.find_by_id(store, made.id)) == (stored, made)
        saved = definitions.save_version(store, ANNA, KIND, KEY, 4, {"version": 1}, title="", note="", expected=1, number_field="version")
        assert saved.document == {"version": 4}
        assert definitions.create_version(store, ANNA, KIND, KEY, {"version": 9}, title="", note="").document == {"version": 9}

    def test_a_text_that_is_gone_is_damage_and_not_an_empty_document(self, store: SqlStore) -> None:
        create(store)
        with store._dialect.engine.begin() as connection:
            connection.execute(text("DELETE FROM definition_texts"))
        with pytest.raises(DefinitionDamaged):
            definitions.find_version(store, KIND, KEY)

    @pytest.mark.parametrize(
        "document",
        [float("nan"), "a\x00b", "\ud800", 2**60, {"x": object()}, {1: 2}, "я" * 2_000_001],
        ids=["nan", "nul", "surrogate", "large number", "object", "key", "size"],
    )
    def test_what_cannot_be_stored_faithfully_is_refused(self, store: SqlStore, document: Any) -> None:
        create(store)
        before = everything(store)
        for change in (lambda: create(store, {"a": document}), lambda: save(store, 1, {"a": document}, 1)):
            with pytest.raises(DefinitionUnstorable):
                change()
        assert everything(store) == before

    def test_a_very_deep_document_is_refused(self, store: SqlStore) -> None:
        deep: Any = []
        for _ in range(10_000):
            deep = [deep]
        with pytest.raises(DefinitionUnstorable):
            create(store, deep)

    @pytest.mark.parametrize("name", ["", "a/b", "a\nb", "a\x00", "x" * 201])
    def test_a_name_that_no_index_takes_is_refused(self, store: SqlStore, name: str) -> None:
        for names in ({"key": name}, {"kind": name}):
            with pytest.raises(DefinitionUnstorable):
                create(store, **names)
        assert definitions.list_keys(store) == []

    def test_the_longest_name_and_any_words_are_stored(self, store: SqlStore) -> None:
        """A note may come from anywhere: what no text may hold is replaced in it."""
        found = definitions.create_version(store, ANNA, KIND, "ж" * 200, {}, title="a\x00", note="\ud800" * 300)
        assert (found.title, found.note) == ("a�", "?" * 300)
        assert definitions.find_version(store, KIND, "ж" * 200) == found

    @pytest.mark.parametrize("document", [None, [], "", 0, True, {"": {"": None}}, [1e308, 5e-324, -0.0, 1.5, 2**53 - 1], "'\\\"\u2028😀"])
    def test_any_json_value_is_read_as_it_was_saved(self, store: SqlStore, document: Any) -> None:
        definitions.create_version(store, ANNA, KIND, KEY, copy.deepcopy(document), title="", note="")
        found = definitions.find_version(store, KIND, KEY)
        assert found is not None
        assert (found.document, type(found.document)) == (document, type(document))

    @pytest.mark.req("S002-2", "S002-7", "S002-8", "S002-9")
    def test_views_show_the_definitions_of_flows_with_their_documents(self, store: SqlStore) -> None:
        """On PostgreSQL the document is JSONB, so that a query looks into it; every change of the history has the text of that time."""
        create(store, {"metadata": {"description": "Отвечает"}, "n": 1})
        save(store, 1, [2], 1)
        publish(store, 1, 2)
        create(store, key="other", kind="agent")
        is_postgresql = store._dialect.engine.dialect.name == "postgresql"
        path = "definition_jsonb ->> 0" if is_postgresql else "json_extract(definition_jsonb, '$[0]')"
        with store._dialect.engine.connect() as connection:
            flows = connection.execute(text(f"SELECT name, version, status, is_active, {path} FROM flow_definition")).all()  # noqa: S608
            told = connection.execute(
                text("SELECT what, status, change_notes, created_by, definition_jsonb FROM flow_definition_history ORDER BY seq")
            ).all()
            descriptions = connection.execute(text("SELECT description FROM flow_definition")).all()
        assert [(*row[:3], bool(row[3]), str(row[4])) for row in flows] == [(KEY, 1, "PUBLISHED", True, "2")]
        assert [tuple(row[:4]) for row in told] == [
            ("created", "DRAFT", "первая", "tg:7"),
            ("saved", "DRAFT", "иначе", "tg:7"),
            ("published", "PUBLISHED", "", "tg:8"),
        ]
        texts = [row[4] for row in told]
        assert texts[1:] == ([[2], [2]] if is_postgresql else ["[2]", "[2]"])
        assert texts[0] == (
            {"metadata": {"description": "Отвечает"}, "n": 1} if is_postgresql else '{"metadata":{"description":"Отвечает"},"n":1}'
        )
        assert descriptions == [("",)]

    @pytest.mark.req("S002-2", "S002-9", "S002-X2")
    def test_views_have_the_columns_that_readers_are_promised(self, store: SqlStore) -> None:
        """Names on both databases, and a version's id is a UUID."""
        made = create(store)
        with store._dialect.engine.connect() as connection:
            shown = connection.execute(text("SELECT * FROM flow_definition")).mappings().one()
            told = connection.execute(text("SELECT * FROM flow_definition_history")).mappings().one()
        promised = (
            "id name version status is_active is_enabled title description definition_jsonb updated_by created_at updated_at published_at"
        )
        assert list(shown) == promised.split()
        assert list(told) == [
            "id",
            "seq",
            "name",
            "version",
            "what",
            "status",
            "definition_jsonb",
            "change_notes",
            "created_by",
            "created_at",
        ]
        assert (str(UUID(shown["id"])), shown["is_active"], shown["is_enabled"], shown["status"]) == (made.id, False, True, "DRAFT")

    def test_the_journal_says_who_did_what_and_holds_no_document(self, store: SqlStore) -> None:
        """Names and notes stand in the encrypted part only."""
        made = create(store, {"secret": "рецепт"})
        publish(store, 1, 1)
        definitions.switch_key(store, ANNA, KIND, KEY, enabled=False, expected=2, note="беда")
        found = store.read_events(STREAM)
        assert [(one.type, one.actor, one.data["digest"]) for one in found] == [
            ("DefinitionSaved", "tg:7", made.digest),
            ("DefinitionPublished", "tg:8", made.digest),
            ("DefinitionSwitched", "tg:7", made.digest),
        ]
        assert (found[0].data["note"], found[1].data["by_name"], found[1].data["replaced"]) == ("первая", "Борис", 0)
        raw = "".join(one.raw for one in found)
        assert not any(word in raw for word in ("рецепт", "Анна", "Борис", "первая", "беда"))
        assert [one.seq for one in definitions.list_history(store, KIND, KEY)] == [3, 2, 1]
