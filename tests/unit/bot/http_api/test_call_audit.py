"""The search for calls as pages ask it: the newest first, by method and outcome, with fields in the reader's language."""

from typing import Any

import pytest

from orchestrator.features.history import call_audit
from orchestrator.features.history.call_audit import AuditedCall, CallAudit, CallFilter
from orchestrator.features.history.record_index import RecordIndex
from orchestrator.reports.reading.journal_reader import Narrator
from orchestrator.reports.viewer import Viewer
from tests.unit.bot.http_api.api_kit import Api
from tests.unit.spine_kit import ANNA, BORIS, CHAT, step
from tests.unit.spine_portal import cut

pytestmark = pytest.mark.req("C-18")


async def found(api: Api, *, limit: int = 50, **wanted: Any) -> list[AuditedCall]:
    """All pages of the search of an administrator, the newest call first."""
    store, viewer = api.world.store, Viewer(actor=api.clients["chief"].actor, deps=api.world.gate.deps)
    audit = CallAudit(store=store, index=RecordIndex(store))
    calls: list[AuditedCall] = []
    after = ""
    while True:
        voice = Narrator(lambda code, _: code)
        page = await audit.load_page(viewer, CallFilter(**wanted), voice, after=after, limit=limit, newest_first=True, locale="ru")
        calls.extend(page.calls)
        if not page.after:
            return calls
        after = page.after


def amounts(calls: list[AuditedCall]) -> list[object]:
    return [call.story.params["fields"]["OPPORTUNITY"] for call in calls]  # type: ignore[index,call-overload]


async def test_the_newest_call_comes_first_page_by_page(api: Api, monkeypatch: pytest.MonkeyPatch) -> None:
    """Each call once, whether pages are short because of their size or because of what one request looks at."""
    monkeypatch.setattr(call_audit, "_SLICE", 2)
    monkeypatch.setattr(call_audit, "MAX_SCANNED", 3)
    for amount in range(1, 6):
        await api.ask(step("crm.deal.update", {"id": 481, "fields": {"OPPORTUNITY": amount}}), session=f"http:site:{amount}")

    assert amounts(await found(api)) == amounts(await found(api, limit=2)) == [5, 4, 3, 2, 1]
    assert amounts(await found(api, record="deal:481", limit=2)) == [5, 4, 3, 2, 1]
    assert await found(api, record="deal:482") == []


async def test_calls_are_found_by_method_and_outcome(api: Api) -> None:
    """Also a batch by the method of a command; what waits is not what was denied or is unknown."""
    await api.ask(step("crm.deal.update", {"id": 481, "fields": {"OPPORTUNITY": 1}}), session="http:site:1")
    denied = await api.ask(step("crm.deal.update", {"id": 481, "fields": {"OPPORTUNITY": 2}}), session="http:site:2")
    await api.decide(denied, "deny")
    lost = await api.ask(step("crm.deal.update", {"id": 481, "fields": {"OPPORTUNITY": 3}}), session="http:site:3")
    api.world.portal.will("crm.deal.update", cut)
    await api.decide(lost)
    batch = {"cmd": {"a": "crm.deal.update?id=481&fields[OPPORTUNITY]=4", "b": "crm.deal.add?fields[TITLE]=Осина"}}
    await api.ask(step("batch", batch), session="http:site:4", text="сумма сделки 481, и заведи сделку Осина")

    assert [call.story.session for call in await found(api, outcome="waiting")] == ["http:site:4", "http:site:1"]
    assert [call.outcome for call in await found(api, outcome="denied")] == ["denied"]
    assert amounts(await found(api, outcome="unknown")) == [3]
    assert [call.story.method for call in await found(api, methods=frozenset({"crm.deal.add"}))] == ["batch"]
    assert len(await found(api, methods=frozenset({"crm.deal.update"}))) == 4
    assert await found(api, methods=frozenset({"crm.deal.delete"})) == []


async def test_fields_are_named_in_the_language_of_the_reader(api: Api) -> None:
    """Also those of a call that needed no card, whose names no card has kept."""
    lost = await api.ask(step("crm.deal.update", {"id": 481, "fields": {"OPPORTUNITY": 3}}), session="http:site:3")

    [call] = await found(api)
    assert call.story.confirmation_id == lost["id"]
    assert call.story.changes[0].name == "Сумма"


def test_a_private_chat_is_a_conversation_of_its_person(api: Api) -> None:
    """The chat itself and a topic of it; not that of somebody whose number begins alike."""
    viewer = Viewer(actor=ANNA, deps=api.world.gate.deps)

    assert viewer.may_see_session(CHAT)
    assert viewer.may_see_session(f"{CHAT}:5")
    assert not viewer.may_see_session(f"{CHAT}1")
    assert not viewer.may_see_session(BORIS.key)
