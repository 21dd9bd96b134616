"""Talking over the real wire: the door, the sandbox Telegram and the demo model's ears; nothing that the bot sends is refused."""

import asyncio
from collections.abc import AsyncIterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import httpx
import pytest
from aiogram import Bot
from aiogram.client.session.aiohttp import AiohttpSession
from aiogram.client.telegram import TelegramAPIServer

from bot.access.access import Access, Person
from bot.telegram.door import TelegramDoor
from bot.telegram.intake.files import TelegramFiles
from bot.telegram.intake.people import ChatPeople
from orchestrator.features.talking.feature import build_feature
from orchestrator.features.talking.voice import VoiceInput
from orchestrator.model_client.settings import ModelSettings
from orchestrator.model_client.transcribe import Transcriber
from orchestrator.turns.feature import merge_features
from sandbox.model.app import create_app
from sandbox.telegram.server import running
from sandbox.telegram.settings import TelegramSandboxSettings
from tests.unit.spine_kit import World, reply, until

ANNA = 1007


@dataclass
class Chat:
    """One person at the sandbox's chat page."""

    http: httpx.AsyncClient
    world: World

    async def does(self, what: str, **body: Any) -> Any:
        answer = await self.http.post(f"/sandbox/users/{ANNA}/{what}", json=body)
        assert answer.is_success, answer.text
        return answer.json()

    async def shown(self) -> list[Any]:
        """The bot's messages, the newest last."""
        seen = (await self.http.get(f"/sandbox/chats/{ANNA}/messages")).json()["messages"]
        return [item for item in seen if item["from"] != ANNA]

    async def says(self, *texts: str) -> list[Any]:
        """Wait until the bot has said each of these."""

        async def all_there() -> bool:
            said = [item.get("text", "") for item in await self.shown()]
            return all(any(text in one for one in said) for text in texts)

        await until(all_there)
        return await self.shown()


@pytest.fixture
async def chat(world: World, tmp_path: Path) -> AsyncIterator[Chat]:
    with running(TelegramSandboxSettings(data_dir=tmp_path / "telegram")) as url:
        bot = Bot("1:sandbox", session=AiohttpSession(api=TelegramAPIServer.from_base(url)))
        people = ChatPeople(Access([Person(telegram_id=ANNA, name="Анна", bitrix_user_id=7)]))
        door = TelegramDoor(bot, world.store, people, world.clock)
        hears = Transcriber(ModelSettings(base_url="http://127.0.0.1:9/v1"), "demo", transport=httpx.ASGITransport(app=create_app()))
        made = build_feature(VoiceInput(files=TelegramFiles(bot), transcriber=hears))
        tools = world.orchestrator.tools
        kept = replace(
            tools.features,
            inbox={kind: one for kind, one in tools.features.inbox.items() if kind not in made.inbox},
            buttons={word: one for word, one in tools.features.buttons.items() if word not in made.buttons},
            commands={word: one for word, one in tools.features.commands.items() if word not in made.commands},
        )
        world.orchestrator.tools = replace(tools, features=merge_features(kept, made))
        working = asyncio.ensure_future(door.run(world.orchestrator))
        async with world.working(), httpx.AsyncClient(base_url=url, trust_env=False, timeout=10) as http:
            try:
                yield Chat(http, world)
                counted = (await http.get("/sandbox/counters")).json()
                assert counted["refused"] in ({}, 0, [])
            finally:
                working.cancel()
                await asyncio.gather(working, return_exceptions=True)
                await hears.aclose()


async def test_a_spoken_request_is_shown_and_answered(chat: Chat) -> None:
    chat.world.model.will(reply(text="Вот ваши сделки."))
    await chat.does("voice", words="покажи мои сделки")
    shown = await chat.says("Услышал: «покажи мои сделки»", "Вот ваши сделки.")
    texts = [item["text"] for item in shown]
    assert texts.index("Услышал: «покажи мои сделки»") < texts.index("Вот ваши сделки.")


@pytest.mark.long
async def test_a_forward_and_its_comment_are_one_request_and_a_bare_one_gets_its_buttons(chat: Chat) -> None:
    chat.world.model.will(reply(text="Завожу."), reply(text="Это письмо клиента."), reply(text="Завожу лид."))
    await chat.does("forward", texts=["нужна CRM", "мой телефон +79161234567"], comment="заведи лид", forward_from="Иван")
    await chat.says("Завожу.")
    (said,) = chat.world.events("MessageReceived")
    assert said.data["text"] == "заведи лид"
    assert said.data["quoted"] == "Иван:\nнужна CRM\n\nИван:\nмой телефон +79161234567"
    await chat.does("send", text="а можно завтра?", forward_from="Пётр")
    shown = await chat.says("Это письмо клиента.")
    under = next(item for item in shown if item["text"] == "Это письмо клиента.")
    await chat.does("press", message_id=under["message_id"], text="Завести лид")
    await chat.says("Завожу лид.")
    assert chat.world.events("MessageReceived")[-1].data["quoted"] == "Пётр:\nа можно завтра?"


@pytest.mark.slow
async def test_an_edit_is_offered_and_worked_by_one_press(chat: Chat) -> None:
    chat.world.model.will(reply(text="Первый ответ."), reply(text="Второй ответ."))
    sent = await chat.does("send", text="покажи сделки")
    await chat.says("Первый ответ.")
    await chat.does("edit", message_id=sent["message_id"], text="покажи лиды")
    shown = await chat.says("Вы изменили сообщение")
    offer = next(item for item in shown if "Вы изменили" in item["text"])
    await chat.does("press", message_id=offer["message_id"], text="↻ Выполнить заново")
    await chat.says("Второй ответ.")
    assert [event.data["text"] for event in chat.world.events("MessageReceived")] == ["покажи сделки", "покажи лиды"]
