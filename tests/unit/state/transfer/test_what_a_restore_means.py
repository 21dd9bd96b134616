"""What was approved, begun or asked when a backup was made may have been done since: a restored bot does none of it again by itself."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import orjson
import pytest
from aiogram.types import Update

from bot.telegram.intake.routed_updates import ParsedUpdate, RestoreGuard, RowBuilder
from orchestrator.domain.inputs import CardDecision, Command, DirectAnswer, FeatureClick, TextMessage
from orchestrator.reports.restore import RestoreReport
from state.clock import format_iso
from state.events.calls import CallStarted
from state.events.confirmations import ConfirmationApproved
from state.journal.async_store import AsyncStore
from state.journal.store import RESTORED, EffectChange
from state.sql import open_store
from tests.unit.spine_kit import ANNA, CHAT, NOW, World, a_world, message, press, raise_sum, reply, step
from tests.unit.spine_portal import Portal
from tests.unit.state.transfer.moving_kit import Home, Homes

ADD = step("crm.deal.add", {"fields": {"TITLE": "Осина", "OPPORTUNITY": 5000}})


@dataclass
class Two:
    """The home that was lost, the one that was restored, and the one portal of both."""

    old: Home
    new: Home
    portal: Portal
    file: Path

    @asynccontextmanager
    async def bot(self, home: Home) -> AsyncIterator[World]:
        async with a_world(home.folder, store=open_store(home.url), portal=self.portal) as world:
            yield world

    async def ask(self, wish: dict[str, Any]) -> dict[str, Any]:
        """A card for that wish, in the old home."""
        async with self.bot(self.old) as world:
            world.model.will(reply(wish))
            await world.work(message("сделай"))
            return dict(world.events("ConfirmationRequested")[-1].data)

    def restored(self) -> RestoreReport:
        return self.new.restore(self.file)

    async def decide(self, home: Home, card: dict[str, Any]) -> list[str]:
        """Approve it there; what people are told."""
        async with self.bot(home) as world:
            await world.work(press(card))
            return world.codes()


@pytest.fixture
def two(homes: Homes, tmp_path: Path) -> Two:
    return Two(homes.home("old"), homes.home("new"), Portal(), tmp_path / "one.backup")


@pytest.mark.parametrize(("wish", "method"), [(ADD, "crm.deal.add"), (raise_sum(), "crm.deal.update")], ids=["add", "update"])
async def test_a_card_that_ran_after_the_backup_does_not_run_again(two: Two, wish: dict[str, Any], method: str) -> None:
    """Approved and done after the backup, approved again after the restore: one call in the portal."""
    card = await two.ask(wish)
    two.old.back_up(two.file)
    await two.decide(two.old, card)
    assert len(two.portal.written(method)) == 1
    assert [two.restored().cards, two.new.findings()] == [[card["effect_id"]], []]
    said = await two.decide(two.new, card)

    assert len(two.portal.written(method)) == 1
    assert "came-back-done" in " ".join(said) or "card:refused" in said
    with two.new.store() as store:
        row = store.find_effect(card["effect_id"])
        assert row is not None
        assert row.status == "refused"
    assert two.new.findings() == []


@pytest.mark.parametrize("wish", [ADD, raise_sum()], ids=["add", "update"])
async def test_a_card_that_did_not_run_runs_once(two: Two, wish: dict[str, Any]) -> None:
    """The look at the portal is no obstacle to what nobody has done."""
    card = await two.ask(wish)
    two.old.back_up(two.file)
    two.restored()
    await two.decide(two.new, card)

    assert len(two.portal.written(wish["method"])) == 1
    assert two.new.findings() == []


async def test_a_card_of_which_nobody_can_tell_does_not_run(two: Two) -> None:
    """A comment leaves no mark in the portal: the person is told to look."""
    card = await two.ask(
        step(
            "crm.timeline.comment.add",
            {"fields": {"ENTITY_ID": 481, "ENTITY_TYPE": "deal", "COMMENT": "привет"}},
            requires_confirmation=True,
        )
    )
    two.old.back_up(two.file)
    two.restored()
    await two.decide(two.new, card)

    assert two.portal.written("crm.timeline.comment.add") == []
    with two.new.store() as store:
        assert [event.data["code"] for event in store.read_events(f"session:{CHAT}") if event.type == "CallRefused"] == [
            "came-back-unclear"
        ]


@pytest.mark.parametrize("status", ["approved", "started"])
@pytest.mark.parametrize("done", [True, False], ids=["done since", "not done"])
async def test_what_was_under_way_is_looked_up_and_never_sent(two: Two, status: str, done: bool) -> None:  # noqa: FBT001 - a table
    """It becomes unknown; two minutes after the start its person knows; the portal gets no write."""
    card = await two.ask(ADD)
    async with two.bot(two.old) as world:
        await _stands(world, card, status)
    two.old.back_up(two.file)
    if done:
        two.portal.records["deal", 900] = {"ID": "900", **card["params"]["fields"]}
    settled = two.restored()
    assert [(one.effect_id, one.status) for one in settled.unknown] == [(card["effect_id"], status)]
    assert two.new.findings() == []
    async with two.bot(two.new) as world:
        for _ in range(3):
            world.clock.advance(timedelta(minutes=2))
            await world.work()
        said = " ".join(world.codes())
    assert two.portal.written() == []
    assert ("recovered-done" if done else "recovered-not-done") in said
    with two.new.store() as store:
        row = store.find_effect(card["effect_id"])
        assert row is not None
        assert row.status == ("succeeded" if done else "refused")
    assert two.new.findings() == []


async def _stands(world: World, card: dict[str, Any], status: str) -> None:
    """The card's effect as a bot that was killed right then left it."""
    session = await world.session()
    ids = {name: card[name] for name in ("effect_id", "confirmation_id")}
    approved = ConfirmationApproved(**ids, approved_by=ANNA.key, approved_at=format_iso(NOW), via="button")
    await session.commit(
        approved, actor=ANNA.key, effects=[EffectChange(effect_id=card["effect_id"], expect=("requested",), status="approved")]
    )
    if status == "started":
        row = await world.store.find_effect(card["effect_id"])
        assert row is not None
        began = CallStarted(
            **{
                name: card[name]
                for name in ("effect_id", "turn_id", "slot", "method", "params", "fingerprint", "confirmation_id", "call_class")
            },
            requested_by=ANNA.key,
            approved_by=ANNA.key,
            proposed_by=card["proposed_by"],
            before=card["before"],
        )
        change = EffectChange(
            effect_id=card["effect_id"], expect=("approved",), status="started", call={**row.call, "started_at": format_iso(NOW)}
        )
        await session.commit(began, actor="system", effects=[change])
    await session.close()


async def test_what_was_asked_is_not_worked_and_its_person_is_told(two: Two) -> None:
    """Inputs that waited, and a turn that was under way: no call, no question to the model, one sentence each."""
    async with two.bot(two.old) as world:
        await world.put(message("подними сумму сделки 481 до 9 000 000"), message("и ещё"))
    two.old.back_up(two.file)
    settled = two.restored()
    assert [(one.session, one.kind) for one in settled.inputs] == [(CHAT, "message")] * 2
    assert two.new.findings() == []
    async with two.bot(two.new) as world:
        await world.work()
        assert world.codes() == ["restored-not-worked"] * 2
        assert world.model.prompts == []
        world.model.will(reply(text="Слушаю."))
        await world.work(message("ну что"))
        assert world.codes() == ["reply"]
    assert two.portal.written() == []


_SAID = {
    "message": TextMessage(text="x"),
    "press": FeatureClick(words=("x",)),
    "decision": CardDecision(confirmation_id="c", nonce="n", approve=True, via="button"),
}


async def test_telegram_brings_nothing_old_to_work(two: Two) -> None:
    """An update from before the restore gets the sentence; a card's press and what is new go on."""
    await two.ask(ADD)
    two.old.back_up(two.file)
    two.restored()
    with two.new.store() as sql:
        restored = datetime.fromisoformat(orjson.loads(sql.get_value(RESTORED) or "")["restored_at"])
        store = AsyncStore(sql)
        guard = RestoreGuard(store)
        make = RowBuilder(source="telegram:1:1", session=CHAT, actor=ANNA, now=NOW)
        for kind, moment, worked in (
            ("message", restored - timedelta(seconds=5), False),
            ("message", restored + timedelta(seconds=5), True),
            ("press", restored - timedelta(seconds=5), False),
            ("press", datetime.fromtimestamp(0, UTC), False),
            ("decision", restored - timedelta(seconds=5), True),
        ):
            routed = await guard.filter_update(_update(kind, moment), make.build(_SAID[kind], "turn"))
            refused = [DirectAnswer.model_validate(row.body).notice.code for row in routed.rows if row.kind == "answer"]
            assert refused == ([] if worked else ["restored-not-worked"]), (kind, moment)
            assert routed.rows, (kind, moment)
        reading = await guard.filter_update(_update("message", NOW - timedelta(days=1)), make.build(Command(name="pending"), "express"))
        assert reading.rows
        await store.aclose()


async def test_a_bot_that_was_never_restored_is_not_in_the_way(two: Two) -> None:
    with two.old.store() as sql:
        store = AsyncStore(sql)
        routed = RowBuilder(source="telegram:1:1", session=CHAT, actor=ANNA, now=NOW).build(TextMessage(text="x"), "turn")
        assert await RestoreGuard(store).filter_update(_update("message", NOW), routed) is routed
        await store.aclose()
    assert ParsedUpdate() != routed


def _update(kind: str, moment: datetime) -> Update:
    chat = {"id": 1007, "type": "private"}
    one = {
        "message_id": 5,
        "date": int(moment.timestamp()),
        "chat": chat,
        "text": "x",
        "from": {"id": 1007, "is_bot": False, "first_name": "А"},
    }
    if kind == "message":
        return Update.model_validate({"update_id": 1, "message": one})
    query = {"id": "1", "from": one["from"], "chat_instance": "1", "data": "x", "message": one}
    return Update.model_validate({"update_id": 1, "callback_query": query})
