"""Names of fields and filters are checked against the portal's own lists: what it would drop in silence is refused with a hint."""

import re
from typing import Any

import httpx
import pytest

from bitrix.catalogue import names
from bitrix.catalogue.catalogue import Method
from orchestrator.directory.reference_data import Field
from orchestrator.directory.standard_fields import list_standard_fields
from orchestrator.engines.crm_agent.agent_texts import load_agent_texts
from orchestrator.gate.call.effect import Call, Facts
from orchestrator.gate.call.policy import Policy
from orchestrator.gate.decide import field_checks
from orchestrator.performers.knowledge import describe_method
from tests.unit.gate.gate_kit import FIRST, RECORDS, call, catalogue, effect, made, minimal
from tests.unit.gate.sandbox_kit import Desk
from tests.unit.spine_kit import VERA


@pytest.mark.req("S004-24")
@pytest.mark.parametrize(
    ("method", "params", "code", "hint"),
    [
        ("crm.deal.update", {"id": 410, "fields": {"OPORTUNITY": 5}}, "gate-param-unknown", "OPPORTUNITY «Сумма»"),
        ("crm.deal.add", {"fields": {"TITLE": "x", "NOPE_ZZZ": 1}}, "gate-param-unknown", "NOPE_ZZZ"),
        ("crm.deal.add", {"fields": {"TITLE": "x", "Номер договора": 1}}, "gate-param-invalid", "plain field name"),
        ("crm.deal.update", {"id": 410, "fields": {"UF_CRM_1747309878": 5}}, "gate-param-unknown", "UF_CRM_1747309879 «Номер договора»"),
        ("crm.item.update", {"entityTypeId": 2, "id": 410, "fields": {"oportunity": 5}}, "gate-param-unknown", "opportunity «Сумма»"),
        ("crm.item.add", {"entityTypeId": 3, "fields": {"name": "x", "lastNam": "y"}}, "gate-param-unknown", "lastName"),
        ("crm.lead.add", {"fields": {"TITLE": "x", "FOO_BAR": "y"}}, "gate-param-unknown", "FOO_BAR"),
        ("crm.deal.update", {"id": 410, "fields": {"DATE_CREATE": "2020-01-01"}}, "gate-param-reserved", "DATE_CREATE «Дата создания»"),
        ("crm.item.update", {"entityTypeId": 2, "id": 410, "fields": {"createdTime": "2020-01-01"}}, "gate-param-reserved", "createdTime"),
        ("crm.deal.update", {"id": 410, "fields": {"CATEGORY_ID": 1}}, "gate-move-funnel", "crm.item.update"),
        ("batch", {"cmd": {"a": "crm.deal.update?id=410&fields[TITL]=x"}}, "gate-param-unknown", "a: fields.TITL"),
        ("batch", {"cmd": {"a": "crm.deal.update?id=410&fields[CATEGORY_ID]=1"}}, "gate-move-funnel", "a: CATEGORY_ID"),
        ("crm.deal.list", {"filter": {">=OPPORTUNTY": 5}}, "gate-filter-field", "OPPORTUNITY"),
        ("crm.deal.list", {"filter": {"opportunity": 5}}, "gate-filter-field", "OPPORTUNITY"),
        ("crm.lead.list", {"filter": {"UF_CRM_NOBODY": 5}}, "gate-filter-field", "UF_CRM_NOBODY"),
        ("tasks.task.list", {"filter": {"RESPONSIBL": 7}}, "gate-filter-field", "RESPONSIBLE_ID"),
        ("batch", {"cmd": {"a": "crm.contact.list?filter[!NAM]=x"}}, "gate-filter-field", "a: filter.NAM"),
    ],
)
async def test_what_the_portal_would_drop_is_refused(desk: Desk, method: str, params: dict[str, Any], code: str, hint: str) -> None:
    """Adds, updates, batches and filters of both families; the model reads the nearest names, the person too."""
    found = await desk.refused(method, params)
    assert found.reason.code == code
    assert hint in f"{found.reason.args} {found.detail}"
    if code == "gate-param-unknown" and "«" in hint:
        assert hint.partition(" ")[2] in found.reason.args["titles"]
        assert "Did you mean" in found.detail


@pytest.mark.parametrize(
    ("method", "params"),
    [
        ("crm.deal.add", {"fields": {"TITLE": "x", "UF_CRM_1747309879": "1"}}),
        ("crm.item.add", {"entityTypeId": 2, "fields": {"title": "x", "UF_CRM_1747309879": "1"}}),
        ("crm.item.add", {"entityTypeId": 2, "fields": {"TITLE": "x", "UTM_SOURCE": "mail"}}),
        ("crm.item.add", {"entityTypeId": 2, "fields": {"title": "x", "UF_CRM_1747309879": "1"}, "useOriginalUfNames": "Y"}),
        ("crm.contact.add", {"fields": {"NAME": "x", "PHONE": [{"VALUE": "+79001112233"}]}}),
        ("crm.deal.update", {"id": 410, "fields": {"title": "Имя", "ufCrm_1747309879": "7"}}),
        ("tasks.task.add", {"fields": {"TITLE": "x", "DEADLINE": "2026-12-01T10:00:00+03:00", "UF_CRM_TASK": ["D_410"]}}),
        ("crm.deal.list", {"filter": {">=OPPORTUNITY": 5, "!STAGE_ID": "WON", "%TITLE": "а", "UF_CRM_1747309879": "1"}}),
        ("crm.contact.list", {"filter": {"PHONE": "+7", "HAS_PHONE": "Y"}}),
        ("tasks.task.list", {"filter": {"!STATUS": 5, "<=DEADLINE": "2026-12-01", "RESPONSIBLE_ID": 6}}),
    ],
)
async def test_right_names_pass_and_arrive(desk: Desk, method: str, params: dict[str, Any]) -> None:
    """Also in the spelling of the other family, which is brought into its own."""
    found = await desk.done(method, params)
    assert (found.status, found.unchanged) == ("succeeded", ()), found


async def test_a_name_that_the_owner_made_meanwhile_is_found(desk: Desk) -> None:
    """A miss is read again once the list has an age, and a list that cannot be read refuses nothing."""
    desk.wire.instead["crm.deal.fields"] = httpx.Response(400, json={"error": "ACCESS_DENIED", "error_description": "Access denied"})
    found = await desk.done("crm.deal.add", {"fields": {"TITLE": "x", "NOPE_ZZZ": 1}})
    assert found.status == "succeeded"
    assert found.unchanged == ("NOPE_ZZZ",)
    assert found.reason.code == "not-taken"


async def test_shadow_checks_what_it_plans_and_makes_no_read_of_the_model(desk: Desk) -> None:
    """A planned write is checked; a planned read asks the portal nothing."""
    found = await desk.refused("crm.deal.add", {"fields": {"NOPE_ZZZ": 1}}, mode="shadow")
    assert found.reason.code == "gate-param-unknown"
    desk.wire.sent.clear()
    planned = await desk.wish("crm.contact.list", {"filter": {"NOPE_ZZZ": 1}}, mode="shadow")
    assert planned.status == "planned"
    assert desk.wire.sent == []


async def test_who_may_not_touch_a_record_learns_nothing_else(desk: Desk) -> None:
    """A missing record comes before a wrong field."""
    found = await desk.refused("crm.deal.update", {"id": 999_999, "fields": {"NOPE_ZZZ": 1}})
    assert found.reason.code == "gate-not-found"


LISTS = {
    "deal": {
        "TITLE": Field(code="TITLE", title="Название", type="string"),
        "CATEGORY_ID": Field(code="CATEGORY_ID", title="", type="crm_category", immutable=True),
        "STAGE_ID": Field(code="STAGE_ID", title="Стадия", type="crm_status", required=True),
        "UF_CRM_1": Field(code="UF_CRM_1", title="Договор", type="string", required=True),
    },
    "task": {"TITLE": Field(code="TITLE", title="", type="string", required=True), "X": Field(code="X", title="", type="", required=True)},
}


@pytest.mark.parametrize(
    ("method", "params", "code", "args"),
    [
        ("crm.deal.add", {"fields": {"TITLE": "x"}}, "gate-param-missing", "UF_CRM_1 «Договор»"),
        ("crm.deal.add", {"fields": {"TITLE": "x", "UF_CRM_1": ""}}, "gate-param-missing", "UF_CRM_1 «Договор»"),
        ("crm.deal.add", {"fields": {"TITLE": "x", "UF_CRM_1": "7", "CATEGORY_ID": 1}}, "", ""),
        ("crm.deal.update", {"id": 481, "fields": {"TITLE": "x"}}, "", ""),
        ("crm.deal.update", {"id": 481, "fields": {"CATEGORY_ID": 0}}, "", ""),
        ("tasks.task.add", {"fields": {"TITLE": "x"}}, "", ""),
    ],
)
def test_what_a_record_needs_and_what_stays_as_it_is(method: str, params: dict[str, Any], code: str, args: str) -> None:
    """What the portal fills itself is not missed; a locked value that holds already is no change."""
    facts = Facts(records=RECORDS, first_stages=FIRST, field_lists=LISTS)
    found = call(method, params)
    if method == "crm.deal.add":
        lists = {"deal": {**LISTS["deal"], "ASSIGNED_BY_ID": Field(code="ASSIGNED_BY_ID", title="", type="user")}}
        facts = Facts(records=RECORDS, first_stages=FIRST, field_lists=lists)
    wrong = field_checks.find_field_problem(found, facts=facts, actor=VERA)
    assert (wrong.reason.code if wrong else "") == code
    if wrong is not None:
        assert args in str(wrong.reason.args)


HELP = load_agent_texts().help
_LISTED = re.compile(r"([A-Za-z_0-9]+) [a-z]+ «[^»]*»\*?(?:;|$)", re.MULTILINE)


def _find_code(row: Method, name: str, kind: int | None) -> str:
    """The code of the refusal of one field by its name; "" if it is taken on a portal that nobody has changed."""
    params = minimal(row) | ({"entityTypeId": kind} if kind else {})
    place = "filter" if row.reads_only else row.fields_at
    needed = {path.rpartition(".")[2] for path in (*row.required, *row.target) if path.startswith(f"{place}.")}
    given = {one: value for one, value in (params.get(place) or {}).items() if one in needed}
    beside = {"OWNER_TYPE_ID": 2} if name == "OWNER_ID" else {}
    found = made(effect(row.name, {**params, place: {**given, **beside, name: ["D_1"] if name == "UF_CRM_TASK" else "1"}}))
    if not isinstance(found, Call):
        return found.reason.code
    list_name = field_checks.find_list_name(found)
    facts = Facts(field_lists={list_name: list_standard_fields(list_name)})
    wrong = field_checks.find_field_problem(found, facts=facts, actor=VERA)
    return wrong.reason.code if wrong is not None else ""


def test_the_help_names_the_fields_that_the_gate_takes_and_no_other() -> None:
    """Of every method of the catalogue: what method.help lists may be written or asked for, and what it leaves out is refused."""
    wrong, count = [], 0
    for row in catalogue():
        if row.verb not in {"list", "add", "update"} or not row.fields_at or row.entity not in catalogue().entities:
            continue
        listed = set(_LISTED.findall(describe_method(row.name, catalogue(), Policy(), HELP)))
        in_items = row.name.startswith("crm.item.")
        kinds = [1, 2, 3, 4] if in_items and "entityTypeId" in row.required else [None]
        for field in catalogue().entities[row.entity].fields:
            name = names.to_universal(field, row.entity) if in_items and not field.startswith("UF_") else field
            codes = {_find_code(row, name, kind) for kind in kinds}
            count += "" in codes
            if ("" in codes) is not (name in listed):
                wrong.append((row.name, name, sorted(codes)))
    assert count > 500
    assert wrong == []


@pytest.mark.parametrize("name", ["LEAD_ID", "OBSERVERS", "CREATED_BY_ID", "ROWS"])
async def test_fields_of_deals_that_only_the_portal_fills_are_not_offered(desk: Desk, name: str) -> None:
    """The model wrote them as the help had listed them, and was refused."""
    for method, params in (("crm.deal.update", {"id": 410, "fields": {name: 1}}), ("crm.deal.add", {"fields": {"TITLE": "x", name: 1}})):
        assert name not in _LISTED.findall(describe_method(method, catalogue(), Policy(), HELP))
        assert (await desk.refused(method, params)).reason.code in {"gate-param-unknown", "gate-param-reserved"}
