"""How definitions change together with the journal: everything of a change or nothing, and never two changes mixed."""

from datetime import timedelta
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from state.journal import definitions
from state.journal.definition_rows import DefinitionChange
from state.journal.store import StaleEpoch
from state.journal.stream_turn import SESSION
from state.model.definitions import DefinitionMissing, DefinitionsBusy, DefinitionVersion, NotADraft, StaleRevision
from state.sql import SqlStore, open_store
from state.sql.record_index import build_tolerant_ask
from state.verify.definitions import find_definition_differences
from tests.contract.definitions_kit import ANNA, KEY, KIND, author, create, everything, publish, save
from tests.contract.store_kit import NOW, every_store, lease, step


@every_store
class TestTransaction:
    def test_a_commit_that_fails_at_its_last_row_keeps_nothing(self, store: SqlStore, monkeypatch: pytest.MonkeyPatch) -> None:
        """Neither a row nor the event; and the next attempt goes through."""
        create(store)
        before = everything(store)
        broken = store._statements.definitions.add_history
        monkeypatch.setattr(store._statements.definitions, "add_history", type(broken)(sql="INSERT INTO nothing VALUES (1)", fixed={}))
        for change in (lambda: create(store, {"n": 2}), lambda: save(store, 1, {"n": 2}, 1), lambda: publish(store, 1, 1)):
            with pytest.raises(Exception, match="nothing"):
                change()
        assert everything(store) == before
        monkeypatch.undo()
        assert create(store, {"n": 2}).version == 2

    def test_an_old_epoch_writes_nothing(self, store: SqlStore) -> None:
        """Whoever was away too long finds that somebody else has the turn, and changes nothing; also if that one changed nothing."""
        create(store)

        def be_away(_: DefinitionVersion) -> None:
            later = NOW + timedelta(hours=1)
            taken = store.acquire(SESSION, "other", later, later + timedelta(seconds=1))
            assert taken is not None

        before = everything(store)
        with pytest.raises(DefinitionsBusy):
            definitions.publish_version(store, ANNA, KIND, KEY, 1, expected=1, check=be_away)
        assert everything(store) == before

    def test_a_process_that_died_in_its_turn_is_waited_for_and_then_forgotten(self, store: SqlStore) -> None:
        lease(store, SESSION, "dead", NOW - timedelta(seconds=55))
        with pytest.raises(DefinitionsBusy):
            create(store)
        assert create(store, who=author(at=NOW + timedelta(seconds=6))).version == 1

    def test_rows_that_are_not_as_expected_are_not_overwritten(self, store: SqlStore) -> None:
        """Even a commit under the lease replaces no other revision, and adds no version a second time."""
        create(store)
        stored, key = store.definitions.find_version(KIND, KEY, 1), store.definitions.find_key(KIND, KEY)
        assert stored is not None
        assert key is not None
        before = everything(store)
        for change in (
            DefinitionChange(head=key, changed=[stored.row._replace(revision=3)]),
            DefinitionChange(head=key, added=[stored.row._replace(id="other")]),
        ):
            held = lease(store, SESSION)
            with pytest.raises(StaleEpoch):
                store.commit(step(held, definitions=change))
        assert everything(store) == before


names = st.sampled_from(["a", "b"])
moves = st.one_of(
    st.tuples(st.just("create"), names, st.integers(0, 3)),
    st.tuples(st.just("save"), names, st.integers(1, 3), st.integers(0, 3), st.booleans()),
    st.tuples(st.just("publish"), names, st.integers(1, 3), st.booleans()),
    st.tuples(st.just("switch"), names, st.booleans(), st.booleans()),
)


@pytest.mark.long
@given(st.lists(moves, max_size=25))
@settings(max_examples=60, deadline=None)
def test_any_order_of_changes_leaves_what_a_plain_model_says(order: list[tuple[Any, ...]]) -> None:
    """Versions are dense, at most one is active, only drafts change, and only for who knows the revision; the journal agrees."""
    store = open_store("sqlite://")
    model: dict[str, list[dict[str, Any]]] = {}
    active: dict[str, int] = {}
    off: set[str] = set()
    try:
        for move, key, *rest in order:
            versions = model.setdefault(key, [])
            one = versions[rest[0] - 1] if move in {"save", "publish"} and rest[0] <= len(versions) else None
            found = definitions.find_version(store, KIND, key, rest[0]) if one else None
            stale = found is not None and not rest[-1]
            revision = (found.revision if found else 1) - stale
            match move:
                case "create":
                    create(store, rest[0], key=key)
                    versions.append({"text": rest[0], "status": "draft"})
                case "save":
                    work = _attempt(
                        definitions.save_version, store, ANNA, KIND, key, rest[0], rest[1], title="", note="", expected=revision
                    )
                    wanted = (
                        DefinitionMissing if one is None else NotADraft if one["status"] != "draft" else StaleRevision if stale else None
                    )
                    assert work == wanted
                    if one and wanted is None:
                        one["text"] = rest[1]
                case "publish":
                    work = _attempt(definitions.publish_version, store, ANNA, KIND, key, rest[0], expected=revision, check=lambda _: None)
                    wanted = DefinitionMissing if one is None else StaleRevision if stale else None
                    assert work == wanted
                    if one and wanted is None:
                        one["status"], active[key] = "published", rest[0]
                case "switch":
                    there = definitions.find_key(store, KIND, key)
                    expected = (there.revision if there else 1) - (not rest[1])
                    work = _attempt(definitions.switch_key, store, ANNA, KIND, key, enabled=rest[0], expected=expected)
                    wanted = DefinitionMissing if not versions else None if rest[1] else StaleRevision
                    assert work == wanted
                    if wanted is None:
                        (off.discard if rest[0] else off.add)(key)
        for key, versions in model.items():
            _compare(store, key, versions, active.get(key, 0), enabled=key not in off)
        with store._dialect.engine.connect() as connection:
            assert find_definition_differences(build_tolerant_ask(connection)) == []
    finally:
        store.close()


def _attempt(change: Any, *given: Any, **named: Any) -> type[Exception] | None:
    try:
        change(*given, **named)
    except (DefinitionMissing, NotADraft, StaleRevision) as error:
        return type(error)
    return None


def _compare(store: SqlStore, key: str, versions: list[dict[str, Any]], active: int, *, enabled: bool) -> None:
    found = [definitions.find_version(store, KIND, key, number + 1) for number in range(len(versions) + 1)]
    assert found.pop() is None
    assert [(one.document, one.status) for one in found if one] == [(one["text"], one["status"]) for one in versions]
    assert [one.version for one in found if one and one.active] == ([active] if active else [])
    there = definitions.find_active(store, KIND, key)
    assert (there.version if there else 0) == (active if enabled else 0)
    whole = definitions.find_key(store, KIND, key)
    if versions:
        assert whole is not None
        assert (whole.last_version, whole.active_version, whole.enabled) == (len(versions), active, enabled)
        assert whole.has_draft == any(one["status"] == "draft" for one in versions)
