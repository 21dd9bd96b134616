"""What strangers wrote is followed through everything that a workflow can do with it, up to the card (S003-18, G3)."""

import json
from pathlib import Path
from typing import Any

import pytest

from orchestrator.domain.errors import ModelClientError
from tests.unit.engines.workflows.played_kit import a_workflow_world, code, start
from tests.unit.engines.workflows.workflow_kit import prompt, put, tuum, workflow
from tests.unit.runs.runs_kit import events
from tests.unit.runs.test_runs_wait import order
from tests.unit.spine_kit import World

TOLD = "gate-taint-prose"
"""The reason of a card that says that text of strangers is in the call."""
LONG = "x" * 3000
READ = tuum(
    "read", {"runeType": "query", "method": "crm.deal.get", "params": {"id": 481}, "output": "deal"}, outputMappings={"deal": "deal"}
)
ASKING = {"promptRunes": [prompt("Скажи: {{deal.TITLE}}")], "aiService": "tool"}


def _step(*runes: dict[str, Any], **fields: Any) -> dict[str, Any]:
    return tuum("step", *runes, outputMappings={"text": "text"}, **fields)


PATHS: dict[str, dict[str, Any]] = {
    "a template": _step(put("text", "{{deal.TITLE}}")),
    "a template in a list": _step(put("text", ["всё", {"of": "{{deal.TITLE}}"}])),
    "a number": _step(put("text", "{{deal.OPPORTUNITY}}")),
    "a model": _step(**ASKING, mainScript=code('{"text": ai_final_output}', consumes="ai_final_output", produces="text")),
    "a rune that asks": _step(prompt("{{deal.TITLE}}"), {"runeType": "ai", "aiService": "tool", "output": "text"}),
    "a callback": _step(
        promptRunes=[prompt("Скажи: {{deal.TITLE}}"), put("text", "")],
        aiService="tool",
        isStreaming=True,
        chunkCallback=code('{"text": text + ai_stream_output_added}', consumes="text ai_stream_output_added", produces="text"),
    ),
    "a callback that only counts": _step(
        promptRunes=[prompt("Скажи: {{deal.TITLE}}"), put("text", 0)],
        aiService="tool",
        isStreaming=True,
        chunkCallback=code('{"text": text + 1000}', consumes="text ai_stream_output_added", produces="text"),
    ),
    "a script": _step(mainScript=code('{"text": deal["TITLE"][::-1]}', consumes="deal", produces="text")),
    "a script that decides": _step(mainScript=code('{"text": "да" if deal["TITLE"] else "нет"}', consumes="deal", produces="text")),
    "a query of a script": _step(mainScript=code('deal = await get_entity("deal", 481)\n{"text": deal["TITLE"]}', produces="text")),
    "an expression": _step(put("title", "{{deal.TITLE}}"), {"runeType": "regex", "input": "title", "pattern": r"\w+", "output": "text"}),
    "marks": _step(put("title", "<{{deal.TITLE}}>"), {"runeType": "text", "input": "title", "after": "<", "before": ">", "output": "text"}),
    "json": _step(
        put("title", '{"a": ["{{deal.TITLE}}"]}'), {"runeType": "json", "input": "title", "path": "a[0]", "output": "text"}
    ),
    "json that is not there": _step(put("title", "{{deal.TITLE}}"), {"runeType": "json", "input": "title", "default": "нет", "output": "text"}),
    "a value in a blob": _step(put("text", LONG + "{{deal.TITLE}}")),
}  # fmt: skip
"""Ways from a value of the portal to the variable `text`."""
ASKS = frozenset({"a model", "a rune that asks", "a callback", "a callback that only counts"})
WRITE = {"runeType": "operation", "operationType": "ModifyEntity", "entityType": "deal", "entityId": "481", "attributeKey": "COMMENTS"}
EMIT = """
await emit({"operationType": "ModifyEntity", "entityType": "deal", "entityId": "481", "attributeKey": "COMMENTS", "modifyOperator": "=",
            "modifyValue": str(text)})
"""
ENDS: dict[str, dict[str, Any]] = {
    "a rune": tuum("write", {**WRITE, "modifyValue": "Вот: {{text}}"}),
    "a script": tuum("write", mainScript=code(EMIT, consumes="text")),
}


def _list_reasons(world: World) -> list[set[str]]:
    return [{one["code"] for one in row.body["reasons"]} for row in world.outbox() if row.kind == "card"]


@pytest.mark.req("S003-18", "S003-41", "G3")
@pytest.mark.parametrize("end", ENDS)
@pytest.mark.parametrize("name", PATHS)
async def test_a_value_of_strangers_is_told_of(tmp_path: Path, name: str, end: str) -> None:
    """Whatever was made of it, and whoever proposes the change: a person is asked, and reads that text of strangers is in it."""
    async with a_workflow_world(tmp_path, workflow(ENDS[end], PATHS[name], READ)) as world:
        if name in ASKS:
            world.model.will("Годовой контракт")
        await world.work(start())
        assert [TOLD in reasons for reasons in _list_reasons(world)] == [True]
        assert world.portal.written() == []


@pytest.mark.req("S003-18")
@pytest.mark.parametrize("end", ENDS)
async def test_a_constant_of_the_author_is_not(tmp_path: Path, end: str) -> None:
    """A comment that the author wrote needs no card, also where the workflow has read text of strangers for something else."""
    constant = tuum("step", put("text", "Перезвонить"), outputMappings={"text": "text"})
    shown = tuum("shown", {"runeType": "display", "content": "{{deal.TITLE}}"})
    async with a_workflow_world(tmp_path, workflow(READ, constant, ENDS[end], shown)) as world:
        await world.work(start())
        assert _list_reasons(world) == []
        ((method, params),) = world.portal.written()
        assert (method, params["fields"]["COMMENTS"].removeprefix("Вот: ")) == ("crm.deal.update", "Перезвонить")


@pytest.mark.req("S003-18")
async def test_a_sum_of_two_values_comes_from_both(tmp_path: Path) -> None:
    """What the portal held before is part of what `+=` writes, also if the author wrote what is added."""
    add = tuum("write", {**WRITE, "attributeKey": "COMMENTS", "modifyOperator": "+=", "modifyValue": " и ещё"})
    async with a_workflow_world(tmp_path, workflow(add)) as world:
        world.portal.records["deal", 481]["COMMENTS"] = "Звонить вечером"
        await world.work(start())
        assert [TOLD in reasons for reasons in _list_reasons(world)] == [True]


@pytest.mark.req("S003-16", "S003-18")
async def test_operations_of_a_terminal_are_told_of(tmp_path: Path) -> None:
    """A list of operations that a model wrote comes from it and from what it was told."""
    take = {"runeType": "json", "input": "AiOutput", "output": "text"}
    step = _step(prompt("{{deal.TITLE}}"), {"runeType": "ai", "aiService": "tool"}, take)
    document = workflow(READ, step, terminal={"operations": "text"})
    async with a_workflow_world(tmp_path, document) as world:
        operation = {key: one for key, one in WRITE.items() if key != "runeType"}
        world.model.will(json.dumps([{**operation, "modifyOperator": "=", "modifyValue": "x"}]))
        await world.work(start())
        assert [TOLD in reasons for reasons in _list_reasons(world)] == [True]


@pytest.mark.req("S003-18", "G2", "G3")
@pytest.mark.parametrize("name", ["a template", "a script", "a value in a blob"])
async def test_a_value_is_told_of_also_after_a_replay(tmp_path: Path, name: str) -> None:
    """The run fails behind the value and is retried: what it reads of its own journal comes from where it came from."""
    late = tuum("late", promptRunes=[prompt("{{text}}")], aiService="tool", outputMappings={"late": "ai_final_output"})
    write = tuum("write", {**WRITE, "modifyValue": "{{text}}"}, put("seen", "{{late}}"))
    async with a_workflow_world(tmp_path, workflow(write, late, PATHS[name], READ)) as world:
        world.model.will(ModelClientError("no answer"))
        await world.work(start())
        assert _list_reasons(world) == []
        world.model.will("теперь да")
        await world.work(order("retry"))
        assert [TOLD in reasons for reasons in _list_reasons(world)] == [True]
        assert [one.data["node"] for one in events(world, "NodeDone")].count("step") == 1
        blobs = [one for one in events(world, "NodeDone") if one.data["node"] == "step" and one.data["output_blob"]]
        assert bool(blobs) == (name == "a value in a blob")
