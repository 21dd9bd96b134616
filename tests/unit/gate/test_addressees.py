"""A call or letter that names somebody who is no customer of the record, or an address that is not theirs, says so on its card."""

from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from bot.i18n.translate import Translator
from orchestrator.domain.actor import Actor
from orchestrator.domain.effect import Outcome, Pending, Provenance
from tests.unit.gate.sandbox_kit import Desk, a_desk
from tests.unit.spine_kit import effect

BORIS = Actor(key="tg:1007", name="Борис Орлов", bitrix_user_id=7)
DEAL, FOREIGN_DEAL, CONTACT, STRANGER, COMPANY = 423, 410, 46, 76, 12
PHONE, MAIL = "+7 495 555-10-13", "popova@example.ru"
PAST = {"START_TIME": "2026-11-20T10:00:00+03:00", "END_TIME": "2026-11-20T10:05:00+03:00"}
CALL = {"OWNER_TYPE_ID": 2, "OWNER_ID": DEAL, "TYPE_ID": 2, "COMPLETED": "Y", "DIRECTION": 2, "SUBJECT": "Звонок", **PAST}
LETTER = {**CALL, "TYPE_ID": 4, "DESCRIPTION": "Счёт во вложении"}


@pytest.fixture
async def desk(tmp_path: Path) -> AsyncIterator[Desk]:
    """A deal with one contact of the person, and a contact of theirs that is not linked to it."""
    async with a_desk(tmp_path) as made:
        for number, last in ((CONTACT, "Попова"), (STRANGER, "Котова")):
            fields = {"NAME": "Елена", "LAST_NAME": last, "ASSIGNED_BY_ID": 7, "PHONE": [], "EMAIL": []}
            await made.world.client.call("crm.contact.update", {"id": number, "fields": fields}, repeatable=False)
        held = {"PHONE": [{"VALUE": PHONE, "VALUE_TYPE": "WORK"}], "EMAIL": [{"VALUE": MAIL, "VALUE_TYPE": "WORK"}]}
        await made.world.client.call("crm.contact.update", {"id": CONTACT, "fields": held}, repeatable=False)
        made.wire.sent.clear()
        yield made


async def log(desk: Desk, fields: dict[str, Any], *talk: Any, method: str = "crm.activity.add", **more: Any) -> Outcome | Pending:
    """A call or letter with the addressees that the model chose; the person named all records."""
    desk.count += 1
    named = frozenset(f"{kind}:{number}" for kind in ("deal", "contact", "company", "activity") for number in range(500))
    provenance = Provenance(message=None, targets=named, person_text="запиши")
    params = {**more, "fields": {**fields, "COMMUNICATIONS": list(talk)}}
    given = effect(method, params, slot=f"t1/1/{desk.count}").model_copy(update={"provenance": provenance})
    return await desk.world.submit(desk.session, given, actor=BORIS)


def name(number: int, value: str = "", *, kind: int = 3) -> dict[str, Any]:
    return {"ENTITY_TYPE_ID": kind, "ENTITY_ID": number, **({"VALUE": value} if value else {})}


def find_codes(found: Outcome | Pending) -> set[str]:
    assert isinstance(found, Pending), found
    return {one.code for one in found.reasons}


@pytest.mark.parametrize("value", ["", PHONE, "8 (495) 555 10 13", MAIL.upper()])
async def test_a_call_with_a_contact_of_the_record_by_its_own_phone_asks_nothing(desk: Desk, value: str) -> None:
    """However the phone is written."""
    assert (await log(desk, CALL, name(CONTACT, value))).status == "succeeded"


async def test_a_call_with_somebody_who_is_no_contact_of_the_record_asks_and_names_them(desk: Desk) -> None:
    found = await log(desk, CALL, name(STRANGER))
    assert find_codes(found) == {"gate-call-stranger"}
    assert isinstance(found, Pending)
    (reason,) = found.reasons
    assert Translator("ru").translate(reason.code, **reason.args) == "Такого клиента у записи нет: «Елена Котова»"
    assert [sent for sent in desk.wire.writes() if sent[0] != "batch"] == []


async def test_one_more_contact_of_the_deal_is_no_stranger(desk: Desk) -> None:
    """Also one that is not the main contact."""
    link = {"id": DEAL, "fields": {"CONTACT_ID": STRANGER, "SORT": 20, "IS_PRIMARY": "N"}}
    await desk.world.client.call("crm.deal.contact.add", link, repeatable=False)
    assert (await log(desk, CALL, name(STRANGER))).status == "succeeded"


@pytest.mark.parametrize(
    ("fields", "talk", "codes"),
    [
        (CALL, name(CONTACT, "+7 900 000-00-01"), {"gate-address-foreign"}),
        (LETTER, name(CONTACT, "attacker@mail.example"), {"gate-address-foreign", "gate-class-outward"}),
        (LETTER, name(CONTACT, "Елена Попова"), {"gate-address-foreign", "gate-class-outward"}),
        (LETTER, name(CONTACT, MAIL), {"gate-class-outward"}),
        (LETTER, {"VALUE": "attacker@mail.example", "TYPE": "EMAIL"}, {"gate-address-nobody", "gate-class-outward"}),
        (LETTER, name(STRANGER, "attacker@mail.example"), {"gate-address-foreign", "gate-call-stranger", "gate-class-outward"}),
    ],
)
async def test_an_address_that_is_not_the_customers_own_is_named_on_the_card(
    desk: Desk, fields: dict[str, Any], talk: dict[str, Any], codes: set[str]
) -> None:
    """A text of a customer cannot send a letter elsewhere in silence."""
    found = await log(desk, fields, talk)
    assert find_codes(found) == codes
    assert [sent for sent in desk.wire.writes() if sent[0] != "batch"] == []


async def test_the_name_in_a_meeting_is_no_address(desk: Desk) -> None:
    """The vendor keeps names there."""
    assert (await log(desk, {**CALL, "TYPE_ID": 1}, name(CONTACT, "Елена Попова"))).status == "succeeded"


async def test_each_of_several_addressees_is_looked_at(desk: Desk) -> None:
    found = await log(desk, LETTER, name(CONTACT, MAIL), name(CONTACT, "attacker@mail.example"))
    assert find_codes(found) == {"gate-address-foreign", "gate-class-outward"}


async def test_a_changed_call_is_held_against_the_card_on_which_it_stands(desk: Desk) -> None:
    logged = await log(desk, CALL, name(CONTACT))
    assert isinstance(logged, Outcome)
    number = int(logged.created.partition(":")[2])
    found = [await log(desk, {}, name(one), method="crm.activity.update", id=number) for one in (STRANGER, CONTACT)]
    assert ["gate-call-stranger" in find_codes(one) for one in found] == [True, False]


@pytest.mark.parametrize(
    ("talk", "code"),
    [
        (name(999_999), "gate-not-found"),
        (name(DEAL, kind=2), "gate-param-invalid"),
        ({"ENTITY_ID": CONTACT}, "gate-param-invalid"),
        ("+7 495 555-10-13", "gate-param-invalid"),
        ({"ENTITY_TYPE_ID": 3, "ENTITYID": CONTACT}, "gate-param-unknown"),
        ({**name(CONTACT), "EMAIL": "attacker@mail.example"}, "gate-param-unknown"),
    ],
)
async def test_what_no_portal_understands_is_refused(desk: Desk, talk: Any, code: str) -> None:
    """An unknown key would be left out in silence; a contact that is not there would be nobody."""
    found = await log(desk, CALL, talk)
    assert isinstance(found, Outcome)
    assert found.reason is not None
    assert found.reason.code == code
    if code == "gate-param-unknown":
        assert "ENTITY_TYPE_ID, ENTITY_ID, TYPE, VALUE" in found.detail


@pytest.mark.parametrize("more", [{"OWNER_TYPE": 2}, {"ENTITY_ID": DEAL, "ENTITY_TYPE_ID": 2}])
async def test_an_unknown_key_of_a_binding_is_refused(desk: Desk, more: dict[str, Any]) -> None:
    """In a call that is written and in a list that is read."""
    binding = {"OWNER_ID": DEAL, "OWNER_TYPE_ID": 2, **more}
    written = await log(desk, {**CALL, "BINDINGS": [binding]}, name(CONTACT))
    for found in (written, await desk.wish("crm.activity.list", {"filter": {"BINDINGS": [binding]}})):
        assert isinstance(found, Outcome)
        assert found.reason is not None
        assert found.reason.code == "gate-param-unknown"
        assert "OWNER_TYPE_ID, OWNER_ID" in found.detail
