"""One scene of the guided tour: a person changes a deal, the bot is killed in the middle of the call, and it recovers."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from dataclasses import dataclass
from typing import Any

import httpx

from sandbox.demo.processes import Child

DEAL = 481
SLOW = 3.0


class SceneFailed(RuntimeError):
    """The scene of the tour could not be completed; the message says where it stopped."""


@dataclass(frozen=True, kw_only=True)
class Scene:
    """What the scene needs: the bot's process, and the addresses of the fake portal and the fake Telegram."""

    bot: Child
    portal: str
    telegram: str


async def play(client: httpx.AsyncClient, scene: Scene, person: int) -> AsyncIterator[str]:
    """Play the scene, and yield a sentence about each step.

    `person` asks the bot to change a deal and approves it. The bot is killed while the portal works, and starts again. At the end the
    changes in the portal are counted.
    """
    deal = (await client.get(f"{scene.portal}/sandbox/records/deal/{DEAL}")).json()
    wanted = int(float(deal["OPPORTUNITY"])) + 10_000
    before = await _calls(client, scene, 0)
    after = before[-1]["seq"] if before else 0
    text = f"подними сумму сделки {DEAL} до {wanted}"
    yield f"Борис пишет: «{text}»"
    said = (await client.post(f"{scene.telegram}/sandbox/users/{person}/send", json={"text": text})).json()
    card, data = await _until(lambda: _card(client, scene, person, said["message_id"]), "карточка не пришла")
    fault = {"method": "crm.deal.update", "kind": "delay", "seconds": SLOW, "times": 1}
    await client.post(f"{scene.portal}/sandbox/faults", json=fault)
    yield "Портал теперь отвечает с задержкой в три секунды. Борис нажимает «Выполнить»"
    await client.post(f"{scene.telegram}/sandbox/users/{person}/press", json={"message_id": card, "data": data})
    await _until(lambda: _written(client, scene, after), "вызов не дошёл до портала")
    starts = scene.bot.starts
    scene.bot.kill()
    yield "Вызов ушёл, ответа ещё нет — бот убит (SIGKILL)"
    await _until(lambda: _restarted(scene, starts), "бот не поднялся")
    yield "Бот запущен снова и сверяется с порталом"
    await _until(lambda: _told(client, scene, person, card), "бот ничего не сказал")
    writes = len(await _updates(client, scene, after))
    yield f"Готово. Изменений этой сделки на портале: {writes}"


async def _until(look: Callable[[], Awaitable[Any]], failure: str) -> Any:
    try:
        async with asyncio.timeout(40):
            while not (found := await look()):  # noqa: ASYNC110 - what is awaited lives in other processes
                await asyncio.sleep(0.1)
            return found
    except TimeoutError:
        raise SceneFailed(failure) from None


async def _calls(client: httpx.AsyncClient, scene: Scene, after: int) -> list[dict[str, Any]]:
    answer = await client.get(f"{scene.portal}/sandbox/ledger", params={"after": after})
    return list(answer.json()["calls"])


async def _updates(client: httpx.AsyncClient, scene: Scene, after: int) -> list[dict[str, Any]]:
    return [call for call in await _calls(client, scene, after) if call["method"] == "crm.deal.update"]


async def _written(client: httpx.AsyncClient, scene: Scene, after: int) -> bool:
    return bool(await _updates(client, scene, after))


async def _restarted(scene: Scene, starts: int) -> bool:
    return scene.bot.starts > starts


async def _messages(client: httpx.AsyncClient, scene: Scene, person: int, after: int) -> list[dict[str, Any]]:
    answer = await client.get(f"{scene.telegram}/sandbox/chats/{person}/messages", params={"after": after})
    return list(answer.json()["messages"])


async def _card(client: httpx.AsyncClient, scene: Scene, person: int, after: int) -> tuple[int, str] | None:
    for message in await _messages(client, scene, person, after):
        for button in (button for row in message.get("buttons") or () for button in row):
            if button["data"].startswith("c1:") and button["data"].endswith(":y"):
                return message["message_id"], button["data"]
    return None


async def _told(client: httpx.AsyncClient, scene: Scene, person: int, card: int) -> bool:
    return any(message["from"] == "bot" for message in await _messages(client, scene, person, card))
