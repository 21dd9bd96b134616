"""The whole door against the sandbox Telegram when everything goes wrong: nothing lost, nothing done twice, no call refused (facts: telegram §4)."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import httpx
import pytest
from aiogram import Bot
from aiogram.client.session.aiohttp import AiohttpSession
from aiogram.client.telegram import TelegramAPIServer

from bot.telegram.door import TelegramDoor
from bot.telegram.intake import ingest
from bot.telegram.intake.people import ChatPeople
from bot.telegram.outgoing.rate_limiter import RateLimiter
from orchestrator.domain.outputs import Notice
from sandbox.telegram.server import running
from sandbox.telegram.settings import TelegramSandboxSettings
from state.clock import parse_iso
from state.sql.database import Statement
from tests.unit.bot.telegram.door_kit import ANNA, access
from tests.unit.bot.telegram.outgoing.delivery_kit import FAST
from tests.unit.spine_kit import World, a_world, raise_sum, reply, until

TICK = 0.02
FASTER = 8
"""The product's clock runs so much faster than the machine's: what is tried again soon is tried at once, and floods still last as Telegram says."""


@dataclass
class Scene:
    """One person, the product and a Telegram that may be told to fail."""

    world: World
    door: TelegramDoor
    http: httpx.AsyncClient

    async def control(self, path: str, body: dict[str, Any] | None = None) -> Any:
        """Post to the control side, or get when there is no body."""
        answer = await (self.http.get(path) if body is None else self.http.post(path, json=body))
        assert answer.is_success, answer.text
        return answer.json()

    async def fault(self, method: str, kind: str, **more: Any) -> None:
        await self.control("/sandbox/faults", {"method": method, "kind": kind, **more})

    async def say(self, text: str) -> int:
        return int((await self.control(f"/sandbox/users/{ANNA}/send", {"text": text}))["message_id"])

    async def press(self, button: dict[str, Any], under: int, **more: Any) -> Any:
        """What became of the answer, by the number of the press."""
        body = {"message_id": under, "data": button["data"], "force": True, **more}
        return (await self.control(f"/sandbox/users/{ANNA}/press", body))["callback_id"]

    async def messages(self) -> list[dict[str, Any]]:
        """What the bot has said in the chat."""
        shown = (await self.control(f"/sandbox/chats/{ANNA}/messages?after=0"))["messages"]
        return [message for message in shown if message["from"] == "bot" and "draft" not in message and not message["deleted"]]

    async def said(self, words: str) -> int:
        """How many messages of the bot have these words."""
        return sum(words in message.get("text", "") for message in await self.messages())

    async def comes(self, words: str, count: int = 1) -> None:
        async def there() -> bool:
            return await self.said(words) >= count

        await until(there)

    async def refused(self) -> list[tuple[str, str]]:
        """Calls that Telegram refused though nobody had told it to."""
        counts = await self.control("/sandbox/counters")
        assert counts["early"] == 0, "a call before the named wait was over"
        return [(item["method"], item["reason"]) for item in counts["refusals"]]

    async def settled(self) -> None:
        """Nothing waits to be sent or to be sent again."""
        await until(lambda: not self._outbox("status NOT IN ('sent', 'failed')"))

    def lost(self) -> list[tuple[str, str]]:
        """Messages that were given up."""
        return self._outbox("status = 'failed'")

    def _outbox(self, where: str) -> list[tuple[str, str]]:
        with self.world.sql._database.read() as look:
            rows = look.fetch_rows(Statement(sql=f"SELECT kind, note FROM outbox WHERE {where}", fixed={}), {})  # noqa: S608 - words of this file
        return [(str(kind), str(note)) for kind, note in rows]


@pytest.fixture
async def scene(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[Scene]:
    """The product at work against a Telegram without limits of its own: the waits it is told to name count."""
    monkeypatch.setattr(ingest, "PAUSES", tuple(pause / FASTER for pause in ingest.PAUSES))
    settings = TelegramSandboxSettings(data_dir=tmp_path / "telegram")
    with running(settings) as url:
        async with (
            a_world(tmp_path) as world,
            httpx.AsyncClient(base_url=url, trust_env=False, timeout=10) as http,
            _at_work(world, url) as door,
        ):
            yield Scene(world, door, http)


@asynccontextmanager
async def _at_work(world: World, url: str) -> AsyncIterator[TelegramDoor]:
    bot = Bot("1:sandbox", session=AiohttpSession(api=TelegramAPIServer.from_base(url)))
    door = TelegramDoor(bot, world.store, ChatPeople(access()), world.clock, pacer=RateLimiter(FAST))
    async with world.working() as orchestrator:
        tasks = [asyncio.ensure_future(door.run(orchestrator)), asyncio.ensure_future(_time_goes_by(world))]
        try:
            yield door
            assert not tasks[0].done(), "the door died"
        finally:
            for task in tasks:
                task.cancel()
            await asyncio.gather(*tasks, return_exceptions=True)


async def _time_goes_by(world: World) -> None:
    while True:
        await asyncio.sleep(TICK)
        world.clock.advance(timedelta(seconds=TICK * FASTER))


@pytest.mark.long
async def test_whatever_telegram_does_every_request_is_worked_once_and_its_answer_arrives(scene: Scene) -> None:
    """An undecodable update, redelivery, 429 with and without a number, 502 before and after the message was stored, a cut wire, a 500.

    0 calls refused, 0 last messages lost: counted by the sandbox and by the outbox.
    """
    troubles: list[tuple[str, dict[str, Any]]] = [
        ("sendMessage", {"kind": "429", "retry_after": 1, "hold": True}),
        ("sendMessage", {"kind": "429", "retry_after": None}),
        ("sendMessage", {"kind": "html_after"}),
        ("sendMessage", {"kind": "lost_answer"}),
        ("sendMessage", {"kind": "500"}),
        ("sendMessage", {"kind": "html"}),
        ("getUpdates", {"kind": "html_after"}),
        ("getUpdates", {"kind": "lost_answer"}),
        ("getUpdates", {"kind": "bad_update"}),
        ("getUpdates", {"kind": "500"}),
    ]
    scene.world.model.will(*(reply(text=f"Ответ номер {number}.") for number in range(len(troubles))))
    for number, (method, fault) in enumerate(troubles):
        await scene.fault(method, **fault)
        await scene.say(f"вопрос {number}")
        await scene.comes(f"Ответ номер {number}.")
        await scene.settled()
        await scene.control("/sandbox/updates/again", {"last": 2})
    await scene.say("/mode")
    await scene.comes("Режим")
    await scene.settled()
    counted = [await scene.said(f"Ответ номер {number}.") for number in range(len(troubles))]
    doubled = [
        number
        for number, (method, fault) in enumerate(troubles)
        if method == "sendMessage" and fault["kind"] in {"html_after", "lost_answer"}
    ]
    assert counted == [2 if number in doubled else 1 for number in range(len(troubles))]
    assert len(scene.world.model.prompts) == len(troubles), "a request was worked twice"
    assert await scene.refused() == []
    assert scene.lost() == []


@pytest.mark.slow
async def test_a_press_that_comes_late_twice_or_again_is_one_decision_and_never_spins(scene: Scene) -> None:
    """The press is redelivered, pressed again, pressed too late to be answered: one call, each other press answered in words, the card says how it stands."""
    scene.world.model.will(reply(raise_sum()))
    await scene.say("подними сумму сделки 481 до 1 200 000")

    async def card() -> dict[str, Any] | None:
        return next((message for message in await scene.messages() if message["buttons"]), None)

    async def shown() -> bool:
        return await card() is not None

    await until(shown)
    found = await card()
    assert found is not None
    yes = found["buttons"][0][0]
    late = await scene.press(yes, found["message_id"], age=100)
    await scene.control("/sandbox/updates/again", {"last": 1})
    await scene.comes("Выполнено")
    again = await scene.press(yes, found["message_id"])

    async def answered() -> bool:
        return bool((await scene.control(f"/sandbox/callbacks/{again}"))["answered"])

    await until(answered)
    assert "уже" in (await scene.control(f"/sandbox/callbacks/{again}"))["answer"]["text"].lower()
    assert not (await scene.control(f"/sandbox/callbacks/{late}"))["answered"]
    await scene.settled()
    assert [name for name in scene.world.types() if name == "CallStarted"] == ["CallStarted"]
    assert {method for method, _ in await scene.refused()} <= {"answerCallbackQuery"}, "only the press that came too late"
    assert scene.lost() == []


@pytest.mark.slow
async def test_a_sign_of_life_comes_within_half_a_second(scene: Scene) -> None:
    """By the sandbox's own timestamps, while the model is silent; the best of a few, for the machine may be busy with other things."""
    scene.world.model.gate = asyncio.Event()
    scene.world.model.will(*(reply(text=f"Ответ {number}.") for number in range(3)))
    waits = []
    for number in range(3):
        asked = datetime.now(UTC)
        await scene.say(f"вопрос {number}")

        async def signs(asked: datetime = asked) -> list[datetime]:
            log = (await scene.control("/sandbox/requests"))["requests"]
            times = [parse_iso(entry["time"]) for entry in log if entry["method"] in {"sendChatAction", "sendMessageDraft"}]
            return [time for time in times if time >= asked - timedelta(milliseconds=1)]

        async def seen(look: Any = signs) -> bool:
            return bool(await look())

        await until(seen)
        waits.append((min(await signs()) - asked).total_seconds())
        scene.world.model.gate.set()
        await scene.comes(f"Ответ {number}.")
        scene.world.model.gate = asyncio.Event()
        scene.door.delivery.progress._typing_at.clear()
    assert min(waits) < 0.5, waits


@pytest.mark.slow
async def test_who_blocks_and_comes_back_is_written_to_again(scene: Scene) -> None:
    """Blocked while a turn runs: nothing more is asked of Telegram; the next words open the chat, and both are worked."""
    scene.world.model.will(reply(text="Первый."), reply(text="Второй."))
    await scene.say("привет")
    await scene.comes("Первый.")
    await scene.control(f"/sandbox/users/{ANNA}/standing", {"state": "blocked"})
    await until(lambda: bool(scene.door.delivery.chats.find_closed_reason(ANNA)))
    await scene.door.delivery.report_trouble(f"tg:{ANNA}", Notice(code="queued", args={"place": 2}))
    await scene.control(f"/sandbox/users/{ANNA}/standing", {"state": None})
    await until(lambda: not scene.door.delivery.chats.find_closed_reason(ANNA))
    await scene.say("я вернулась")
    await scene.comes("Второй.")
    assert await scene.said("В очереди") == 0
    assert await scene.refused() == []
