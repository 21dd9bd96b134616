"""The form of a call is judged before anything runs, by the gate's own checks, with and without a portal."""

import asyncio
from collections.abc import Mapping, Sequence
from typing import Any

import pytest

from bitrix.errors import Refused, Unreadable
from bot.cli.definition_desk import check_file
from bot.plugins.building import load_installed_engines
from engines.scenarios.core.kind import build_kind
from engines.scenarios.core.registry import build_step_types
from orchestrator.definitions.calls import LATER, CallMistake, find_call_mistakes, list_call_uses
from orchestrator.definitions.checking import Submission
from orchestrator.directory.reference_data import Category, Field, Stage
from orchestrator.documents.document import Document
from orchestrator.documents.reading import read_document
from orchestrator.documents.reports import quote_args
from orchestrator.domain.finding import Finding, Path, parse_path
from orchestrator.rehearsals import call_forms
from orchestrator.rehearsals.call_forms import CallForms
from tests.unit.definitions.service_kit import shipped_catalogue

MISTAKES: dict[str, tuple[str, str, str]] = {
    "a method": ("method: crm.dael.add", "fields: {TITLE: x}", "crm.deal.add"),
    "a method of another name": ("method: crm.task.add", "fields: {TITLE: x, RESPONSIBLE_ID: 1}", "tasks.task.add"),
    "a parameter": ("method: crm.deal.add", "feilds: {TITLE: x}", "fields"),
    "a parameter of a reader": ("method: crm.deal.get", "idd: 5", "id"),
    "a flat parameter": ("method: im.message.add", "{DIALOG_ID: 5, MESAGE: x}", "MESSAGE"),
    "a field": ("method: crm.deal.add", "fields: {TITEL: x}", "TITLE"),
    "a field beside variables": ("method: crm.deal.add", 'fields: {TITLE: "{who}", OPORTUNITY: "{sum}"}', "OPPORTUNITY"),
    "a field of items": ("method: crm.item.add", "{entityTypeId: 2, fields: {titel: x}}", "title"),
    "a field of tasks": ("method: tasks.task.add", "fields: {TITLE: x, RESPONSIBLE_ID: 1, DEADLIN: 2026-11-30}", "DEADLINE"),
    "a field of a filter": ("method: crm.deal.list", 'filter: {">OPORTUNITY": 5}', "OPPORTUNITY"),
    "a field without a near one": ("method: crm.lead.add", "fields: {TITLE: x, BUDGET_RUB: 5}", ""),
    "a field in a batch": ("method: batch", 'cmd: {a: "crm.deal.add?fields[TITEL]={who}"}', "TITLE"),
    "a stage": ("method: crm.deal.add", "fields: {TITLE: x, STAGE_ID: NEWW}", "NEW"),
    "a stage of a record": ("method: crm.deal.update", '{id: "{deal}", fields: {STAGE_ID: WONN}}', "WON"),
    "a stage of leads": ("method: crm.lead.update", '{id: "{lead}", fields: {STATUS_ID: JUNKK}}', "JUNK"),
    "a stage by its name": ("method: crm.deal.add", "fields: {TITLE: x, STAGE_ID: Переговоры}", ""),
    "an entry of a list": ("method: crm.deal.add", "fields: {TITLE: x, SOURCE_ID: CAL}", "CALL"),
    "a flag": ("method: crm.deal.add", "fields: {TITLE: x, OPENED: maybe}", ""),
    "a choice": ("method: tasks.task.add", 'fields: {TITLE: x, RESPONSIBLE_ID: 1, PRIORITY: "7"}', ""),
    "a kind of records": ("method: crm.timeline.comment.add", 'fields: {ENTITY_ID: "{deal}", ENTITY_TYPE: dael, COMMENT: x}', ""),
    "what is needed": ("method: crm.deal.update", '{id: "{deal}"}', ""),
    "a needed field": ("method: tasks.task.add", "fields: {TITEL: x, RESPONSIBLE_ID: 1}", "TITLE"),
    "a needed field of a comment": ("method: crm.timeline.comment.add", "fields: {ENTITY_ID: 5, ENTITY_TYPE: deal, COMENT: x}", "COMMENT"),
    "a needed kind": ("method: crm.timeline.comment.add", "fields: {ENTITY_ID: 5, ENTITY_TYP: deal, COMMENT: x}", "ENTITY_TYPE"),
    "an own number": ("method: crm.deal.update", "{id: 5,\n    fields: {ID: 6}}", ""),
    "an option": ("method: crm.deal.update", "{id: 5, fields: {TITLE: x}, params: {REGISTER_SONET_EVENT: N}}", ""),
    "an option without a near one": ("method: crm.deal.update", "{id: 5, fields: {TITLE: x}, params: {QUIET: Y}}", ""),
    "a stage under another name": ("method: crm.lead.add", "fields: {TITLE: x, STAGE_ID: NEWW}", "NEW"),
    "a stage of an item": ("method: crm.item.update", "{entityTypeId: 1, id: 5, fields: {stageId: JUNKK}}", "JUNK"),
    "an entry under another name": ("method: crm.company.add", "fields: {TITLE: x, TYPE_ID: CUSTOMERR}", "CUSTOMER"),
    "a kind of phone": ("method: crm.lead.add", 'fields: {PHONE: [{VALUE: "+79991234567", VALUE_TYPE: WORKK}]}', "WORK"),
    "a phone": ("method: crm.lead.add", "fields: {PHONE: [{VALUE: call me, VALUE_TYPE: WORK}]}", ""),
    "a price of a row": (
        "method: crm.deal.productrows.set",
        "{id: 5, rows: [{PRODUCT_NAME: x, PRICE: 1}, {PRODUCT_NAME: y, PRICE: dear}]}",
        "",
    ),
    "a selected field": ("method: crm.deal.list", "select: [ID, TITEL]", "TITLE"),
    "a selected field of items": ("method: crm.item.list", "{entityTypeId: 2, select: [id, titel]}", "title"),
    "a selected field of tasks": ("method: tasks.task.list", "select: [ID, DEADLIN]", "DEADLINE"),
    "a field to sort by": ("method: crm.deal.list", "order: {IDD: ASC}", "ID"),
    "a direction": ("method: crm.deal.list", "order: {ID: DECS}", "DESC"),
    "a filter of items": ("method: crm.item.list", '{entityTypeId: 2, filter: {">=oportunity": 5}}', "opportunity"),
    "a filter in a group": ("method: crm.item.list", '{entityTypeId: 2, filter: {"0": {logic: OR, "0": {stagId: NEW}}}}', "stageId"),
    "a field of a row": ("method: crm.deal.productrows.set", "{id: 5, rows: [{PRODUCT_NAM: x, PRICE: 1}]}", "PRODUCT_NAME"),
    "a field of an item's row": (
        "method: crm.item.productrow.set",
        "{ownerType: D, ownerId: 5, productRows: [{productNam: x}]}",
        "productName",
    ),
    "a field of one row": ("method: crm.item.productrow.add", "{fields: {ownerType: D, ownerId: 5, productNam: x}}", "productName"),
    "a key of a phone": ("method: crm.lead.add", 'fields: {PHONE: [{VALU: "+79991234567"}]}', "VALUE"),
    "commands": ("method: batch", 'cmds: {a: "crm.deal.get?id=1"}', "cmd"),
    "a parameter of a batch": ("method: batch", '{cmd: {a: "crm.deal.get?id=1"}, halts: 1}', "halt"),
    "a batch of nothing": ("method: batch", "{halt: 1}", ""),
    "a kind of items": ("method: crm.item.add", "{entityTypeId: deals, fields: {title: x}}", "2"),
    "a number of no kind": ("method: crm.item.add", "{entityTypeId: 5, fields: {title: x}}", ""),
    "a field of an activity": ("method: crm.activity.add", "fields: {SUBJEC: x, TYPE_ID: 2, OWNER_ID: 5, OWNER_TYPE_ID: 2}", "SUBJECT"),
    "a filter of activities": ("method: crm.activity.list", "filter: {OWNER_IDD: 5}", "OWNER_ID"),
    "a date": ("method: tasks.task.add", "fields: {TITLE: x, RESPONSIBLE_ID: 1, DEADLINE: soon}", ""),
}


def write_step(method: str, params: str) -> bytes:
    """A scenario whose third line names the method and whose fourth holds the parameters of the call."""
    text = f"name: x\nsteps:\n  - {{id: c, type: bitrix_call, params: {{{method},\n    params: {params if params[0] == '{' else f'{{{params}}}'}}}}}\n"
    return f"{text}initial_context: {{who: '', sum: 1, deal: 1, lead: 1}}\n".encode()


def check_step(method: str, params: str) -> Sequence[Finding]:
    """What is found in a scenario that makes this call."""
    reading = read_document(write_step(method, params), "yaml")
    return check_file(load_installed_engines(), "scenario", Submission(read=lambda: reading)).findings


def find_part(tree: Any, path: Path) -> Any:
    """What stands at a path that is there."""
    for part in path:
        tree = tree[part]
    return tree


@pytest.fixture(autouse=True)
def no_portal(monkeypatch: pytest.MonkeyPatch) -> None:
    """No portal is connected."""
    monkeypatch.delenv("BITRIX_WEBHOOK_URL", raising=False)


@pytest.mark.req("S000-62")
@pytest.mark.parametrize("what", MISTAKES)
def test_one_planted_mistake_is_one_error_at_its_line(what: str) -> None:
    """A mistake in a call is an error at its line, with the name that was meant, and nothing besides."""
    method, params, meant = MISTAKES[what]
    (found,) = check_step(method, params)
    assert (found.severity, found.suggestion) == ("error", meant)
    assert found.line == (3 if found.code == "finding-method-unknown" else 5 if what == "an own number" else 4)
    assert "LATER" not in found.message
    reading = read_document(write_step(method, params), "yaml")
    assert reading.document is not None
    assert find_part(reading.document.data, parse_path(found.path))


@pytest.mark.parametrize(("method", "params"), [
    ("crm.deal.add", '{fields: {TITLE: "{who}", STAGE_ID: NEW, OPPORTUNITY: "{sum}", SOURCE_ID: CALL, PARENT_ID_177: 5}}'),
    ("crm.deal.update", '{id: "{deal}", fields: {STAGE_ID: "C5:UC_AB12"}}'),
    ("crm.deal.update", '{id: "{deal}", fields: {STAGE_ID: "C5:WON"}}'),
    ("crm.deal.update", '{id: "{deal}", fields: {CATEGORY_ID: 5}}'),
    ("crm.item.add", '{entityTypeId: 2, fields: {title: "{who}", stageId: NEW, observers: [1]}}'),
    ("crm.item.add", "{entityTypeId: 1, fields: {title: x, stageId: NEW}}"),
    ("crm.item.update", '{entityTypeId: 1, id: "{lead}", fields: {stageId: JUNK}}'),
    ("crm.item.update", '{entityTypeId: "{lead}", id: 5, fields: {whatever: 1}}'),
    ("tasks.task.add", '{fields: {TITLE: x, RESPONSIBLE_ID: "{who}", UF_CRM_TASK: ["D_{deal}", "{who}"]}}'),
    ("crm.deal.add", '{fields: "{who}"}'),
    ("crm.lead.add", '{fields: {TITLE: x, PHONE: [{VALUE: "{who}", VALUE_TYPE: WORK}]}}'),
    ("crm.deal.productrows.set", '{id: "{deal}", rows: [{PRODUCT_NAME: x, PRICE: "{sum}", QUANTITY: 1}]}'),
    (
        "crm.deal.list",
        '{select: [ID, "UF_*", "*"], order: {ID: desc, DATE_CREATE: ASC}, filter: {">OPPORTUNITY": 5, STAGE_ID: [NEW, WON]}}',
    ),
    ("crm.deal.list", '{select: "{who}", order: "{who}", filter: "{who}"}'),
    (
        "crm.item.list",
        '{entityTypeId: 2, select: [id, "uf*", contactIds, "*", createdTime], filter: {"0": {logic: OR, "0": {stageId: NEW}}}}',
    ),
    ("crm.item.list", "{entityTypeId: 1, select: [id, stageId, statusId], filter: {stageId: NEW}}"),
    ("crm.item.list", "{entityTypeId: 177, select: [id, foo], filter: {bar: 1}}"),
    ("crm.item.list", '{entityTypeId: "{lead}", select: [id, foo]}'),
    ("crm.contact.list", '{select: [ID, NAME, PHONE, EMAIL], filter: {PHONE: "+7"}, order: {LAST_NAME: ASC}}'),
    ("crm.company.list", '{select: [ID, TITLE, PHONE, WEB], filter: {"%TITLE": x}}'),
    ("crm.lead.list", "{select: [ID, TITLE, STATUS_ID, PHONE, STAGE_ID], filter: {STATUS_ID: NEW}}"),
    ("tasks.task.list", '{select: [ID, STATUS, UF_CRM_TASK, TAGS], filter: {"!STATUS": 5, "<DEADLINE": "{who}"}, order: {DEADLINE: asc}}'),
    (
        "crm.activity.list",
        '{select: [ID, COMMUNICATIONS, "*"], filter: {BINDINGS: [{OWNER_ID: 5, OWNER_TYPE_ID: 2}]}, order: {DEADLINE: ASC}}',
    ),
    (
        "crm.activity.add",
        '{fields: {OWNER_TYPE_ID: 2, OWNER_ID: 5, TYPE_ID: 2, SUBJECT: x, COMMUNICATIONS: [{VALUE: "+79991234567"}], COMPLETED: Y}}',
    ),
    ("crm.item.productrow.set", "{ownerType: D, ownerId: 5, productRows: [{productName: x, price: 1, discountRate: 5, taxIncluded: Y}]}"),
    ("crm.item.productrow.add", "{fields: {ownerType: D, ownerId: 5, productName: x, price: 1}}"),
    ("crm.deal.productrows.set", "{id: 5, rows: [{PRODUCT_ID: 1, PRICE: 5, QUANTITY: 1, DISCOUNT_SUM: 1}]}"),
    ("crm.lead.update", '{id: 5, fields: {PHONE: [{ID: 5, VALUE: "", DELETE: Y}], EMAIL: [{VALUE: a@b.ru, VALUE_TYPE: WORK}]}}'),
    ("crm.item.add", '{entityTypeId: 3, fields: {name: x, fm: [{typeId: PHONE, value: "+79991234567", valueType: WORK}]}}'),
    ("crm.item.add", "{entityTypeId: deal, fields: {title: x}}"),
    ("crm.item.add", "{entityTypeId: 31, fields: {title: x}}"),
    ("batch", '{halt: 1, cmd: {a: "crm.deal.list?select[]=ID&order[ID]=DESC", b: "crm.deal.get?id=$result[a][0][ID]"}}'),
    ("batch", '{cmd: {a: "crm.deal.add?fields[TITLE]={who}", b: "crm.deal.update?id=$result[a]&fields[COMMENTS]=x"}}'),
])  # fmt: skip
def test_right_calls_have_no_errors(method: str, params: str) -> None:
    """What only a run knows is left open, and so is what a company may have made its own."""
    found = check_step(f"method: {method}", params)
    assert [one.message for one in found if one.code != "finding-call-own-field"] == []


@pytest.mark.parametrize(("method", "fields"), [
    ("crm.deal.add", "{TITLE: x, UF_CRM_NUMBER: 5}"),
    ("tasks.task.add", "{TITLE: x, RESPONSIBLE_ID: 1, UF_AUTO_123: 5}"),
    ("tasks.task.add", "{TITLE: x, RESPONSIBLE_ID: 1, UF_PLACE: 5}"),
])  # fmt: skip
def test_a_field_of_the_companys_own_is_a_warning_without_a_portal(method: str, fields: str) -> None:
    """Only the portal knows it."""
    (found,) = check_step(f"method: {method}", f"fields: {fields}")
    assert (found.severity, found.code, found.line) == ("warning", "finding-call-own-field", 4)


@pytest.mark.parametrize("first", ['a: "{who}?id=1"', 'a: "{who}"', 'a: "crm.deal.{who}?id=1"'])
def test_commands_beside_one_of_which_only_a_run_knows_are_looked_at(first: str) -> None:
    """A command whose method a variable gives is left open, and the others are not."""
    assert check_step("method: batch", f'{{cmd: {{{first}, b: "crm.deal.get?id={{deal}}"}}}}') == ()
    (found,) = check_step("method: batch", f'{{cmd: {{{first}, b: "crm.deal.add?fields[TITEL]=x"}}}}')
    assert (found.suggestion, found.path) == ("TITLE", "steps[0].params.params.cmd.b")


@pytest.mark.parametrize(("method", "params", "places"), [
    ("crm.deal.add", "{feilds: {TITLE: x, STAG_ID: NEWW}}", ["feilds", "feilds.STAG_ID", "feilds.STAG_ID"]),
    ("crm.deal.update", "{id: 5, fields: {OBSERVERS: [1]}}", ["fields.OBSERVERS"]),
    ("crm.item.update", "{entityTypeId: 2, id: 5, fields: {observers: [Boris, 1, Anna]}}", ["fields.observers[0]", "fields.observers[2]"]),
    ("crm.deal.update", "{id: 5, fields: {OPPORTUNITY: [1, 2]}}", ["fields.OPPORTUNITY"]),
    ("crm.deal.update", "{id: 5, fields: [1]}", ["fields"]),
    ("crm.deal.productrows.set", "{id: 5, rows: [{PRICE: 1}, {PRICE: dear}]}", ["rows[1].PRICE"]),
    ("crm.timeline.comment.add", "{fields: {ENTITY_ID: 5, ENTITY_TYPE: deal}}", ["fields"]),
    (
        "crm.contact.add",
        "{fields: {EMAIL: [{VALUE: a b}, {VALUE: a@b.ru, VALUE_TYPE: WRK}]}}",
        ["fields.EMAIL[0].VALUE", "fields.EMAIL[1].VALUE_TYPE"],
    ),
])  # fmt: skip
def test_a_mistake_stands_where_its_author_wrote_it(method: str, params: str, places: Sequence[str]) -> None:
    """The part that is wrong is pointed at, under the name that stands there."""
    found = check_step(f"method: {method}", params)
    assert [one.path.removeprefix("steps[0].params.params.") for one in found] == places


def test_a_method_that_is_empty_is_told_of_once() -> None:
    """It is empty, and not unknown besides."""
    (found,) = check_step("method: ''", "{id: 5}")
    assert found.code == "finding-field-empty"


def test_each_command_that_cannot_be_read_is_told_of() -> None:
    """One broken command does not hide what is wrong with the next, and each has its place, in a list too."""
    found = check_step("method: batch", '{cmd: [5, "crm.dael.get?id=1", "crm.deal.get?id=1", "crm.deal.get?idd=1"]}')
    assert [one.path.rpartition(".")[2] for one in found] == ["cmd[0]", "cmd[1]", "cmd[3]"]


def test_what_would_be_refused_is_said_whole() -> None:
    """An author reads the whole sentence with which the gate would refuse a call."""
    (found,) = check_step("method: crm.deal.update", "{id: 5, fields: {CLOSEDATE: soon}}")
    assert str(found.args["problem"]).endswith("not soon: use @date: and the person's words.")
    assert len(str(quote_args({"problem": "x" * 1000})["problem"])) == 301


def test_every_mistake_of_a_call_is_found_at_once() -> None:
    """An author mends a call in one go."""
    found = check_step("method: crm.deal.add", "fields: {TITEL: x, STAGE_ID: NEWW, SOURCE_ID: CAL, OPENED: maybe}")
    assert [one.path.rpartition(".")[2] for one in found] == ["TITEL", "STAGE_ID", "SOURCE_ID", "OPENED"]


class Lists:
    """The fields, funnels and stages of a portal."""

    async def load_fields(self, entity: str, **_: object) -> Mapping[str, Field]:
        book = {"type": "crm_status", "status_entity_id": "DEAL_TYPE"}
        return {
            name: Field(code=name, title="", **(book if name == "TYPE_ID" else {})) for name in ("TITLE", "STAGE_ID", "TYPE_ID", "UF_CRM_7")
        }

    async def load_categories(self, entity: str, **_: object) -> Sequence[Category]:
        return [Category(id=5, name="Опт")]

    async def load_stages(self, entity: str, category: int | None = None, **_: object) -> Sequence[Stage]:
        prefix = f"C{category}:" if category else ""
        return [Stage(id=f"{prefix}NEW", name="Новая"), Stage(id=f"{prefix}TALK", name="Переговоры")]

    async def load_status_entries(self, book: str, **_: object) -> Sequence[Stage]:
        return [Stage(id="OWN", name="Своя")]


@pytest.mark.parametrize(("fields", "wrong"), [
    ({"TITLE": LATER, "UF_CRM_7": 1, "STAGE_ID": "TALK", "TYPE_ID": "OWN"}, []),
    ({"UF_CRM_8": 1}, [("finding-call-field", "UF_CRM_7")]),
    ({"STAGE_ID": "TALKK"}, [("finding-call-choice", "TALK")]),
    ({"STAGE_ID": "UC_GONE"}, [("finding-call-choice", "")]),
    ({"STAGE_ID": "Переговоры"}, [("finding-call-choice", "TALK")]),
    ({"TYPE_ID": "SALE"}, [("finding-call-choice", "")]),
    ({"OPPORTUNITY": 5}, [("finding-call-field", "")]),
])  # fmt: skip
async def test_a_connected_portal_says_what_it_has(fields: dict[str, Any], wrong: list[tuple[str, str]]) -> None:
    """Own fields, stages and entries count as the portal has them, and what it does not have is an error."""
    forms = CallForms(shipped_catalogue, Lists)  # type: ignore[arg-type]  # all that is asked of it
    found: Sequence[CallMistake] = await forms.check("crm.deal.add", {"fields": fields})
    assert [(one.code, one.suggestion) for one in found] == wrong
    assert {one.severity for one in found} <= {"error"}


@pytest.mark.parametrize(("stage", "count"), [("C5:TALK", 0), ("TALK", 0), ("C5:TALKK", 1), ("C6:NEW", 1)])
async def test_a_record_may_be_in_any_funnel(stage: str, count: int) -> None:
    """Of a record whose funnel is not known each stage of the portal counts."""
    forms = CallForms(shipped_catalogue, Lists)  # type: ignore[arg-type]  # as above
    assert len(await forms.check("crm.deal.update", {"id": LATER, "fields": {"STAGE_ID": stage}})) == count


@pytest.mark.parametrize(("written", "meant"), [
    ({"STAGE_ID": "TALK"}, None), ({"STAGE_ID": ["C5:TALK", LATER], "TYPE_ID": "OWN"}, None),
    ({"%STAGE_ID": "TAL", ">STAGE_ID": "A"}, None), ({"STAGE_ID": "TALKK"}, "TALK"), ({"!@STAGE_ID": ["TALK", "TALKK"]}, "TALK"),
    ({"STAGE_ID": "Переговоры"}, "TALK"), ({"=TYPE_ID": "OWNN"}, "OWN"),
])  # fmt: skip
async def test_a_value_in_a_filter_is_one_of_the_portals(written: dict[str, Any], meant: str | None) -> None:
    """A list that is filtered by a stage or entry which the portal does not have would always be empty."""
    forms = CallForms(shipped_catalogue, Lists)  # type: ignore[arg-type]  # as above
    found = await forms.check("crm.deal.list", {"filter": written})
    assert [(one.code, one.suggestion) for one in found] == ([("finding-call-choice", meant)] if meant else [])


async def test_a_portal_says_which_fields_can_be_selected() -> None:
    """Its own fields count, and any other one is an error."""
    forms = CallForms(shipped_catalogue, Lists)  # type: ignore[arg-type]  # as above
    found = await forms.check("crm.deal.list", {"select": ["UF_CRM_7", "UF_CRM_8", "OPPORTUNITY", "*"]})
    assert [(one.path, one.severity) for one in found] == [(("select", 1), "error")]


async def test_what_the_gate_lets_through_is_refused_in_no_trial() -> None:
    """A trial plays an effect that the gate would make, although a check tells of it."""
    forms = CallForms(shipped_catalogue)
    effect: dict[str, Any] = {"id": 5, "rows": [{"PRODUCT_NAM": "x", "PRICE": 1}]}
    assert await forms.check("crm.deal.productrows.set", effect)
    assert await forms.find_refusal("bitrix", "crm.deal.productrows.set", effect) == ""


class Demanding(Lists):
    """A portal that needs a field."""

    async def load_fields(self, entity: str, **_: object) -> Mapping[str, Field]:
        return {**await super().load_fields(entity), "UF_CRM_7": Field(code="UF_CRM_7", title="Договор", required=True)}


async def test_what_the_portal_needs_is_one_finding() -> None:
    """It is missing among the fields."""
    forms = CallForms(shipped_catalogue, Demanding)  # type: ignore[arg-type]  # as above
    (found,) = await forms.check("crm.deal.add", {"fields": {"TITLE": "x"}})
    assert (found.code, found.path) == ("finding-call-lacks", ("fields",))


class Failing(Lists):
    """A portal whose answers are none."""

    async def load_fields(self, entity: str, **_: object) -> Mapping[str, Field]:
        raise Unreadable("a page")


class HalfFailing(Lists):
    """A portal that fails after it told of its fields."""

    async def load_status_entries(self, book: str, **_: object) -> Sequence[Stage]:
        raise Unreadable("a page")


class Hanging(Lists):
    """A portal that never answers."""

    async def load_fields(self, entity: str, **_: object) -> Mapping[str, Field]:
        await asyncio.sleep(3600)
        raise AssertionError


def build_step(**fields: str) -> Mapping[str, object]:
    return {"type": "bitrix_call", "params": {"method": "crm.deal.add", "params": {"fields": fields}}}


@pytest.mark.parametrize("portal", [Failing, HalfFailing, Hanging])
async def test_a_portal_that_does_not_answer_is_one_warning(portal: type[Lists], monkeypatch: pytest.MonkeyPatch) -> None:
    """Its silence is told once, is waited for once, and what may be a company's own is no error then."""
    monkeypatch.setattr(call_forms, "PATIENCE", 0.2)
    steps = [build_step(TYPE_ID="SALE", STAGE_ID=stage) for stage in ("UC_AB12", "NEWW", *["NEW"] * 20)]
    document = Document.from_data({"steps": steps})
    kind = build_kind(build_step_types())
    forms = CallForms(shipped_catalogue, portal)  # type: ignore[arg-type]  # as above
    async with asyncio.timeout(5):
        found = await find_call_mistakes(document, list_call_uses(kind, document.data), forms.check)
    assert [(one.code, one.severity, one.path) for one in found] == [
        ("finding-portal-silent", "warning", ""),
        ("finding-call-choice", "warning", "steps[1].params.params.fields.STAGE_ID"),
    ]


@pytest.mark.parametrize(("number", "count"), [("deals", 1), (LATER, 0), (f"1{LATER}", 0)])
async def test_fields_of_a_kind_that_is_no_number_are_not_asked_for(number: str, count: int) -> None:
    """A word in place of it is one mistake, and what only a run knows is none."""
    forms = CallForms(shipped_catalogue, Failing)  # type: ignore[arg-type]  # as above
    found = await forms.check("crm.item.add", {"entityTypeId": number, "fields": {"title": "x"}})
    assert [one.path for one in found] == [("entityTypeId",)] * count


class Refusing(Lists):
    """A portal without such a kind of records."""

    async def load_fields(self, entity: str, **_: object) -> Mapping[str, Field]:
        raise Refused("NOT_FOUND")


@pytest.mark.parametrize(("portal", "code"), [(Refusing, []), (Failing, ["finding-portal-silent"])])
async def test_a_refusal_is_an_answer(portal: type[Lists], code: list[str]) -> None:
    """A portal that does not have a kind of records is not silent, in reads and writes."""
    forms = CallForms(shipped_catalogue, portal)  # type: ignore[arg-type]  # as above
    for method, params in (("crm.item.list", {"select": ["title"]}), ("crm.item.add", {"fields": {"title": "x"}})):
        assert [one.code for one in await forms.check(method, {"entityTypeId": 31, **params})] == code


async def test_what_a_portal_need_not_say_is_judged_without_it() -> None:
    """Nothing is told of a silent portal where nobody asks it."""
    forms = CallForms(shipped_catalogue, Failing)  # type: ignore[arg-type]  # as above
    assert await forms.check("crm.deal.get", {"id": 5}) == []
