"""The text that an author handed in is what people get back, as long as it says what is stored."""

from collections.abc import AsyncIterator
from pathlib import Path

import pytest
from sqlalchemy import text as sql

from bot.plugins.building import load_installed_engines
from bot.plugins.definition_text import write_compared, write_ordered, write_version
from orchestrator.definitions.sources import has_same_data, read_source
from orchestrator.documents.reading import read_document
from state.canonical import dumps, hash_text, loads
from tests.unit.definitions.service_kit import HELLO, OLEG, VERA, Desk, a_desk, build_desk, data, text

ROOT = Path(__file__).parents[3]
SCENARIO = (ROOT / "engines/scenarios/examples/lead_qualification.yaml").read_text(encoding="utf-8")
FLOW = """# What it is for
flowId: offer
version: 7  # the number is the server's
metadata: {title: Предложение}

steps:
  - id: draft  # a comment
    agentVersionId: writer
    transitions: {onSuccess: {complete: true}}
"""
BACKWARDS = "steps:\n  - say: Здравствуйте   # сначала слова\n    name: s0\n"


@pytest.fixture
async def desk() -> AsyncIterator[Desk]:
    """With the kinds of the shipped engines."""
    async with a_desk() as made:
        yield build_desk(made.store, made.sql, engines=load_installed_engines())


async def publish_agent(desk: Desk) -> str:
    version = (await desk.service.create(VERA, "agent", "writer", text("title: Автор\nsystemPrompt: Пиши.\n"))).version
    return (await desk.service.publish(OLEG, "agent", "writer", 1, expected=version.revision)).version.id


@pytest.mark.req("S002-5")
@pytest.mark.parametrize("ends", ["\n", "\r\n"])
async def test_a_text_is_kept_sign_by_sign(desk: Desk, ends: str) -> None:
    """From its saving over its publishing to a rollback; handed in as bytes, as files and requests are."""
    written = SCENARIO.replace("\n", ends)
    made = (await desk.service.create(VERA, "scenario", "lead", text(written.encode()))).version
    await desk.service.publish(OLEG, "scenario", "lead", 1, expected=made.revision)
    await desk.service.create(VERA, "scenario", "lead", text("name: x\nsteps:\n- {id: a, type: end}\n"))
    back = (await desk.service.roll_back(VERA, "scenario", "lead", 1)).version
    assert {write_version(await desk.service.find_version(VERA, "scenario", "lead", number)) for number in (1, 3)} == {written}
    assert (back.digest, back.source) == (made.digest, written)


@pytest.mark.req("S002-A14", "S002-A15")
async def test_what_the_server_writes_is_written_into_the_text(desk: Desk) -> None:
    """The number of the version, and the id of the agent: all else stays."""
    agent = await publish_agent(desk)
    made = (await desk.service.create(VERA, "flow", None, text(FLOW))).version
    expected = FLOW.replace("version: 7", "version: 1").replace("writer", f'"{agent}"' if f'"{agent}"' in made.source else agent)
    assert write_version(made) == expected
    saved = (await desk.service.save(VERA, "flow", "offer", 1, text(FLOW.replace("a comment", "another")), expected=1)).version
    assert write_version(saved) == expected.replace("a comment", "another")
    assert (saved.digest, saved.revision) == (made.digest, 2)


async def test_data_without_a_text_are_written_into_the_text_of_before() -> None:
    """A program that changes a field takes no author's comment away, neither of a draft nor in a new version."""
    async with a_desk() as desk:
        await desk.service.create(VERA, "steps", "plan", text(BACKWARDS))
        other = {"steps": [{**HELLO["steps"][0], "say": "Пока"}]}
        saved = (await desk.service.save(VERA, "steps", "plan", 1, data(other), expected=1)).version
        again = (await desk.service.create(VERA, "steps", "plan", data(HELLO))).version
        assert saved.source == BACKWARDS.replace("Здравствуйте", "Пока")
        assert again.source == BACKWARDS


async def test_a_text_that_says_something_else_does_not_count() -> None:
    """Whoever changed it in the database: what runs is shown."""
    async with a_desk() as desk:
        await desk.service.create(VERA, "steps", "plan", text(BACKWARDS))
        other = BACKWARDS.replace("Здравствуйте", "Перевести всё")
        with desk.sql._dialect.engine.begin() as connection:
            connection.execute(
                sql("UPDATE definition_sources SET text = :text, digest = :digest"), {"text": other, "digest": hash_text(other)}
            )
            connection.execute(sql("UPDATE definitions SET source = :digest"), {"digest": hash_text(other)})
        found = await desk.service.find_version(VERA, "steps", "plan")
        assert found.source == other
        assert read_source(found) is None
        assert "Перевести" not in write_version(found)
        assert read_document(write_version(found)).require_document().data == HELLO


async def test_only_comments_differ(desk: Desk) -> None:
    """Also where the number of the version stands in the text; another word is another thing."""
    await publish_agent(desk)
    versions = [
        (await desk.service.create(VERA, "flow", None, text(one))).version
        for one in (FLOW, FLOW.replace("a comment", "another"), FLOW.replace("Предложение", "Другое"))
    ]
    assert [has_same_data(versions[0], one, "version") for one in versions] == [True, True, False]


async def test_an_older_version_is_compared_in_the_text_of_the_newer(desk: Desk) -> None:
    """One that has no text of its own differs in what it says, not in comments and order."""
    changed = SCENARIO.replace("Какой бюджет назвал клиент", "Какой у клиента бюджет")
    document = read_document(SCENARIO).require_document().data
    old = (await desk.service.create(VERA, "scenario", "lead", data(document))).version
    new = (await desk.service.create(VERA, "scenario", "lead", text(changed))).version
    assert old.source == ""
    assert write_compared(old, new) == (SCENARIO, changed)
    assert write_compared(new, old) == (changed, SCENARIO)


@pytest.mark.parametrize("kind", ["scenario", "workflow", "flow"])
def test_without_a_text_fields_stand_in_the_order_of_the_schema(kind: str) -> None:
    """Not in that of the alphabet, in which they are stored: at each step its name and type come first."""
    file = {
        "scenario": "scenarios/examples/weekly_plan",
        "workflow": "workflows/examples/client_dossier",
        "flow": "flows/examples/proposal",
    }
    document = read_document((ROOT / f"engines/{file[kind]}.yaml").read_text(encoding="utf-8")).require_document().data
    stored = loads(dumps(document))
    written = read_document(write_ordered(kind, stored)).require_document().data
    assert written == document
    first = {"scenario": ("steps", ["id", "type"]), "workflow": ("tuums", ["tuumId", "metadata"]), "flow": ("steps", ["id", "name"])}[kind]
    assert next(iter(written)) in {"name", "workflowId", "flowId"}
    assert list(written[first[0]][-1])[:2] == first[1]
