"""What a manager may do beyond the own records: own comments, customers of own open deals, calls that took place, own calendar."""

from collections.abc import AsyncIterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import httpx
import pytest

from orchestrator.domain.actor import Actor, Mode
from orchestrator.domain.effect import Outcome, Pending, Provenance
from orchestrator.gate.approve.confirmations import Decision, calculate_second_nonce
from orchestrator.gate.call.effect import Call, Facts, Refuse
from orchestrator.gate.call.policy import Policy
from orchestrator.gate.decide.decide import evaluate
from state.model.card import Card
from tests.unit.gate.gate_kit import ANNA, made
from tests.unit.gate.gate_kit import effect as plain
from tests.unit.gate.sandbox_kit import Desk, a_desk
from tests.unit.spine_kit import effect

BORIS = Actor(key="tg:1007", name="Борис", bitrix_user_id=7)
OTHER = Actor(key="tg:1008", name="Вера", bitrix_user_id=8)
OTHER_ACCOUNT = Actor(key="tg:2007", name="Борис", bitrix_user_id=7)
DEAL, CONTACT, COMPANY = 423, 46, 24
"""An open deal of employee 7, its contact and its company."""
FOREIGN_DEAL = 414
SECOND = 47
"""A contact that no deal of employee 7 is linked to."""
OWN = 45


@pytest.fixture
async def desk(tmp_path: Path) -> AsyncIterator[Desk]:
    """A sandbox with the shipped policy, where the customers of the deal belong to employee 8."""
    async with a_desk(tmp_path) as made_desk:
        await _hand_over(made_desk)
        yield made_desk


async def _hand_over(desk: Desk) -> None:
    for method, number in (("crm.contact.update", CONTACT), ("crm.company.update", COMPANY), ("crm.contact.update", SECOND)):
        await desk.world.client.call(method, {"id": number, "fields": {"ASSIGNED_BY_ID": 8}}, repeatable=False)
    for row in await desk.ask("crm.deal.list", filter={"CONTACT_ID": SECOND}):
        await change(desk, "crm.deal.update", int(row["ID"]), ASSIGNED_BY_ID=8)
    desk.wire.sent.clear()


async def change(desk: Desk, method: str, number: int, **fields: Any) -> None:
    """Somebody changes a record in the portal."""
    await desk.world.client.call(method, {"id": number, "fields": fields}, repeatable=False)


async def wish(desk: Desk, method: str, params: dict[str, Any], *, actor: Actor = BORIS, mode: Mode = "full") -> Outcome | Pending:
    """One effect of somebody who sees the own records only; the person named the records."""
    desk.count += 1
    named = frozenset(f"{kind}:{number}" for kind in ("deal", "contact", "company", "comment") for number in range(500))
    given = effect(method, params, slot=f"t1/1/{desk.count}", provenance=Provenance(message=None, targets=named, person_text="сделай"))
    return await desk.world.submit(desk.session, given, actor=actor, mode=mode)


def code(found: Outcome | Pending) -> str:
    """The code of a refusal, of the command where it is one of a batch."""
    assert found.status == "refused", found
    return str(found.reason.args.get("reason", found.reason.code))


async def press(desk: Desk, pending: Outcome | Pending, actor: Actor = BORIS) -> Outcome:
    """What comes of a yes, with the second tap where it is asked for."""
    entry = desk.card(pending)
    nonce = calculate_second_nonce(entry.nonce) if entry.taps > 1 else entry.nonce
    given = Decision(confirmation_id=entry.confirmation_id, nonce=nonce, approve=True, actor=actor, via="button", saw_all=True)
    decided = await desk.world.gate.decide_card(given, mode="full", ledger=desk.session)
    await desk.session.flush()
    assert decided.outcome is not None, decided
    return decided.outcome


async def add_comment(desk: Desk, number: int = DEAL, *, actor: Actor = BORIS) -> int:
    """The id of a comment that somebody let the bot write."""
    fields = {"ENTITY_TYPE": "deal", "ENTITY_ID": number, "COMMENT": "Звонил"}
    found = await wish(desk, "crm.timeline.comment.add", {"fields": fields}, actor=actor)
    return int(found.created.partition(":")[2])


def written(desk: Desk) -> list[str]:
    """The names of the sent methods that change something, also of those within a batch."""
    names = (
        command.partition("?")[0] for name, sent in desk.wire.sent for command in (sent["cmd"].values() if name == "batch" else [name])
    )
    return [name for name in names if name.endswith((".add", ".update", ".delete"))]


def update(number: int) -> tuple[str, dict[str, Any]]:
    """A new text of a comment."""
    return "crm.timeline.comment.update", {"id": number, "fields": {"COMMENT": "Звонил дважды"}}


def delete(number: int) -> tuple[str, dict[str, Any]]:
    """The deletion of a comment."""
    return "crm.timeline.comment.delete", {"id": number}


@pytest.mark.req("S004-26")
@pytest.mark.parametrize("actor", [BORIS, OTHER_ACCOUNT])
async def test_who_wrote_a_comment_through_the_bot_changes_and_deletes_it(
    desk: Desk, actor: Actor, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The portal calls the bot's own account its author; the journal knows better, also under another account of the same employee."""
    people = {one.key: one for one in (BORIS, OTHER_ACCOUNT)}
    monkeypatch.setattr(desk.world.gate, "_deps", replace(desk.world.gate.deps, present=lambda one: people.get(one.key)))
    number = await add_comment(desk)
    changed = await wish(desk, *update(number), actor=actor)
    (line,) = desk.card(changed).preview["lines"]
    assert (line["before"], line["after"]) == ("Звонил", "Звонил дважды")
    assert (await press(desk, changed, actor)).status == "succeeded"
    deleted = await wish(desk, *delete(number), actor=actor)
    entry = desk.card(deleted)
    assert (entry.taps, entry.preview["verb"], entry.preview["title"]) == (2, "delete", "Звонил дважды")
    assert entry.before[f"comment:{number}"]["COMMENT"] == "Звонил дважды"
    assert (await press(desk, deleted, actor)).status == "succeeded"
    assert written(desk) == ["crm.timeline.comment.add", update(number)[0], delete(number)[0]]


@pytest.mark.req("S004-26")
@pytest.mark.parametrize("act", [update, delete])
async def test_nobody_touches_a_comment_of_somebody_else(desk: Desk, act: Any) -> None:
    """A colleague's through the bot, a colleague's by hand, one that is not there, all of a batch, and by an id that another command gives."""
    await change(desk, "crm.deal.update", DEAL, ASSIGNED_BY_ID=8)
    theirs = await add_comment(desk, actor=OTHER)
    await change(desk, "crm.deal.update", DEAL, ASSIGNED_BY_ID=7)
    mine, by_hand = await add_comment(desk), await by_somebody(desk, 8)
    desk.wire.sent.clear()
    for number in (theirs, by_hand):
        assert code(await wish(desk, *act(number))) == "gate-not-author"
    assert code(await wish(desk, *act(9999))) in {"gate-not-found", "gate-not-author"}
    both = {key: f"{method}?id={params['id']}&fields[COMMENT]=x" for key, (method, params) in {"a": act(mine), "b": act(theirs)}.items()}
    if act is delete:
        both = {key: value.partition("&")[0] for key, value in both.items()}
    assert code(await wish(desk, "batch", {"cmd": both})) == "gate-not-author"
    list_first = {"a": f"crm.timeline.comment.list?filter[ENTITY_TYPE]=deal&filter[ENTITY_ID]={DEAL}"}
    by_reference = {**list_first, "b": next(iter(both.values())).replace(f"id={mine}", "id=$result[a][0][ID]")}
    assert code(await wish(desk, "batch", {"cmd": by_reference})) in {"gate-target-unclear", "gate-batch-delete"}
    assert written(desk) == []


async def by_somebody(desk: Desk, user: int) -> int:
    """The id of a comment that an employee wrote in the portal."""
    number = int(
        (
            await desk.world.client.call(
                "crm.timeline.comment.add", {"fields": {"ENTITY_TYPE": "deal", "ENTITY_ID": DEAL, "COMMENT": "Сам"}}, repeatable=False
            )
        ).result
    )
    row = {**(await desk.ask("crm.timeline.comment.get", id=number)), "AUTHOR_ID": str(user)}
    desk.wire.instead["crm.timeline.comment.get"] = httpx.Response(200, json={"result": row, "time": {}})
    return number


async def test_a_comment_written_by_hand_is_of_its_author_unless_that_is_the_bots_account(desk: Desk) -> None:
    """Where an employee's webhook carries the bot, the portal calls that employee the author of what everybody lets the bot write."""
    number = await by_somebody(desk, 7)
    assert isinstance(await wish(desk, *update(number)), Pending)
    desk.wire.instead["profile"] = httpx.Response(200, json={"result": {"ID": "7"}, "time": {}})
    assert code(await wish(desk, update(number)[0], {"id": number, "fields": {"COMMENT": "Другое"}})) == "gate-not-author"
    assert code(await wish(desk, *delete(number))) == "gate-not-author"


@pytest.mark.parametrize("act", [update, delete])
async def test_the_own_comment_on_a_deal_that_went_to_a_colleague_stays(desk: Desk, act: Any) -> None:
    """Both must hold, to have written it and to hold its deal, also when the card is approved."""
    number = await add_comment(desk)
    pending = await wish(desk, *act(number))
    await change(desk, "crm.deal.update", DEAL, ASSIGNED_BY_ID=8)
    desk.wire.sent.clear()
    found = await press(desk, pending)
    assert (found.status, found.reason and found.reason.code) == ("refused", "gate-not-yours")
    assert code(await wish(desk, *act(number))) == "gate-not-yours"
    assert written(desk) == []


async def test_deleting_stays_closed_where_the_policy_says_so_and_for_every_other_kind(tmp_path: Path) -> None:
    """The switch opens comments only, and only one's own."""
    async with a_desk(tmp_path, policy={"delete_own_comments": False}) as desk:
        assert code(await wish(desk, *delete(await add_comment(desk)))) == "gate-delete"
    async with a_desk(tmp_path, policy={}) as desk:
        number = await add_comment(desk)
        assert code(await wish(desk, "crm.deal.delete", {"id": DEAL})) == "gate-delete"
        assert code(await wish(desk, *delete(number), mode="canary")) == "gate-mode"
        planned = await wish(desk, *delete(number), mode="shadow")
        assert planned.status == "planned"


READS: list[tuple[str, dict[str, Any]]] = [
    ("crm.contact.get", {"id": CONTACT}),
    ("crm.item.get", {"entityTypeId": 3, "id": CONTACT}),
    ("crm.company.get", {"id": COMPANY}),
    ("crm.requisite.list", {"filter": {"ENTITY_TYPE_ID": 4, "ENTITY_ID": COMPANY}}),
    ("crm.address.list", {"filter": {"ANCHOR_TYPE_ID": 4, "ANCHOR_ID": COMPANY}}),
    ("crm.requisite.get", {"id": 64}),
    ("crm.requisite.bankdetail.list", {"filter": {"ENTITY_ID": 64}}),
]


@pytest.fixture
async def linked(desk: Desk) -> Desk:
    """The company has requisites."""
    row = {"ID": "64", "ENTITY_TYPE_ID": "4", "ENTITY_ID": str(COMPANY), "NAME": "Организация", "CREATED_BY_ID": "1"}
    desk.wire.instead["crm.requisite.get"] = httpx.Response(200, json={"result": row, "time": {}})
    for method in ("crm.address.list", "crm.requisite.bankdetail.list"):
        desk.wire.instead[method] = httpx.Response(200, json={"result": [], "total": 0, "time": {}})
    return desk


@pytest.mark.req("S004-26")
@pytest.mark.parametrize(("method", "params"), READS)
async def test_customers_of_an_own_open_deal_are_read_and_those_of_a_closed_one_are_not(
    linked: Desk, method: str, params: dict[str, Any]
) -> None:
    """Whoever is responsible for them; a colleague without such a deal reads nothing of them, and the end of the deal ends the right."""
    found = await wish(linked, method, params)
    assert found.status == "succeeded", found
    stranger = Actor(key="tg:9", name="Глеб", bitrix_user_id=9)
    assert code(await wish(linked, method, params, actor=stranger)) == "gate-not-yours"
    await change(linked, "crm.deal.update", DEAL, STAGE_ID="WON")
    assert (await linked.ask("crm.deal.get", id=DEAL))["CLOSED"] == "Y"
    assert code(await wish(linked, method, params)) == "gate-not-yours"


@pytest.mark.parametrize(
    ("method", "params"),
    [
        ("crm.contact.update", {"id": CONTACT, "fields": {"NAME": "x"}}),
        ("crm.item.update", {"entityTypeId": 3, "id": CONTACT, "fields": {"name": "x"}}),
        ("crm.timeline.comment.add", {"fields": {"ENTITY_TYPE": "contact", "ENTITY_ID": CONTACT, "COMMENT": "x"}}),
        ("crm.timeline.comment.list", {"filter": {"ENTITY_TYPE": "contact", "ENTITY_ID": CONTACT}}),
        ("crm.requisite.update", {"id": 64, "fields": {"RQ_INN": "1"}}),
        ("crm.contact.get", {"id": SECOND}),
        ("batch", {"cmd": {"a": f"crm.contact.get?id={CONTACT}", "b": f"crm.contact.get?id={SECOND}"}}),
        ("batch", {"cmd": {"a": f"crm.contact.get?id={CONTACT}", "b": f"crm.contact.update?id={CONTACT}&fields[NAME]=x"}}),
    ],
)
async def test_what_is_read_by_a_deal_gives_no_other_right(linked: Desk, method: str, params: dict[str, Any]) -> None:
    """No change, no timeline, no contact that only a colleague's deal names, alone and in a batch."""
    assert code(await wish(linked, method, params)) == "gate-not-yours"
    assert written(linked) == []


async def test_an_id_out_of_the_answer_of_another_command_proves_nothing(linked: Desk) -> None:
    """Nobody knows beforehand which contact that would be."""
    cmd = {"a": f"crm.deal.get?id={DEAL}", "b": "crm.contact.get?id=$result[a][CONTACT_ID]"}
    assert code(await wish(linked, "batch", {"cmd": cmd})) == "gate-target-unclear"


async def test_a_further_contact_of_a_deal_and_the_contact_of_a_lead_count_too(desk: Desk) -> None:
    """The portal finds a deal by its first contact only."""
    await desk.world.client.call("crm.deal.contact.add", {"id": DEAL, "fields": {"CONTACT_ID": SECOND}}, repeatable=False)
    found = await wish(desk, "crm.contact.get", {"id": SECOND})
    assert found.status == "succeeded"


async def test_a_list_by_ids_gives_those_that_may_be_read_and_every_other_list_only_the_own_ones(desk: Desk) -> None:
    """Neither further conditions nor a named owner open it."""

    async def ids(**given: Any) -> list[int]:
        found = await wish(desk, "crm.contact.list", {"filter": given})
        assert isinstance(found.result, list)
        return [int(row["ID"]) for row in found.result]

    assert await ids(ID=CONTACT) == [CONTACT]
    assert await ids(**{"@ID": [CONTACT, SECOND]}) == [CONTACT]
    assert await ids(ID=SECOND) == []
    assert await ids(ID=CONTACT, ASSIGNED_BY_ID=7) == []
    assert CONTACT not in await ids()
    assert CONTACT not in await ids(**{">ID": 0})
    assert CONTACT not in await ids(**{"!ID": 1})
    assert CONTACT not in await ids(ID=CONTACT, NAME="x")
    assert code(await wish(desk, "crm.contact.list", {"filter": {"ID": CONTACT, "ASSIGNED_BY_ID": 8}})) == "gate-filter-foreign"
    both = await wish(desk, "batch", {"cmd": {"a": f"crm.contact.list?filter[ID]={CONTACT}", "b": "crm.contact.list"}})
    assert isinstance(both.result, dict)
    assert [int(row["ID"]) for row in both.result["a"]] == [CONTACT]
    assert CONTACT not in [int(row["ID"]) for row in both.result["b"]]


async def test_the_contacts_of_a_company_are_those_that_may_be_read(desk: Desk) -> None:
    """A customer who may be opened is not told to be missing; nobody else's contact of the company comes along, nor by more conditions."""
    for row in await desk.ask("crm.contact.list", filter={"COMPANY_ID": COMPANY}):
        await change(desk, "crm.contact.update", int(row["ID"]), COMPANY_ID=1)
    for number in (CONTACT, SECOND, OWN):
        await change(desk, "crm.contact.update", number, COMPANY_ID=COMPANY)
    await change(desk, "crm.contact.update", OWN, ASSIGNED_BY_ID=7)

    async def ids(actor: Actor = BORIS, **given: Any) -> list[int]:
        found = await wish(desk, "crm.contact.list", {"filter": given}, actor=actor)
        assert isinstance(found.result, list)
        return sorted(int(row["ID"]) for row in found.result)

    assert await ids(COMPANY_ID=COMPANY) == await ids(**{"=COMPANY_ID": str(COMPANY)}) == [OWN, CONTACT]
    both = await wish(desk, "batch", {"cmd": {"a": f"crm.contact.list?filter[COMPANY_ID]={COMPANY}", "b": "crm.contact.list"}})
    assert isinstance(both.result, dict)
    assert sorted(int(row["ID"]) for row in both.result["a"]) == [OWN, CONTACT]
    assert CONTACT not in [int(row["ID"]) for row in both.result["b"]]
    for further in ({"!ID": 1}, {">COMPANY_ID": 0}, {"ASSIGNED_BY_ID": 7}):
        assert CONTACT not in await ids(**{"COMPANY_ID": COMPANY, **further})
    assert CONTACT not in await ids(**{"!COMPANY_ID": 1}) + await ids(COMPANY_ID=[COMPANY]) + await ids(**{">COMPANY_ID": COMPANY - 1})
    assert CONTACT not in await ids(Actor(key="tg:9", name="Глеб", bitrix_user_id=9), COMPANY_ID=COMPANY)
    await change(desk, "crm.deal.update", DEAL, STAGE_ID="WON")
    assert await ids(COMPANY_ID=COMPANY) == [OWN]


def test_a_stored_list_by_ids_is_refused_once_the_deal_is_gone() -> None:
    """It waited on a card without a condition on the owner, so its ids are proven anew."""
    asked = plain("crm.contact.list", {"filter": {"@ID": [46]}})
    proposed = made(asked, actor=ANNA)
    assert isinstance(proposed, Call)
    stored = replace(proposed, params={"filter": {"@ID": [46]}}, names_owner=True)
    policy = Policy(read_linked_customers=True)
    fine, _ = evaluate(stored, mode="full", policy=policy, actor=ANNA, facts=Facts(linked=frozenset({("contact", 46)})), effect=asked)
    assert fine.params == {"filter": {"@ID": [46]}}
    _, verdict = evaluate(stored, mode="full", policy=policy, actor=ANNA, facts=Facts(), effect=asked)
    assert isinstance(verdict, Refuse)


async def test_without_the_switch_nothing_is_read_by_a_deal(tmp_path: Path) -> None:
    """And the deals are not even looked at."""
    async with a_desk(tmp_path, policy={"read_linked_customers": False}) as desk:
        await _hand_over(desk)
        assert code(await wish(desk, "crm.contact.get", {"id": CONTACT})) == "gate-not-yours"
        assert not any(name.startswith(("crm.deal.", "crm.lead.")) for name, _ in desk.wire.sent)


CALL = {"OWNER_TYPE_ID": 2, "OWNER_ID": DEAL, "TYPE_ID": 2, "SUBJECT": "Обсудили доставку", "COMPLETED": "Y", "DIRECTION": 1}
PAST = {"START_TIME": "2026-11-20T10:00:00+03:00", "END_TIME": "2026-11-20T10:05:00+03:00"}


@pytest.mark.parametrize("direction", [1, 2])
async def test_a_call_that_took_place_is_noted_with_whom_it_was(desk: Desk, direction: int) -> None:
    """The person says neither the contact nor the phone; the portal would refuse the call without them."""
    found = await wish(desk, "crm.activity.add", {"fields": {**CALL, **PAST, "DIRECTION": direction}})
    assert found.status == "succeeded"
    ((_, sent),) = desk.wire.writes()
    (said,) = sent["fields"]["COMMUNICATIONS"]
    assert (said["ENTITY_TYPE_ID"], said["ENTITY_ID"], said["TYPE"]) == (3, CONTACT, "PHONE")
    assert said["VALUE"] == (await desk.phones(CONTACT))[0]
    assert (sent["fields"]["RESPONSIBLE_ID"], sent["fields"]["DIRECTION"]) == (7, direction)


async def test_a_call_on_the_card_of_a_colleague_is_refused_and_no_phone_is_looked_up(desk: Desk) -> None:
    """Nor one on a contact that is only read by a deal."""
    for owner in ({"OWNER_ID": FOREIGN_DEAL}, {"OWNER_TYPE_ID": 3, "OWNER_ID": CONTACT}):
        assert code(await wish(desk, "crm.activity.add", {"fields": {**CALL, **PAST, **owner}})) == "gate-not-yours"
    assert written(desk) == []


async def test_the_phone_of_a_customer_who_may_not_be_read_is_not_named(tmp_path: Path) -> None:
    """A call does not tell what a read refuses."""
    async with a_desk(tmp_path, policy={"read_linked_customers": False}) as desk:
        await _hand_over(desk)
        await wish(desk, "crm.activity.add", {"fields": {**CALL, **PAST}})
        assert all("COMMUNICATIONS" not in sent.get("fields", {}) for _, sent in desk.wire.writes())


async def test_the_card_of_a_call_says_what_took_place(desk: Desk) -> None:
    """Where a card is asked for, it is headed as a call noted, with its time in the past, its direction and with whom it was."""
    desk.count += 1
    given = effect(
        "crm.activity.add", {"fields": {**CALL, **PAST}}, slot="t1/2/1", provenance=Provenance(message=None, person_text="сделай")
    )
    entry = desk.card(await desk.world.submit(desk.session, given, actor=BORIS))
    assert (entry.preview["verb"], entry.preview["entity"]) == ("add", "phonecall")
    shown = {line["field"]: line["after"] for line in entry.preview["lines"]}
    assert (shown["DIRECTION"], shown["START_TIME"]) == ("входящее", "пт, 20 ноября, 10:00")
    assert (await desk.phones(CONTACT))[0] in shown["COMMUNICATIONS"]
    assert (await press(desk, await_pending(entry))).status == "succeeded"


def await_pending(entry: Card) -> Pending:
    """The waiting step of a card."""
    return Pending(effect_id=entry.effect_id, confirmation_id=entry.confirmation_id, method=entry.method, reasons=())


EVENT = {"ID": "5", "CAL_TYPE": "user", "OWNER_ID": "7", "SECT_ID": "107", "NAME": "Встреча", "MEETING_HOST": "7", "IS_MEETING": True}


@pytest.mark.parametrize(
    ("row", "given", "may"),
    [
        ({}, {}, True),
        ({}, {"type": "user", "ownerId": 7, "section": 107}, True),
        ({"MEETING_HOST": "8", "IS_MEETING": False}, {}, True),
        ({"MEETING_HOST": "8"}, {}, False),
        ({"OWNER_ID": "8"}, {}, False),
        ({"CAL_TYPE": "group"}, {}, False),
        ({}, {"ownerId": 8}, False),
        ({}, {"OWNER_ID": 8}, False),
        ({}, {"type": "company_calendar"}, False),
        ({}, {"section": 3}, False),
    ],
)
async def test_an_event_of_the_own_calendar_is_changed_and_stays_there(
    desk: Desk, row: dict[str, Any], given: dict[str, Any], *, may: bool
) -> None:
    """A meeting to which somebody else invited, another calendar, and a way into another calendar stay closed."""
    desk.wire.instead["calendar.event.getbyid"] = httpx.Response(200, json={"result": {**EVENT, **row}, "time": {}})
    found = await wish(desk, "calendar.event.update", {"id": 5, "name": "Показ", **given})
    if may:
        assert isinstance(found, Pending)
    else:
        assert code(found) == "gate-unscoped"
