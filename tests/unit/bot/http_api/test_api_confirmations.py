"""Confirmations over the API: what is seen, what counts, what never does."""

from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

from bot.access.access_file import TokenGrant
from orchestrator.features.freezing.freeze_switch import LiveSwitch
from state.journal.freeze_switch import SwitchOperator
from tests.unit.bot.http_api.api_kit import OWN, Api, an_api, together
from tests.unit.spine_kit import CHAT, message, reply, step
from tests.unit.spine_portal import Held, lost

pytestmark = pytest.mark.req("S004-58")


async def test_a_card_is_told_as_people_read_it(api: Api) -> None:
    """Before and after in words, why it asks, who asked, until when, and what this token may do."""
    await api.ask()
    found = (await api.get("/confirmations")).json()
    assert found["next"] is None
    card = found["confirmations"][0]
    assert card["rows"] == [
        {"field": "OPPORTUNITY", "name": "Сумма", "before": "1\u00a0000\u00a0000\u00a0₽", "after": "1\u00a0200\u00a0000\u00a0₽"}
    ]
    assert (card["title"], card["record"]) == ("Изменить сделку «Ромашка»", "deal:481")
    assert (card["session"], card["state"], card["asked_by"]) == (OWN, "requested", {"id": "http:site", "name": "site"})
    assert card["reasons"]
    assert (card["may_approve"], card["may_deny"], card["taps"]) == (True, True, 1)
    assert "nonce" not in found.__repr__()


async def test_one_approval_is_one_call_and_says_what_came_of_it(api: Api) -> None:
    """The outcome is in the answer; the same request again has the same answer and runs nothing."""
    card = await api.ask()
    first, again = await api.decide(card), await api.decide(card)
    assert (first.status_code, first.json()["status"]) == (200, "executed")
    assert first.headers["X-Trace-Id"]
    assert again.json() == first.json()
    assert api.written == ["crm.deal.update"]
    assert first.json()["confirmation"]["decided"]["by"]["id"] == "http:site"


async def test_ten_approvals_at_once_are_one_call(api: Api) -> None:
    """All of them are told the same."""
    card = await api.ask()
    answers = await together(*(api.decide(card) for _ in range(10)))
    assert {answer.json()["status"] for answer in answers} == {"executed"}
    assert api.written == ["crm.deal.update"]
    assert api.world.events("DecisionRefused", key=OWN) == []


async def test_two_tokens_at_once_are_one_call_and_one_is_told_that_it_came_late(api: Api) -> None:
    """Whoever comes second hears the state, and who decided."""
    card = await api.ask()
    answers = await together(api.decide(card), api.decide(card, caller="chief"))
    assert sorted(answer.status_code for answer in answers) == [200, 409]
    late = next(answer for answer in answers if answer.status_code == 409).json()
    assert late["error"]["code"] in {"confirmation_executed", "confirmation_approved"}
    assert api.written == ["crm.deal.update"]


async def test_a_denial_sends_nothing_and_keeps_its_reason(api: Api) -> None:
    """The reason stands in the card; an approval after it is told so."""
    card = await api.ask()
    answer = await api.decide(card, "deny", reason="не сейчас")
    assert (answer.status_code, answer.json()["status"]) == (200, "denied")
    assert answer.json()["confirmation"]["decided"]["reason"] == "не сейчас"
    late = await api.decide(card)
    assert (late.status_code, late.json()["error"]["code"]) == (409, "confirmation_denied")
    assert (await api.decide(card, "deny")).status_code == 200
    assert api.written == []


@pytest.mark.parametrize("forged", ["0" * 64, "я" * 64, "x", "\x00"])
async def test_a_forged_fingerprint_is_refused_with_the_present_card_and_leaves_a_line(api: Api, forged: str) -> None:
    """Nothing runs, the card waits, and the journal says who tried (facts: approval and safety 25)."""
    card = await api.ask()
    answer = await api.decide({**card, "fingerprint": forged})
    assert (answer.status_code, answer.json()["error"]["code"]) == (409, "fingerprint_mismatch")
    assert answer.json()["confirmation"]["fingerprint"] == card["fingerprint"]
    assert [event.data["by"] for event in api.world.events("DecisionRefused", key=OWN)] == ["http:site"]
    assert api.written == []


async def test_the_fingerprint_of_another_card_does_not_open_this_one(api: Api) -> None:
    """Consent is to one call."""
    one = await api.ask()
    two = await api.ask(step("crm.deal.update", {"id": 482, "fields": {"OPPORTUNITY": 1}}), text="сумма сделки 482 — 1 рубль")
    assert one["id"] != two["id"]
    assert (await api.decide({**one, "fingerprint": two["fingerprint"]})).status_code == 409
    assert api.written == []


async def test_a_changed_record_brings_the_new_card_with_its_fingerprint(api: Api) -> None:
    """Nothing was sent; the same answer again; the new card runs."""
    card = await api.ask()
    api.world.portal.records["deal", 481]["OPPORTUNITY"] = "1100000.00"
    answer = await api.decide(card)
    assert (answer.status_code, answer.json()["error"]["code"]) == (409, "confirmation_changed")
    new = answer.json()["confirmation"]
    assert new["id"] != card["id"]
    assert new["rows"][0]["before"] == "1\u00a0100\u00a0000\u00a0₽"
    assert (await api.decide(card)).json() == answer.json()
    assert api.written == []
    assert (await api.decide(new)).json()["status"] == "executed"
    assert api.written == ["crm.deal.update"]


async def test_a_lost_answer_is_said_to_be_unknown(api: Api) -> None:
    """It may have happened; it is not sent again."""
    card = await api.ask()
    api.world.portal.will("crm.deal.update", lost)
    answer = await api.decide(card)
    assert (answer.status_code, answer.json()["status"]) == (200, "unknown")
    assert "may have happened" in answer.json()["message"]
    assert (await api.decide(card)).json()["status"] == "unknown"
    assert api.written == ["crm.deal.update"]


async def test_a_call_that_takes_long_is_answered_as_running(api: Api, monkeypatch: pytest.MonkeyPatch) -> None:
    """The answer comes in time; the same request later has the outcome."""
    monkeypatch.setattr("bot.http_api.approvals.confirmations.WITHIN", 0.05)
    card, held = await api.ask(), Held()
    api.world.portal.will("crm.deal.update", held)
    answer = await api.decide(card)
    while answer.json()["status"] == "accepted":  # a busy machine has not come to it within that time
        answer = await api.decide(card)
    assert (answer.status_code, answer.json()["status"]) == (202, "running")
    held.release.set()
    await api.world.idle()
    assert (await api.decide(card)).json()["status"] == "executed"


async def test_an_expired_card_is_gone(api: Api) -> None:
    """Before its timer as after it."""
    card = await api.ask()
    api.world.clock.advance(timedelta(hours=25))
    answer = await api.decide(card)
    assert (answer.status_code, answer.json()["error"]["code"]) == (410, "confirmation_expired")
    await api.world.idle()
    assert (await api.decide(card)).status_code == 410
    assert api.written == []


async def test_a_destructive_call_takes_a_second_decision_with_a_new_fingerprint(tmp_path: Path) -> None:
    """The first answers with the second fingerprint; to send the first twice runs nothing."""
    async with an_api(tmp_path, policy={"open_methods": ["crm.deal.delete"]}) as api:
        card = await api.ask(step("crm.deal.delete", {"id": 481}), text="удали сделку 481")
        assert card["taps"] == 2
        for _ in range(2):
            first = await api.decide(card)
            assert (first.status_code, first.json()["status"]) == (200, "second_confirmation_required")
        assert api.written == []
        second = first.json()["confirmation"]
        assert second["second_confirmation"]
        assert (await api.decide(second)).json()["status"] == "executed"
        assert (await api.decide(second)).json()["status"] == "executed"
        assert api.written == ["crm.deal.delete"]


async def test_a_bare_token_never_approves(api: Api) -> None:
    """Its own cards it may see; the decision is 403 and leaves a line."""
    name = api.clients["bare"].name
    session = f"http:{name}:1"
    await api.ask(session=session, actor=api.clients["bare"].actor)
    card = (await api.get("/confirmations", "bare")).json()["confirmations"][0]
    assert not card["may_approve"]
    answer = await api.decide(card, caller="bare")
    assert (answer.status_code, answer.json()["error"]["code"]) == (403, "may_not_approve")
    assert (await api.decide(card, "deny", caller="bare")).status_code == 403
    assert [event.data["code"] for event in api.world.events("DecisionRefused", key=session)] == ["may-not-approve"] * 2
    assert api.written == []


async def test_a_foreign_card_is_not_there(api: Api) -> None:
    """Another manager token's, a Telegram manager's, an unknown and a malformed id: the same answer, and a line of who tried."""
    own, chat = await api.ask(), await api.ask(session=CHAT)
    answers = [await api.get(f"/confirmations/{one}", "other") for one in (own["id"], chat["id"], "0123456789", "x%20y")]
    assert {(answer.status_code, answer.text) for answer in answers} == {(404, answers[0].text)}
    tried = [await api.decide({**own, "id": one}, caller="other") for one in (own["id"], chat["id"], "0123456789", "%00", "%FF")]
    assert {(answer.status_code, answer.text) for answer in tried} == {(404, answers[0].text)}
    assert (await api.get("/confirmations", "other")).json()["confirmations"] == []
    for session in (OWN, CHAT, "http:other:1"):
        assert (await api.get("/confirmations", "other", session=session, state="any")).json()["confirmations"] == []
    await api.world.idle()
    assert [event.actor for event in api.world.events("DecisionRefused", key="http:other")] == ["http:other"] * 3
    assert api.written == []


async def test_a_lead_approves_a_managers_card_and_telegram_shows_it(api: Api) -> None:
    """The card in the chat is edited; nobody is told of attempts that did not count."""
    card = await api.ask(session=CHAT)
    api.world.outbox()
    await api.decide({**card, "fingerprint": "0" * 64}, caller="head")
    assert api.world.outbox() == []
    answer = await api.decide(await api.mine(card, "head"), caller="head")
    assert answer.json()["status"] == "executed"
    assert [(row.session, row.kind, row.body["status"]) for row in api.world.outbox()] == [(CHAT, "card", "executed")]
    approved = api.world.events("ConfirmationApproved")[0].data
    assert (approved["approved_by"], approved["via"]) == ("http:head", "http")


async def test_a_lead_token_that_sees_some_sees_only_theirs(api: Api) -> None:
    """The rights of the access file hold for lists, single cards and decisions."""
    card = await api.ask(session=CHAT)
    api.grants["head"] = TokenGrant(name="head", sees=[8])
    assert (await api.get("/confirmations", "head")).json()["confirmations"] == []
    assert (await api.decide(card, caller="head")).status_code == 404
    api.grants["head"] = TokenGrant(name="head", sees=[7])
    assert (await api.decide(card, caller="head")).json()["status"] == "executed"
    assert api.written == ["crm.deal.update"]


async def test_four_eyes_need_another_person(tmp_path: Path) -> None:
    """The token that asked is 403 and told why; a lead's token runs it."""
    pair = {"rules": [{"entity": "deal", "above": 1_100_000, "then": "two_people", "why": "Решают двое"}]}
    async with an_api(tmp_path, policy=pair) as api:
        asked = await api.ask(session="http:chief:1")
        mine = await api.mine(asked, "chief")
        assert (mine["may_approve"], mine["may_deny"]) == (False, True)
        assert mine["why_not"]
        answer = await api.decide(mine, caller="chief")
        assert (answer.status_code, answer.json()["error"]["code"]) == (403, "four_eyes")
        assert (await api.decide(await api.mine(asked, "head"), caller="head")).json()["status"] == "executed"
        assert api.written == ["crm.deal.update"]


async def test_while_writes_are_frozen_the_card_waits(api: Api) -> None:
    """409 `frozen`; the card in the chat stands as it did; once they are released the same request runs it."""
    card = await api.ask(session=CHAT)
    api.world.outbox()
    switch = api.world.gate.deps.switch
    assert isinstance(switch, LiveSwitch)
    await switch.freeze(SwitchOperator(key="tg:1001", name="Дина", via="cli", at=api.world.clock.now()))
    answer = await api.decide(card, caller="head")
    assert (answer.status_code, answer.json()["error"]["code"]) == (409, "frozen")
    assert answer.json()["confirmation"]["state"] == "requested"
    assert {row.body["status"] for row in api.world.outbox() if row.kind == "card"} <= {"requested"}
    await switch.release(SwitchOperator(key="tg:1001", name="Дина", via="cli", at=api.world.clock.now()))
    assert (await api.decide(card, caller="head")).json()["status"] == "executed"
    assert api.written == ["crm.deal.update"]


async def test_lists_go_on_where_the_page_ended(api: Api) -> None:
    """Every card once, in a stable order, each state by its name."""
    for number in (1, 2, 3):
        await api.ask(session=f"http:site:{number}")
    seen: list[str] = []
    cursor: str | None = None
    while True:
        page = (await api.get("/confirmations", limit=2, **({"cursor": cursor} if cursor else {}))).json()
        seen.extend(card["session"] for card in page["confirmations"])
        cursor = page["next"]
        if cursor is None:
            break
    assert seen == [f"http:site:{number}" for number in (1, 2, 3)]
    first = (await api.get("/confirmations", limit=1)).json()["confirmations"][0]
    await api.decide(first, "deny")
    assert [card["id"] for card in (await api.get("/confirmations", state="denied")).json()["confirmations"]] == [first["id"]]
    assert len((await api.get("/confirmations", state="any")).json()["confirmations"]) == 3


@pytest.mark.parametrize(
    "body",
    [
        b"",
        b"{",
        b"[]",
        b'{"decision":"approve"}',
        b'{"decision":"yes","fingerprint":"x"}',
        b'{"decision":true,"fingerprint":"x"}',
        b'{"decision":"approve","fingerprint":5}',
        b'{"decision":"approve","fingerprint":"x","user_id":7}',
        b'{"decision":"approve","fingerprint":"x","reason":"\\ud800"}',
    ],
)
async def test_a_wrong_body_is_400_and_decides_nothing(api: Api, body: bytes) -> None:
    """Words for true, a missing fingerprint, a field that is not known."""
    card = await api.ask()
    headers: dict[str, Any] = {"X-API-Key": "site-0123456789abcdef", "content-type": "application/json"}
    answer = await api.http.post(f"/confirmations/{card['id']}", content=body, headers=headers)
    assert answer.status_code == 400
    assert api.written == []


async def test_no_token_learns_nothing(api: Api) -> None:
    """401 for every address, whether there is something or not."""
    card = await api.ask()
    for path in ("/confirmations", f"/confirmations/{card['id']}", "/audit", f"/sessions/{OWN}/events"):
        assert (await api.get(path, "wrong-0123456789abcdef")).status_code == 401
    assert (await api.decide(card, caller="wrong-0123456789abcdef")).status_code == 401


async def test_confirmations_of_one_plan_have_one_group_and_are_decided_one_by_one(api: Api) -> None:
    """Each with the fingerprint that was given for it; a confirmation alone belongs to no group."""
    two = (step("crm.deal.update", {"id": deal, "fields": {"OPPORTUNITY": 60_000}}) for deal in (481, 482))
    api.world.model.will(reply(*two))
    await api.world.orchestrator.receive([message("обе суммы", actor=api.clients["site"].actor, key=OWN)])
    await api.world.idle()
    first, second = (await api.get("/confirmations", session=OWN)).json()["confirmations"]
    assert first["group"] == second["group"] == first["id"]
    assert first["fingerprint"] != second["fingerprint"]
    assert (await api.decide(second)).json()["status"] == "executed"
    assert [params["id"] for _, params in api.world.portal.ledger] == [482]
    assert (await api.decide(first)).json()["status"] == "executed"
    assert [params["id"] for _, params in api.world.portal.ledger] == [482, 481]
    alone = await api.ask(step("crm.deal.update", {"id": 481, "fields": {"OPPORTUNITY": 70_000}}))
    assert alone["group"] == ""


async def test_a_step_of_a_plan_in_telegram_is_decided_over_the_api(api: Api) -> None:
    """The chat's card shows it, and asks for the rest."""
    two = (step("crm.deal.update", {"id": deal, "fields": {"OPPORTUNITY": 60_000}}) for deal in (481, 482))
    api.world.model.will(reply(*two))
    await api.world.orchestrator.receive([message("обе суммы", key=CHAT)])
    await api.world.idle()
    first, _ = (await api.get("/confirmations", "chief", session=CHAT)).json()["confirmations"]
    api.world.outbox()
    assert (await api.decide(first, caller="chief")).json()["status"] == "executed"
    shown = [row.body for row in api.world.outbox() if row.kind == "card" and row.session == CHAT][-1]
    assert [one["status"] for one in shown["members"]] == ["executed", "requested"]
