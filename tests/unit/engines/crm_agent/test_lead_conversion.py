"""`lead.convert`: one step, one card, and in the sandbox portal a company, a contact and a deal; a lead that cannot be converted is told."""

from collections.abc import AsyncIterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, cast

import httpx
import pytest

from orchestrator.directory.lead_conversion import CONVERT, build_commands
from sandbox.portal.app import create_app
from sandbox.portal.portal import Settings
from state.model.card import Card
from tests.unit.gate.sandbox_kit import Wire, clock
from tests.unit.runtime.group_kit import last_card
from tests.unit.runtime.group_kit import read as read_card
from tests.unit.spine_kit import CHAT, VERA, World, a_world, message, press, reply, step
from tests.unit.spine_portal import Portal

PHONE = "+7 916 000-11-22"
DISMISSED = 11
OTHER = VERA.key
LEAD = {
    "TITLE": "Гранит",
    "NAME": "Пётр",
    "LAST_NAME": "Орлов",
    "COMPANY_TITLE": "ООО Гранит",
    "PHONE": [{"VALUE": PHONE, "VALUE_TYPE": "WORK"}],
    "OPPORTUNITY": 300000,
    "CURRENCY_ID": "RUB",
    "SOURCE_ID": "CALL",
    "ASSIGNED_BY_ID": 7,
}


@dataclass
class Desk:
    """The whole product over a sandbox portal."""

    world: World
    wire: Wire

    async def ask(self, method: str, **params: Any) -> Any:
        """A look at the portal, past the gate."""
        return (await self.world.client.call(method, params, repeatable=True)).result


@pytest.fixture
async def desk(tmp_path: Path) -> AsyncIterator[Desk]:
    app = create_app(Settings(bucket=None, clock=clock))
    wire = Wire(httpx.ASGITransport(app))
    async with a_world(tmp_path, portal=cast("Portal", wire)) as world:
        yield Desk(world, wire)
    await app.state.portal.events.aclose()
    app.state.portal.close()


async def make(desk: Desk, kind: str, **fields: Any) -> int:
    return int((await desk.world.client.call(f"crm.{kind}.add", {"fields": fields})).result)


async def ask(desk: Desk, lead: int, *more: str, **place: Any) -> list[Any]:
    """What is sent to the person who asks for the conversion."""
    desk.world.model.will(reply(step(CONVERT, {"lead": lead})), *[reply(text=text) for text in more])
    await desk.world.work(message(f"преврати лид {lead} в сделку", **place))
    return list(desk.world.outbox())


async def choose(desk: Desk, row: Any, option: int) -> list[Any]:
    question = row.body["choices"][0]["token"].rpartition(":")[0]
    await desk.world.work(message("", answers=question, option=option, origin="choice"))
    return list(desk.world.outbox())


async def find_card(desk: Desk, key: str = CHAT) -> Card:
    session = await desk.world.session(key)
    (card,) = [card for card in session.state.cards.values() if card.is_waiting]
    await session.close()
    return card


async def approve(desk: Desk) -> None:
    card = await find_card(desk)
    desk.world.model.will_go_on(reply(text=""))
    await desk.world.work(press(card))


async def read(desk: Desk, kind: str, number: object) -> dict[str, Any]:
    return dict(await desk.ask(f"crm.{kind}.get", id=number))


async def find_new_deal(desk: Desk) -> dict[str, Any]:
    rows = await desk.ask("crm.deal.list", filter={"TITLE": "Гранит"}, select=["ID"])
    assert len(rows) == 1
    return await read(desk, "deal", rows[0]["ID"])


def list_codes(rows: list[Any]) -> list[str]:
    return [notice["code"] for row in rows for notice in row.body.get("notices", ())]


async def test_one_card_makes_all_of_a_lead(desk: Desk) -> None:
    """Company, contact and deal with the lead's values and person, tied to each other; the lead is marked as converted."""
    lead = await make(desk, "lead", **LEAD)
    await ask(desk, lead)
    await approve(desk)
    deal = await find_new_deal(desk)
    assert [deal[name] for name in ("OPPORTUNITY", "CURRENCY_ID", "SOURCE_ID", "ASSIGNED_BY_ID")] == ["300000.00", "RUB", "CALL", "7"]
    contact, company = await read(desk, "contact", deal["CONTACT_ID"]), await read(desk, "company", deal["COMPANY_ID"])
    assert (contact["LAST_NAME"], contact["COMPANY_ID"], contact["PHONE"][0]["VALUE"]) == ("Орлов", company["ID"], PHONE)
    assert company["TITLE"] == "ООО Гранит"
    after = await read(desk, "lead", lead)
    assert (after["STATUS_ID"], after["CONTACT_ID"], after["COMPANY_ID"]) == ("CONVERTED", contact["ID"], company["ID"])


async def test_a_known_customer_is_offered_and_never_the_lead_itself(desk: Desk) -> None:
    """The contact with that phone can be taken, with its company; nothing is made twice."""
    company = await make(desk, "company", TITLE="Гранит-Строй", ASSIGNED_BY_ID=7)
    contact = await make(
        desk,
        "contact",
        NAME="Пётр",
        LAST_NAME="Орлов",
        COMPANY_ID=company,
        ASSIGNED_BY_ID=7,
        PHONE=[{"VALUE": PHONE, "VALUE_TYPE": "WORK"}],
    )
    lead = await make(desk, "lead", **LEAD)
    (question,) = await ask(desk, lead)
    labels = [choice["label"] for choice in question.body["choices"]]
    assert labels == [f"Взять: Пётр Орлов, Гранит-Строй · контакт №{contact}", "Создать новую запись"]
    await choose(desk, question, 0)
    await approve(desk)
    deal = await find_new_deal(desk)
    assert (deal["CONTACT_ID"], deal["COMPANY_ID"]) == (str(contact), str(company))
    assert await desk.ask("crm.company.list", filter={"TITLE": "ООО Гранит"}, select=["ID"]) == []


async def test_a_company_of_the_same_name_is_offered(desk: Desk) -> None:
    """Without a common phone: the title alone is enough to ask, and a new one is made if the person wants it."""
    known = await make(desk, "company", TITLE="ООО Гранит", ASSIGNED_BY_ID=7)
    lead = await make(desk, "lead", **LEAD)
    (question,) = await ask(desk, lead)
    assert [choice["label"] for choice in question.body["choices"]] == [f"Взять: ООО Гранит · компания №{known}", "Создать новую запись"]
    await choose(desk, question, 1)
    await approve(desk)
    assert (await find_new_deal(desk))["COMPANY_ID"] != str(known)


async def test_a_lead_without_customer_becomes_a_deal_alone(desk: Desk) -> None:
    """No empty company and no nameless contact is made."""
    lead = await make(desk, "lead", TITLE="Гранит", ASSIGNED_BY_ID=7)
    await ask(desk, lead)
    card = await find_card(desk)
    assert [item["method"] for item in (card.preview or {})["items"]] == ["crm.deal.add", "crm.lead.update"]
    await approve(desk)
    assert (await read(desk, "lead", lead))["STATUS_ID"] == "CONVERTED"


async def test_records_of_a_person_who_left_go_to_the_one_who_asks(desk: Desk) -> None:
    """Failed first: the portal's rules refuse a new record of a dismissed employee, so such a lead could not be converted."""
    lead = await make(desk, "lead", **{**LEAD, "ASSIGNED_BY_ID": DISMISSED})
    desk.world.model.will(reply(step(CONVERT, {"lead": lead})))
    await desk.world.work(message(f"преврати лид {lead} в сделку", actor=VERA))
    card = await find_card(desk)
    desk.world.model.will_go_on(reply(text=""))
    await desk.world.work(press(card, actor=VERA))
    assert (await find_new_deal(desk))["ASSIGNED_BY_ID"] == "6"


@pytest.mark.parametrize(
    ("fields", "code"),
    [
        ({"STATUS_ID": "CONVERTED"}, "lead-converted"),
        ({"STATUS_ID": "JUNK"}, "lead-junk"),
        ({"ASSIGNED_BY_ID": 8}, "gate-not-yours"),
        ({"NAME": "$result[deal]"}, "lead-unwritable"),
        ({"COMPANY_TITLE": "ООО $Result [lead]"}, "lead-unwritable"),
        (None, "gate-not-found"),
    ],
)
async def test_a_lead_that_cannot_be_converted_is_told_before_any_card(desk: Desk, fields: dict[str, Any] | None, code: str) -> None:
    lead = await make(desk, "lead", **{**LEAD, **fields}) if fields is not None else 987654
    writes = len(desk.wire.writes())
    rows = await ask(desk, lead, "Не вышло.")
    assert code in list_codes(rows)
    assert not [row for row in rows if row.kind == "card"]
    assert len(desk.wire.writes()) == writes


async def test_what_is_not_taken_over_is_said(desk: Desk) -> None:
    """Products stay in the lead, and the person reads so beside the card."""
    lead = await make(desk, "lead", TITLE="Гранит", ASSIGNED_BY_ID=7)
    await desk.world.client.call("crm.lead.productrows.set", {"id": lead, "rows": [{"PRODUCT_NAME": "Насос", "PRICE": 5}]})
    assert "lead-products-left" in list_codes(await ask(desk, lead))


@pytest.mark.parametrize(("comment", "is_carried"), [("Хочет пилораму", True), ("см. $result[deal]", False), ("я" * 3000, False)])
async def test_the_comment_of_a_lead_goes_along_where_a_batch_can_carry_it(desk: Desk, comment: str, *, is_carried: bool) -> None:
    """The wish of the customer stands in the deal; one that cannot be carried stops nothing, and is said to stay in the lead."""
    lead = await make(desk, "lead", TITLE="Гранит", ASSIGNED_BY_ID=7, COMMENTS=comment)
    told = list_codes(await ask(desk, lead))
    await approve(desk)
    assert ("lead-comment-left" in told) is not is_carried
    assert ((await find_new_deal(desk)).get("COMMENTS") == comment) is is_carried


async def test_a_failed_deal_leaves_the_lead_in_work(desk: Desk) -> None:
    """The batch stops at the first error: a lead without a deal is not marked as converted."""
    lead = await make(desk, "lead", **LEAD)
    await ask(desk, lead)
    await desk.world.client.call("crm.lead.update", {"id": lead, "fields": {"ASSIGNED_BY_ID": 8}})
    card = await find_card(desk)
    await desk.world.work(press(card))
    assert (await read(desk, "lead", lead))["STATUS_ID"] == "NEW"
    assert await desk.ask("crm.deal.list", filter={"TITLE": "Гранит"}, select=["ID"]) == []


async def test_a_lead_that_a_colleague_converted_meanwhile_is_not_converted_twice(desk: Desk) -> None:
    """The second of two cards says why it made nothing, in place of asking whether to make all records again."""
    lead = await make(desk, "lead", **LEAD)
    await ask(desk, lead)
    await ask(desk, lead, key=OTHER, actor=VERA)
    mine, hers = await find_card(desk), await find_card(desk, OTHER)
    desk.world.model.will_go_on(reply(text=""), reply(text=""))
    await desk.world.work(press(hers, actor=VERA, key=OTHER))
    desk.world.outbox()
    await desk.world.work(press(mine))
    assert len(await desk.ask("crm.deal.list", filter={"TITLE": "Гранит"}, select=["ID"])) == 1
    refused = [event.data for event in desk.world.events("CallRefused")]
    assert [(event["code"], event["args"]["id"]) for event in refused] == [("lead-converted", lead)]
    assert "уже превращён" in read_card(last_card(desk.world.outbox()))


async def test_the_lead_that_the_person_speaks_of_is_no_duplicate_of_its_contact(desk: Desk) -> None:
    """Failed before: of the model's own contact for a lead the person was asked whether to take that same lead instead."""
    lead = await make(desk, "lead", **LEAD)
    add = step("crm.contact.add", {"fields": {"NAME": "Пётр", "LAST_NAME": "Орлов", "PHONE": LEAD["PHONE"]}})
    desk.world.model.will(reply(add))
    await desk.world.work(message(f"создай контакт Пётр Орлов {PHONE} по лиду {lead}"))
    rows = desk.world.outbox()
    assert not [row for row in rows if row.body.get("choices")]
    assert [row.kind for row in rows if row.kind == "card"] == ["card"]


async def test_a_lead_of_somebody_elses_words_is_asked_about(desk: Desk) -> None:
    """A new lead with the phone of a known one is a duplicate, whether or not that one was named."""
    lead = await make(desk, "lead", **LEAD)
    desk.world.model.will(reply(step("crm.lead.add", {"fields": {"TITLE": "Гранит", "PHONE": LEAD["PHONE"]}})))
    await desk.world.work(message(f"заведи лид Гранит {PHONE}, как лид {lead}"))
    assert [row for row in desk.world.outbox() if row.body.get("choices")]


def test_the_commands_run_in_the_order_of_their_keys() -> None:
    """A recorded plan stores them sorted, and each may only use what was made before it."""
    commands = build_commands(161, LEAD, company=0, contact=0)
    assert list(commands) == sorted(commands) == ["company", "contact", "deal", "lead"]
    assert "PHONE" not in str(commands["company"])
