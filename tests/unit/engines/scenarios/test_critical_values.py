"""A check says, as information, where a model or a person gives a value that a card asks about; it forbids nothing."""

from functools import partial
from typing import Any

import pytest

from engines.scenarios.core.kind import build_kind
from orchestrator.definitions.checking import check_document
from orchestrator.gate.call.critical_fields import is_critical_field
from tests.unit.definitions.service_kit import OLEG, VERA, data, shipped_catalogue
from tests.unit.engines.scenarios.scenario_kit import TYPES, ask, say, scenario
from tests.unit.engines.scenarios.test_running_flows import scenario_service

MODEL = {"type": "llm_request", "params": {"prompt": "?", "output": "json", "output_var": "made"}}


def call(method: str, params: dict[str, Any], **more: Any) -> dict[str, Any]:
    return {"type": "bitrix_call", "params": {"method": method, "params": params, **more}}


def find(*steps: dict[str, Any], policy: frozenset[str] = frozenset()) -> list[tuple[str, str]]:
    """(place, who gives the value) of what is said, behind a step that asks a model and one that asks a person."""
    plan = data(scenario(MODEL, ask("typed"), *steps))
    checked = check_document(build_kind(TYPES), plan, lambda _kind, _method: None, partial(is_critical_field, shipped_catalogue(), policy))
    assert {one.severity for one in checked.findings} <= {"info"}
    assert checked.document is not None
    return [(one.path, str(one.args["source"])) for one in checked.findings if one.code == "finding-value-critical"]


@pytest.mark.parametrize(("step", "found"), [
    (
        call("crm.deal.update", {"id": 1, "fields": {"OPPORTUNITY": "{made}", "COMMENTS": "{made}"}}),
        [("steps[2].params.params.fields.OPPORTUNITY", "model")],
    ),
    (
        call("crm.deal.add", {"fields": {"TITLE": "{typed}", "ASSIGNED_BY_ID": "{typed}"}}),
        [("steps[2].params.params.fields.ASSIGNED_BY_ID", "person")],
    ),
    (call("crm.deal.delete", {"id": "{typed}"}), [("steps[2].params.params.id", "person")]),
    (call("crm.deal.get", {"id": "{typed}"}), []),
    (call("crm.deal.update", {"id": "{typed}", "fields": {"OPPORTUNITY": 5}}, comment="{made}"), []),
    (call("crm.deal.update", {"id": 1, "fields": {"OPPORTUNITY": "{text}"}}), []),
    (call("crm.deal.up", {"fields": {"OPPORTUNITY": "{made}"}}), []),
    (
        {"type": "action", "params": {"action_type": "mongo_delete_one", "collection_name": "c", "query": {"a": "{made.b}"}}},
        [("steps[2].params.query.a", "model")],
    ),
    ({"type": "telegram_send_message", "params": {"chat_id": "{typed}", "text": "да"}}, [("steps[2].params.chat_id", "person")]),
])  # fmt: skip
def test_a_value_that_makes_a_card_is_told_at_its_place(step: dict[str, Any], found: list[tuple[str, str]]) -> None:
    """Sums, people, whatever a deletion or a message to others gets; nothing of reads, plain fields and other variables."""
    assert find(step) == found


def test_fields_of_the_policy_count() -> None:
    """What the owner watches is no second list."""
    step = call("crm.deal.update", {"id": 1, "fields": {"UF_CRM_DISCOUNT": "{made}"}})
    assert (find(step), len(find(step, policy=frozenset({"UF_CRM_DISCOUNT"})))) == ([], 1)


async def test_it_passes_through_the_store_and_keeps_nothing_from_being_published() -> None:
    """The answer of saving holds it, and the version is published."""
    async with scenario_service() as service:
        step = call("crm.deal.update", {"id": 1, "fields": {"OPPORTUNITY": "{made}"}})
        saved = await service.create(VERA, "scenario", "plan", data(scenario(MODEL, step, say("а"))))
        assert [(one.severity, one.code) for one in saved.findings] == [("info", "finding-value-critical")]
        published = await service.publish(OLEG, "scenario", "plan", saved.version.version, expected=saved.version.revision)
        assert published.version.active
