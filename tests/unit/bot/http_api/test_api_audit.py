"""The audit over the API: who asked, who approved, what was sent, what came of it; for whom, and at which cost."""

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from bot.access.access_file import TokenGrant
from orchestrator.features.history import call_audit
from tests.unit.bot.http_api.api_kit import OWN, Api
from tests.unit.spine_kit import CHAT, message, reply, step
from tests.unit.spine_portal import cut

pytestmark = pytest.mark.req("S004-58")
EPOCH = "2020-01-01T00:00:00Z"


async def records(api: Api, caller: str = "chief", **query: Any) -> list[dict[str, Any]]:
    """All pages."""
    found: list[dict[str, Any]] = []
    more: dict[str, str] = {}
    while True:
        answer = await api.get("/audit", caller, **{"from": EPOCH}, **query, **more)
        assert answer.status_code == 200, answer.text
        found.extend(answer.json()["records"])
        if answer.json()["next"] is None:
            return found
        more = {"cursor": answer.json()["next"]}


async def test_it_tells_who_asked_who_approved_what_was_sent_and_what_came_of_it(api: Api) -> None:
    """One record a call, whoever approved it through whatever door."""
    card = await api.ask(session=CHAT)
    await api.decide({**card, "fingerprint": "0" * 64}, caller="head")
    await api.decide(card, caller="head")
    [record] = await records(api)
    assert record["asked_by"] == {"id": "tg:1007", "name": "Анна"}
    decision = record["decision"]
    assert (decision["state"], decision["by"], decision["via"]) == ("approved", {"id": "http:head", "name": "head"}, "api")
    assert record["sent"]["method"] == "crm.deal.update"
    assert record["sent"]["params"] == {"id": 481, "fields": {"OPPORTUNITY": 1_200_000}}
    assert (record["outcome"], record["records"], record["session"]) == ("succeeded", ["deal:481"], CHAT)
    assert record["changes"][0]["before"].startswith("1")
    assert [(one["by"]["id"], one["code"]) for one in record["attempts"]] == [("http:head", "card-outdated")]
    assert record["complete"]


async def test_every_end_of_a_call_has_its_outcome(api: Api) -> None:
    """Waiting, denied, superseded by the record's change, unknown, refused by the gate."""
    waiting = await api.ask(session="http:site:1")
    denied = await api.ask(session="http:site:2")
    await api.decide(denied, "deny", reason="нет")
    lost = await api.ask(session="http:site:3")
    api.world.portal.will("crm.deal.update", cut)
    await api.decide(lost)
    changed = await api.ask(session="http:site:4")
    api.world.portal.records["deal", 481]["OPPORTUNITY"] = "7.00"
    await api.decide(changed)
    by_card = {record["confirmation_id"]: record for record in await records(api)}
    assert {key: by_card[one["id"]]["outcome"] for key, one in (("w", waiting), ("d", denied), ("l", lost), ("c", changed))} == {
        "w": "waiting",
        "d": "denied",
        "l": "unknown",
        "c": "superseded",
    }
    assert by_card[denied["id"]]["decision"]["reason"] == "нет"
    assert by_card[changed["id"]]["sent"] is None


async def test_a_step_that_the_gate_refused_is_told(api: Api) -> None:
    """Nothing was sent, and why."""
    api.world.model.will(reply(step("crm.nothing.known", {})), reply(text="Не могу."))
    await api.world.orchestrator.receive([message("сделай", actor=api.clients["site"].actor, key=OWN)])
    await api.world.idle()
    [record] = await records(api)
    assert (record["outcome"], record["method"], record["sent"]) == ("refused", "crm.nothing.known", None)
    assert record["asked_by"]["id"] == "http:site"


async def test_filters_by_person_record_and_time(api: Api) -> None:
    """Each alone and together; the person is whoever asked or decided."""
    one = await api.ask(session=CHAT)
    await api.decide(one, caller="head")
    two = await api.ask(step("crm.deal.update", {"id": 482, "fields": {"OPPORTUNITY": 5}}), text="сумма сделки 482")
    ids = {one["id"]: "one", two["id"]: "two"}

    async def told(**query: Any) -> list[str]:
        return [ids[record["confirmation_id"]] for record in await records(api, **query)]

    assert await told() == ["one", "two"]
    assert await told(limit=1) == ["one", "two"]
    assert await told(person="tg:1007") == ["one"]
    assert await told(person="http:head") == ["one"]
    assert await told(person="http:site") == ["two"]
    assert await told(person="tg:9") == []
    assert await told(entity="deal:481") == ["one"]
    assert await told(entity="deal:482", limit=1) == ["two"]
    assert await told(entity="deal:482", person="tg:1007") == []
    assert await told(entity="deal:999") == []
    assert await told(to="2020-01-02T00:00:00Z") == []
    assert await told(to=(datetime.now(UTC) + timedelta(days=9)).isoformat()) == ["one", "two"]


async def test_of_one_record_all_calls_are_told_page_by_page(api: Api, monkeypatch: pytest.MonkeyPatch) -> None:
    """Also what made it and more than are looked up in one go; each once, the oldest first."""
    monkeypatch.setattr(call_audit, "_SLICE", 2)
    made = step("crm.deal.add", {"fields": {"TITLE": "Осина"}})
    api.world.model.will(reply(made), reply(text="Завела."))
    await api.world.orchestrator.receive([message("заведи сделку Осина", actor=api.clients["site"].actor, key=OWN)])
    await api.world.idle()
    number = max(number for name, number in api.world.portal.records if name == "deal")
    for amount in range(5):
        change = step("crm.deal.update", {"id": number, "fields": {"OPPORTUNITY": 100 + amount}})
        await api.ask(change, session=f"http:site:{amount}", text=f"сумма сделки {number}: {100 + amount}")
    found = await records(api, entity=f"deal:{number}", limit=2)
    assert [record["method"] for record in found] == ["crm.deal.add", *["crm.deal.update"] * 5]
    assert [record["changes"][0]["after"] for record in found[1:]] == [str(100 + amount) for amount in range(5)]


async def test_everybody_sees_their_own_and_leads_what_they_may_see(api: Api) -> None:
    """A manager token never a colleague's call; a lead those of its employees' records; an administrator all."""
    await api.ask(session=CHAT)
    mine = await api.ask()
    assert [record["confirmation_id"] for record in await records(api, "site")] == [mine["id"]]
    assert await records(api, "other") == []
    assert await records(api, "other", entity="deal:481") == []
    assert len(await records(api, "head")) == 2
    api.grants["head"] = TokenGrant(name="head", sees=[8])
    assert await records(api, "head") == []
    assert len(await records(api, "chief")) == 2


async def test_a_request_looks_at_a_bounded_part_of_the_journal(api: Api, monkeypatch: pytest.MonkeyPatch) -> None:
    """Its page is short and the next one goes on; nothing is told twice or left out."""
    monkeypatch.setattr(call_audit, "MAX_SCANNED", 2)
    monkeypatch.setattr(call_audit, "_SLICE", 3)
    for number in range(5):
        await api.ask(session=f"http:site:{number}")
    first = await api.get("/audit", "other", **{"from": EPOCH})
    assert first.json()["records"] == []
    assert first.json()["next"]
    assert [record["session"] for record in await records(api)] == [f"http:site:{number}" for number in range(5)]


async def test_the_end_of_a_call_that_lies_far_away_is_told_by_where_it_stands(api: Api, monkeypatch: pytest.MonkeyPatch) -> None:
    """Not followed without end; `complete` says so."""
    monkeypatch.setattr(call_audit, "_MAX_TRAIL", 0)
    monkeypatch.setattr(call_audit, "_PIECE", 1)
    await api.decide(await api.ask())
    [record] = await records(api)
    assert (record["outcome"], record["complete"]) == ("succeeded", False)
