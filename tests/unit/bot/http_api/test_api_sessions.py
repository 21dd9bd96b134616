"""What happened in a session, over the API: a stable form, one's own conversations alone; and wrong parameters of lists are refused."""

import asyncio

import pytest

from bot.access.access_file import TokenGrant
from tests.unit.bot.http_api.api_kit import OWN, Api
from tests.unit.spine_kit import CHAT, until
from tests.unit.spine_portal import cut

pytestmark = pytest.mark.req("S004-58")


async def test_a_conversation_is_told_from_the_request_to_the_outcome(api: Api) -> None:
    """Message, card, answer, decision and call in order; no thought, no nonce, no read."""
    card = await api.ask()
    await api.decide(card)
    answer = await api.get(f"/sessions/{OWN}/events")
    events = answer.json()["events"]
    kinds = [event["type"] for event in events]
    assert [kind for kind in kinds if kind != "reply"] == ["message", "confirmation", "decision", "call"]
    assert "reply" in kinds
    by_kind = {event["type"]: event for event in events}
    assert by_kind["message"]["text"] == "подними сумму сделки 481"
    assert by_kind["message"]["by"] == {"id": "http:site", "name": "site"}
    assert by_kind["confirmation"]["confirmation_id"] == card["id"]
    assert by_kind["confirmation"]["confirmation"]["rows"][0]["field"] == "OPPORTUNITY"
    assert (by_kind["decision"]["state"], by_kind["decision"]["via"]) == ("approved", "api")
    assert (by_kind["call"]["state"], by_kind["call"]["method"]) == ("executed", "crm.deal.update")
    assert "Готово" in by_kind["reply"]["text"]
    for hidden in ("думаю", "nonce", "prompt"):
        assert hidden not in answer.text


async def test_the_cursor_goes_on_where_it_ended(api: Api) -> None:
    """One by one as all at once; the end keeps its place."""
    await api.ask()
    whole = (await api.get(f"/sessions/{OWN}/events")).json()
    found, after = [], None
    while True:
        page = (await api.get(f"/sessions/{OWN}/events", limit=1, **({"after": after} if after else {}))).json()
        found.extend(page["events"])
        after = page["next"]
        if not page["more"] and not page["events"]:
            break
    assert found == whole["events"]
    assert after == whole["next"]
    card = (await api.get("/confirmations")).json()["confirmations"][0]
    await api.decide(card, "deny", reason="дорого")
    more = (await api.get(f"/sessions/{OWN}/events", after=after)).json()["events"]
    assert (more[0]["type"], more[0]["state"], more[0]["text"]) == ("decision", "denied", "дорого")


async def test_a_waiting_request_is_answered_when_something_happens(api: Api) -> None:
    """And not before; it leaves no listener behind."""
    card = await api.ask()
    after = (await api.get(f"/sessions/{OWN}/events")).json()["next"]
    listeners = len(api.world.orchestrator.listeners)
    waiting = asyncio.ensure_future(api.get(f"/sessions/{OWN}/events", after=after, wait=20))
    await until(lambda: len(api.world.orchestrator.listeners) > listeners)
    assert not waiting.done()
    await api.decide(card, "deny")
    events = (await asyncio.wait_for(waiting, 15)).json()["events"]
    assert events[0]["type"] == "decision"
    assert len(api.world.orchestrator.listeners) == listeners


async def test_a_foreign_session_is_not_there(api: Api) -> None:
    """Another token's, a person's, one of the program's own, an unknown and an impossible one: one answer for all of them."""
    await api.ask()
    await api.ask(session=CHAT)
    foreign = [OWN, CHAT, "http:site:unknown", "http:other:unknown", "portal:portal.example", "access", "x%00y", "%ff"]
    answers = [await api.get(f"/sessions/{one}/events", "other") for one in foreign]
    assert {(answer.status_code, answer.text) for answer in answers} == {(404, answers[0].text)}
    assert answers[0].json()["error"]["code"] == "session_not_found"


async def test_an_administrator_reads_the_conversations_of_those_it_sees(api: Api) -> None:
    """All with `sees: all`, else those of its employees; nobody who merely leads, though it decides their cards and sees their calls."""
    await api.ask(session=CHAT)
    path = f"/sessions/{CHAT}/events"
    assert [(await api.get(path, token)).status_code for token in ("head", "chief", "site", "bare")] == [404, 200, 404, 404]
    assert [event["type"] for event in (await api.get(path, "chief")).json()["events"]] == ["message", "confirmation"]
    assert len((await api.get("/confirmations", "head", session=CHAT)).json()["confirmations"]) == 1
    assert [record["session"] for record in (await api.get("/audit", "head")).json()["records"]] == [CHAT]
    api.grants["chief"] = TokenGrant(name="chief", sees=[8])
    assert (await api.get(path, "chief")).status_code == 404
    api.grants["chief"] = TokenGrant(name="chief", sees=[7])
    assert (await api.get(path, "chief")).status_code == 200


async def test_an_unknown_outcome_is_told_and_later_what_it_was(api: Api) -> None:
    """The state of the call changes with a second event."""
    card = await api.ask()
    api.world.portal.will("crm.deal.update", cut)
    await api.decide(card)
    states = [event["state"] for event in (await api.get(f"/sessions/{OWN}/events")).json()["events"] if event["type"] == "call"]
    assert states == ["unknown"]


EVENTS = f"/sessions/{OWN}/events"
AUDIT: list[dict[str, str]] = [
    *({"entity": value} for value in ("nothing:5", "deal", "deal:0x1")),
    *({"from": value} for value in ("yesterday", "0001-01-01T00:00:00Z", "2026-11-22T10:00:00")),
    {"from": "2026-11-22T10:00:00Z", "to": "2026-11-21T10:00:00Z"},
    *({"to": "9999-12-31T23:59:59-23:00"}, {"person": "Анна"}, {"limit": "201"}, {"since": "2026-11-22T10:00:00Z"}, {"x": "1"}),
    {"cursor": "WyJhIiwiMSJd"},
]
CARDS: list[dict[str, str]] = [
    *({"limit": "0"}, {"limit": "x"}, {"limit": "101"}, {"state": "open"}, {"nothing": "1"}),
    *({"cursor": "WyJlIiwiMSJd"}, {"cursor": "!"}, {"session": "a\x00b"}, {"session": "сессия"}),
]
TOLD: list[dict[str, str]] = [{"wait": "31"}, {"wait": "-1"}, {"after": "WyJlIiwiLTEiXQ"}, {"after": "?"}, {"limit": "0"}, {"x": "1"}]
WRONG = [(path, query) for path, queries in (("/audit", AUDIT), ("/confirmations", CARDS), (EVENTS, TOLD)) for query in queries]
"""The first and every sixth, which `make test` has, are those that the endpoint itself refuses, and not the form of its parameters."""


@pytest.mark.parametrize(("path", "query"), WRONG)
async def test_a_wrong_parameter_is_400(api: Api, path: str, query: dict[str, str]) -> None:
    """In the one form of errors."""
    if path == EVENTS:
        await api.ask()
    answer = await api.get(path, "site" if path == EVENTS else "chief", **query)
    assert answer.status_code == 400, answer.text
    assert set(answer.json()["error"]) == {"code", "message"}
