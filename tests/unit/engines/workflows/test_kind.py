"""Workflows and tuums are stored as definitions: with what they name, what they read, and what they may write."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import pytest

from bot.definition_service import build_definition_service
from engines.workflows.core.kind import TUUM, WORKFLOW, build_kinds
from engines.workflows.wiring import build_workflows
from orchestrator.definitions.kinds import find_writes
from orchestrator.definitions.service import DefinitionService
from orchestrator.domain.finding import DefinitionRefused
from orchestrator.features.leads.live_policy import FixedPolicy
from orchestrator.gate.call.policy import Policy
from orchestrator.runs.registry import Engines
from state.journal.async_store import AsyncStore
from tests.fixed_clock import FixedClock
from tests.unit.definitions.service_kit import OLEG, VERA, data, shipped_catalogue
from tests.unit.engines.workflows.workflow_kit import TYPES, link, parameter, script, tuum, workflow
from tests.unit.spine_kit import NOW, memory_store

WORKFLOWS, TUUMS = build_kinds(TYPES)


@asynccontextmanager
async def a_service() -> AsyncIterator[DefinitionService]:
    """The service of definitions with workflows and tuums, as the program registers them."""
    store = AsyncStore(memory_store())
    try:
        yield build_definition_service(
            store,
            Engines(runs={WORKFLOW: build_workflows()}),
            policies=FixedPolicy(Policy()),
            catalogue=shipped_catalogue,
            clock=FixedClock(NOW),
        )
    finally:
        await store.aclose()


async def publish(service: DefinitionService, key: str, document: Any) -> str:
    """Publish a new version of a tuum and return its UUID."""
    made = (await service.create(VERA, TUUM, key, data(document))).version
    return (await service.publish(OLEG, TUUM, key, made.version, expected=made.revision)).version.id


def operation(kind: str, entity: str = "deal") -> dict[str, Any]:
    fields = {"initialAttributes": {"TITLE": "x"}} if kind == "CreateEntity" else {}
    more = {"attributeKey": "TITLE", "modifyValue": 1} if kind == "ModifyEntity" else {}
    return {"runeType": "operation", "operationType": kind, "entityType": entity, "entityId": "5", **fields, **more}


@pytest.mark.req("S003-4", "S003-60", "S003-73", "S003-74")
async def test_a_workflow_fixes_the_versions_of_its_tuums_when_it_is_saved() -> None:
    """A key and a numbered key become the UUID of a version, and the number of the workflow is written into it."""
    async with a_service() as service:
        first = await publish(service, "deals", link("deals", gives=["deals"]))
        second = await publish(service, "deals", link("deals", gives=["deals", "sum"]))
        document = workflow({"tuum": "deals"}, {"tuum": "deals@1", "id": "x", "outputMappings": {}}, version=7)
        saved = await service.create(VERA, WORKFLOW, None, data(document))
        assert [one["tuum"] for one in saved.version.document["tuums"]] == [second, first]
        assert (saved.version.key, saved.version.document["version"], saved.version.title) == ("dossier", 1, "Dossier")


@pytest.mark.req("S003-4", "S003-A4")
async def test_a_workflow_is_checked_with_the_tuums_of_the_store() -> None:
    """What they need and publish is known then; one that is not there is named."""
    async with a_service() as service:
        await publish(service, "deals", link("deals", ["client"], ["deals"]))
        document = workflow({"tuum": "deals"}, link("letter", ["deals", "sum"]))
        with pytest.raises(DefinitionRefused) as refused:
            await service.create(VERA, WORKFLOW, None, data(document))
        assert [(one.code, one.path) for one in refused.value.findings] == [
            ("finding-workflow-no-source", "tuums[0]"),
            ("finding-workflow-no-source", "tuums[1].runes[0]"),
        ]
        good = workflow({"tuum": "deals"}, link("letter", ["deals"]), triggerParameters=[parameter("client")])
        saved = (await service.create(VERA, WORKFLOW, None, data(good))).version
        assert (await service.publish(OLEG, WORKFLOW, "dossier", saved.version, expected=saved.revision)).version.status == "published"
        checked = await service.check(VERA, WORKFLOW, None, data(workflow({"tuum": "nobody"})))
        assert [one.code for one in checked.findings] == ["finding-reference-unknown"]


@pytest.mark.req("S003-65")
async def test_a_query_reads() -> None:
    """A method that changes something, or that there is not, is refused at its place: in runes and scripts, of workflows and of tuums."""
    runes = [{"runeType": "query", "method": one, "output": "x"} for one in ("crm.deal.list", "crm.deal.update", "crm.deal.fly")]
    wanted = [("finding-method-writes", "runes[1].method"), ("finding-method-unknown", "runes[2].method")]
    async with a_service() as service:
        checked = await service.check(VERA, TUUM, "a", data(tuum("a", *runes, script("x"))))
        assert [(one.code, one.path) for one in checked.findings] == wanted
        source = "await query('crm.deal.list')\nawait query(\n  'crm.deal.delete', {})"
        checked = await service.check(VERA, TUUM, "a", data(tuum("a", mainScript={"source": source})))
        assert [(one.code, one.path) for one in checked.findings] == [("finding-method-writes", "mainScript.source")]
        checked = await service.check(VERA, WORKFLOW, None, data(workflow(tuum("a", *runes, script("x")))))
        assert [(one.code, one.path) for one in checked.findings] == [(code, f"tuums[0].{path}") for code, path in wanted]


@pytest.mark.req("S003-18")
@pytest.mark.parametrize(("one", "writes"), [
    (tuum("a", operation("CreateEntity"), operation("ModifyEntity", "task")),
     [("bitrix", "crm.deal.add"), ("bitrix", "tasks.task.update")]),
    (tuum("a", operation("DeleteEntity", "contact"), enabled=False), [("bitrix", "crm.contact.delete")]),
    (tuum("a", script("x", source="{'x': 1}"), mainScript={"source": "get_entity('deal', 5)"}), []),
    (tuum("a", script("x", source="emit({})")), None),
    (tuum("a", mainScript={"source": "ｅmit({})"}), None),
    (tuum("a", mainScript={"source": "await query('crm.deal.list', {})"}), []),
    (tuum("a", mainScript={"source": "ask = query\nawait ask('crm.deal.' + verb)"}), []),
    (tuum("a", mainScript={"source": "await eval('em' + 'it')({})"}), None),
    (tuum("a", aiService="x", isStreaming=True, chunkCallback={"source": "propose = emit"}), None),
    (tuum("a", script("x"), {"runeType": "terminal", "operations": "x"}), None),
    (tuum("a", {"runeType": "dance"}), None),
])  # fmt: skip
def test_what_a_tuum_may_write_is_told_or_counts_as_critical(one: dict[str, Any], writes: Any) -> None:
    """Alone and inside of a workflow. What scripts, models and plugins may propose cannot be told."""
    assert find_writes(TUUMS, one) == writes
    assert find_writes(WORKFLOWS, workflow(one)) == writes


@pytest.mark.req("S003-18")
def test_what_a_workflow_takes_from_a_variable_may_write_anything() -> None:
    """A model may have written it. What tuums that are stored on their own write is theirs."""
    assert find_writes(WORKFLOWS, workflow(link("a", gives=["x"]), terminal={"operations": "x"})) is None
    assert find_writes(WORKFLOWS, workflow({"tuum": "other"})) == []


async def test_a_workflow_that_may_write_anything_is_published_by_a_second_person() -> None:
    """And not by its writer."""
    async with a_service() as service:
        checked = await service.check(VERA, WORKFLOW, None, data(workflow(link("a", gives=["x"]), terminal={"operations": "x"})))
        assert checked.critical is None
        checked = await service.check(VERA, WORKFLOW, None, data(workflow(tuum("a", operation("ModifyEntity")))))
        assert checked.critical == ()
        checked = await service.check(VERA, WORKFLOW, None, data(workflow(tuum("a", operation("DeleteEntity")))))
        assert checked.critical == ("crm.deal.delete",)


@pytest.mark.parametrize("document", [5, None, [], {}, {"tuums": 5}, {"tuums": [5, {"tuum": 7}, {"tuum": ""}]}])
def test_what_a_draft_names_can_be_asked_of_any(document: object) -> None:
    """Nothing, then."""
    assert list(WORKFLOWS.list_references(document)) == []


def test_what_a_tuum_says_it_may_propose_is_what_it_may_write() -> None:
    """Its scripts need no second person then, and neither do its workflows."""
    emits = tuum("write", mainScript={"source": "await emit({})"}, mayPropose=["ModifyEntity deal", "CreateEntity activity"])
    assert list(WORKFLOWS.list_writes(workflow(emits)) or ()) == [("bitrix", "crm.deal.update"), ("bitrix", "crm.activity.todo.add")]
