"""The operations of a workflow become calls on a card: joined by record, computed from what the portal holds, refused where they are unfit."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import unquote

import pytest

from orchestrator.domain.effect import Outcome
from orchestrator.engines.runs import RunEffect
from orchestrator.rehearsals.rehearsal import Place
from tests.unit.engines.workflows.played_kit import a_workflow_world, result, start
from tests.unit.engines.workflows.stage_kit import QuietOutside, a_stage
from tests.unit.engines.workflows.workflow_kit import put, tuum, workflow
from tests.unit.runs.runs_kit import RUN, index
from tests.unit.spine_kit import codes_of, press


def change(deal: int | str, value: Any, operator: str = "=", field: str = "OPPORTUNITY") -> dict[str, Any]:
    """A change of a deal."""
    kind = {"operationType": "ModifyEntity", "entityType": "deal", "entityId": deal}
    return {**kind, "attributeKey": field, "modifyOperator": operator, "modifyValue": value}


class OneDeal(QuietOutside):
    """A portal in which every deal that is read has a sum; nothing is written."""

    async def perform(self, place: Place, effect: RunEffect, params: Any) -> Outcome:
        """What a read gives."""
        planned = await super().perform(place, effect, params)
        return planned.model_copy(update={"status": "succeeded", "result": {"OPPORTUNITY": "10.00"}}) if effect.must_read else planned


@dataclass(frozen=True, slots=True)
class Came:
    """What came of a run whose person agrees to everything."""

    status: str
    written: Mapping[str, Any]
    """The fields that were written, by the number of the deal."""
    applied: Sequence[Mapping[str, Any]]
    told: Sequence[str]
    """The codes of what the person read."""


async def play(folder: Path, *operations: dict[str, Any], before: dict[str, Any] | None = None) -> Came:
    """Play a workflow that proposes these operations; the deal 481 holds the fields `before`."""
    document = workflow(tuum("only", put("list", [*operations]), outputMappings={"list": "list"}), terminal={"operations": "list"})
    async with a_workflow_world(folder, document) as world:
        world.portal.records["deal", 481].update(before or {})
        await world.work(start())
        rows = world.outbox()
        for row in rows:
            if row.kind == "card":
                await world.work(press(row.body, key=RUN))
        return Came(
            status=index(world).status,
            written={str(params.get("id", params.get("taskId"))): params["fields"] for _, params in world.portal.written()},
            applied=result(world)["applied"] if index(world).status == "done" else (),
            told=[code for row in rows for code in codes_of(row)],
        )


@pytest.mark.req("S003-A6", "S003-X9")
async def test_changes_of_a_record_are_one_call(tmp_path: Path) -> None:
    """They are joined also where others stand between them, each counts from the one before it, and reports keep their order."""
    operations = [change(481, 5, "+="), change(482, 7), change(481, 2, "*="), change(481, "да", field="COMMENTS")]
    came = await play(tmp_path, *operations, before={"OPPORTUNITY": "10.50"})
    assert came.written == {"481": {"OPPORTUNITY": "31", "COMMENTS": "да"}, "482": {"OPPORTUNITY": "7"}}
    assert [one["operation"] for one in came.applied] == [f"ModifyEntity deal {one}" for one in (481, 482, 481, 481)]
    assert {one["status"] for one in came.applied} == {"succeeded"}


@pytest.mark.req("S003-X9")
async def test_what_is_added_follows_a_field_in_any_spelling(tmp_path: Path) -> None:
    """Nothing that stood there is lost: neither of a name in small letters, nor of a task, whose fields are read by other names."""
    task = {**change(8017, " № 7", "+=", field="TITLE"), "entityType": "task"}
    operations = [change(481, " и ещё", "+=", field="comments"), change(481, " раз", "+=", field="COMMENTS"), task]
    came = await play(tmp_path, *operations, before={"COMMENTS": "было"})
    assert came.written["481"] == {"COMMENTS": "было и ещё раз"}
    assert came.written["8017"] == {"TITLE": "Счёт № 7"}


@pytest.mark.req("S003-X9", "S003-A6")
async def test_two_fields_of_nearly_one_name_never_take_each_others_value(tmp_path: Path) -> None:
    """The portal knows UF_CRM_1_23 and UF_CRM_12_3 apart; a call that the gate takes for one field given twice is refused whole."""
    own = [change(481, "а", field="UF_CRM_1_23"), change(481, "б", field="UF_CRM_12_3")]
    came = await play(tmp_path, *own, before={"UF_CRM_1_23": "", "UF_CRM_12_3": ""})
    assert (came.written, came.told) == ({}, ["run-changes-left", "gate-param-twice"])
    assert [one["status"] for one in came.applied] == ["refused"] * 2


@pytest.mark.req("S003-X9", "S003-A6")
async def test_a_record_that_is_made_under_the_number_of_another_takes_what_follows() -> None:
    """Neither does the other get its changes, nor does it begin with a sum of the other."""
    made = {"operationType": "CreateEntity", "entityType": "deal", "entityId": "481"}
    operations = [
        change(481, 5, "+="),
        {**made, "initialAttributes": {"TITLE": "Новая", "OPPORTUNITY": "100.00"}},
        change(481, 7, "+="),
        change(481, "новая", field="COMMENTS"),
    ]
    document = workflow(tuum("only", put("list", operations), outputMappings={"list": "list"}), terminal={"operations": "list"})
    outside = OneDeal()
    async with a_stage() as stage:
        await stage.play(document, outside)
    (_, batch) = outside.effects[-1]
    assert [unquote(one) for one in batch["cmd"].values()] == [
        "crm.deal.update?id=481&fields[OPPORTUNITY]=15",
        "crm.deal.add?fields[TITLE]=Новая&fields[OPPORTUNITY]=100.00",
        "crm.deal.update?id=$result[op001]&fields[OPPORTUNITY]=107&fields[COMMENTS]=новая",
    ]


TODO = {"ownerTypeId": 2, "ownerId": 481, "deadline": "2027-01-01T10:00:00", "title": "a", "description": "a"}
MADE = {"deal": {"TITLE": "a"}, "lead": {"TITLE": "a"}, "contact": {"NAME": "a"}, "company": {"TITLE": "a"}, "task": {"TITLE": "a"}}


@pytest.mark.req("S003-X9", "S003-A6")
@pytest.mark.parametrize(("kind", "fields"), [*MADE.items(), ("activity", TODO)])
async def test_what_follows_on_a_record_of_any_kind_names_the_one_that_was_made(tmp_path: Path, kind: str, fields: dict[str, str]) -> None:
    """The portal gives the number of a new task or to-do within an object; a reference to the object would be refused with all else."""
    made = {"operationType": "CreateEntity", "entityType": kind, "entityId": "new", "initialAttributes": fields}
    later = {**change("new", "b", field="COMMENTS" if kind != "activity" else "DESCRIPTION"), "entityType": kind}
    document = workflow(tuum("only", put("list", [made, later]), outputMappings={"list": "list"}), terminal={"operations": "list"})
    async with a_workflow_world(tmp_path, document) as world:
        await world.work(start())
        (card,) = [row for row in world.outbox() if row.kind == "card"]
        assert [one["key"] for one in card.body["preview"]["items"]] == ["op000", "op001"]


@pytest.mark.req("S003-X9", "S003-A6")
async def test_spaces_around_a_number_name_no_other_record(tmp_path: Path) -> None:
    """Changes of one record are joined, however a model wrote its number; otherwise the second sum would not know of the first."""
    came = await play(tmp_path, change(" 481", 5, "+="), change("481 ", 6, "+="), before={"OPPORTUNITY": "10"})
    assert came.written == {"481": {"OPPORTUNITY": "21"}}


@pytest.mark.req("S003-X9", "S003-19")
async def test_a_deletion_refuses_all_that_was_proposed_with_it(tmp_path: Path) -> None:
    """The gate does not delete; nothing of the set is written, no card is shown, and the reports name the deletion."""
    delete = {"operationType": "DeleteEntity", "entityType": "deal", "entityId": "482"}
    came = await play(tmp_path, change(481, 5), delete)
    assert (came.status, came.written, came.told) == ("done", {}, ["run-changes-left", "gate-batch-delete"])
    assert [(one["status"], "crm.deal.delete" in one["error"]) for one in came.applied] == [("refused", True)] * 2


@pytest.mark.req("S003-X9", "S003-19")
@pytest.mark.parametrize("nothing", [[], {}, [""], {"a": None}])
@pytest.mark.parametrize("beside", [0, 1])
async def test_a_sum_is_not_emptied_by_a_list_of_nothing(tmp_path: Path, nothing: object, beside: int) -> None:
    """Neither alone nor beside others, where a batch carries an empty list as a list of one empty text: no card, no write."""
    came = await play(tmp_path, change(481, nothing), *[change(482, 7)] * beside)
    assert (came.status, came.written) == ("done", {})
    assert came.told == ["run-changes-left", "gate-batch-refused" if beside else "gate-value-empty"]


UNFIT = {
    "a number beyond all": (change(481, "1e30", "*="), {"OPPORTUNITY": "1e30"}, "workflow-operations-uncomputed"),
    "a number of a million digits": (change(481, "1e999999", "+="), {"OPPORTUNITY": "1"}, "workflow-operations-uncomputed"),
    "a division by nothing": (change(481, 0, "/="), {"OPPORTUNITY": "1"}, "workflow-operations-uncomputed"),
    "a text that is multiplied": (change(481, "x", "*="), {"OPPORTUNITY": "1"}, "workflow-operations-uncomputed"),
    "the result of another command": (change(481, "$result[op001]"), {}, "workflow-operations-unwritable"),
    "a record by the result of another": (change("$result[op001]", 1), {}, "workflow-operations-unwritable"),
    "a field that is not read": (change(481, " и ещё", "+=", field="UF_CRM_NONE"), {}, "workflow-operations-uncomputed"),
    "a name that is no node": (change("a//b\n", 1, "+="), {}, "workflow-record-unread"),
}


@pytest.mark.req("S003-X9", "S003-A6")
@pytest.mark.parametrize("name", UNFIT)
async def test_an_operation_that_is_unfit_ends_the_run(tmp_path: Path, name: str) -> None:
    """Nothing is written, and the person reads why."""
    operation, before, code = UNFIT[name]
    came = await play(tmp_path, change(482, 5), operation, before=before)
    assert (came.status, came.written) == ("failed", {})
    assert code in came.told
