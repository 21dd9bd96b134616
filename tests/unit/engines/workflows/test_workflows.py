"""Workflows are played: tuums by their variables, models with prompts and callbacks, operations for the gate (S003)."""

import asyncio
from pathlib import Path

import pytest

from orchestrator.domain.errors import ModelClientError
from tests.unit.engines.workflows.played_kit import a_workflow_world, code, result, start
from tests.unit.engines.workflows.workflow_kit import parameter, prompt, put, tuum, workflow
from tests.unit.runs.runs_kit import RUN, events
from tests.unit.runs.test_runs_wait import order
from tests.unit.spine_kit import press, until

READ = tuum("read", put("text", "заметки о {{client}}"), outputMappings={"notes": "text"})
ASK = tuum(
    "ask",
    promptRunes=[prompt("Коротко: {{notes}}")],
    aiService="tool",
    mainScript=code('{"said": ai_final_output}', consumes="ai_final_output", produces="said"),
    outputMappings={"summary": "said"},
)
END = {"terminal": {"rawText": "summary"}, "triggerParameters": [parameter("client")]}


@pytest.mark.req("S003-1", "S003-2", "S003-13", "S003-14", "S003-16", "S003-20", "S003-21", "S003-32", "S003-61", "S003-X3")
async def test_a_workflow_orders_itself_by_its_variables(tmp_path: Path) -> None:
    """A tuum runs after those whose variables it needs, wherever it stands in the file; the terminal names the text of the result."""
    async with a_workflow_world(tmp_path, workflow(ASK, READ, **END)) as world:
        world.model.will("кратко о Ромашке")
        await world.work(start(client="Ромашка"))
        assert result(world)["isSuccess"] is True
        assert result(world)["rawText"] == "кратко о Ромашке"
        assert world.model.prompts == [[{"role": "user", "content": "Коротко: заметки о Ромашка"}]]


@pytest.mark.req("S003-49", "S003-50", "S003-51", "S003-17", "S003-71")
async def test_a_script_alone_proposes_what_the_gate_then_asks_about(tmp_path: Path) -> None:
    """A tuum without a model runs its main script at once; its operations come to a person as one card, and are made after the decision."""
    source = """
await emit({"operationType": "ModifyEntity", "entityType": "deal", "entityId": "481", "attributeKey": "COMMENTS", "modifyOperator": "=", "modifyValue": text})
await emit({"operationType": "ModifyEntity", "entityType": "deal", "entityId": "481", "attributeKey": "OPPORTUNITY", "modifyOperator": "+=", "modifyValue": 500})
{"is_null": ai_final_output is None}
"""
    main = code(source, consumes="text ai_final_output", produces="is_null")
    document = workflow(
        tuum("only", mainScript=main, outputMappings={"empty": "is_null"}),
        triggerParameters=[parameter("text")],
        terminal={"rawText": "empty"},
    )
    async with a_workflow_world(tmp_path, document) as world:
        await world.work(start(text="звонил"))
        (card,) = [row for row in world.outbox() if row.kind == "card"]
        assert world.portal.written() == []
        await world.work(press(card.body, key=RUN))
        assert world.portal.written("crm.deal.update") == [
            ("crm.deal.update", {"id": 481, "fields": {"COMMENTS": "звонил", "OPPORTUNITY": "1000500"}})
        ]
        assert result(world)["rawText"] == "true"
        assert [one["status"] for one in result(world)["applied"]] == ["succeeded", "succeeded"]


CALLBACK = code(
    'await show(f"{count + 1}: {ai_stream_output_total}")\n{"count": count + 1}', consumes="count ai_stream_output_total", produces="count"
)
STREAMED = tuum(
    "write",
    promptRunes=[prompt("Напиши письмо", role="System"), put("count", 0)],
    aiService="tool",
    isStreaming=True,
    chunkCallback=CALLBACK,
    mainScript=code('{"all": f"{ai_final_output} ({count})"}', consumes="ai_final_output count", produces="all"),
    outputMappings={"letter": "all"},
)


@pytest.mark.req("S003-38", "S003-39", "S003-42", "S003-43", "S003-44", "S003-45", "S003-46", "S003-47", "S003-48", "S003-66", "S003-79")
async def test_the_callback_hears_each_chunk_in_order(tmp_path: Path) -> None:
    """The callback gets what came and all that came so far, changes variables, and shows; the main script finds the whole answer."""
    async with a_workflow_world(tmp_path, workflow(STREAMED, terminal={"rawText": "letter"})) as world:
        world.model.will("Здравствуйте, Иван!")
        await world.work(start())
        shown = [one.args["said"] for one in world.partials if one.code == "run-shows"]
        assert shown == ["1: Здравст", "2: Здравствуйте,", "3: Здравствуйте, Иван!"]
        assert result(world)["rawText"] == "Здравствуйте, Иван! (3)"


@pytest.mark.req("S003-46", "S003-A7")
async def test_the_main_script_runs_also_after_a_model_that_did_not_answer(tmp_path: Path) -> None:
    """It finds the error in place of an answer."""
    main = code('{"said": f"{ai_final_output!r}: {ai_error}"}', consumes="ai_final_output ai_error", produces="said")
    document = workflow({**ASK, "promptRunes": [prompt("Кратко")], "mainScript": main}, terminal={"rawText": "summary"})
    async with a_workflow_world(tmp_path, document) as world:
        world.model.will(ModelClientError("no answer in 60 s"))
        await world.work(start())
        assert result(world)["rawText"] == "'': no answer in 60 s"


@pytest.mark.req("S003-A7", "S003-X4", "S003-A6")
async def test_a_tuum_without_a_script_fails_with_its_model(tmp_path: Path) -> None:
    """The workflow fails and names the tuum; a person may have it retried, and what finished is not done again."""
    asking = {key: one for key, one in ASK.items() if key != "mainScript"} | {"outputMappings": {"summary": "ai_final_output"}}
    async with a_workflow_world(tmp_path, workflow(READ, asking, **END)) as world:
        world.model.will(ModelClientError("no answer in 60 s"))
        await world.work(start(client="Ромашка"))
        notices = [one for row in world.outbox() if row.kind == "reply" for one in row.body["notices"]]
        assert [one["args"]["tuum"] for one in notices if one["code"] == "workflow-tuum-failed"] == ["ask"]
        world.model.will("кратко")
        await world.work(order("retry"))
        assert result(world)["rawText"] == "кратко"
        assert [one.data["node"] for one in events(world, "NodeDone")].count("read") == 1


@pytest.mark.req("S003-15", "S003-31")
async def test_independent_tuums_ask_their_models_at_the_same_time(tmp_path: Path) -> None:
    """Two tuums that do not need each other wait for their answers side by side."""
    first, second = ({**ASK, "tuumId": name, "promptRunes": [prompt(name)], "outputMappings": {name: "said"}} for name in ("one", "two"))
    both = tuum("both", put("all", "{{one}} и {{two}}"), outputMappings={"joined": "all"})
    async with a_workflow_world(tmp_path, workflow(both, first, second, terminal={"rawText": "joined"})) as world:
        asked = asyncio.Event()
        world.model.gate = asked
        world.model.will("первый", "второй")
        async with asyncio.TaskGroup() as group:
            group.create_task(world.work(start()))
            await until(lambda: len(world.model.prompts) == len("12"))
            asked.set()
        assert result(world)["rawText"] == "первый и второй"


@pytest.mark.req("S003-18", "S003-19")
async def test_text_of_strangers_is_followed_to_the_operation(tmp_path: Path) -> None:
    """A value that came out of the portal through a model makes a person be asked, and says why; a value of the author alone does not."""
    read = tuum(
        "read", {"runeType": "query", "method": "crm.deal.get", "params": {"id": 481}, "output": "deal"}, outputMappings={"deal": "deal"}
    )
    write = tuum(
        "write",
        {
            "runeType": "operation", "operationType": "CreateEntity", "entityType": "lead", "entityId": "new",
            "initialAttributes": {"TITLE": "{{deal.TITLE}}"},
        },
    )  # fmt: skip
    async with a_workflow_world(tmp_path, workflow(write, read)) as world:
        await world.work(start())
        (card,) = [row for row in world.outbox() if row.kind == "card"]
        assert "gate-foreign-text" in {one["code"] for one in card.body["reasons"]} or card.body["reasons"]
        assert world.portal.written() == []
        await world.work(press(card.body, approve=False, key=RUN))
        assert result(world)["applied"][0]["status"] == "refused"
        assert world.portal.written() == []


@pytest.mark.req("S003-64", "S003-65")
async def test_a_script_asks_for_records_and_the_person_and_may_stop(tmp_path: Path) -> None:
    """It reads a record and the profile of the run's person; its author's words end the workflow, and nothing is retried into a write."""
    source = """
deal = await get_entity("deal", number)
name = await get_player_metadata("name")
if deal["OPPORTUNITY"] == "1000000.00":
    await stop(f"{name}, сделка «{deal['TITLE']}» слишком большая")
{}
"""
    document = workflow(tuum("look", mainScript=code(source, consumes="number")), triggerParameters=[parameter("number")])
    async with a_workflow_world(tmp_path, document) as world:
        await world.work(start(number="481"))
        notices = [one for row in world.outbox() if row.kind == "reply" for one in row.body["notices"]]
        assert [one["args"]["why"] for one in notices if one["code"] == "workflow-stopped"] == ["Анна, сделка «Ромашка» слишком большая"]


@pytest.mark.req("S003-49", "S003-A6")
@pytest.mark.parametrize("call", ["stop()", "stop('нет', 1)", "stop(text='нет')", "await stop()"])
async def test_however_it_is_stopped_nothing_is_proposed(tmp_path: Path, call: str) -> None:
    """A call with too little or too much that nobody awaits stops the workflow, too: its author meant that nothing shall happen."""
    change = {"operationType": "ModifyEntity", "entityType": "deal", "entityId": "481", "attributeKey": "TITLE"}
    source = f"await emit({ {**change, 'modifyOperator': '=', 'modifyValue': 'x'} })\n{call}\n{{}}"
    async with a_workflow_world(tmp_path, workflow(tuum("only", mainScript=code(source)))) as world:
        await world.work(start())
        rows = world.outbox()
        notices = [one["code"] for row in rows if row.kind == "reply" for one in row.body["notices"]]
        assert (notices, [row for row in rows if row.kind == "card"]) == (["run-ended", "workflow-stopped"], [])
        assert world.portal.written() == []


@pytest.mark.req("S003-41", "S003-65")
async def test_a_query_never_changes_anything(tmp_path: Path) -> None:
    """A script that calls a method which writes is refused by the gate, without a card, also if the name is made while it runs."""
    source = 'await query("crm.deal." + "update", {"id": 481, "fields": {"TITLE": "x"}})\n{}'
    async with a_workflow_world(tmp_path, workflow(tuum("look", mainScript=code(source)))) as world:
        await world.work(start())
        rows = world.outbox()
        assert not [row for row in rows if row.kind == "card"]
        notices = [one for row in rows if row.kind == "reply" for one in row.body["notices"]]
        assert "crm.deal.update" in next(one["args"]["why"] for one in notices if one["code"] == "workflow-tuum-failed")
        assert world.portal.requests == [] or world.portal.written() == []


async def test_a_tuum_proposes_nothing_but_what_it_says(tmp_path: Path) -> None:
    """An operation that its author did not list ends the tuum, and nothing of the run is proposed."""
    source = """
await emit({"operationType": "ModifyEntity", "entityType": "deal", "entityId": "481", "attributeKey": "TITLE", "modifyOperator": "=", "modifyValue": "x"})
"""
    document = workflow(tuum("only", mainScript=code(source), mayPropose=["CreateEntity activity"]))
    async with a_workflow_world(tmp_path, document) as world:
        await world.work(start())
        rows = world.outbox()
        assert not [row for row in rows if row.kind == "card"]
        notices = [one for row in rows if row.kind == "reply" for one in row.body["notices"]]
        (failed,) = [one for one in notices if one["code"] == "workflow-tuum-failed"]
        assert "ModifyEntity deal is not in mayPropose: CreateEntity activity" in failed["args"]["why"]


@pytest.mark.req("S003-4")
async def test_a_stored_tuum_that_cannot_be_read_any_more_ends_the_run_with_words(tmp_path: Path) -> None:
    """Such as one that an earlier program has published; it is no error inside."""
    async with a_workflow_world(tmp_path, workflow({"tuum": "stored"}), tuums={"stored": {"tuumId": 5}}) as world:
        await world.work(start())
        notices = [one["code"] for row in world.outbox() if row.kind == "reply" for one in row.body["notices"]]
        assert notices == ["run-ended", "workflow-unreadable"]


@pytest.mark.req("S003-21", "S003-A6", "S003-X4")
async def test_a_failed_workflow_gives_a_result_that_says_why(tmp_path: Path) -> None:
    """Programs read that it did not succeed, with the code and the reason; what finished is named, and half a plan is not given."""
    emits = """
await emit({"operationType": "ModifyEntity", "entityType": "deal", "entityId": "481", "attributeKey": "COMMENTS", "modifyOperator": "=", "modifyValue": notes})
1 / 0
"""
    document = workflow(READ, tuum("breaks", mainScript=code(emits, consumes="notes")), triggerParameters=[parameter("client")])
    async with a_workflow_world(tmp_path, document) as world:
        await world.work(start(client="Ромашка"))
        (end,) = events(world, "RunFinished")
        told = result(world)
        assert (end.data["status"], told["isSuccess"], told["errorCode"]) == ("failed", False, "TuumExecutionFailed")
        assert (told["rawText"], told["operations"], told["finished"]) == ("", [], ["read"])
        assert "breaks" in end.data["detail"] or "zero" in end.data["detail"]
        assert told["errorMessage"] == end.data["detail"] != ""
        assert world.portal.written() == []
