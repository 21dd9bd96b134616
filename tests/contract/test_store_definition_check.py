"""What the check of the journal says of stored definitions, over every kind of database that lasts."""

import pytest
from sqlalchemy import text

from state.journal import definitions
from tests.contract.definitions_kit import ANNA, BORIS, KEY, KIND, check, create, damage, publish, save
from tests.contract.store_kit import World, lasting_store


@lasting_store
class TestCheck:
    """What `sdelka journal verify` says of definitions."""

    def test_an_intact_store_gives_no_finding(self, world: World) -> None:
        store = world.open()
        create(store)
        save(store, 1, {"n": 2}, 1, who=BORIS)
        publish(store, 1, 2)
        create(store, {"n": 3})
        publish(store, 2, 1)
        publish(store, 1, 4)
        definitions.switch_key(store, ANNA, KIND, KEY, enabled=False, expected=4)
        assert check(world) == set()

    @pytest.mark.parametrize(
        ("change", "expected"),
        [
            ("UPDATE definition_keys SET active_version = 2", "table definition_keys"),
            ("UPDATE definition_keys SET enabled = 0", "table definition_keys"),
            ("DELETE FROM definition_keys", "table definition_keys"),
            ("UPDATE definitions SET status = 'published' WHERE version = 2", "table definitions"),
            ("UPDATE definitions SET digest = 'x' WHERE version = 1", "table definitions"),
            ("UPDATE definitions SET writers = '[]'", "table definitions"),
            ("UPDATE definition_history SET what = 'created' WHERE what = 'published'", "table definition_history"),
            ("DELETE FROM definition_history WHERE version = 2", "table definition_history"),
            ("DELETE FROM definition_texts", "definition text"),
        ],
    )
    def test_a_row_that_was_changed_by_hand_is_named(self, world: World, change: str, expected: str) -> None:
        store = world.open()
        create(store)
        publish(store, 1, 1)
        create(store, {"n": 2})
        with store._dialect.engine.begin() as connection:
            connection.execute(text(change))
        found = check(world)
        assert {place.removesuffix(place.partition("text ")[2]).strip() for _, place, _ in found} == {expected}
        assert all(kind in {"inconsistent", "missing"} for kind, _, _ in found)

    def test_a_text_that_is_not_what_its_digest_says_is_damaged(self, world: World) -> None:
        store = world.open()
        made = create(store)
        damage(store)
        assert check(world) == {("damaged", f"definition text {made.digest}", "it is not what its digest says")}
