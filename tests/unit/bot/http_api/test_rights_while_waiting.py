"""What is asked over HTTP is told by the rights of the moment in which it is told: a token that is gone by then reads nothing."""

import asyncio

import pytest

from bot.access.access_file import TokenGrant
from bot.http_api.audit import session_events
from state.journal.store import Store, StoredEvent
from tests.unit.bot.http_api.api_kit import Api
from tests.unit.bot.http_api.chat_kit import Door, error_of
from tests.unit.spine_kit import ANNA, CHAT, message, reply, until

SECRET = "Сделка «Ромашка» на 120 000"


def gone(door: Door) -> None:
    """The token is listed no more."""
    del door.api.tokens._clients["site"]


@pytest.mark.parametrize("stays", [True, False])
async def test_an_answer_is_for_a_token_that_is_still_there(door: Door, *, stays: bool) -> None:
    """In one piece: 401 as for any other token that is none, and nothing of the answer."""
    door.world.model.will(reply(text=SECRET))
    door.world.model.gate = asyncio.Event()
    asking = asyncio.ensure_future(door.chat("что с Ромашкой?"))
    await until(lambda: bool(door.world.model.prompts))
    if not stays:
        gone(door)
    door.world.model.gate.set()
    answer = await asking
    if stays:
        assert SECRET in answer.json()["assistant"]
    else:
        assert error_of(answer) == (401, "unauthorized")


@pytest.mark.parametrize("stays", [True, False])
async def test_a_stream_ends_with_its_token(door: Door, *, stays: bool) -> None:
    """Neither steps nor words nor the end come after it."""
    door.world.model.will(reply(text=SECRET))
    door.world.model.gate = asyncio.Event()
    asking = asyncio.ensure_future(door.events("что с Ромашкой?"))
    await until(lambda: bool(door.world.model.prompts))
    if not stays:
        gone(door)
    door.world.model.gate.set()
    events = await asking
    assert (events[-1][0], SECRET in str(events)) == (("final", True) if stays else ("error", False))
    if not stays:
        assert events[-1][2]["code"] == "unauthorized"


@pytest.mark.parametrize("stays", [True, False])
async def test_whoever_waits_for_events_reads_them_by_the_rights_of_then(api: Api, *, stays: bool) -> None:
    """An administrator's token that sees fewer people by the time something happens does not find the conversation any more."""
    await api.ask(session=CHAT)
    told = (await api.get(f"/sessions/{CHAT}/events", "chief", limit=200)).json()
    listening = len(api.world.store.listeners)
    waiting = asyncio.ensure_future(api.get(f"/sessions/{CHAT}/events", "chief", after=told["next"], wait=20))
    await until(lambda: len(api.world.store.listeners) > listening)
    if not stays:
        api.grants["chief"] = TokenGrant(name="chief", bitrix_user_id=99, sees=[99])
    api.world.model.will(reply(text=SECRET))
    await api.world.orchestrator.receive([message("что с Ромашкой?", actor=ANNA, key=CHAT)])
    answer = await waiting
    if stays:
        assert answer.json()["events"]
    else:
        assert error_of(answer) == (404, "session_not_found")


async def test_rights_that_go_while_a_page_is_read_hold_for_that_page(api: Api, monkeypatch: pytest.MonkeyPatch) -> None:
    """The page was begun by the rights of before, and is not told."""
    await api.ask(session=CHAT)
    plain = session_events._read_stored

    def read_while_rights_go(store: Store, stream: str, after: int) -> list[StoredEvent]:
        page = plain(store, stream, after)
        api.grants["chief"] = TokenGrant(name="chief", bitrix_user_id=99, sees=[99])
        return page

    monkeypatch.setattr(session_events, "_read_stored", read_while_rights_go)
    assert error_of(await api.get(f"/sessions/{CHAT}/events", "chief")) == (404, "session_not_found")
