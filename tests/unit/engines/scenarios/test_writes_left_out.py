"""A call of a scenario writes no field for which no value came: it would empty the field, or write braces into the CRM."""

from pathlib import Path
from typing import Any

import pytest

from tests.unit.engines.scenarios.scenario_kit import a_scenario_world, ask, say, start
from tests.unit.runs.runs_kit import RUN, index
from tests.unit.spine_kit import World, message, press

GOT = {"type": "llm_request", "params": {"prompt": "?", "output": "json", "output_var": "got"}}


def write(fields: Any) -> dict[str, Any]:
    """A step that writes these fields, once a person says yes."""
    params = {"method": "crm.deal.update", "params": {"id": 481, "fields": fields}, "confirm": True}
    return {"id": "write", "type": "bitrix_call", "params": params}


def read_outbox(world: World) -> tuple[list[str], list[str], list[Any]]:
    """The texts that were said, the fields (or codes) of what was left out, and the cards."""
    rows = world.outbox()
    said = [part["text"] for row in rows if row.kind == "reply" for part in row.body["parts"]]
    notices = [notice for row in rows if row.kind == "reply" for notice in row.body["notices"] if "left-out" in notice["code"]]
    return said, [str(one["args"].get("field", one["code"])) for one in notices], [row for row in rows if row.kind == "card"]


@pytest.mark.req("S000-X2", "S000-X13", "S002-A9")
@pytest.mark.parametrize(("answer", "field"), [
    ('{"name": "Анна"}', "{got.phone}"), ('{"phone": null}', "{got.phone}"), ('{"phone": ""}', "{got.phone}"),
    ('{"phone": " "}', "Тел. {got.phone}"), ("[]", "{got.phone}{got.other}"),
])  # fmt: skip
async def test_a_call_without_any_value_is_not_made_and_its_person_told(
    tmp_path: Path, answer: str, field: str, caplog: pytest.LogCaptureFixture
) -> None:
    """No card, no braces in the CRM; the run goes on, and its log says it too."""
    async with a_scenario_world(tmp_path, GOT, write({"COMMENTS": field}), say("дальше [{bitrix_result}]")) as world:
        world.model.will(answer)
        await world.work(start())
        assert read_outbox(world) == (["дальше []"], ["COMMENTS"], [])
        assert (index(world).status, world.portal.written()) == ("done", [])
        assert "step write/1 does not write what no value came for: COMMENTS" in caplog.text


@pytest.mark.req("S000-X1", "S000-X2")
@pytest.mark.parametrize(
    ("answer", "fields", "kept", "left_out"),
    [
        ('{"name": "Анна"}', {"TITLE": "{got.name}", "COMMENTS": "{got.phone}"}, {"TITLE": "Анна"}, ["COMMENTS"]),
        ('{"name": "Анна"}', {"COMMENTS": "{got.name}, тел. {got.phone}"}, {"COMMENTS": "Анна, тел. {got.phone}"}, []),
        ('{"TITLE": "Анна", "COMMENTS": null}', "{got}", {"TITLE": "Анна"}, ["COMMENTS"]),
        ("{}", {"TITLE": "Новое", "UF_CRM_TAGS": ["{got.a}", "да", "{got.b}"]}, {"TITLE": "Новое", "UF_CRM_TAGS": ["да"]}, []),
        ("{}", {"COMMENTS": ""}, {"COMMENTS": ""}, []),
        ("{}", {"COMMENTS": None}, {"COMMENTS": None}, []),
        ("{}", {"COMMENTS": "{nothing}"}, {"COMMENTS": None}, []),
    ],
    ids=range(7),
)
async def test_the_other_fields_are_written_and_so_is_what_an_author_empties(
    tmp_path: Path, answer: str, fields: Any, kept: dict[str, Any], left_out: list[str]
) -> None:
    """A field is emptied by whoever writes "" or null for it, also in a variable; a text with one value in it is written as it is."""
    plan = {"name": "Проба", "initial_context": {"nothing": None}, "steps": [GOT, write(fields)]}
    async with a_scenario_world(tmp_path, plan) as world:
        world.portal.records["deal", 481]["COMMENTS"] = "заметка"
        world.model.will(answer)
        await world.work(start())
        _, told, (card,) = read_outbox(world)
        await world.work(press(card.body, approve=True, key=RUN))
        ((_, params),) = world.portal.written("crm.deal.update")
        assert (params["fields"], told, read_outbox(world)[1]) == (kept, left_out, [])


@pytest.mark.req("S000-X2")
async def test_a_text_of_the_call_itself_is_never_braces_alone(tmp_path: Path) -> None:
    """A to-do described as «{got.what}» is not made; one whose record is not known fails the run, as before."""
    todo = {"ownerTypeId": 2, "ownerId": 481, "deadline": "2026-12-01T10:00:00+03:00", "description": "{got.what}"}
    call = {"id": "todo", "type": "bitrix_call", "params": {"method": "crm.activity.todo.add", "params": todo}}
    async with a_scenario_world(tmp_path / "a", GOT, call, say("дальше")) as world:
        world.model.will("{}")
        await world.work(start())
        assert (read_outbox(world), world.portal.written()) == ((["дальше"], ["run-call-left-out"], []), [])
    unknown = {**call, "params": {**call["params"], "params": {**todo, "ownerId": "{got.id}", "description": "да"}}}
    async with a_scenario_world(tmp_path / "b", GOT, unknown, say("дальше")) as world:
        world.model.will("{}")
        await world.work(start())
        assert (index(world).status, world.portal.written()) == ("failed", [])


async def test_a_batch_with_a_call_that_has_no_value_is_not_made(tmp_path: Path) -> None:
    """Its calls build on one another, so none of them is made; the step is named."""
    commands = {"a": "crm.deal.update?id=481&fields[TITLE]=Новое", "b": "crm.deal.update?id=481&fields[COMMENTS]={got.note}"}
    batch = {"id": "all", "type": "bitrix_call", "params": {"method": "batch", "params": {"halt": 1, "cmd": commands}}}
    async with a_scenario_world(tmp_path, ask("x"), GOT, batch, say("дальше")) as world:
        world.model.will("{}")
        await world.work(start())
        await world.work(message("ну"))
        said, told, cards = read_outbox(world)
        assert (said[-1], told, cards, world.portal.written()) == ("дальше", ["run-call-left-out"], [], [])
