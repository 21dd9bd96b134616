"""Where the journal speaks of a record or a call: written with the event, gone with the person, and the same as the journal everywhere."""

from collections.abc import Sequence
from typing import Any

import pytest
from sqlalchemy import delete, insert, select, text, update

from state.events.base import Event
from state.events.calls import CallStarted, CallSucceeded
from state.events.confirmations import ConfirmationApproved, ConfirmationDenied, ConfirmationRequested
from state.events.portal import RecordsSeen
from state.journal.record_index import UNDO, IndexEntry
from state.journal.store import EffectChange, EffectConflict, EffectRow, Lease
from state.sql import SqlStore
from state.sql.erasure import Erasure
from state.sql.record_index import build_tolerant_ask, find_differences
from state.sql.tables import mentions
from tests.contract.store_kit import NOW, lease, said, step
from tests.contract.store_kit import every_store as on_every_store

ANNA = "tg:1"


def frozen(*records: str, classes: Sequence[str] = ("W",), commands: Sequence[Any] = ()) -> dict[str, Any]:
    """As the gate stores a call."""
    targets = [[kind, int(number)] for kind, _, number in (record.rpartition(":") for record in records)]
    return {
        "kind": "bitrix",
        "method": "crm.deal.update",
        "params": {},
        "classes": list(classes),
        "targets": targets,
        "commands": list(commands),
    }


def stored(call: dict[str, Any], by: str = ANNA) -> dict[str, Any]:
    return {"call": call, "requested_by": by, "before": {}}


def asked(effect_id: str) -> ConfirmationRequested:
    texts = ("turn_id", "slot", "nonce", "fingerprint", "essence", "requested_by", "requested_at", "expires_at")
    return ConfirmationRequested(
        **dict.fromkeys(texts, "x"),
        confirmation_id=f"c-{effect_id}",
        effect_id=effect_id,
        method="crm.deal.update",
        call_class="W",
        params={},
    )


def started(effect_id: str, slot: str = "t/1/1", card: str = "") -> CallStarted:
    texts = dict.fromkeys(("turn_id", "fingerprint", "requested_by"), "x")
    return CallStarted(**texts, effect_id=effect_id, slot=slot, method="crm.deal.update", call_class="W", params={}, confirmation_id=card)


def succeeded(effect_id: str, created: str = "") -> CallSucceeded:
    return CallSucceeded(effect_id=effect_id, turn_id="t", slot="t/1/1", method="crm.deal.add", call_class="W", created=created)


def change(effect_id: str, status: Any, *expect: str, call: dict[str, Any] | None = None) -> EffectChange:
    return EffectChange(effect_id=effect_id, expect=expect or ("absent",), status=status, fingerprint="f", call=call)


def done(store: SqlStore, held: Lease, *steps: tuple[Event, EffectChange]) -> list[str]:
    """Each in a step of its own; the ids of the events."""
    return [store.commit(step(held, event, effects=[one]))[0].id for event, one in steps]


def told(store: SqlStore) -> list[Any]:
    """What the check of table and journal finds."""
    with store._dialect.engine.connect() as connection:
        return find_differences(build_tolerant_ask(connection))


def rows(store: SqlStore) -> set[IndexEntry]:
    with store._dialect.engine.connect() as connection:
        return {IndexEntry(*row) for row in connection.execute(select(mentions))}


def a_day(store: SqlStore) -> dict[str, str]:
    """A card approved and run, a card denied, an add, the undo of one, two looks: of each event its id."""
    held, portal = lease(store), lease(store, "portal:p")
    approved = ConfirmationApproved(confirmation_id="c-e1", effect_id="e1", approved_by=ANNA, approved_at="x", via="button")
    denied = ConfirmationDenied(confirmation_id="c-e2", effect_id="e2", essence="x", denied_by=ANNA, denied_at="x", via="typed")
    call, batch = frozen("deal:481"), frozen(commands=[frozen("deal:481"), frozen("item:177:5"), frozen("task:7", classes=("R",))])
    names = ("asked", "approved", "started", "asked batch", "denied", "add", "added", "undo", "undone")
    ids = done(
        store,
        held,
        (asked("e1"), change("e1", "requested", call=stored(call))),
        (approved, change("e1", "approved", "requested")),
        (started("e1", card="c-e1"), change("e1", "started", "approved", call=stored(call))),
        (asked("e2"), change("e2", "requested", call=stored(batch))),
        (denied, change("e2", "denied", "requested")),
        (started("e3"), change("e3", "started", call=stored(frozen()))),
        (succeeded("e3", "deal:512"), change("e3", "succeeded", "started")),
        (started("e4", slot=f"{UNDO}e1/2"), change("e4", "started", call=stored(call))),
        (succeeded("e4"), change("e4", "succeeded", "started")),
    )
    looks = [
        RecordsSeen(records={"deal:481": {"TITLE": "Ромашка"}}, gone=["task:9"]),
        RecordsSeen(records={"deal:481": {"TITLE": "Лютик"}}),
    ]
    seen = [store.commit(step(portal, one)._replace(actor="system"))[0].id for one in looks]
    store.commit(step(held, said()))
    return dict(zip((*names, "look 1", "look 2"), (*ids, *seen), strict=True))


def calls_of(at: dict[str, str]) -> list[tuple[str, str]]:
    """Event and effect of the calls about deal 481 as the table sorts them: ids of one millisecond have no order of their own."""
    return sorted([(at["asked"], "e1"), (at["asked batch"], "e2"), (at["undo"], "e4")])


@on_every_store
class TestMentions:
    def test_what_a_step_names_is_found_with_it(self, store: SqlStore) -> None:
        """A card and a free call by their record, what was approved only once; adds by what they made; decisions, undos and looks."""
        at = a_day(store)
        assert store.list_index_entries("deal:481", "call") == [("deal:481", "call", event, effect) for event, effect in calls_of(at)]
        assert [one.effect_id for one in store.list_index_entries("item:177:5", "call")] == ["e2"]
        assert store.list_index_entries("task:7", "call") == []
        assert store.list_index_entries("deal:512", "made") == [("deal:512", "made", at["added"], "e3")]
        assert [store.list_index_entries(effect, "began")[0].event_id for effect in ("e1", "e3")] == [at["asked"], at["add"]]
        assert [store.list_index_entries(effect, "decision")[0].event_id for effect in ("e1", "e2")] == [at["approved"], at["denied"]]
        assert store.list_index_entries("e1", "undo") == [("e1", "undo", at["undo"], "e4")]
        looks = sorted([at["look 1"], at["look 2"]])
        assert store.list_index_entries("deal:481", "look") == [("deal:481", "look", look, "") for look in looks]
        assert [one.event_id for one in store.list_index_entries("task:9", "look")] == [at["look 1"]]
        assert len(rows(store)) == 15

    def test_pages_go_on_behind_an_event_and_the_last_come_first(self, store: SqlStore) -> None:
        at = a_day(store)
        (first, _), (second, effect), (third, last) = calls_of(at)
        assert [one.event_id for one in store.list_index_entries("deal:481", "call", first, 1)] == [second]
        assert [one.event_id for one in store.list_index_entries("deal:481", "call", second, 5)] == [third]
        assert [one.effect_id for one in store.list_last_index_entries("deal:481", "call", 2)] == [last, effect]
        assert store.list_index_entries("deal:48", "call") == store.list_last_index_entries("deal", "call", 5) == []

    def test_a_step_that_conflicts_names_nothing(self, store: SqlStore) -> None:
        held = lease(store)
        store.commit(step(held, asked("e1"), effects=[change("e1", "requested", call=stored(frozen("deal:481")))]))
        before = rows(store)
        with pytest.raises(EffectConflict):
            store.commit(step(held, started("e1"), effects=[change("e1", "started", call=stored(frozen("deal:482")))]))
        assert rows(store) == before

    def test_steps_of_one_transaction_name_what_each_alone_would(self, store: SqlStore) -> None:
        held = lease(store)
        first = step(held, asked("e1"), effects=[change("e1", "requested", call=stored(frozen("deal:481")))])
        second = step(held, started("e2"), said(), effects=[change("e2", "started", call=stored(frozen("deal:482")))], earlier=[first])
        one, two, _ = store.commit(second)
        assert [item.event_id for item in store.list_index_entries("deal:481", "call")] == [one.id]
        assert [item.event_id for item in store.list_index_entries("deal:482", "call")] == [two.id]

    def test_table_and_journal_are_the_same_and_a_difference_is_named(self, store: SqlStore) -> None:
        """A row that is gone, one that nobody wrote, one that names another call."""
        assert told(store) == []
        at = a_day(store)
        assert told(store) == []
        with store._dialect.engine.begin() as connection:
            connection.execute(delete(mentions).where(mentions.c.event_id == at["denied"]))
            connection.execute(insert(mentions).values(about="deal:999", what="call", event_id=at["asked"], effect_id="e1"))
            connection.execute(update(mentions).where(mentions.c.event_id == at["added"]).values(effect_id="e4"))
        found = [(finding.kind, finding.place, finding.seq, finding.why) for finding in told(store)]
        assert sorted(found, key=repr) == sorted(
            [
                ("inconsistent", "session:tg:1", 5, "table mentions lacks its row about e2 (decision)"),
                ("inconsistent", "session:tg:1", 7, "table mentions lacks its row about deal:512 (made)"),
                ("inconsistent", "table mentions", None, "its row about deal:512 (made) is borne out by no record"),
                ("inconsistent", "table mentions", None, "its row about deal:999 (call) is borne out by no record"),
            ],
            key=repr,
        )

    def test_of_many_differences_the_first_are_named_and_all_are_counted(self, store: SqlStore) -> None:
        held = lease(store)
        for number in range(15):
            store.commit(step(held, started(f"e{number}"), effects=[change(f"e{number}", "started", call=stored(frozen("deal:1")))]))
        with store._dialect.engine.begin() as connection:
            connection.execute(delete(mentions))
        found = told(store)
        assert (len(found), found[-1].why) == (21, "10 more such rows")

    def test_an_erased_person_is_not_told_of_and_others_are(self, store: SqlStore) -> None:
        """Nothing says any more which records their calls were about; what a colleague did to the same record stays."""
        a_day(store)
        theirs = lease(store, "tg:2")
        other = started("o1", slot=f"{UNDO}e1")
        store.commit(step(theirs, other, effects=[change("o1", "started", call=stored(frozen("deal:481"), by="tg:2"))]))
        erasure: Erasure = store.open_erasure()
        assert erasure.count_holdings(ANNA)["mentions"] == 12
        owners = {one.owner for one in erasure.iterate_texts() if one.place.startswith("mentions ")}
        removed = erasure.erase(ANNA, NOW, digests=[], change=lambda body: body)
        assert removed["mentions"] == 12
        assert owners == {"person:7", "portal:p"}
        assert {one.effect_id for one in rows(store)} == {"o1", ""}
        assert told(store) == []
        row = store.find_effect("e1")
        assert isinstance(row, EffectRow)
        assert "call" not in row.call

    def test_rows_that_make_no_sense_name_nothing(self, store: SqlStore) -> None:
        """A damaged call, data that is no JSON, a record of a newer program: reading goes on behind them."""
        a_day(store)
        with store._dialect.engine.begin() as connection:
            connection.execute(text("UPDATE effects SET call = :call WHERE effect_id = 'e1'"), {"call": '{"call":1}'})
            connection.execute(text("UPDATE events SET data = '{' WHERE type = 'ConfirmationDenied'"))
            connection.execute(text("UPDATE events SET v = 99 WHERE type = 'RecordsSeen'"))
        whys = [finding.why for finding in told(store)]
        assert "its row about e2 (decision) is borne out by no record" in whys
        assert "its row about deal:481 (look) is borne out by no record" in whys
        assert not any("lacks" in why for why in whys)
