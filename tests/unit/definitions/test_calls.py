"""The calls that documents write are looked at when they are handed in and published, each at its place."""

from collections.abc import Mapping, Sequence
from typing import Any

import pytest

from engines.scenarios.core.kind import build_kind
from engines.scenarios.core.registry import build_step_types
from engines.workflows.core.kind import build_kinds
from engines.workflows.core.registry import load_rune_types
from orchestrator.definitions.calls import LATER, CallMistake, find_call_mistakes, list_call_uses
from orchestrator.definitions.kinds import DefinitionKind
from orchestrator.documents.document import Document
from orchestrator.documents.reading import read_document

SCENARIO = build_kind(build_step_types())
WORKFLOW, TUUM = build_kinds(load_rune_types())


def list_calls(kind: DefinitionKind, document: object) -> list[tuple[str, Mapping[str, Any]]]:
    return [(use.method, use.params) for use in list_call_uses(kind, document)]


def test_a_step_hands_on_its_call_with_what_is_open() -> None:
    """What a variable fills is open, a fixed text is as it is written, and a method of a variable is no call to look at."""
    call = {
        "method": "crm.deal.update",
        "params": {"id": "{deal}", "fields": {"TITLE": "Сделка {who}", "COMMENTS": r"\{x}", "OPENED": "Y"}},
    }
    steps = [{"type": "bitrix_call", "params": call}, {"type": "bitrix_call", "params": {"method": "{m}", "params": {}}}]
    steps += [{"type": "action", "params": {"action_type": "bitrix_call", "method": "crm.deal.get", "params": "{all}"}}]
    fields = {"TITLE": f"Сделка {LATER}", "COMMENTS": "{x}", "OPENED": "Y"}
    assert list_calls(SCENARIO, {"steps": steps}) == [
        ("crm.deal.update", {"id": LATER, "fields": fields}),
        ("crm.deal.get", {LATER: LATER}),
    ]
    assert list_calls(SCENARIO, {"steps": 5}) == []


def build_tuum(*runes: Mapping[str, Any]) -> dict[str, Any]:
    return {"tuumId": "t", "metadata": {"title": "T"}, "runes": list(runes)}


@pytest.mark.parametrize(("operation", "call"), [
    (
        {"operationType": "ModifyEntity", "entityId": "{{deal}}", "attributeKey": "TITEL", "modifyValue": "x"},
        ("crm.deal.update", {"id": LATER, "fields": {"TITEL": "x"}}),
    ),
    (
        {"operationType": "ModifyEntity", "entityId": "5", "attributeKey": "OPPORTUNITY", "modifyOperator": "+=", "modifyValue": 5},
        ("crm.deal.update", {"id": LATER, "fields": {"OPPORTUNITY": LATER}}),
    ),
    (
        {"operationType": "CreateEntity", "entityId": "new", "initialAttributes": {"TITLE": "{{who}}", "STAGE_ID": "NEWW"}},
        ("crm.deal.add", {"fields": {"TITLE": LATER, "STAGE_ID": "NEWW"}}),
    ),
])  # fmt: skip
def test_an_operation_is_the_call_that_it_becomes(operation: Mapping[str, Any], call: tuple[str, Any]) -> None:
    """The operations of a workflow are looked at like calls."""
    assert list_calls(TUUM, build_tuum({"runeType": "operation", "entityType": "deal", **operation})) == [call]


async def refuse_all(method: str, params: Mapping[str, Any]) -> Sequence[CallMistake]:
    """Find the method wrong, and the name and value of each field."""
    fields = [("fields", name) for name in params.get("fields", {})]
    wrong = [CallMistake(code="finding-call-wrong", args={"method": method, "problem": "x"}, path=path) for path in (None, *fields)]
    return [*wrong, *(CallMistake(code="finding-call-choice", args={"name": "", "value": ""}, path=path, of_value=True) for path in fields)]


@pytest.mark.req("S000-62")
async def test_mistakes_stand_at_their_lines() -> None:
    """Each points at the method, the name or the value that is wrong."""
    text = "steps:\n- type: bitrix_call\n  params:\n    method: crm.deal.add\n    params:\n      fields:\n        TITLE: x\n"
    document = read_document(text.encode(), "yaml").document
    assert document is not None
    found = await find_call_mistakes(document, list_call_uses(SCENARIO, document.data), refuse_all)
    assert [(one.line, one.column) for one in found] == [(4, 13), (7, 9), (7, 16)]


async def test_mistakes_of_operations_stand_where_their_author_wrote_them() -> None:
    """A field that is made, changed, and the value of one."""
    change = {"operationType": "ModifyEntity", "entityId": "5", "attributeKey": "A", "modifyValue": "x"}
    made = {"operationType": "CreateEntity", "entityId": "new", "initialAttributes": {"B": "y"}}
    runes = [{"runeType": "operation", "entityType": "deal", **one} for one in (change, made)]
    document = Document.from_data(build_tuum(*runes))
    found = await find_call_mistakes(document, list_call_uses(TUUM, document.data), refuse_all)
    assert {one.path.removeprefix("runes") for one in found} == {
        "[0].entityType", "[0].attributeKey", "[0].modifyValue", "[1].entityType", "[1].initialAttributes.B",
    }  # fmt: skip
