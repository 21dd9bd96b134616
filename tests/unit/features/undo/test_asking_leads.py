"""Who hands a record away reads before what they lose; afterwards no undo is offered that cannot work, but a lead can be asked for it."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest

from bot.i18n.translate import Translator
from bot.rendering.cards import render_card
from bot.rendering.replies import render_reply
from bot.rendering.spans import to_plain_text
from bot.telegram.view.keyboards import build_card_keyboard, build_reply_keyboard
from orchestrator.domain.actor import Actor
from orchestrator.domain.card_view import CardView
from orchestrator.domain.outputs import Reply
from state.clock import generate_id
from state.journal.store import InboxRow, OutboxRow
from tests.unit.features.leads.leads_kit import DINA, Department, a_department
from tests.unit.features.undo.undo_kit import Office, cards, codes, undo, update
from tests.unit.spine_kit import ANNA, BORIS, CHAT, VERA, World, _row, effect, press

RU = Translator("ru")
HAND_OVER = {"ASSIGNED_BY_ID": 8}
DEAL = ("deal", 481)


def texts(card: Mapping[str, Any]) -> list[str]:
    keyboard = build_card_keyboard(CardView.from_body(dict(card)), RU)
    return [button.text for line in keyboard.inline_keyboard for button in line] if keyboard else []


def asked_again(effect_id: str, actor: Actor, key: str) -> InboxRow:
    """A press of the button under the request to a lead."""
    words = {"words": ["undo", effect_id, "asked"], "callback_id": generate_id(), "message_id": 5}
    return _row("press", "express", words, actor, key)


async def handed_over(world: World, what: Any = None, *, actor: Actor = ANNA) -> tuple[dict[str, Any], dict[str, Any]]:
    """The card of a hand-over while it waited, and as it ended."""
    session = await world.session(actor.key)
    entry = await world.asked(session, what or update(HAND_OVER), actor=actor)
    await session.close()
    waiting = {**entry.to_stored(), "stage": 1}
    await world.work(press(entry, actor=actor, key=actor.key))
    return waiting, dict(cards(world.outbox())[-1])


def replies(rows: Sequence[OutboxRow], chat: str) -> list[Reply]:
    return [Reply.model_validate(row.body) for row in rows if row.kind == "reply" and row.session == chat]


def shown(card: Mapping[str, Any]) -> str:
    return to_plain_text(render_card(CardView.from_body(dict(card)), RU))


async def test_the_card_says_what_the_requester_loses(tmp_path: Path) -> None:
    async with a_department(tmp_path, policy={}, portal=Office()) as world:
        waiting, ended = await handed_over(world)
    assert "Анна больше не увидит эту сделку: вернуть сможет только руководитель" in shown(waiting)
    assert texts(ended) == ["↩ Попросить руководителя вернуть"]
    assert "Вернуть может только руководитель, до" in shown(ended)


@pytest.mark.parametrize(
    ("what", "actor"),
    [
        (update({"OPPORTUNITY": 1_500_000}), ANNA),
        (update(HAND_OVER), VERA),
        (effect("tasks.task.update", {"taskId": 8017, "fields": {"RESPONSIBLE_ID": 8}}), ANNA),
    ],
    ids=["nothing is handed over", "by who sees all", "a task that the person has set"],
)
async def test_who_loses_nothing_reads_nothing_of_it_and_undoes_alone(tmp_path: Path, what: Any, actor: Actor) -> None:
    async with a_department(tmp_path, policy={}, portal=Office()) as world:
        world.portal.records["task", 8017] |= {"createdBy": "7", "responsibleId": "7"}
        waiting, ended = await handed_over(world, what, actor=actor)
    assert "больше не увидит" not in shown(waiting)
    assert texts(ended) == ["↩ Отменить"]


async def test_a_lead_is_asked_once_and_takes_it_back(tmp_path: Path) -> None:
    """Two presses are one message; the lead's press is a card of theirs; who asked hears of it, and their card says that it is undone."""
    async with a_department(tmp_path, policy={}, portal=Office()) as world:
        _, ended = await handed_over(world)
        effect_id = ended["effect_id"]
        await world.work(undo(effect_id))
        await world.work(undo(effect_id))
        rows = world.outbox()
        assert codes([row for row in rows if row.session.startswith(CHAT)]) == ["undo-asked", "undo-asked"]
        asked = [row for row in rows if row.session == VERA.key]
        assert len({row.key for row in asked}) == 1
        request = Reply.model_validate(asked[0].body)
        assert "Анна просит вернуть, как было: изменение сделки «Ромашка»" in to_plain_text(render_reply(request, RU))
        keyboard = build_reply_keyboard(request, RU)
        assert [button.text for line in keyboard.inline_keyboard for button in line] == ["↩ Вернуть, как было"]
        assert world.portal.records[DEAL]["ASSIGNED_BY_ID"] in {8, "8"}

        await world.work(asked_again(effect_id, VERA, VERA.key))
        (card,) = cards(world.outbox())
        await world.work(press(card, actor=VERA, key=VERA.key))
        rows = world.outbox()
        assert str(world.portal.records[DEAL]["ASSIGNED_BY_ID"]) == "7"
        (news,) = replies(rows, CHAT)
        assert to_plain_text(render_reply(news, RU)) == "↩ По вашей просьбе возвращено: «Ромашка» (Вера)"

        await world.work(undo(effect_id))
        rows = world.outbox()
        assert "undo-done" in codes(rows)
        (mine,) = cards(rows)
        assert (mine["undone_by"], texts(mine)) == ("Вера", [])


async def test_who_asked_hears_that_the_lead_declined(tmp_path: Path) -> None:
    async with a_department(tmp_path, policy={}, portal=Office()) as world:
        _, ended = await handed_over(world)
        await world.work(undo(ended["effect_id"]), asked_again(ended["effect_id"], VERA, VERA.key))
        (card,) = cards(world.outbox())
        await world.work(press(card, actor=VERA, key=VERA.key, approve=False))
        assert [told.notices[0].code for told in replies(world.outbox(), CHAT)] == ["undo-not-returned"]
        assert str(world.portal.records[DEAL]["ASSIGNED_BY_ID"]) == "8"


@pytest.mark.parametrize("people", [[ANNA, BORIS], [ANNA, BORIS, VERA.model_copy(update={"sees": (7,)})]], ids=["no lead", "a blind lead"])
async def test_where_nobody_could_take_it_back_nothing_is_offered(tmp_path: Path, people: list[Actor]) -> None:
    """A lead who does not see the record after it was handed over cannot help; an old button says so."""
    async with a_department(tmp_path, policy={}, department=Department(everybody=people), portal=Office()) as world:
        _, ended = await handed_over(world)
        assert texts(ended) == []
        await world.work(undo(ended["effect_id"]))
        assert codes(world.outbox()) == ["undo-refused", "undo-no-lead"]


async def test_only_a_lead_in_their_own_chat_may_answer_the_request(tmp_path: Path) -> None:
    """The data of a button proves nothing: a manager with the same words, or a lead in somebody's chat, is refused."""
    async with a_department(tmp_path, policy={}, portal=Office()) as world:
        _, ended = await handed_over(world)
        for actor, key in ((BORIS, BORIS.key), (VERA, "tg:-100200")):
            await world.work(asked_again(ended["effect_id"], actor, key))
            rows = world.outbox()
            assert cards(rows) == []
            assert "undo-elsewhere" in codes(rows)
        await world.work(undo(ended["effect_id"], actor=DINA, key=DINA.key))
        assert "undo-elsewhere" in codes(world.outbox()), "without having been asked"


async def test_a_record_that_came_back_is_undone_without_a_lead(tmp_path: Path) -> None:
    """What counts is who may touch it now, not what the button said."""
    async with a_department(tmp_path, policy={}, portal=Office()) as world:
        _, ended = await handed_over(world, update({**HAND_OVER, "OPPORTUNITY": 1_500_000}))
        world.portal.records[DEAL]["ASSIGNED_BY_ID"] = "7"
        await world.work(undo(ended["effect_id"]))
        rows = world.outbox()
        assert replies(rows, VERA.key) == []
        assert "undo-changed" in codes(rows)


async def test_a_colleague_who_did_not_ask_for_the_change_asks_nobody(tmp_path: Path) -> None:
    async with a_department(tmp_path, policy={}, portal=Office()) as world:
        _, ended = await handed_over(world)
        await world.work(undo(ended["effect_id"], actor=BORIS))
        rows = world.outbox()
        assert (codes(rows), replies(rows, VERA.key)) == (["undo-not-yours"], [])
