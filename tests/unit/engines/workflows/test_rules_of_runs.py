"""Rules of runs that the seed leaves open or only its origin has: what is missing, disabled, published twice, shared or kept (S003-A, S003-X)."""

from collections.abc import Awaitable, Callable, Mapping
from typing import Any

import pytest

from engines.workflows.core.definition import Script
from engines.workflows.core.engine import WorkflowEngine
from engines.workflows.core.operations import read_operation
from engines.workflows.core.registry import build_rune_types
from engines.workflows.core.rune_types import Changes, RuneCall, RuneParams, RuneType
from orchestrator.domain.taint import NOWHERE, Value
from orchestrator.expressions.scripts.runner import ScriptRunner
from tests.unit.engines.workflows.played_kit import code
from tests.unit.engines.workflows.stage_kit import QuietOutside, Stage, a_stage, play_quietly
from tests.unit.engines.workflows.workflow_kit import parameter, prompt, put, tuum, workflow

CHANGES = """changed = {"operationType": "ModifyEntity", "entityType": "deal", "entityId": "1", "attributeKey": "TITLE"}
{"list": [{**changed, "modifyOperator": "=", "modifyValue": "x"}]}"""


@pytest.mark.req("S003-X5")
async def test_an_output_that_was_not_made_is_left_out() -> None:
    """A script that gives only one of its two variables publishes only that one, and a template of the other is empty."""
    give = tuum("give", mainScript=code('{"one": 1}', produces="one two"), outputMappings={"first": "one", "second": "two"})
    read = tuum("read", put("all", "{{first}}|{{second}}"), outputMappings={"read": "all"})
    ended, _ = await play_quietly(workflow(read, give))
    assert ended.value.data["globals"] == {"first": 1, "read": "1|"}


@pytest.mark.req("S003-X4")
async def test_a_tuum_fails_without_a_global_that_it_needs() -> None:
    """What was not published fails the tuum whose mapping names it, and with it the workflow."""
    give = tuum("give", mainScript=code("{}", produces="one"), outputMappings={"first": "one"})
    read = tuum("read", put("all", "{{mine}}"), inputMappings={"mine": "first"}, outputMappings={"read": "all"})
    ended, outside = await play_quietly(workflow(read, give))
    assert ended.code == "workflow-tuum-failed"
    assert [one.text for one in outside.failures] == ["read: there is no global variable first"]


@pytest.mark.req("S003-X4", "S003-A6")
async def test_after_a_failure_no_operation_is_given_and_no_later_tuum_starts() -> None:
    """What one tuum has proposed is not given to the gate if another one fails, and what would come after both does not begin."""
    source = 'await emit({"operationType": "DeleteEntity", "entityType": "deal", "entityId": "1"})\n{"out": 1}'
    emits = tuum("emits", mainScript=code(source, produces="out"), outputMappings={"one": "out"})
    fails = tuum("fails", mainScript=code("1 / 0"))
    after = tuum("after", put("x", "{{one}}"), mainScript=code("{}", consumes="one"), outputMappings={"last": "x"})
    ended, outside = await play_quietly(workflow(after, fails, emits, scheduling="batch"))
    assert (ended.code, outside.effects) == ("workflow-tuum-failed", [])
    assert (outside.made["emits"], outside.made["after"]) == (1, 0)


@pytest.mark.req("S003-16", "S003-A6")
async def test_what_a_terminal_takes_from_a_variable_is_held_to_what_the_tuum_may_propose() -> None:
    """A model may have written that variable, and the tuum has said that it proposes nothing but to-dos."""
    making = {"runeType": "script", **code(CHANGES, produces="list")}
    ending = {"runeType": "terminal", "operations": "list"}
    async with a_stage() as stage:
        for may, expected in (["CreateEntity activity"], "workflow-tuum-failed"), (["ModifyEntity deal"], ""):
            only = tuum("only", making, mayPropose=may)
            only["runes"].append(ending)
            outside = QuietOutside()
            ended = await stage.play(workflow(only), outside)
            assert (ended.code, len(outside.effects)) == (expected, 0 if expected else 1)


@pytest.mark.req("S003-16", "S003-A6")
@pytest.mark.parametrize(("may", "code_of_end"), [(["CreateEntity activity"], "workflow-result-unfit"), (["ModifyEntity deal"], "")])
async def test_what_the_workflow_takes_from_a_tuum_is_held_to_what_that_tuum_may_propose(may: list[str], code_of_end: str) -> None:
    """Otherwise a tuum could publish, as a variable, what it has said that it never proposes."""
    only = tuum("only", mainScript=code(CHANGES, produces="list"), outputMappings={"changes": "list"}, mayPropose=may)
    ended, outside = await play_quietly(workflow(only, terminal={"operations": "changes"}))
    assert (ended.code, len(outside.effects)) == (code_of_end, 0 if code_of_end else 1)


class _NoParams(RuneParams):
    """Nothing."""


MOVE = read_operation(
    {
        "operationType": "ModifyEntity", "entityType": "deal", "entityId": "1", "attributeKey": "TITLE", "modifyOperator": "=",
        "modifyValue": 1,
    }
)  # fmt: skip


async def _emit(call: RuneCall[_NoParams]) -> Changes:
    call.work.emit(MOVE, NOWHERE)
    return {}


async def _emit_by_script(call: RuneCall[_NoParams]) -> Changes:
    written = MOVE.model_dump(mode="json", by_alias=True, exclude_none=True)
    return await call.work.run_script(call.node, Script.model_validate({"source": f"await emit({written!r})"}), {})


async def _end(call: RuneCall[_NoParams]) -> Changes:
    call.work.end_with(raw_text=None, operations=Value([MOVE.model_dump(mode="json", by_alias=True, exclude_none=True)]))
    return {}


@pytest.mark.req("S003-5", "S003-17", "S003-A6")
@pytest.mark.parametrize("perform", [_emit, _emit_by_script, _end])
@pytest.mark.parametrize(("emits", "is_terminal"), [(False, False), (False, True), (True, True)])
async def test_a_type_of_a_plugin_proposes_only_what_it_says(
    perform: Callable[[RuneCall[_NoParams]], Awaitable[Changes]], *, emits: bool, is_terminal: bool
) -> None:
    """Whoever may publish the workflow alone was chosen by that; one that lies fails its tuum, which names the rune, and changes nothing."""
    kind = RuneType[_NoParams](name="sly", summary="x", params=_NoParams, perform=perform, emits=emits, is_terminal=is_terminal)
    async with ScriptRunner() as scripts:
        stage, outside = Stage(WorkflowEngine(build_rune_types([kind]), scripts)), QuietOutside()
        ended = await stage.play(workflow(tuum("only", {"runeType": "sly"})), outside)
    assert (ended.code, len(outside.effects)) == (("", 1) if emits else ("workflow-tuum-failed", 0))
    assert all(one.text.startswith("only/rune1 (sly): runes of this type say that they") for one in outside.failures)


async def test_a_type_that_is_no_terminal_makes_no_result() -> None:
    """Where the result is made was checked by the types that say so."""
    kind = RuneType[_NoParams](name="sly", summary="x", params=_NoParams, perform=_end, emits=True)
    async with ScriptRunner() as scripts:
        stage, outside = Stage(WorkflowEngine(build_rune_types([kind]), scripts)), QuietOutside()
        ended = await stage.play(workflow(tuum("only", {"runeType": "sly"})), outside)
    assert (ended.code, outside.effects) == ("workflow-tuum-failed", [])


async def _spoil(call: RuneCall[_NoParams]) -> Changes:
    call.variables["shared"].data.append("испорчено")
    return {}


@pytest.mark.req("S003-X11", "S003-A5")
async def test_tuums_share_no_values() -> None:
    """A rune of a plugin that changes a list it was given changes it for its own tuum alone, whichever runs first."""
    spoiling = RuneType[_NoParams](name="spoil", summary="Spoils.", params=_NoParams, perform=_spoil, list_consumes=lambda _: ("shared",))
    give = tuum("give", put("list", ["цело"]), outputMappings={"shared": "list"})
    spoils = [tuum(f"spoil{number}", {"runeType": "spoil"}, outputMappings={f"seen{number}": "shared"}) for number in range(2)]
    async with ScriptRunner() as scripts:
        stage = Stage(WorkflowEngine(build_rune_types([spoiling]), scripts))
        ended = await stage.play(workflow(*spoils, give), QuietOutside())
    assert ended.value.data["globals"] == {"shared": ["цело"], "seen0": ["цело", "испорчено"], "seen1": ["цело", "испорчено"]}


@pytest.mark.req("S003-A2", "S003-X3")
async def test_a_parameter_that_is_published_anew_is_read_anew() -> None:
    """The tuum that publishes it reads what the start gave; every other one reads what that tuum made of it."""
    makes = tuum("makes", put("more", "{{client}}!"), outputMappings={"client": "more"})
    reads = tuum("reads", put("said", "{{client}}"), outputMappings={"said": "said"})
    ended, _ = await play_quietly(workflow(reads, makes, triggerParameters=[parameter("client")]), client="Ромашка")
    assert ended.value.data["globals"] == {"client": "Ромашка!", "said": "Ромашка!"}


@pytest.mark.req("S003-A9")
async def test_a_terminal_may_name_what_is_no_text_or_not_there() -> None:
    """A list becomes its JSON, and of what nobody publishes the text is empty and the operations are none."""
    give = tuum("give", put("list", [1, "два"]), outputMappings={"rows": "list"})
    async with a_stage() as stage:
        shown = await stage.play(workflow(give, terminal={"rawText": "rows"}), QuietOutside())
        empty = await stage.play(workflow(give, terminal={"rawText": "nothing", "operations": "nobody"}), QuietOutside())
    assert shown.value.data["rawText"] == '[1,"два"]'
    assert (empty.value.data["rawText"], empty.value.data["operations"]) == ("", [])


@pytest.mark.req("S003-A11", "S003-X7", "G3")
async def test_a_missing_variable_is_empty_and_told_to_the_log(caplog: pytest.LogCaptureFixture) -> None:
    """A value is put in once: marks that stand in it stay as they are."""
    give = tuum("give", put("text", "{{client}}|{{nobody}}|{{CLIENT}}"), outputMappings={"said": "text"})
    async with a_stage() as stage:
        document = workflow(give, triggerParameters=[parameter("client"), parameter("secret")])
        ended = await stage.play(document, QuietOutside(), client="{{secret}}", secret="тайна")
    assert ended.value.data["globals"]["said"] == "{{secret}}||{{secret}}"
    (told,) = [one for one in caplog.records if getattr(one, "action", "") == "workflow_variable_missing"]
    assert "tuum give: a text names nobody" in told.getMessage()


@pytest.mark.req("S003-A12", "S003-X8")
async def test_what_is_switched_off_neither_runs_nor_gives() -> None:
    """A tuum and a rune that are switched off are as if they were not there."""
    off = tuum("off", put("text", "off"), enabled=False, outputMappings={"said": "text"})
    on = tuum("on", put("text", "on"), put("text", "off", enabled=False), outputMappings={"said": "text"})
    asks = tuum(
        "asks", promptRunes=[prompt("?"), prompt("!", enabled=False)], aiService="tool", outputMappings={"answer": "ai_final_output"}
    )
    async with a_stage() as stage:
        outside = QuietOutside(answer=str.upper)
        ended = await stage.play(workflow(off, on, asks), outside)
    assert ended.value.data["globals"] == {"said": "on", "answer": "?"}
    assert (ended.value.data["finished"], outside.made["off"]) == (["on", "asks"], 0)


@pytest.mark.req("S003-4", "S003-37")
async def test_a_new_run_takes_the_tuums_of_today() -> None:
    """The engine keeps workflows that it has read; a tuum that was published anew since is not the one it keeps."""
    stored = {"t": tuum("t", put("text", "вчера"), outputMappings={"said": "text"})}

    async def find(versions: list[str], /) -> Mapping[str, object]:
        return {one: stored[one] for one in versions}

    said = []
    async with ScriptRunner() as scripts:
        stage = Stage(WorkflowEngine(build_rune_types(), scripts, find))
        for text in ("вчера", "вчера", "сегодня"):
            stored["t"] = tuum("t", put("text", text), outputMappings={"said": "text"})
            ended = await stage.play(workflow({"tuum": "t"}), QuietOutside())
            said.append(ended.value.data["globals"]["said"])
    assert said == ["вчера", "вчера", "сегодня"]


BULKY = """
for number in range(100):
    await emit({"operationType": "CreateEntity", "entityType": "lead", "entityId": f"{name}{number}", "initialAttributes": {"TITLE": sign * size}})
"""


def make_bulky(name: str, sign: str, size: int) -> dict[str, Any]:
    return tuum(name, put("name", name), put("sign", sign), put("size", size), mainScript=code(BULKY, consumes="name sign size"))


@pytest.mark.req("S003-71", "S003-A6")
@pytest.mark.parametrize(
    ("makes", "code_of_end", "why"),
    [
        ([make_bulky(name, "x", 9_000) for name in ("a", "b", "c")], "workflow-result-unfit", "the text and the operations have"),
        ([make_bulky("a", "x", 100), make_bulky("b", "я", 7_000)], "workflow-operations-unwritable", "the commands of card 3 have"),
        ([make_bulky("a", "x", 9_000)], "", ""),
    ],
    ids=["the whole", "one card", "neither"],
)
async def test_what_no_run_can_keep_is_refused_before_anything_is_handed_on(
    makes: list[dict[str, Any]], code_of_end: str, why: str
) -> None:
    """Otherwise some changes would be made, and the run would then say that it has failed."""
    ended, outside = await play_quietly(workflow(*makes))
    assert (ended.code, len(outside.effects)) == (code_of_end, 0 if code_of_end else 2)
    assert all(one.text.startswith(why) for one in outside.failures)
