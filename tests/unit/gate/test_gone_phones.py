"""A phone that somebody removed while a card waited costs its own change alone: the rest is asked anew, and the card names what fell out."""

from typing import Any

import pytest

from orchestrator.domain.effect import Pending
from tests.unit.gate.sandbox_kit import Desk
from tests.unit.gate.test_batches_of_phones import NEW, SUM, deal_sum, phone, press

DROP, EDIT = "fields[PHONE][0][DELETE]=Y", f"fields[PHONE][0][VALUE]={NEW}"


async def _held(desk: Desk) -> list[dict[str, Any]]:
    return list((await desk.ask("crm.contact.get", id=43))["PHONE"])


async def _gone(desk: Desk, number: str) -> None:
    """A colleague removes that phone in the portal."""
    await desk.ask("crm.contact.update", id=43, fields={"PHONE": [{"ID": number, "DELETE": "Y"}]})


def _waits(desk: Desk, decided: Any) -> Pending:
    """The card that took the place of the approved one."""
    again = Pending(effect_id=decided.replaced_by.effect_id, confirmation_id=decided.replaced_by.confirmation_id, method="batch")
    assert desk.card(again).status == "requested"
    return again


@pytest.mark.req("S004-27")
@pytest.mark.parametrize("change", [DROP, EDIT], ids=["removed", "edited"])
async def test_the_rest_of_the_batch_is_asked_anew_and_what_fell_out_is_named(desk: Desk, change: str) -> None:
    """Nothing is sent by the press that saw the other card; the second one sends the rest."""
    first, second = await _held(desk)
    worth = await deal_sum(desk)
    waits = await desk.wish("batch", {"cmd": {"a": phone(f"fields[PHONE][0][ID]={first['ID']}&{change}"), "b": SUM}})
    await _gone(desk, first["ID"])
    decided = await press(desk, waits)
    assert await deal_sum(desk) == worth
    again = _waits(desk, decided)
    card = desk.card(again)
    assert [item["key"] for item in card.preview["items"]] == ["b"]
    reasons = {reason["code"]: reason["args"] for reason in card.reasons}
    assert reasons["gate-phone-gone"] == {"value": first["VALUE"], "entity": "contact", "id": 43}
    assert (await desk.approve(again)).status == "succeeded"
    assert await deal_sum(desk) == 77000
    assert [item["VALUE"] for item in await _held(desk)] == [second["VALUE"]]


async def test_what_is_left_of_one_update_is_asked_anew(desk: Desk) -> None:
    """One record, two phones: the one that stands is still changed, in either family of methods."""
    for method, given in (("crm.contact.update", _classic), ("crm.item.update", _universal)):
        held = await _held(desk)
        waits = await desk.wish(method, given(held))
        await _gone(desk, held[0]["ID"])
        again = _waits(desk, await press(desk, waits))
        assert (await desk.approve(again)).status == "succeeded"
        assert NEW in await desk.phones()
        await desk.ask("crm.contact.update", id=43, fields={"PHONE": [{"VALUE": held[0]["VALUE"]}, {"VALUE": held[1]["VALUE"]}]})
        await _gone(desk, held[1]["ID"])


def _classic(held: list[dict[str, Any]]) -> dict[str, Any]:
    return {"id": 43, "fields": {"PHONE": [{"ID": held[0]["ID"], "DELETE": "Y"}, {"ID": held[1]["ID"], "VALUE": NEW}]}}


def _universal(held: list[dict[str, Any]]) -> dict[str, Any]:
    fm = {held[0]["ID"]: {"typeId": "PHONE", "value": ""}, held[1]["ID"]: {"typeId": "PHONE", "value": NEW}}
    return {"entityTypeId": 3, "id": 43, "fields": {"fm": fm}}


@pytest.mark.parametrize("change", [DROP, EDIT], ids=["removed", "edited"])
async def test_a_call_of_which_nothing_is_left_is_refused(desk: Desk, change: str) -> None:
    """As before: there is nothing to ask about."""
    first = (await _held(desk))[0]
    waits = await desk.wish("batch", {"cmd": {"a": phone(f"fields[PHONE][0][ID]={first['ID']}&{change}"), "b": "crm.deal.get?id=410"}})
    await _gone(desk, first["ID"])
    decided = await press(desk, waits)
    assert (decided.outcome.status, decided.replaced_by) == ("refused", None)


async def test_a_command_whose_answer_is_taken_does_not_fall_out(desk: Desk) -> None:
    """The other one would write what is no answer."""
    first = (await _held(desk))[0]
    cmd = {"a": phone(f"fields[PHONE][0][ID]={first['ID']}&{DROP}"), "b": "crm.deal.update?id=410&fields[COMMENTS]=$result[a]"}
    waits = await desk.wish("batch", {"cmd": cmd})
    await _gone(desk, first["ID"])
    decided = await press(desk, waits)
    assert decided.outcome.status == "refused"
