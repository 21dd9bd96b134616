"""One scene of the guided tour: a person changes a deal, the bot is killed in the middle of the call, and it recovers."""

from collections.abc import AsyncIterator
from typing import Any

import httpx

from sandbox.demo.restore import Stage, wait_for

DEAL = 481
STEP = 10_000
"""By how much the sum of the deal is raised."""
SLOW = 3.0
"""Seconds that the portal lets the call wait, in which the bot is killed."""

Line = dict[str, Any]
"""One line of progress: the `code` of a text of the page, and the values in it."""


async def play(client: httpx.AsyncClient, stage: Stage, person: int, words: str) -> AsyncIterator[Line]:
    """Play the scene: ask, approve, kill the bot while the portal works, wait for its restart, count the writes.

    Yields a JSON object for each step, whose `code` says what happened. `person` is the Telegram id of the person who acts. `words` is what
    that person writes, with {sum} where the new sum stands.
    """
    portal, telegram = stage.locate("portal"), stage.locate("telegram")
    deal = (await client.get(f"{portal}/sandbox/records/deal/{DEAL}")).json()
    before = await _list_calls(client, stage, 0)
    after = before[-1]["seq"] if before else 0
    text = words.format(sum=f"{int(float(deal['OPPORTUNITY'])) + STEP:,}".replace(",", " "))
    yield {"code": "asks", "text": text}
    said = (await client.post(f"{telegram}/sandbox/users/{person}/send", json={"text": text})).json()
    card, data = await wait_for(lambda: _find_button(client, stage, person, said["message_id"]), "no-card")
    fault = {"method": "crm.deal.update", "kind": "delay", "seconds": SLOW, "times": 1}
    await client.post(f"{portal}/sandbox/faults", json=fault)
    yield {"code": "presses", "seconds": int(SLOW)}
    await _press(client, stage, person, (card, data))
    await wait_for(lambda: _is_written(client, stage, person, (card, data), after), "no-call")
    starts = stage.bot.starts
    stage.bot.kill()
    yield {"code": "killed"}
    await wait_for(lambda: _is_restarted(stage, starts), "no-restart")
    yield {"code": "restarted"}
    await wait_for(lambda: _is_told(client, stage, person, card), "no-word")
    yield {"code": "done", "count": len(await _list_updates(client, stage, after))}


async def _press(client: httpx.AsyncClient, stage: Stage, person: int, button: tuple[int, str]) -> None:
    body = {"message_id": button[0], "data": button[1]}
    await client.post(f"{stage.locate('telegram')}/sandbox/users/{person}/press", json=body)


async def _list_calls(client: httpx.AsyncClient, stage: Stage, after: int) -> list[dict[str, Any]]:
    answer = await client.get(f"{stage.locate('portal')}/sandbox/ledger", params={"after": after})
    return list(answer.json()["calls"])


async def _list_updates(client: httpx.AsyncClient, stage: Stage, after: int) -> list[dict[str, Any]]:
    return [call for call in await _list_calls(client, stage, after) if call["method"] == "crm.deal.update"]


async def _is_written(client: httpx.AsyncClient, stage: Stage, person: int, pressed: tuple[int, str], after: int) -> bool:
    """Return whether the call that was approved with a button has reached the portal.

    If the card asks for a second confirmation, its new button is pressed. `pressed` is the first button: the id of its message and its
    callback data. Only calls whose number in the portal's log of calls is above `after` count.
    """
    if await _list_updates(client, stage, after):
        return True
    found = await _find_button(client, stage, person, pressed[0] - 1)
    if found is not None and found[0] == pressed[0] and found[1] != pressed[1]:
        await _press(client, stage, person, found)
    return False


async def _is_restarted(stage: Stage, starts: int) -> bool:
    return stage.bot.starts > starts


async def _list_messages(client: httpx.AsyncClient, stage: Stage, person: int, after: int) -> list[dict[str, Any]]:
    answer = await client.get(f"{stage.locate('telegram')}/sandbox/chats/{person}/messages", params={"after": after})
    return list(answer.json()["messages"])


async def _find_button(client: httpx.AsyncClient, stage: Stage, person: int, after: int) -> tuple[int, str] | None:
    """Return the first approve button in the chat: the id of its message and its callback data; None if there is none yet.

    Only messages with an id above `after` are searched.
    """
    for message in await _list_messages(client, stage, person, after):
        for button in (button for row in message.get("buttons") or () for button in row):
            data = button["data"] or ""
            if data.startswith("c1:") and data.endswith(":y"):
                return message["message_id"], data
    return None


async def _is_told(client: httpx.AsyncClient, stage: Stage, person: int, card: int) -> bool:
    return any(message["from"] == "bot" for message in await _list_messages(client, stage, person, card))
