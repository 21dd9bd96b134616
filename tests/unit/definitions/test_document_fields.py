"""What a document says of itself: its key, the number of its version and its title."""

from typing import Any

import pytest

from orchestrator.domain.finding import DefinitionRefused, Finding
from tests.unit.definitions.service_kit import OLEG, VERA, data
from tests.unit.definitions.test_references import a_service, names, publish
from tests.unit.engines.flows.flow_kit import agent


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
