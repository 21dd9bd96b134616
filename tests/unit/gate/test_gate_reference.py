"""What the gate takes from the portal's reference data: fresh first stages, people who work here, names on cards; and what its calls outdate."""

from typing import Any

import httpx
import pytest

from bot.i18n.translate import Translator
from orchestrator.directory.ranking import find_similar_codes
from orchestrator.domain.effect import Outcome, Pending
from orchestrator.gate.call.critical_fields import find_required_funnel
from tests.unit.gate.gate_kit import call
from tests.unit.gate.sandbox_kit import Desk

LIST, MONEY, FLAG, PERSON = (f"UF_CRM_17473101{number:02}" for number in (1, 2, 3, 4))
NUMBER = "UF_CRM_1747309879"
DENIED = httpx.Response(400, json={"error": "ACCESS_DENIED", "error_description": "Access denied"})


def lines(desk: Desk, pending: Outcome | Pending) -> dict[str, tuple[str, str]]:
    """The lines of a card by name: before and after."""
    return {line["name"]: (line["before"], line["after"]) for line in desk.card(pending).preview["lines"]}


def codes(pending: Outcome | Pending) -> list[str]:
    """Why it asks."""
    return [reason.args.get("reason", reason.code) for reason in pending.reasons]


async def test_own_fields_are_shown_by_their_titles_and_the_names_of_their_values(desk: Desk) -> None:
    """In both families, before and after; a value that the portal does not name stays as it is."""
    fields = {"OPPORTUNITY": 5, LIST: 57, MONEY: "1500.50|RUB", FLAG: 0, PERSON: 8}
    found = lines(desk, await desk.wish("crm.deal.update", {"id": 410, "fields": fields}))
    assert found["Способ доставки"] == ("Транспортная компания", "Самовывоз")
    assert found["Предоплата"] == ("250 000 ₽", "1 500,50 ₽")
    assert found["Нужен монтаж"] == ("Да", "Нет")
    assert found["Технический специалист"] == ("Глеб Орлов", "Вера Лебедева")
    both = {"entityTypeId": 2, "id": 412, "fields": {"opportunity": 5, f"ufCrm_{LIST.removeprefix('UF_CRM_')}": 59}}
    assert lines(desk, await desk.wish("crm.item.update", both))["Способ доставки"][1] == "Курьер"
    odd = lines(desk, await desk.wish("crm.deal.update", {"id": 481, "fields": {"OPPORTUNITY": 7, NUMBER: "a lot\u202e"}}))
    assert odd["Номер договора"][1] == "a lot⟨U+202E⟩"


async def test_a_card_stays_when_the_portal_names_nothing(desk: Desk) -> None:
    """Codes and values then stand as they are sent."""
    desk.wire.instead["crm.deal.fields"] = DENIED
    found = lines(desk, await desk.wish("crm.deal.update", {"id": 410, "fields": {"OPPORTUNITY": 5, LIST: 57}}))
    assert found[LIST] == ("61", "57")


async def test_a_card_of_a_smart_process_names_kind_stage_funnel_and_own_fields(desk: Desk) -> None:
    """The heading says only that it is an item."""
    fields = {"stageId": "DT177_10:SIGNING", "categoryId": 10, "assignedById": 9, "ufCrm5_1747310202": 73}
    made = await desk.wish("crm.item.add", {"entityTypeId": 177, "fields": {"title": "Договор", **fields}})
    found = lines(desk, made)
    stages = {row["STATUS_ID"]: row["NAME"] for row in await desk.ask("crm.status.list", filter={"ENTITY_ID": "DYNAMIC_177_STAGE_10"})}
    funnels = {row["id"]: row["name"] for row in (await desk.ask("crm.category.list", entityTypeId=177))["categories"]}
    title = next(row["title"] for row in (await desk.ask("crm.type.list"))["types"] if row["entityTypeId"] == 177)
    assert found["Вид записи"] == ("", f"элемент смарт-процесса «{title}»")
    assert found["Стадия"] == ("", stages["DT177_10:SIGNING"])
    assert found["Воронка"] == ("", funnels[10])
    assert found["Вид договора"] == ("", "Аренда")
    assert set(codes(made)) == {"gate-add-stage", "gate-add-person"}


async def test_sums_are_written_as_the_portal_writes_them_and_tasks_are_linked_for_the_reader(desk: Desk) -> None:
    """One sum and the total of a batch; Vera is employee 6."""
    row = {"CURRENCY": "RUB", "FORMAT_STRING": "# руб.", "DEC_POINT": ",", "THOUSANDS_SEP": "&nbsp;", "DECIMALS": "2"}
    desk.wire.instead["crm.currency.list"] = httpx.Response(200, json={"result": [row], "total": 1})
    cmd = {key: f"crm.deal.update?id={number}&fields[OPPORTUNITY]={number}000" for key, number in (("a", 410), ("b", 412))}
    card = desk.card(await desk.wish("batch", {"cmd": cmd})).preview
    assert card["sum"] == "822\u00a0000\u00a0руб."
    assert card["items"][0]["lines"][0]["after"] == "410\u00a0000\u00a0руб."
    number = int((await desk.ask("tasks.task.list"))["tasks"][0]["id"])
    task = desk.card(await desk.wish("tasks.task.update", {"taskId": number, "fields": {"DEADLINE": "2027-01-01T10:00:00+03:00"}}))
    assert f"/company/personal/user/6/tasks/task/view/{number}/" in task.preview["url"]


@pytest.mark.parametrize(
    ("method", "params", "funnel"),
    [
        ("crm.deal.add", {"fields": {"TITLE": "x"}}, ""),
        ("crm.deal.add", {"fields": {"TITLE": "x", "CATEGORY_ID": 1}}, ""),
        ("crm.deal.add", {"fields": {"STAGE_ID": "C1:NEW", "CATEGORY_ID": 1}}, "deal:1"),
        ("crm.item.add", {"entityTypeId": 2, "fields": {"stageId": "NEW"}}, "deal:0"),
        ("crm.item.add", {"entityTypeId": 177, "fields": {"stageId": "DT177_10:NEW", "categoryId": 10}}, "item:177:10"),
        ("crm.item.add", {"entityTypeId": 177, "fields": {"stageId": "DT177_10:NEW"}}, "item:177:0"),
        ("crm.lead.add", {"fields": {"STATUS_ID": "NEW"}}, "lead:0"),
        ("crm.deal.add", {"fields": {"STAGE_ID": "C1:NEW", "CATEGORY_ID": "9" * 5000}}, ""),
        ("crm.deal.update", {"id": 481, "fields": {"STAGE_ID": "WON"}}, ""),
        ("crm.deal.get", {"id": 481}, ""),
    ],
)
def test_only_a_new_record_with_a_stage_needs_its_funnel(method: str, params: dict[str, Any], funnel: str) -> None:
    """Exactly that funnel is asked for."""
    assert find_required_funnel(call(method, params)) == funnel


async def test_a_stage_is_judged_by_the_first_stage_of_this_moment(desk: Desk) -> None:
    """A stage that was the first a moment ago asks; what names no stage reads none; an unknown funnel asks."""
    assert (await desk.done("crm.deal.add", {"fields": {"TITLE": "x", "STAGE_ID": "NEW"}})).status == "succeeded"
    desk.wire.sent.clear()
    assert (await desk.done("crm.deal.add", {"fields": {"TITLE": "y"}})).status == "succeeded"
    assert [line for line in desk.wire.sent if line[0] == "crm.status.list"] == []
    rows = [{"STATUS_ID": name, "NAME": name, "SORT": str(sort)} for sort, name in enumerate(("ZERO", "NEW"))]
    desk.wire.instead["crm.status.list"] = httpx.Response(200, json={"result": rows, "total": 2})
    assert codes(await desk.wish("crm.deal.add", {"fields": {"TITLE": "z", "STAGE_ID": "NEW"}})) == ["gate-add-stage"]
    desk.wire.instead["crm.status.list"] = DENIED
    assert codes(await desk.wish("crm.deal.add", {"fields": {"TITLE": "u", "STAGE_ID": "NEW"}})) == ["gate-add-stage"]


@pytest.mark.parametrize(
    ("method", "params", "code"),
    [
        ("crm.deal.update", {"id": 410, "fields": {"ASSIGNED_BY_ID": 11}}, "gate-user-inactive"),
        ("crm.deal.update", {"id": 410, "fields": {"assignedById": "9999"}}, "gate-user-inactive"),
        ("crm.item.add", {"entityTypeId": 177, "fields": {"title": "x", "assignedById": 11}}, "gate-user-inactive"),
        ("tasks.task.add", {"fields": {"TITLE": "x", "RESPONSIBLE_ID": 11}}, "gate-user-inactive"),
        ("batch", {"cmd": {"a": "crm.deal.update?id=410&fields[ASSIGNED_BY_ID]=11"}}, "gate-batch-refused"),
        ("batch", {"cmd": {f"k{n}": f"crm.deal.update?id=410&fields[ASSIGNED_BY_ID]={n}" for n in (8, 998, 999)}}, "gate-batch-refused"),
        ("batch", {"cmd": {f"k{n}": f"crm.deal.update?id=410&fields[ASSIGNED_BY_ID]={n}" for n in (8, 9, 11)}}, "gate-batch-refused"),
    ],
)
async def test_nothing_is_given_to_somebody_who_does_not_work_here(desk: Desk, method: str, params: dict[str, Any], code: str) -> None:
    """Dismissed or unknown, in both families and in batches, for one request; and in words in both languages."""
    found = await desk.refused(method, params)
    assert found.reason.code == code
    assert found.reason.args.get("reason", code) == "gate-user-inactive"
    assert len([line for line in desk.wire.sent if line[0] == "user.get"]) == 1
    assert "уволен" in Translator("ru").translate(found.reason.code, **found.reason.args)
    assert "no longer work here" in Translator("en").translate(found.reason.code, **found.reason.args)


async def test_who_is_responsible_already_or_speaks_is_not_asked_for(desk: Desk) -> None:
    """A field that changes nothing and one's own name cost no request; a list that cannot be read refuses nobody."""
    owner = (await desk.ask("crm.deal.get", id=410))["ASSIGNED_BY_ID"]
    desk.wire.instead["user.get"] = DENIED
    desk.wire.sent.clear()
    assert (await desk.done("crm.deal.update", {"id": 410, "fields": {"TITLE": "x", "ASSIGNED_BY_ID": owner}})).status == "succeeded"
    assert (await desk.done("crm.deal.add", {"fields": {"TITLE": "x", "ASSIGNED_BY_ID": 6}})).status == "succeeded"
    assert [line for line in desk.wire.sent if line[0] == "user.get"] == []
    assert codes(await desk.wish("crm.deal.update", {"id": 410, "fields": {"ASSIGNED_BY_ID": 11}})) == ["gate-critical"]


async def test_somebody_dismissed_while_the_card_waited_gets_nothing(desk: Desk) -> None:
    """The press is judged by the employees of this moment."""
    asked = await desk.wish("crm.deal.update", {"id": 410, "fields": {"ASSIGNED_BY_ID": 9}})
    row = {"ID": "9", "NAME": "Глеб", "LAST_NAME": "Орлов", "ACTIVE": False}
    desk.wire.instead["user.get"] = httpx.Response(200, json={"result": [row], "total": 1})
    found = await desk.approve(asked)
    assert (found.status, found.reason.code) == ("refused", "gate-user-inactive")
    assert desk.wire.writes() == []


@pytest.mark.parametrize("in_batch", [False, True])
async def test_the_bots_own_change_of_a_book_shows_at_once(desk: Desk, *, in_batch: bool) -> None:
    """Also when it was one command of several; a call that changes no book outdates nothing."""
    naming = desk.world.gate.deps.names
    before = await naming.find_stage_name("deal", "EXECUTING")
    await desk.done("crm.deal.update", {"id": 410, "fields": {"TITLE": "x"}})
    desk.wire.sent.clear()
    assert await naming.find_stage_name("deal", "EXECUTING") == before
    assert desk.wire.sent == []
    row = {"STATUS_ID": "EXECUTING", "NAME": "Переименована", "SORT": "10"}
    desk.wire.instead["crm.status.list"] = httpx.Response(200, json={"result": [row], "total": 1})
    desk.wire.instead["crm.status.update"] = httpx.Response(200, json={"result": True})
    desk.wire.instead["batch"] = httpx.Response(200, json={"result": {"result": {"a": True}, "result_error": []}})
    one = ("crm.status.update", {"id": 9, "fields": {"NAME": "Переименована"}})
    several = ("batch", {"cmd": {"a": "crm.status.update?id=9&fields[NAME]=Переименована"}})
    done = await desk.done(*(several if in_batch else one))
    assert done.status == "succeeded", done
    assert await naming.find_stage_name("deal", "EXECUTING") == "Переименована"


def test_a_hint_knows_the_names_of_both_families() -> None:
    """By the one mapping of names, not by letters alone."""
    assert find_similar_codes("createdTime", {"DATE_CREATE": "", "TITLE": ""}) == ("DATE_CREATE",)


def test_what_a_new_record_did_not_take_has_words_of_its_own() -> None:
    """It was created: saying that it did not change would be wrong."""
    assert Translator("ru").translate("not-taken", field="OPPORTUNITY", more=1) == "⚠️ Создано, но Битрикс24 не принял: сумма и ещё 1"
    assert Translator("en").translate("not-taken", field="UF_CRM_X", more=0) == "⚠️ Created, but Bitrix24 did not take: the field UF_CRM_X"
