"""Fields that the portal did not take although it said yes: of new records, of phones, of sums, command by command."""

from typing import Any

import httpx
import pytest

from bot.i18n.translate import Translator
from bot.rendering.cards import render_card
from bot.rendering.spans import to_plain_text
from orchestrator.domain.card_view import CardView
from orchestrator.domain.effect import Outcome
from orchestrator.domain.outputs import Notice
from orchestrator.gate.approve.confirmations import Decision
from orchestrator.sessions.session import Session
from tests.unit.spine_kit import ANNA, VERA, World, card, effect
from tests.unit.spine_portal import cut, says

PHONES = [{"ID": "156", "VALUE": "+79001112233", "VALUE_TYPE": "WORK", "TYPE_ID": "PHONE"}]


def leaves_out(world: World, method: str, *names: str, **instead: Any) -> None:
    """The portal drops these fields of that method without a word, and stores others in their place."""
    once = world.portal.perform

    def perform(called: str, params: dict[str, Any]) -> Any:
        if called == method:
            kept = {name: value for name, value in params["fields"].items() if name not in names}
            params = {**params, "fields": {**kept, **instead}}
        return once(called, params)

    world.portal.perform = perform  # type: ignore[method-assign, assignment]


async def done(world: World, session: Session, method: str, params: dict[str, Any]) -> Outcome:
    """What comes of a wish, approved where it asks."""
    found = await world.submit(session, effect(method, params), actor=VERA)
    if isinstance(found, Outcome):
        return found
    entry = session.state.agent.confirmations[found.confirmation_id]
    given = Decision(confirmation_id=entry.confirmation_id, nonce=entry.nonce, approve=True, actor=VERA, via="button")
    decided = await world.gate.decide_card(given, mode="full", ledger=session)
    await session.flush()
    assert decided.outcome is not None, decided
    return decided.outcome


@pytest.mark.parametrize(
    ("method", "params", "dropped", "instead", "unchanged"),
    [
        ("crm.deal.add", {"fields": {"TITLE": "x", "UF_CRM_X": "1"}}, ["UF_CRM_X"], {}, ["UF_CRM_X"]),
        ("crm.deal.add", {"fields": {"TITLE": "x", "OPPORTUNITY": 5}}, [], {"OPPORTUNITY": "0.00"}, ["OPPORTUNITY"]),
        ("crm.deal.add", {"fields": {"TITLE": "x", "OPPORTUNITY": "5.555"}}, [], {"OPPORTUNITY": "5.56"}, []),
        ("crm.deal.add", {"fields": {"TITLE": "x", "STAGE_ID": "WON"}}, [], {"STAGE_ID": "NEW"}, ["STAGE_ID"]),
        ("crm.deal.add", {"fields": {"TITLE": "x", "COMMENTS": "a  b"}}, [], {"COMMENTS": "a b"}, []),
        ("crm.deal.add", {"fields": {"TITLE": "x", "COMMENTS": "a"}}, [], {"COMMENTS": ""}, ["COMMENTS"]),
        ("crm.deal.add", {"fields": {"TITLE": "x", "CONTACT_IDS": [43]}}, ["CONTACT_IDS"], {}, []),
        ("crm.deal.add", {"fields": {"TITLE": "x", "COMMENTS": ""}}, ["COMMENTS"], {}, []),
        ("crm.contact.add", {"fields": {"NAME": "x", "PHONE": [{"VALUE": "+79001112233"}]}}, ["PHONE"], {}, ["PHONE"]),
        ("crm.contact.add", {"fields": {"NAME": "x", "PHONE": [{"VALUE": "+79001112233"}]}}, [], {"PHONE": PHONES}, []),
        ("crm.item.add", {"entityTypeId": 177, "fields": {"title": "x", "ufCrm3Name": "y"}}, ["ufCrm3Name"], {}, ["ufCrm3Name"]),
        ("tasks.task.add", {"fields": {"TITLE": "x", "TAGS": ["a"]}}, ["TAGS"], {}, []),
    ],
)
async def test_what_a_new_record_lacks_is_named(
    world: World, session: Session, method: str, params: dict[str, Any], dropped: list[str], instead: dict[str, Any], unchanged: list[str]
) -> None:
    """Vector 12: only what was sent and is not there; a rounded sum, a tidied text and hidden fields are not blamed."""
    leaves_out(world, method, *dropped, **instead)
    found = await done(world, session, method, params)
    assert (found.status, list(found.unchanged)) == ("succeeded", unchanged)
    if unchanged:
        assert found.reason.code == ("changed-otherwise" if "STAGE_ID" in unchanged else "not-taken")
        words = {"COMMENTS": "«Комментарий»"}
        assert found.reason.args.get("field", unchanged[0]) == words.get(unchanged[0], unchanged[0])
        assert unchanged[0] in found.detail


async def test_a_sum_that_the_rows_recompute_is_told_with_its_value(world: World, session: Session) -> None:
    """Neither the old one nor the new one: the person reads what stands there now."""
    leaves_out(world, "crm.deal.update", OPPORTUNITY="700.00", IS_MANUAL_OPPORTUNITY="N")
    found = await done(world, session, "crm.deal.update", {"id": 481, "fields": {"OPPORTUNITY": 5}})
    assert found.unchanged == ("OPPORTUNITY",)
    assert "OPPORTUNITY is 700.00 now: the portal computes the sum from the product rows" in found.detail


@pytest.mark.parametrize("fields", [{"ufCrm3List": []}, {"ufCrm3List": None}])
async def test_a_list_that_was_to_be_cleared_and_was_not(world: World, session: Session, fields: dict[str, Any]) -> None:
    """An empty list has no effect on a field of several values."""
    world.portal.records["item:177", 5]["ufCrm3List"] = [1, 2]
    leaves_out(world, "crm.item.update", "ufCrm3List")
    found = await done(world, session, "crm.item.update", {"entityTypeId": 177, "id": 5, "fields": fields})
    assert found.unchanged == ("ufCrm3List",)


@pytest.mark.parametrize(
    ("method", "params", "dropped"),
    [
        ("crm.item.update", {"entityTypeId": 3, "id": 43, "fields": {"fm": {"n0": {"typeId": "PHONE", "value": "+7999"}}}}, "fm"),
        ("crm.contact.update", {"id": 43, "fields": {"PHONE": [{"ID": 156, "VALUE": "+7999"}]}}, "PHONE"),
        ("crm.contact.update", {"id": 43, "fields": {"PHONE": [{"ID": 156, "DELETE": "Y"}]}}, "PHONE"),
    ],
)
async def test_a_phone_that_stayed_as_it_was(world: World, session: Session, method: str, params: dict[str, Any], dropped: str) -> None:
    """Vector 19: success and no change, in either family."""
    world.portal.records["contact", 43]["PHONE"] = list(PHONES)
    leaves_out(world, method, dropped)
    found = await done(world, session, method, params)
    assert found.unchanged == (dropped,)


async def test_commands_of_a_batch_are_looked_at_by_their_keys(world: World, session: Session) -> None:
    """Adds and updates; a record that two commands write is left out, and so is a command that failed."""
    leaves_out(world, "crm.deal.add", "UF_CRM_X")
    cmd = {
        "a": "crm.deal.add?fields[TITLE]=A&fields[UF_CRM_X]=1",
        "b": "crm.deal.update?id=482&fields[TITLE]=B",
        "c": "crm.deal.update?id=481&fields[OPPORTUNITY]=5",
        "d": "crm.deal.update?id=481&fields[OPPORTUNITY]=6",
    }
    found = await done(world, session, "batch", {"cmd": cmd})
    assert found.unchanged == ("a: UF_CRM_X",)
    assert found.reason.args["field"] == "UF_CRM_X"


async def test_a_new_record_that_cannot_be_read_is_not_blamed(world: World, session: Session) -> None:
    """The add stands, and the detail says that nobody looked."""
    world.portal.will("crm.deal.get", *[cut] * 9)
    found = await done(world, session, "crm.deal.add", {"fields": {"TITLE": "x", "COMMENTS": "y"}})
    assert (found.status, found.unchanged) == ("succeeded", ())
    assert "could not be read back" in found.detail


async def test_an_answer_without_a_number_is_not_looked_up(world: World, session: Session) -> None:
    """Nothing is read for a record that nobody can name."""

    async def odd(*_: Any) -> httpx.Response:
        return httpx.Response(200, json={"result": {"id": None}})

    world.portal.will("crm.deal.add", odd)
    found = await world.submit(session, effect("crm.deal.add", {"fields": {"TITLE": "x"}}), actor=ANNA)
    assert (found.status, found.unchanged, found.detail) == ("succeeded", (), "")


@pytest.mark.parametrize(
    ("fields", "instead", "told"),
    [
        ({"STAGE_ID": "WON"}, {"STAGE_ID": "NEW"}, "Стадия: Новая"),
        ({"OPPORTUNITY": 150000}, {"OPPORTUNITY": "90000.00"}, "Сумма: 90 000 ₽"),
        ({"ASSIGNED_BY_ID": 9}, {"ASSIGNED_BY_ID": "8"}, "Ответственный: Борис Седов"),
    ],
)
async def test_what_a_robot_made_of_a_change_is_told_as_it_is_now(
    world: World, session: Session, fields: dict[str, Any], instead: dict[str, Any], told: str
) -> None:
    """A value that something in the portal replaced before the answer came is told in words, never as done or as not changed."""
    world.portal.records["deal", 481]["STAGE_ID"] = "EXECUTING"
    leaves_out(world, "crm.deal.update", **instead)
    found = await done(world, session, "crm.deal.update", {"id": 481, "fields": fields})
    assert found.reason.code == "changed-otherwise"
    assert found.reason.args["values"].replace("\xa0", " ") == told
    assert list(world.events("CallSucceeded")[-1].data["now"]) == list(fields)
    (entry,) = session.state.agent.confirmations.values()
    shown = to_plain_text(render_card(CardView.from_body(card(session, entry.confirmation_id).to_stored()), Translator("ru"))).replace(
        "\xa0", " "
    )
    assert f"⚠️ Битрикс24 сразу поставил другое значение, сейчас: {told}" in shown
    assert "не изменил" not in shown


async def test_a_field_of_the_company_that_stayed_is_named_by_its_title(world: World, session: Session) -> None:
    """The person reads «Площадка», not the code of the field."""
    leaves_out(world, "crm.deal.update", "UF_CRM_X")
    world.portal.records["deal", 481]["UF_CRM_X"] = "Север"
    own = {"type": "string", "title": "UF_CRM_X", "formLabel": "Площадка", "isDynamic": True}
    world.portal.will("crm.deal.fields", *[says(200, {"result": {"UF_CRM_X": own}})] * 9)
    found = await done(world, session, "crm.deal.update", {"id": 481, "fields": {"UF_CRM_X": "Юг"}})
    assert found.reason == Notice(code="not-changed", args={"field": "«Площадка»", "more": 0})
    assert "поле «Площадка»" in Translator("ru").translate_notice(found.reason)
