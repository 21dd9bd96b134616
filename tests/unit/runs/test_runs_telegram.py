"""A run's card in Telegram: every button of it reaches the run, typed words decide it, and a forged button does nothing."""

import asyncio
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import pytest

from bot.i18n.translate import Translator
from bot.telegram.door import TelegramDoor
from bot.telegram.view.keyboards import build_card_keyboard
from orchestrator.domain.card_view import CardView
from orchestrator.domain.inputs import DenialReason
from orchestrator.domain.models import ModelAnswer
from orchestrator.features.leads import denial_reasons
from orchestrator.model_client.providers import WireClient
from orchestrator.model_client.router import ModelRouter
from orchestrator.turns.feature import Feature, merge_features
from state.journal.journal import load_state
from tests.unit.bot.telegram.door_kit import ANNA, VERA, Wire, opened_door, person, raw_message
from tests.unit.runs.runs_kit import RUN, a_run_world, events, index, start, steps
from tests.unit.spine_kit import Said, World, until

WRITE = {"write": "crm.deal.update", "params": {"id": 481, "fields": {"OPPORTUNITY": 1200000}}}
PLAN = steps(WRITE, {"say": "Дальше"})
LEAD_CHAT = VERA


class Chat:
    """Anna's private chat with the bot, over the door's wire."""

    def __init__(self, world: World, door: TelegramDoor, wire: Wire) -> None:
        """Hand updates to `door` and read what it sent from `wire`."""
        self.world, self.door, self.wire = world, door, wire
        self._number = 0

    async def press(self, label: str, *, who: int = ANNA) -> str:
        """Press the newest button whose text begins with `label`; return the short answer to the press."""
        return await self.press_data(self.buttons()[next(text for text in self.buttons() if text.startswith(label))], who=who)

    async def press_data(self, data: str, *, who: int = ANNA, chat: int = ANNA) -> str:
        """Press a button with this data; return the short answer to the press."""
        self._number += 1
        callback = f"cb{self._number}"
        query = {
            "id": callback, "from": person(who), "chat_instance": "1", "data": data,
            "message": raw_message("карточка", sender=42, chat=chat),
        }  # fmt: skip
        await asyncio.wait_for(self.door._intake.take({"update_id": self._number, "callback_query": query}), 30)
        await until(lambda: callback in self.toasts())
        await self.settle()
        return self.toasts()[callback]

    async def say(self, text: str, *, reply_to: int = 0, markup: Any = None, who: int = ANNA, **more: Any) -> None:
        """Write a message, also in reply to a message of the bot."""
        self._number += 1
        under = raw_message("карточка", sender=42, chat=ANNA, message_id=reply_to) | {"from": {"id": 42, "is_bot": True, "first_name": "С"}}
        replied = {"reply_to_message": under | ({"reply_markup": markup} if markup else {})} if reply_to else {}
        raw = raw_message(text, sender=who, chat=who, message_id=self.wire.last_id + 1, **replied, **more)
        await asyncio.wait_for(self.door._intake.take({"update_id": self._number, "message": raw}), 30)
        await self.settle()

    async def settle(self) -> None:
        """Wait until everything is handled and delivered."""
        await self.world.idle()
        await asyncio.wait_for(self.door.delivery.wait_until_empty(), 30)
        await self.world.idle()

    def toasts(self) -> dict[str, str]:
        return {call["callback_query_id"]: call.get("text", "") for call in self.wire.calls("answerCallbackQuery")}

    def shown(self) -> list[Mapping[str, Any]]:
        return [body for name, body in self.wire.sent if name in {"sendMessage", "editMessageText"}]

    def buttons(self) -> dict[str, str]:
        """Text → data of the buttons of the newest message that has any."""
        markup = next(one["reply_markup"] for one in reversed(self.shown()) if one.get("reply_markup"))
        return {button["text"]: button.get("callback_data", "") for line in markup["inline_keyboard"] for button in line}


@asynccontextmanager
async def a_chat(folder: Path, plan: Mapping[str, Any] = PLAN) -> AsyncIterator[Chat]:
    """A run of `plan` under way in Anna's chat."""
    reasons = Feature(inbox={DenialReason.KIND: denial_reasons.receive_reason}, buttons={denial_reasons.PRESS: denial_reasons.ask_reason})
    async with a_run_world(folder, {"plan": plan}) as world, world.working(), opened_door(world) as (door, wire):
        world.orchestrator.tools = replace(world.orchestrator.tools, features=merge_features(world.orchestrator.tools.features, reasons))
        chat = Chat(world, door, wire)
        await world.orchestrator.receive([start("plan")])
        await chat.settle()
        yield chat


@pytest.mark.req("S004-18")
async def test_every_button_of_a_runs_card_reaches_the_run(tmp_path: Path) -> None:
    """Details are shown, an approval runs the call once, the run goes on, and what it wrote can be taken back with the card's button."""
    async with a_chat(tmp_path) as chat:
        assert not [text for text in chat.buttons() if "Изменить" in text]
        assert all(len(data.encode()) <= 64 for data in chat.buttons().values())
        assert await chat.press("Подробнее") == "Точный запрос — ниже"
        assert "Просит Анна" in chat.shown()[-1]["text"]
        assert "reply_markup" not in chat.shown()[-1]
        await chat.press("✅")
        assert len(chat.world.portal.written("crm.deal.update")) == 1
        assert index(chat.world).status == "done"
        await chat.press("↩")
        assert len(events(chat.world, "ConfirmationRequested", key=RUN)) == 2


@pytest.mark.parametrize(("word", "written"), [("да", 1), ("нет", 0)])
async def test_typed_words_decide_a_runs_card_in_a_private_chat(tmp_path: Path, word: str, written: int) -> None:
    """A reply to the card with one word is a decision, as for every other card."""
    async with a_chat(tmp_path) as chat:
        await chat.say(word, reply_to=chat.wire.last_id)
        assert len(chat.world.portal.written("crm.deal.update")) == written
        assert index(chat.world).status == ("done" if written else "failed")


@pytest.mark.parametrize(
    "data", ["c2:0123456789:01234567:y:r0190aaaa-0000-7000-8000-00000000ffff", "a1:run:0190aaaa-0000-7000-8000-00000000ffff:cancel"]
)
async def test_a_button_of_a_run_that_does_not_exist_is_outdated(tmp_path: Path, data: str) -> None:
    """A forged home is answered at once; nothing is stored that nobody could deliver."""
    async with a_chat(tmp_path) as chat:
        assert "устарела" in await chat.press_data(data)
        assert chat.world.outbox() == []


async def test_details_of_a_run_are_shown_in_its_own_chat_only(tmp_path: Path) -> None:
    """Somebody who forges the button in another chat reads nothing of the card."""
    async with a_chat(tmp_path) as chat:
        before = len(chat.shown())
        assert "out of date" in await chat.press_data(chat.buttons()["Подробнее"], who=VERA, chat=LEAD_CHAT)
        assert len(chat.shown()) == before


async def test_a_forged_code_decides_nothing(tmp_path: Path) -> None:
    """Only the one-time code of the card approves it."""
    async with a_chat(tmp_path) as chat:
        (data,) = [data for data in chat.buttons().values() if ":y:r" in data]
        version, card, _, *rest = data.split(":")
        await chat.press_data(":".join([version, card, "0badc0de", *rest]))
        assert (chat.world.portal.written("crm.deal.update"), index(chat.world).status) == ([], "waiting")


async def test_a_lead_denies_a_runs_card_with_a_reason_from_the_copy(tmp_path: Path) -> None:
    """The buttons of the copy name the run: its details come to the lead, and the words after «Отклонить с причиной» deny it."""
    async with a_chat(tmp_path) as chat:
        state, _ = load_state(chat.world.sql, RUN)
        (card,) = state.cards.values()
        copy = CardView.from_card(card, home=RUN)
        keyboard = build_card_keyboard(copy, Translator("ru"))
        assert keyboard is not None
        data = [button.callback_data or "" for line in keyboard.inline_keyboard for button in line]
        assert all(len(one.encode()) <= 64 for one in data)
        (why,) = [one for one in data if one.startswith("a1:why:")]
        await chat.press_data(why, who=VERA, chat=LEAD_CHAT)
        await chat.say("клиент передумал", who=VERA)
        (denied,) = events(chat.world, "ConfirmationDenied", key=RUN)
        assert (denied.data["reason"], index(chat.world).status) == ("клиент передумал", "failed")


async def test_a_runs_model_answer_is_a_draft_until_it_has_come(tmp_path: Path) -> None:
    """The draft shows the words while they come, and is not shown again when the run has gone on."""
    plan = steps({"model": "Придумай"}, {"ask": "Годится?"})
    async with a_run_world(tmp_path, {"plan": plan}) as world, world.working(), opened_door(world) as (door, wire):
        world.orchestrator.tools = replace(world.tools, show_partial=door.delivery.report_partial)
        arrived, gate = asyncio.Event(), asyncio.Event()

        async def stream_chat(payload: Any, on_delta: Any) -> ModelAnswer:
            await on_delta("Скидка ")
            await on_delta("5 %")
            arrived.set()
            await gate.wait()
            return Said("Скидка 5 %")

        world.orchestrator.tools = replace(
            world.tools, model=ModelRouter.from_client(cast("WireClient", SimpleNamespace(stream_chat=stream_chat)))
        )
        await world.orchestrator.receive([start("plan")])
        await asyncio.wait_for(arrived.wait(), 30)
        await until(lambda: [one["text"] for one in wire.calls("sendMessageDraft")][-1:] == ["Скидка 5 %"])
        gate.set()
        await Chat(world, door, wire).settle()
        assert all(show.is_over for show in door.delivery.progress._views.values())
        assert wire.calls("sendMessage")[-1]["text"] == "Годится?"
