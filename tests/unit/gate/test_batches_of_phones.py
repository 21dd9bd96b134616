"""Several commands about one record's phones: the card shows what each will do, and one that does nothing harms no other."""

from typing import Any

import pytest

from orchestrator.domain.effect import Outcome, Pending
from orchestrator.gate.approve.run_approved import DecisionResult
from orchestrator.language.text import format_phone
from tests.unit.gate.sandbox_kit import Desk
from tests.unit.gate.submit_kit import yes
from tests.unit.spine_kit import VERA

NEW = "+79995554433"


def phone(rest: str) -> str:
    """A command about the phones of contact 43."""
    return f"crm.contact.update?id=43&{rest}".replace("+", "%2B")


def adds(value: str) -> str:
    """A command that adds a phone."""
    return phone(f"fields[PHONE][0][VALUE]={value}")


SUM = "crm.deal.update?id=410&fields[OPPORTUNITY]=77000"


async def deal_sum(desk: Desk) -> float:
    """What deal 410 is worth."""
    return float((await desk.ask("crm.deal.get", id=410))["OPPORTUNITY"])


async def press(desk: Desk, pending: Outcome | Pending) -> DecisionResult:
    """A yes, whatever comes of it."""
    return await desk.world.gate.decide_card(yes(desk.card(pending), VERA, saw_all=True), mode="full", ledger=desk.session)


@pytest.mark.req("S004-29", "S004-30")
@pytest.mark.parametrize(
    ("first", "then"),
    [("fields[PHONE][0][ID]={id}&fields[PHONE][0][DELETE]=Y", ""), ("fields[PHONE][0][ID]={id}&fields[PHONE][0][VALUE]=" + NEW, NEW)],
    ids=["removed", "edited"],
)
async def test_each_line_reads_the_phones_that_earlier_commands_leave(desk: Desk, first: str, then: str) -> None:
    """What is added again after it was removed or edited is shown as added, over what stands there by then."""
    held = (await desk.ask("crm.contact.get", id=43))["PHONE"]
    old = held[0]["VALUE"]
    waits = await desk.wish("batch", {"cmd": [phone(first.format(id=held[0]["ID"])), adds(old)]})
    lines = [item["lines"][0] for item in desk.card(waits).preview["items"]]
    assert lines[0]["before"].startswith(old)
    assert lines[1]["after"] == f"добавить {old}"
    assert sorted(lines[1]["before"].split("\n")) == sorted(
        [*(item["VALUE"] for item in held[1:]), *map(format_phone, filter(None, [then]))]
    )
    assert (await desk.approve(waits)).status == "succeeded"
    assert sorted(await desk.phones()) == sorted([*(item["VALUE"] for item in held[1:]), *filter(None, [then]), old])


async def test_a_command_that_changes_nothing_is_left_out_of_its_batch(desk: Desk) -> None:
    """The phone is there already: the sum is changed all the same, and the card speaks of the sum alone."""
    phones = await desk.phones()
    waits = await desk.wish("batch", {"cmd": {"a": adds(phones[0]), "b": SUM}})
    assert [item["key"] for item in desk.card(waits).preview["items"]] == ["b"]
    assert (await desk.approve(waits)).status == "succeeded"
    assert await deal_sum(desk) == 77000
    assert await desk.phones() == phones


async def test_what_a_colleague_did_meanwhile_costs_a_new_card_and_not_the_batch(desk: Desk) -> None:
    """The approved batch is not sent in another form: its rest is shown and sent after another yes."""
    waits = await desk.wish("batch", {"cmd": {"a": adds(NEW), "b": SUM}})
    await desk.ask("crm.contact.update", id=43, fields={"PHONE": [{"VALUE": NEW, "VALUE_TYPE": "WORK"}]})
    worth = await deal_sum(desk)
    decided = await press(desk, waits)
    assert decided.replaced_by is not None, decided
    assert await deal_sum(desk) == worth
    again = Pending(effect_id=decided.replaced_by.effect_id, confirmation_id=decided.replaced_by.confirmation_id, method="batch")
    assert [item["key"] for item in desk.card(again).preview["items"]] == ["b"]
    assert (await desk.approve(again)).status == "succeeded"
    assert await deal_sum(desk) == 77000
    assert (await desk.phones()).count(NEW) == 1


@pytest.mark.parametrize("other", ["", "crm.deal.get?id=410"])
async def test_a_batch_that_changes_nothing_at_all_says_so(desk: Desk, other: str) -> None:
    """Only then is the sentence true."""
    cmd = {"a": adds((await desk.phones())[0])} | ({"b": other} if other else {})
    found = await desk.refused("batch", {"cmd": cmd})
    assert found.reason.code == "gate-already-so"


async def test_a_command_whose_answer_is_taken_is_not_left_out(desk: Desk) -> None:
    """The reason names it, and does not claim that all is so already."""
    cmd = {"a": adds((await desk.phones())[0]), "b": "crm.deal.update?id=410&fields[COMMENTS]=$result[a]"}
    found = await desk.wish("batch", {"cmd": cmd})
    assert (found.status, found.reason.code, found.reason.args["key"]) == ("refused", "gate-batch-broken", "a")


@pytest.mark.parametrize("count", [10, 11, 120])
async def test_one_yes_is_enough_for_many_new_phones(desk: Desk, count: int) -> None:
    """Stored JSON sorts its keys: the call that is made again from it is the one that was shown."""
    phones = await desk.phones()
    fm: dict[str, Any] = {f"n{n}": {"typeId": "PHONE", "valueType": "WORK", "value": f"+7999000{n:04}"} for n in range(count)}
    waits = await desk.wish("crm.item.update", {"entityTypeId": 3, "id": 43, "fields": {"fm": fm}})
    decided = await press(desk, waits)
    assert (decided.outcome.status, decided.outcome.unchanged) == ("succeeded", ())
    assert len(await desk.phones()) == len(phones) + count
