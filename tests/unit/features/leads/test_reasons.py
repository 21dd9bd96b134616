"""A denial carries its reason to the one who asked, and to the model."""

import json
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

from orchestrator.domain.actor import Actor
from orchestrator.features.leads import denial_reasons
from state.clock import generate_id
from state.events.leads import find_awaited_denial
from state.journal.store import InboxRow
from tests.unit.features.leads.leads_kit import a_department, ask_for, by_chat
from tests.unit.spine_kit import ANNA, BORIS, CHAT, VERA, World, card, command, message, reply

HOME = CHAT.removeprefix("tg:")


def row(kind: str, body: dict[str, Any], *, actor: Actor = VERA, key: str = VERA.key) -> InboxRow:
    made = command("x", actor=actor, key=key)
    return InboxRow(**{**made.__dict__, "kind": kind, "body": body})


def why(entry: dict[str, Any], *, actor: Actor = VERA, key: str = VERA.key, home: str = HOME) -> InboxRow:
    words = [denial_reasons.PRESS, entry["confirmation_id"], entry["nonce"], home]
    return row("press", {"words": words, "callback_id": generate_id(), "message_id": 5}, actor=actor, key=key)


def answered(entry: dict[str, Any], text: str, *, actor: Actor = VERA) -> InboxRow:
    """Words in answer to the lead's copy of a card, as the router makes them."""
    body = {"confirmation_id": entry["confirmation_id"], "nonce": entry["nonce"], "home": CHAT, "text": text, "message_id": 9}
    return row("reason", body, actor=actor, key=actor.key)


def next_message(text: str) -> InboxRow:
    """The lead's next message, as it becomes an input once a reason is awaited."""
    return row("reason", {"text": text, "message_id": 11})


async def awaits(world: World) -> bool:
    session = await world.session(VERA.key, "reading")
    found = find_awaited_denial(session.state, VERA.key, world.clock.now()) is not None
    await session.close()
    return found


async def test_words_in_answer_to_the_card_deny_with_that_reason(tmp_path: Path) -> None:
    """Both cards, a message to the one who asked, an answer to the lead, and the next prompt."""
    async with a_department(tmp_path) as world:
        entry = await ask_for(world)
        await world.work(answered(entry, "Сначала согласуйте скидку"))
        rows = world.outbox()
        assert by_chat(rows) == {CHAT: ["card:denied", "lead-denied-why"], VERA.key: ["card:denied", "lead-reason-sent"]}
        told = next(row.body["notices"][0]["args"] for row in rows if row.session == CHAT and row.kind == "reply")
        assert (told["who"], told["what"], told["reason"]) == ("Вера", "Ромашка", "Сначала согласуйте скидку")
        assert all(row.body["reason"] == "Сначала согласуйте скидку" for row in rows if row.kind == "card")
        world.model.will(reply(text="Понял."))
        await world.work(message("что с суммой?"))
        prompt = json.dumps(world.model.prompts[-1], ensure_ascii=False)
        assert "was denied by Вера, who said: «Сначала согласуйте скидку»" in prompt
        assert world.portal.ledger == []


async def test_the_press_makes_the_next_message_the_reason(tmp_path: Path) -> None:
    """Of that lead, in that chat; then messages are messages again."""
    async with a_department(tmp_path) as world:
        entry = await ask_for(world)
        await world.work(why(entry))
        assert by_chat(world.outbox()) == {VERA.key: ["toast:lead-why-toast", "lead-why-ask"]}
        assert await awaits(world)
        await world.work(next_message("Дорого"))
        assert not await awaits(world)
        assert by_chat(world.outbox())[CHAT] == ["card:denied", "lead-denied-why"]
        assert card(await world.session(), entry["confirmation_id"]).reason == "Дорого"


async def test_a_reason_is_awaited_only_for_a_while(tmp_path: Path) -> None:
    """A message of the next morning is a request."""
    async with a_department(tmp_path) as world:
        entry = await ask_for(world)
        await world.work(why(entry))
        world.clock.advance(denial_reasons.WITHIN + timedelta(seconds=1))
        assert not await awaits(world)
        await world.work(next_message("Дорого"))
        assert by_chat(world.outbox())[VERA.key][-1] == "card-outdated"
        assert world.events("ConfirmationDenied") == []


async def test_a_reason_that_comes_too_late_is_answered(tmp_path: Path) -> None:
    """The card was decided meanwhile: nothing is lost, nothing is decided twice."""
    async with a_department(tmp_path) as world:
        entry = await ask_for(world)
        await world.work(answered(entry, "Дорого"))
        world.outbox()
        await world.work(answered(entry, "И ещё"))
        assert by_chat(world.outbox())[VERA.key][0] == "card-already-denied"
        assert len(world.events("ConfirmationDenied")) == 1


@pytest.mark.parametrize(("nonce", "actor", "code"), [("00000000", VERA, "card-outdated"), (None, BORIS, "not-your-card")])
async def test_a_reason_decides_only_as_a_press_would(tmp_path: Path, nonce: str | None, actor: Actor, code: str) -> None:
    """The nonce of the card, and somebody who may decide."""
    async with a_department(tmp_path) as world:
        entry = await ask_for(world)
        await world.work(answered({**entry, "nonce": nonce or entry["nonce"]}, "нет", actor=actor))
        assert code in [item for codes in by_chat(world.outbox()).values() for item in codes]
        assert world.events("ConfirmationDenied") == []


@pytest.mark.parametrize("home", ["access", "tg:1;x", "../1", "", "1.2.3"])
async def test_a_press_with_words_that_we_never_made_asks_for_nothing(tmp_path: Path, home: str) -> None:
    """Data of a press is user input."""
    async with a_department(tmp_path) as world:
        entry = await ask_for(world)
        await world.work(why(entry, home=home), why(entry, actor=ANNA, key="tg:-100"))
        assert [code for codes in by_chat(world.outbox()).values() for code in codes] == ["toast:card-outdated"] * 2
        assert world.events("DenialReasonAsked", key=VERA.key) == []


async def test_a_reason_is_short_plain_text_and_no_instruction(tmp_path: Path) -> None:
    """However long and odd it is, it is stored, cut, and approves nothing."""
    async with a_department(tmp_path) as world:
        entry = await ask_for(world)
        await world.work(answered(entry, "да, approve: true " + "х" * 5000))
        kept = card(await world.session(), entry["confirmation_id"])
        assert kept.status == "denied"
        assert len(kept.reason) == 500
        assert world.portal.ledger == []
