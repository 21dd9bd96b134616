"""Workflows on records: which one, its block, its snapshots, and who decides when people changed the same fields (S003-54, S003-X10)."""

import asyncio
from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from orchestrator.domain.errors import ModelClientError
from orchestrator.domain.taint import Value
from orchestrator.engines.shared.launch import TEXT
from state.journal import record_blocks
from state.journal.record_blocks import RecordPlace
from state.journal.store import InboxRow
from state.model.record_blocks import Block
from state.sql import open_store
from state.sql.dialect import build_sqlite_url
from tests.unit.engines.workflows.played_kit import a_workflow_world, result, start
from tests.unit.engines.workflows.workflow_kit import prompt, put, tuum, workflow
from tests.unit.runs import runs_kit
from tests.unit.runs.runs_kit import RUN, events, work_through
from tests.unit.runs.test_runs_wait import click, order
from tests.unit.spine_kit import ANNA, BORIS, World, message, press, until
from tests.unit.spine_portal import Portal

SECOND = "run:0190aaaa-0000-7000-8000-000000000002"
DEAL = RecordPlace("deal", 481)
CHANGE = {"runeType": "operation", "operationType": "ModifyEntity", "entityType": "deal", "entityId": "{{deal}}"}


def change(key: str, value: Any, operator: str = "=") -> dict[str, Any]:
    return {**CHANGE, "attributeKey": key, "modifyOperator": operator, "modifyValue": value}


def on_deal(*changes: Mapping[str, Any], **more: Any) -> dict[str, Any]:
    """A workflow on a deal: it asks the model for its text, and proposes changes."""
    asking = tuum(
        "ask", promptRunes=[prompt("О сделке {{deal}}")], aiService="tool", runes=[dict(one) for one in changes],
        outputMappings={"summary": "ai_final_output"},
    )  # fmt: skip
    return workflow(asking, record="deal", terminal={"rawText": "summary"}, **more)


def blocks(world: World, place: RecordPlace = DEAL) -> list[Block]:
    return list(record_blocks.read_blocks(world.sql, place))


def answers(world: World) -> list[dict[str, Any]]:
    return [dict(row.body) for row in world.outbox() if row.kind == "reply"]


def codes(told: list[dict[str, Any]]) -> list[str]:
    return [one["code"] for body in told for one in body["notices"]]


def second(**parameters: Any) -> InboxRow:
    """The input that starts the workflow once more."""
    row = start(**parameters)
    return replace(row, session=SECOND, source=f"start:{SECOND}")


def meanwhile(world: World, **fields: Any) -> Callable[[Mapping[str, Any]], str]:
    """A model that answers after somebody has changed the deal in the portal."""

    def answer(_payload: Mapping[str, Any]) -> str:
        world.portal.records["deal", 481].update(fields)
        return "итог"

    return answer


@pytest.mark.req("S003-53", "S003-54", "S003-72", "S003-19")
async def test_a_run_leaves_its_result_in_a_block_of_the_record(tmp_path: Path) -> None:
    """The block holds text, snapshots and what became of the operations; the next one has it as its parent."""
    async with a_workflow_world(tmp_path, on_deal(change("OPPORTUNITY", 120000))) as world:
        world.model.will("итог", "второй итог")
        await world.work(start(deal="deal:481"))
        (card,) = [row for row in world.outbox() if row.kind == "card"]
        assert "gate-taint-prose" not in [one["code"] for one in card.body["reasons"]], "the number is the person's own"
        (block,) = blocks(world)
        assert (block.status, block.input["OPPORTUNITY"]) == ("Loading", "1000000.00")
        await world.work(press(card.body, key=RUN))
        (block,) = blocks(world)
        assert (block.status, block.raw_text, block.title, block.by) == ("Idle", "итог", "Ромашка", ANNA.key)
        assert (block.post_ai, block.post_user) == ({"OPPORTUNITY": 120000}, {"OPPORTUNITY": 120000})
        assert [one["status"] for one in block.operations] == ["succeeded"]
        assert result(world)["block"] == {"id": block.id, "status": "Idle"}
        await world.work(second(deal=481))
        assert [one.parent for one in blocks(world)] == ["", block.id]


@pytest.mark.req("S003-X10", "S003-54", "S003-55")
async def test_a_person_chooses_between_their_change_and_that_of_the_run(tmp_path: Path) -> None:
    """One question for a field, with both values as people read them; only what was chosen is applied."""
    document = on_deal(change("OPPORTUNITY", 120000), change("TITLE", "Роза"), change("COMMENTS", "звонил"))
    async with a_workflow_world(tmp_path, document) as world:
        world.model.will(meanwhile(world, OPPORTUNITY="150000.00", TITLE="Лютик"))
        await world.work(start(deal="481"))
        (asked,) = [one for one in answers(world) if one["actions"]]
        assert [one["label"]["args"]["label"].replace("\xa0", " ") for one in asked["actions"][:-1]] == [
            "Оставить: 150 000 ₽",
            "Изменить на: 120 000 ₽",
        ]
        (notice,) = asked["notices"]
        assert notice["code"] == "workflow-conflict"
        assert (notice["args"]["title"], notice["args"]["before"].replace("\xa0", " ")) == ("Ромашка", "1 000 000 ₽")
        assert blocks(world)[0].status == "Conflict"
        await world.work(click(*asked["actions"][1]["words"]))
        asked = [one for one in answers(world) if one["actions"]][-1]
        await world.work(click(*asked["actions"][0]["words"]))
        assert dict(blocks(world)[0].choices) == {"OPPORTUNITY": "process", "TITLE": "person"}
        (card,) = [row for row in world.outbox() if row.kind == "card"]
        assert world.portal.written() == []
        await world.work(press(card.body, key=RUN))
        assert world.portal.written("crm.deal.update") == [
            ("crm.deal.update", {"id": 481, "fields": {"OPPORTUNITY": 120000, "COMMENTS": "звонил"}})
        ]
        (block,) = blocks(world)
        assert block.status == "Idle"
        assert block.post_ai == {"OPPORTUNITY": 120000, "TITLE": "Роза", "COMMENTS": "звонил"}
        assert block.post_user == {"OPPORTUNITY": 120000, "TITLE": "Лютик", "COMMENTS": "звонил"}


@pytest.mark.req("S003-X10", "S003-54")
async def test_one_run_works_on_a_record_at_a_time(tmp_path: Path) -> None:
    """While a card waits, another main workflow on the record is refused with words; a cancelled run keeps nobody out."""
    document = on_deal(change("OPPORTUNITY", 120000), metadata={"title": "Забота"})
    async with a_workflow_world(tmp_path, document) as world:
        world.model.will("первый", "второй")
        await world.work(start(deal="481"))
        answers(world)
        await world.work(second(deal="481"))
        (busy,) = [one for body in answers(world) for one in body["notices"] if one["code"] == "workflow-block-busy"]
        assert busy["args"]["workflow"] == "Забота", "people know it by its title, as in /runs"
        assert len(blocks(world)) == 1
        await work_through(world, order("cancel"), order("retry", key=SECOND))
        assert [(one.run == SECOND.removeprefix("run:"), one.status) for one in blocks(world)] == [(False, "Error"), (True, "Loading")]
        assert world.portal.written() == []


@pytest.mark.req("S003-X10", "S003-54", "S003-A6")
async def test_a_failed_run_can_be_retried_until_another_one_takes_its_place(tmp_path: Path) -> None:
    """A failed block goes on in a retry; once another run has opened one, the retry is refused."""
    async with a_workflow_world(tmp_path, on_deal()) as world:
        world.model.will(ModelClientError("no answer"), ModelClientError("no answer"), "итог")
        await world.work(start(deal="481"))
        assert (blocks(world)[0].status, blocks(world)[0].code) == ("Error", "workflow-tuum-failed")
        await world.work(order("retry"))
        assert [one.type for one in world.sql.read_events(DEAL.stream)] == ["BlockOpened", "BlockFailed", "BlockResumed", "BlockFailed"]
        await world.work(second(deal="481"))
        assert [(one.status, one.parent) for one in blocks(world)] == [("Error", ""), ("Idle", "")]
        answers(world)
        await world.work(order("retry"))
        assert "workflow-block-dismissed" in codes(answers(world))


@pytest.mark.req("S003-53")
@pytest.mark.parametrize("typed", ["Иван Иванов", "иванов иван", "Иванов"])
async def test_a_contact_is_found_by_both_names(tmp_path: Path, typed: str) -> None:
    """In the order in which people say them, or in that of lists."""
    telling = workflow(
        tuum("only", put("said", "{{contact}}"), outputMappings={"said": "said"}), record="contact", terminal={"rawText": "said"}
    )
    async with a_workflow_world(tmp_path, telling) as world:
        await work_through(world, runs_kit.start("dossier", engine="workflow"), message(typed))
        assert result(world)["rawText"] == "43"


@pytest.mark.req("S003-X10", "S003-54")
async def test_what_changes_while_the_choice_waits_is_asked_about_as_well(tmp_path: Path) -> None:
    """Neither a field that was chosen by another value than it has now, nor one that nobody had changed before, is written over."""
    async with a_workflow_world(tmp_path, on_deal(change("OPPORTUNITY", 120000), change("COMMENTS", "звонил"))) as world:
        world.model.will(meanwhile(world, OPPORTUNITY="150000.00"))
        await world.work(start(deal="481"))
        (asked,) = [one for one in answers(world) if one["actions"]]
        world.portal.records["deal", 481].update(OPPORTUNITY="990000.00", COMMENTS="отказались")
        await world.work(click(*asked["actions"][1]["words"]))
        for before in ("150 000 ₽", "—"):
            asked = [one for one in answers(world) if one["actions"]][-1]
            assert asked["notices"][0]["args"]["before"].replace("\xa0", " ") == before
            assert (blocks(world)[0].status, world.portal.written()) == ("Conflict", [])
            await world.work(click(*asked["actions"][0]["words"]))
        assert world.portal.written() == []
        (block,) = blocks(world)
        assert (block.status, block.choices) == ("Idle", {"OPPORTUNITY": "person", "COMMENTS": "person"})
        assert block.post_user == {"OPPORTUNITY": "990000.00", "COMMENTS": "отказались"}


@pytest.mark.req("S003-X10", "S003-54")
async def test_a_field_that_is_emptied_is_asked_about_as_well(tmp_path: Path) -> None:
    """What a colleague wrote meanwhile is not taken away without a question."""
    async with a_workflow_world(tmp_path, on_deal(change("TITLE", ""))) as world:
        world.model.will(meanwhile(world, TITLE="Лютик"))
        await world.work(start(deal="481"))
        assert blocks(world)[0].status == "Conflict"
        assert "workflow-conflict" in codes(answers(world))


@pytest.mark.req("S003-X10", "S003-54")
async def test_a_spelling_that_fits_two_fields_writes_over_neither(tmp_path: Path) -> None:
    """What a colleague wrote meanwhile could be in either; the run fails with words."""
    async with a_workflow_world(tmp_path, on_deal(change("ufCrmAB", "новое"))) as world:
        world.portal.records["deal", 481].update(UF_CRM_A_B="1", UF_CRM_AB="2")
        world.model.will(meanwhile(world, UF_CRM_AB="от коллеги"))
        await world.work(start(deal="481"))
        assert "workflow-field-doubtful" in codes(answers(world))
        assert world.portal.written() == []


@pytest.mark.req("S003-X10", "S003-19")
async def test_a_micro_workflow_opens_no_block_and_respects_those_there_are(tmp_path: Path) -> None:
    """It changes an idle record; one that failed it leaves alone."""
    micro = workflow(tuum("only", change("COMMENTS", "звонил")), record="deal", kind="micro")
    adding = workflow(tuum("only", change("OPPORTUNITY", 500, "+=")), record="deal", kind="micro")
    async with a_workflow_world(tmp_path, micro) as world:
        await world.work(start(deal="481"))
        assert (len(world.portal.written()), blocks(world)) == (1, [])
    async with a_workflow_world(tmp_path, on_deal()) as world:
        world.model.will(ModelClientError("no answer"))
        await world.work(start(deal="481"))
        store, portal = world.sql, world.portal
        assert blocks(world)[0].status == "Error"
        async with a_workflow_world(tmp_path, adding, world_options={"store": store, "portal": portal}) as other:
            await other.work(second(deal="481"))
            assert "workflow-record-locked" in codes(answers(other))
            assert other.portal.written() == []


@pytest.mark.req("S003-54")
async def test_in_shadow_mode_a_block_is_only_planned(tmp_path: Path) -> None:
    """Nothing is stored in the record's stream, and the result says so."""
    async with a_workflow_world(tmp_path, on_deal(change("COMMENTS", "звонил")), mode="shadow") as world:
        world.model.will("итог")
        await world.work(start(deal="481"))
        assert blocks(world) == []
        assert result(world)["block"]["status"] == "Planned"
        assert result(world)["applied"][0]["status"] == "planned"


def started_in_chat(text: str = "") -> InboxRow:
    """The input of somebody who starts the workflow in a chat, with words behind the command."""
    return runs_kit.start("dossier", engine="workflow", **{TEXT: Value(text, frozenset({"person"}))})


@pytest.mark.req("S003-53", "S003-62")
async def test_in_a_chat_the_record_is_asked_for_and_found_by_its_name(tmp_path: Path) -> None:
    """No record of that name: asked again; several: buttons; the number becomes the variable."""
    async with a_workflow_world(tmp_path, on_deal()) as world:
        world.portal.records["deal", 483] = {**world.portal.records["deal", 482], "ID": "483", "TITLE": "Вектор плюс"}
        world.portal.records["deal", 484] = {**world.portal.records["deal", 482], "ID": "484", "TITLE": "Вектор минус"}
        world.model.will("итог")
        await world.work(started_in_chat())
        assert "workflow-record-which" in codes(answers(world))
        await world.work(message("Астра"))
        assert "workflow-record-none" in codes(answers(world))
        await world.work(message("вектор "))
        assert world.model.prompts[-1][-1]["content"] == "О сделке 482"


@pytest.mark.req("S003-53", "S003-62")
async def test_of_several_records_the_person_chooses_one(tmp_path: Path) -> None:
    """What was typed behind the command names the record; nothing is guessed."""
    async with a_workflow_world(tmp_path, on_deal()) as world:
        world.portal.records["deal", 483] = {**world.portal.records["deal", 482], "ID": "483", "TITLE": "Вектор плюс"}
        world.model.will("итог")
        await world.work(started_in_chat("вект"))
        (asked,) = [one for one in answers(world) if one["actions"]]
        assert [one["label"]["args"]["label"] for one in asked["actions"][:-1]] == ["Вектор (№ 482)", "Вектор плюс (№ 483)"]
        await world.work(click(*asked["actions"][1]["words"]))
        assert world.model.prompts[-1][-1]["content"] == "О сделке 483"
        assert [one.status for one in blocks(world, RecordPlace("deal", 483))] == ["Idle"]


@pytest.mark.req("S003-53", "S003-54")
@pytest.mark.parametrize("given", ["999", "500"])
async def test_a_record_that_the_person_may_not_see_ends_the_run(tmp_path: Path, given: str) -> None:
    """One that there is not, and one of somebody else, end the run with the same words; no block is opened."""
    async with a_workflow_world(tmp_path, on_deal()) as world:
        await world.work(start(deal=given))
        assert "workflow-record-hidden" in codes(answers(world))
        assert blocks(world, RecordPlace("deal", int(given))) == []
        assert world.model.prompts == []


@pytest.mark.req("S003-53", "S003-62")
@pytest.mark.parametrize("given", ["", "deal481", "Ромашка", 0, True, None])
async def test_a_program_gives_the_record_as_a_number_or_a_key(tmp_path: Path, given: object) -> None:
    """Anything else ends the run before anything is read."""
    async with a_workflow_world(tmp_path, on_deal()) as world:
        await world.work(start(**({"deal": given} if given is not None else {})))
        assert "workflow-record-unfit" in codes(answers(world))
        assert world.portal.requests == []


HERE = "https://portal.example/crm/deal/details/481/"
NOT_HERE = [
    "https://other.example/crm/deal/details/481/",
    "https://portal.example/crm/company/details/481/",
    "https://[x/crm/deal/details/481/",
]


@pytest.mark.req("S003-53", "S003-62")
@pytest.mark.parametrize("given", [*NOT_HERE, "lead:481"])
async def test_a_number_of_another_portal_or_kind_is_none_of_ours(tmp_path: Path, given: str) -> None:
    """Deal 481 of this portal is not what somebody meant who sends the link to a record elsewhere: it is refused, in a chat asked again."""
    async with a_workflow_world(tmp_path, on_deal()) as world:
        await world.work(start(deal=given))
        assert "workflow-record-elsewhere" in codes(answers(world))
        assert (world.portal.requests, world.model.prompts) == ([], [])
    async with a_workflow_world(tmp_path / "chat", on_deal()) as world:
        world.model.will("итог")
        await world.work(started_in_chat(given))
        assert codes(answers(world)) == ["workflow-record-elsewhere", "workflow-record-which"]
        assert world.portal.requests == []
        await world.work(message(HERE))
        assert world.model.prompts[-1][-1]["content"] == "О сделке 481"


async def test_a_stranger_cannot_answer_for_the_person(tmp_path: Path) -> None:
    """The choice belongs to the one who started the run."""
    async with a_workflow_world(tmp_path, on_deal(change("OPPORTUNITY", 120000))) as world:
        world.model.will(meanwhile(world, OPPORTUNITY="150000.00"))
        await world.work(start(deal="481"))
        (asked,) = [one for one in answers(world) if one["actions"]]
        await world.work(click(*asked["actions"][1]["words"], actor=BORIS))
        assert blocks(world)[0].status == "Conflict"
        assert not events(world, "RunFinished")


def pictures(world: World) -> list[Any]:
    """What a client that watches the run sees, one picture after another, from now on."""
    found: list[Any] = []
    progress = world.tools.progress

    def look() -> None:
        shown = progress.find(RUN)
        if shown is not None:
            found.append(shown.snapshot)

    progress.listeners.append(look)
    return found


@pytest.mark.req("S003-55", "S003-68", "S003-69", "S003-70", "S003-X10")
async def test_who_watches_the_run_sees_its_block_and_its_conflict(tmp_path: Path) -> None:
    """Statuses, the fields in conflict, what changed, and the end; each display update names the run, the block and its place."""
    shown = {"runeType": "display", "content": "готовлю", "updateMode": "Incremental", "incrementalType": "json-patch"}
    async with a_workflow_world(tmp_path, on_deal(shown, change("OPPORTUNITY", 120000))) as world:
        seen = pictures(world)
        world.model.will(meanwhile(world, OPPORTUNITY="150000.00"))
        await world.work(start(deal="481"))
        block = blocks(world)[0].id
        assert seen[0]["blockStatus"]["StatusCode"] == "Loading"
        update = next(one["displayUpdate"] for one in seen if "displayUpdate" in one)
        assert update == {
            "Content": "готовлю", "UpdateMode": "Incremental", "IncrementalType": "json-patch",
            "RequestId": (RUN.removeprefix("run:")), "StreamingStatus": "Streaming", "ContextBlockId": block,
            "TargetElementId": "ask",
        }  # fmt: skip
        assert seen[-1]["blockStatus"] == {"BlockId": block, "StatusCode": "Conflict"}
        assert seen[-1]["conflict"]["Fields"] == [{"key": "OPPORTUNITY", "before": "1000000.00", "person": "150000.00", "process": 120000}]
        assert world.partials == [], "a chat shows whole texts alone"
        (asked,) = [one for one in answers(world) if one["actions"]]
        await world.work(click(*asked["actions"][0]["words"]))
        last = seen[-1]
        assert (last["blockStatus"]["StatusCode"], "conflict" in last) == ("Idle", False)
        assert last["stateSignal"] == {"BlockId": block, "Fields": ["OPPORTUNITY"]}
        assert (last["displayUpdate"]["StreamingStatus"], last["displayUpdate"]["Content"]) == ("Complete", "итог")
        assert "IncrementalType" not in last["displayUpdate"]


@pytest.mark.req("S003-55", "S003-X10")
async def test_who_watches_a_failing_run_sees_that_it_failed(tmp_path: Path) -> None:
    """The stream ends with an error, and so does the block."""
    async with a_workflow_world(tmp_path, on_deal()) as world:
        seen = pictures(world)
        world.model.will(ModelClientError("no answer"))
        await world.work(start(deal="481"))
        assert (seen[-1]["displayUpdate"]["StreamingStatus"], seen[-1]["blockStatus"]["StatusCode"]) == ("Error", "Error")


@pytest.mark.req("S003-54", "S003-X10")
async def test_of_two_processes_one_works_on_the_record(tmp_path: Path) -> None:
    """Both start a run on it at the same moment, on one database: one leaves its block, the other is told who works there."""
    url, portal, held = build_sqlite_url(tmp_path / "one.db"), Portal(), asyncio.Event()
    document = on_deal()
    options = [{"store": open_store(url), "portal": portal} for _ in range(2)]
    async with (
        a_workflow_world(tmp_path, document, world_options=options[0]) as first,
        a_workflow_world(tmp_path, document, world_options=options[1]) as other,
    ):
        asked: list[object] = []

        def answer(payload: object) -> str:
            asked.append(payload)
            return "итог"

        for world in (first, other):
            world.model.gate = held
            world.model.will(answer)
        async with asyncio.TaskGroup() as group:
            group.create_task(first.work(start(deal="481")))
            group.create_task(other.work(second(deal="481")))
            await until(lambda: "workflow-block-busy" in repr(first.outbox()))
            held.set()
        assert (len(asked), [one.status for one in blocks(first)]) == (1, ["Idle"])
        for world in (first, other):
            world.model.script.clear()


@pytest.mark.req("S003-X10", "S003-19")
async def test_the_choice_of_a_cancelled_run_keeps_no_micro_workflow_out(tmp_path: Path) -> None:
    """Nobody can answer it any more, so nobody is told to."""
    micro = workflow(tuum("only", change("COMMENTS", "звонил")), record="deal", kind="micro")
    async with a_workflow_world(tmp_path, on_deal(change("OPPORTUNITY", 120000))) as world:
        world.model.will(meanwhile(world, OPPORTUNITY="150000.00"))
        await world.work(start(deal="481"))
        store, portal = world.sql, world.portal
        async with a_workflow_world(tmp_path, micro, world_options={"store": store, "portal": portal}) as other:
            await other.work(second(deal="481"))
            assert "workflow-record-locked" in codes(answers(other))
            await other.work(order("cancel"))
            await other.work(order("retry", key=SECOND))
            assert other.portal.written() == [("crm.deal.update", {"id": 481, "fields": {"COMMENTS": "звонил"}})]


@pytest.mark.req("S003-53", "S004-30")
@pytest.mark.parametrize("number", [12, 482])
async def test_a_record_that_was_found_by_its_name_is_changed_with_a_card(tmp_path: Path, number: int) -> None:
    """Its number came out of the portal, where a customer may have written the name; how many digits it has does not matter."""
    document = workflow(tuum("only", change("COMMENTS", "звонил")), record="deal")
    async with a_workflow_world(tmp_path, document) as world:
        world.portal.records["deal", number] = {**world.portal.records.pop(("deal", 482)), "ID": str(number)}
        await world.work(started_in_chat("вектор"))
        (card,) = [row for row in world.outbox() if row.kind == "card"]
        assert "gate-taint-prose" in [one["code"] for one in card.body["reasons"]]
        assert world.portal.written() == []
