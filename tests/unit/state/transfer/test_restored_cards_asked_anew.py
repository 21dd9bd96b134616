"""A card that came back with a backup and may have run since: no button under it asks for the same a second time."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, closing
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

from orchestrator.features.cards.resubmit import may_repeat
from state.clock import format_iso, generate_id
from state.journal.journal import load_state
from state.journal.store import RESTORED_CARD, InboxRow, OutboxRow
from state.sql import open_store
from state.transfer.backup import create_backup
from tests.unit.spine_kit import ANNA, CHAT, World, _row, a_world, message, press, reply, step
from tests.unit.spine_portal import Portal
from tests.unit.state.transfer.moving_kit import MADE_AT, Home, Homes

ADD = step("crm.deal.add", {"fields": {"TITLE": "Осина", "OPPORTUNITY": 5000}})
COMMENT = step("crm.timeline.comment.add", {"fields": {"ENTITY_ID": 481, "ENTITY_TYPE": "deal", "COMMENT": "привет"}})


class Lost:
    """A bot that made a card, was backed up, and was lost; its successor and the one portal of both."""

    def __init__(self, homes: Homes, folder: Path) -> None:
        self.old, self.new, self.portal, self.file = homes.home("old"), homes.home("new"), Portal(), folder / "one.backup"

    @asynccontextmanager
    async def bot(self, home: Home) -> AsyncIterator[World]:
        async with a_world(home.folder, store=open_store(home.url), portal=self.portal) as world:
            yield world

    async def asked(self, wish: dict[str, Any], *, done: bool) -> dict[str, Any]:
        """A card of the backup; `done` after it was made, by a press that only the lost database knew of."""
        async with self.bot(self.old) as world:
            world.model.will(reply({**wish, "requires_confirmation": True}))
            await world.work(message("сделай"))
            card = dict(world.events("ConfirmationRequested")[-1].data)
        self.old.back_up(self.file)
        if done:
            async with self.bot(self.old) as world:
                await world.work(press(card))
        self.new.restore(self.file)
        return card


def pressing(*words: str) -> InboxRow:
    return _row("press", "express", {"words": list(words), "callback_id": generate_id(), "message_id": 5}, ANNA, CHAT)


def answer(question: OutboxRow, text: str) -> InboxRow:
    body = {"confirmation_id": question.body["confirmation_id"], "ask": question.body["ask"], "text": text}
    return _row("edit_value", "express", body, ANNA, CHAT)


@pytest.fixture
def lost(homes: Homes, tmp_path: Path) -> Lost:
    return Lost(homes, tmp_path)


async def approved(world: World) -> None:
    """Every card that waits is approved by whoever may."""
    state, _ = await world.store.read(load_state, f"session:{CHAT}")
    await world.work(*(press(entry) for entry in state.agent.confirmations.values() if entry.status == "requested"))


@pytest.mark.parametrize(("wish", "done", "calls"), [(ADD, True, 1), (ADD, False, 1), (COMMENT, True, 1), (COMMENT, False, 0)])
async def test_asked_for_again_after_its_time_it_is_not_done_twice(lost: Lost, wish: dict[str, Any], done: bool, calls: int) -> None:  # noqa: FBT001 - a table
    """It ran out unanswered in the restored database: «again» looks first whether it ran."""
    card = await lost.asked(wish, done=done)
    async with lost.bot(lost.new) as world:
        world.clock.advance(timedelta(days=2))
        await world.work()
        world.outbox()
        await world.work(pressing("again", card["confirmation_id"]))
        codes = " ".join(world.codes())
        await approved(world)
    assert len(lost.portal.written(wish["method"])) == calls
    assert ("came-back" in codes) == (done or wish is COMMENT)


@pytest.mark.parametrize("done", [True, False])
async def test_changed_before_it_is_approved_it_is_not_done_twice(lost: Lost, done: bool) -> None:  # noqa: FBT001 - a table
    """A new value makes a new call with a mark of its own, so the old one is looked for before."""
    card = await lost.asked(ADD, done=done)
    async with lost.bot(lost.new) as world:
        await world.work(pressing("edit", card["confirmation_id"]))
        question = world.outbox()[-1]
        if question.body["what"] != "value":
            await world.work(pressing("field", card["confirmation_id"], "0"))
            question = world.outbox()[-1]
        await world.work(answer(question, "7000"))
        objections = [(row.body.get("objection") or {}).get("code") for row in world.outbox()]
        assert ("came-back-done" in objections) == done
        await approved(world)
    assert len(lost.portal.written("crm.deal.add")) == 1
    assert lost.new.findings() == []


async def edited(world: World, card: dict[str, Any], value: str) -> None:
    """The first field of the card gets another value, by a reply to the question for it."""
    await world.work(pressing("edit", card["confirmation_id"]))
    question = world.outbox()[-1]
    if question.body["what"] != "value":
        await world.work(pressing("field", card["confirmation_id"], "0"))
        question = world.outbox()[-1]
    await world.work(answer(question, value))


@pytest.mark.parametrize("stands", [True, False])
async def test_done_with_another_value_since_the_backup_the_old_card_asks_again(lost: Lost, stands: bool) -> None:  # noqa: FBT001 - a table
    """The record of a card that was edited carries another mark; what the bot made and has forgotten is named, and a person decides."""
    async with lost.bot(lost.old) as world:
        world.model.will(reply({**ADD, "requires_confirmation": True}))
        await world.work(message("сделай"))
        card = dict(world.events("ConfirmationRequested")[-1].data)
    lost.old.back_up(lost.file)
    if stands:
        async with lost.bot(lost.old) as world:
            await edited(world, card, "7000")
            await approved(world)
        assert len(lost.portal.written("crm.deal.add")) == 1
    lost.new.restore(lost.file)
    async with lost.bot(lost.new) as world:
        world.outbox()
        await world.work(press(card))
        assert len(lost.portal.written("crm.deal.add")) == 1
        reasons = [reason for row in world.outbox() for reason in row.body.get("reasons") or () if reason["code"] == "came-back-others"]
        assert [reason["args"]["records"] for reason in reasons] == (["№ 9001"] if stands else [])
        await approved(world)
    assert len(lost.portal.written("crm.deal.add")) == 1 + stands  # the person has looked, and wants both
    assert lost.new.findings() == []


async def test_a_new_value_or_a_second_request_says_that_it_may_have_been_done(lost: Lost) -> None:
    """What is proposed again from a card of the backup is asked about with that reason."""
    card = await lost.asked(ADD, done=False)
    async with lost.bot(lost.new) as world:
        await edited(world, card, "7000")
        state, _ = await world.store.read(load_state, f"session:{CHAT}")
        waiting = next(entry for entry in state.agent.confirmations.values() if entry.status == "requested")
    assert "came-back-asks" in [reason["code"] for reason in waiting.reasons]


def open_card(world_state: Any) -> Any:
    return next(entry for entry in world_state.agent.confirmations.values() if entry.status == "requested")


@pytest.mark.parametrize("way", ["again", "edit", "edit twice"])
async def test_the_doubt_stays_with_what_is_asked_from_a_card_that_has_it(lost: Lost, way: str) -> None:
    """Who lets the second card run out, or gives it another value, need not have read it."""
    async with lost.bot(lost.old) as world:
        world.model.will(reply({**ADD, "requires_confirmation": True}))
        await world.work(message("сделай"))
        card = dict(world.events("ConfirmationRequested")[-1].data)
    lost.old.back_up(lost.file)
    async with lost.bot(lost.old) as world:
        await edited(world, card, "7000")
        await approved(world)
    lost.new.restore(lost.file)
    async with lost.bot(lost.new) as world:
        world.outbox()
        await (edited(world, card, "8000") if way == "edit twice" else world.work(press(card)))
        second = open_card((await world.store.read(load_state, f"session:{CHAT}"))[0])
        assert {reason["code"] for reason in second.reasons} & {"came-back-asks", "came-back-others"}
        if way == "again":
            world.clock.advance(timedelta(days=2))
            await world.work()
            await world.work(pressing("again", second.confirmation_id))
        else:
            await edited(world, {"confirmation_id": second.confirmation_id}, "Вера Белова")  # its first field is who is responsible
        third = open_card((await world.store.read(load_state, f"session:{CHAT}"))[0])
    assert third.confirmation_id != second.confirmation_id
    assert "came-back-asks" in [reason["code"] for reason in third.reasons]
    assert len(lost.portal.written("crm.deal.add")) == 1


async def test_the_doubt_stays_with_the_card_that_a_stricter_policy_brings(lost: Lost) -> None:
    """The new card says of both: that more is needed now, and that it may have been done."""
    card = await lost.asked(ADD, done=False)
    async with lost.bot(lost.new) as world:
        await edited(world, card, "7000")
        second = world.events("ConfirmationRequested")[-1].data
    async with a_world(lost.new.folder, store=open_store(lost.new.url), portal=lost.portal, policy={"four_eyes_above": 1000}) as world:
        await world.work(press(dict(second)))
        third = open_card((await world.store.read(load_state, f"session:{CHAT}"))[0])
    assert third.confirmation_id != second["confirmation_id"]
    assert third.four_eyes
    for reasons in (second["reasons"], third.reasons):
        assert "came-back-asks" in [reason["code"] for reason in reasons]
    assert lost.portal.written("crm.deal.add") == []


async def test_a_new_value_for_an_update_is_asked_about_as_ever(lost: Lost) -> None:
    """Writing the same values twice does no harm, and what the portal holds already is no sign that the old card ran."""
    card = await lost.asked(step("crm.deal.update", {"id": 481, "fields": {"OPPORTUNITY": 7000, "COMMENTS": ""}}), done=False)
    lost.portal.records["deal", 481]["COMMENTS"] = "важно"
    async with lost.bot(lost.new) as world:
        await edited(world, card, "1000000")
        waiting = open_card((await world.store.read(load_state, f"session:{CHAT}"))[0])
    assert waiting.confirmation_id != card["confirmation_id"]
    assert "came-back-asks" not in [reason["code"] for reason in waiting.reasons]


async def test_restored_twice_it_may_have_run_since_the_first_backup(lost: Lost, homes: Homes, tmp_path: Path) -> None:
    """What is kept with the card is when that backup was made, and not when it was restored."""
    card = await lost.asked(ADD, done=False)
    third, file = homes.home("third"), tmp_path / "two.backup"
    with closing(open_store(lost.new.url)) as store:
        first = store.find_effect(card["effect_id"])
    create_backup(lost.new.url, lost.new.logs, file, now=lambda: MADE_AT + timedelta(hours=3), program="test")
    third.restore(file)
    with closing(open_store(third.url)) as store:
        second = store.find_effect(card["effect_id"])
    assert first is not None
    assert second is not None
    assert first.call[RESTORED_CARD] == second.call[RESTORED_CARD] == format_iso(MADE_AT)


async def test_of_a_record_that_gets_no_mark_nobody_can_tell(lost: Lost) -> None:
    """A card of a smart process was left as approved, with nothing sent and nothing said."""
    card = await lost.asked(step("crm.item.add", {"entityTypeId": 177, "fields": {"title": "Договор"}}), done=False)
    async with lost.bot(lost.new) as world:
        await world.work(press(card))
        state, _ = await world.store.read(load_state, f"session:{CHAT}")
        entry = state.agent.confirmations[card["confirmation_id"]]
    assert (entry.status, entry.code) == ("refused", "came-back-unclear")
    assert lost.portal.written("crm.item.add") == []


async def test_what_was_found_done_offers_no_repeat(lost: Lost) -> None:
    """«Повторить» stands only under what has certainly not run."""
    card = await lost.asked(ADD, done=True)
    async with lost.bot(lost.new) as world:
        await world.work(press(card))
        state, _ = await world.store.read(load_state, f"session:{CHAT}")
        entry = state.agent.confirmations[card["confirmation_id"]]
        assert (entry.status, entry.code) == ("refused", "came-back-done")
        assert not may_repeat(entry)
        await world.work(pressing("again", card["confirmation_id"]))
        await approved(world)
    assert len(lost.portal.written("crm.deal.add")) == 1
