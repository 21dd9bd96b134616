"""What a document says of itself and of others: its key, number and title, and the versions that it names."""

from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from typing import Any

import pytest

from bot.definition_service import build_definition_service
from engines.flows.core.engine import FlowEngine
from engines.flows.core.kind import AGENTS, FLOWS
from orchestrator.definitions.service import DefinitionService
from orchestrator.domain.finding import DefinitionRefused, Finding
from orchestrator.features.leads.live_policy import FixedPolicy
from orchestrator.gate.call.policy import Policy
from orchestrator.runs.registry import Engines, RegisteredEngine
from state.journal.async_store import AsyncStore
from tests.fixed_clock import FixedClock
from tests.unit.definitions.service_kit import OLEG, VERA, data, shipped_catalogue
from tests.unit.engines.flows.flow_kit import Agents, agent, flow, step
from tests.unit.spine_kit import NOW, memory_store


@asynccontextmanager
async def a_service(more: Mapping[str, RegisteredEngine] | None = None) -> AsyncIterator[DefinitionService]:
    """The service of definitions with flows and agents, and other engines."""
    flows = RegisteredEngine(engine=FlowEngine(Agents({}).find), kind=FLOWS, parts=(AGENTS,))
    engines = Engines(runs={"flow": flows, **(more or {})})
    store = AsyncStore(memory_store())
    try:
        yield build_definition_service(store, engines, policies=FixedPolicy(Policy()), catalogue=shipped_catalogue, clock=FixedClock(NOW))
    finally:
        await store.aclose()


async def publish(service: DefinitionService, kind: str, key: str, document: Any) -> str:
    """Publish a new version and return its UUID."""
    made = (await service.create(VERA, kind, key, data(document))).version
    return (await service.publish(OLEG, kind, key, made.version, expected=made.revision)).version.id


def names(*written: str) -> dict[str, Any]:
    """A flow with a step for each of these agents, one after another."""
    steps = [step(f"s{number}", success=f"s{number + 1}", agentVersionId=one) for number, one in enumerate(written[:-1])]
    return flow(*steps, step(f"s{len(written) - 1}", agentVersionId=written[-1]))


@pytest.mark.req("S002-10", "S002-24", "S002-A15")
async def test_a_key_a_numbered_key_and_a_uuid_become_the_uuid_of_a_version() -> None:
    """The active version of the key, the one with the number, and the one that is named; a later version changes nothing."""
    async with a_service() as service:
        first = await publish(service, "agent", "writer", agent("Раз"))
        second = await publish(service, "agent", "writer", agent("Два"))
        saved = await service.create(VERA, "flow", "plan", data(names("writer", "writer@1", first.upper())))
        assert [one["agentVersionId"] for one in saved.version.document["steps"]] == [second, first, first]
        await publish(service, "agent", "writer", agent("Три"))
        found = await service.find_version(VERA, "flow", "plan", 1)
        assert found.document["steps"][0]["agentVersionId"] == second


@pytest.mark.req("S002-44", "S002-45", "S002-46", "S002-A11")
async def test_every_agent_that_cannot_answer_is_a_mistake_at_its_place() -> None:
    """Unknown, of another kind, a draft, switched off: each with its own code, all at once, and nothing is stored."""
    async with a_service() as service:
        await service.create(VERA, "agent", "draft", data(agent()))
        await publish(service, "agent", "off", agent())
        head = await service.find_key(OLEG, "agent", "off")
        await service.switch(OLEG, "agent", "off", enabled=False, expected=head.revision)
        other = await publish(service, "agent", "writer", agent())
        plan = await publish(service, "flow", "other", {**names("writer"), "flowId": "other"})
        document = names("nobody", "draft", "draft@1", "off", "writer@7", plan, "00000000-0000-0000-0000-000000000000", "пробел ", other)
        with pytest.raises(DefinitionRefused) as refused:
            await service.create(VERA, "flow", "plan", data(document))
        assert [(one.path, one.code) for one in refused.value.findings if one.severity == "error"] == [
            ("steps[0].agentVersionId", "finding-reference-unknown"),
            ("steps[1].agentVersionId", "finding-reference-draft"),
            ("steps[2].agentVersionId", "finding-reference-draft"),
            ("steps[3].agentVersionId", "finding-reference-off"),
            ("steps[4].agentVersionId", "finding-reference-unknown"),
            ("steps[5].agentVersionId", "finding-reference-unknown"),
            ("steps[6].agentVersionId", "finding-reference-unknown"),
            ("steps[7].agentVersionId", "finding-reference-unknown"),
        ]
        assert [one.key for one in await service.list_keys(OLEG, "flow")] == ["other"]


@pytest.mark.req("S002-58")
async def test_an_agent_that_was_switched_off_since_keeps_the_flow_from_being_published() -> None:
    """The agents are looked up once more."""
    async with a_service() as service:
        await publish(service, "agent", "writer", agent())
        saved = (await service.create(VERA, "flow", "plan", data(names("writer")))).version
        head = await service.find_key(OLEG, "agent", "writer")
        await service.switch(OLEG, "agent", "writer", enabled=False, expected=head.revision)
        with pytest.raises(DefinitionRefused) as refused:
            await service.publish(OLEG, "flow", "plan", saved.version, expected=saved.revision)
        assert [one.code for one in refused.value.findings] == ["finding-reference-off"]
        assert str(refused.value.findings[0].args["name"]).startswith("writer@1")  # and not the id that stands in the text


async def test_an_agent_that_may_delete_is_not_published_by_its_writer() -> None:
    """What it may propose is what it writes: the rule of two holds for agents, too."""
    async with a_service() as service:
        checked = await service.check(VERA, "agent", "cleaner", data(agent(effects=["crm.deal.delete", "crm.deal.update"])))
        assert checked.critical == ("crm.deal.delete",)
        assert (await service.check(VERA, "flow", "plan", data(names("nobody")))).critical == ()


def tell(findings: tuple[Finding, ...]) -> list[tuple[str, str]]:
    return [(one.code, one.path) for one in findings]


@pytest.mark.req("S002-14", "S002-A14")
async def test_the_store_writes_the_number_of_the_version_into_the_document() -> None:
    """Whatever number the author wrote is replaced when it is created, saved and rolled back; a document without one stays without."""
    async with a_service() as service:
        await publish(service, "agent", "writer", agent())
        first = (await service.create(VERA, "flow", "plan", data({**names("writer"), "version": 4}))).version
        assert (first.version, first.document["version"]) == (1, 1)
        saved = (await service.save(VERA, "flow", "plan", 1, data({**names("writer"), "version": 7}), expected=1)).version
        assert saved.document["version"] == 1
        second = (await service.create(VERA, "flow", "plan", data({**names("writer"), "version": 1}))).version
        assert (second.version, second.document["version"]) == (2, 2)
        assert (await service.find_version(VERA, "flow", "plan", 2)).document["version"] == 2
        assert (await service.roll_back(VERA, "flow", "plan", 1)).version.document["version"] == 3
        assert "version" not in (await service.create(VERA, "flow", "plan", data(names("writer")))).version.document


@pytest.mark.req("S002-13")
async def test_a_flow_is_saved_under_the_key_that_it_says() -> None:
    """Without another word `flowId` is the key; under another key it is refused, when it is checked, created and replaced."""
    async with a_service() as service:
        await publish(service, "agent", "writer", agent())
        made = (await service.create(VERA, "flow", None, data(names("writer")))).version
        assert (made.key, made.version) == ("plan", 1)
        wrong = [("finding-definition-key-other", "flowId")]
        assert tell((await service.check(VERA, "flow", "offer", data(names("writer")))).findings) == wrong
        with pytest.raises(DefinitionRefused) as refused:
            await service.create(VERA, "flow", "offer", data(names("writer")))
        assert tell(refused.value.findings) == wrong
        with pytest.raises(DefinitionRefused) as refused:
            await service.save(VERA, "flow", "plan", 1, data({**names("writer"), "flowId": "offer"}), expected=1)
        assert (tell(refused.value.findings), refused.value.findings[0].suggestion) == (wrong, "plan")
        for broken in ({}, [], {**names("writer"), "flowId": 5}, {**names("writer"), "flowId": "a b"}):
            with pytest.raises(DefinitionRefused):
                await service.create(VERA, "flow", None, data(broken))


@pytest.mark.req("S002-15", "S002-M4")
async def test_the_title_of_a_flow_is_that_of_its_metadata() -> None:
    """It counts more than one that is given beside the document; without it, that one and then the one before are kept."""
    async with a_service() as service:
        await publish(service, "agent", "writer", agent())
        assert (await service.find_key(VERA, "agent", "writer")).title == ""
        made = await service.create(VERA, "flow", None, data(names("writer"), title="Другое"))
        assert made.version.title == "Проба"
        bare: dict[str, Any] = {**names("writer"), "metadata": {}}
        assert (await service.save(VERA, "flow", "plan", 1, data(bare), expected=1)).version.title == "Проба"
        assert (await service.save(VERA, "flow", "plan", 1, data(bare, title="Новое"), expected=2)).version.title == "Новое"
        titled = (await service.create(VERA, "agent", "writer", data(agent(title="Автор")))).version
        assert titled.title == "Автор"


@pytest.mark.req("S002-4", "S002-A11")
async def test_agents_are_looked_up_in_a_draft_with_other_mistakes() -> None:
    """All mistakes are told at once, in the order of their places; what is no step is passed over."""
    async with a_service() as service:
        document = {**names("nobody", "nothing"), "outputs": 5}
        document["steps"][0]["maxAttempts"] = "x"
        document["steps"] += [5, {"id": "s2", "agentVersionId": 5}]
        found = (await service.check(VERA, "flow", None, data(document))).findings
        assert [one for one in tell(found) if "reference" in one[0]] == [
            ("finding-reference-unknown", "steps[0].agentVersionId"),
            ("finding-reference-unknown", "steps[1].agentVersionId"),
        ]
        assert {"steps[0].maxAttempts", "outputs", "steps[2]", "steps[3].agentVersionId"} <= {path for _, path in tell(found)}
        assert list(found) == sorted(found, key=lambda one: (one.line, one.column, one.path, one.code))


@pytest.mark.req("S002-X4")
async def test_to_publish_what_is_active_changes_nothing() -> None:
    """Not even where one of its agents is switched off by now, which keeps every other version from being published."""
    async with a_service() as service:
        await publish(service, "agent", "writer", agent())
        await publish(service, "flow", "plan", names("writer"))
        await service.create(VERA, "flow", "plan", data(names("writer")))
        head = await service.find_key(OLEG, "agent", "writer")
        await service.switch(OLEG, "agent", "writer", enabled=False, expected=head.revision)
        before = await service.find_version(VERA, "flow", "plan", 1)
        assert (await service.publish(OLEG, "flow", "plan", 1, expected=before.revision)).version == before
        with pytest.raises(DefinitionRefused):
            await service.publish(OLEG, "flow", "plan", 2, expected=1)


async def test_a_version_is_found_by_its_uuid_among_its_own_kind() -> None:
    async with a_service() as service:
        made = await publish(service, "agent", "writer", agent())
        assert (await service.find_by_id(VERA, "agent", made.upper())).key == "writer"
