"""An operation of a workflow writes no field for which no value came, and whoever reads the result is told of it."""

from typing import Any

import pytest

from tests.unit.engines.workflows.stage_kit import QuietOutside, a_stage
from tests.unit.engines.workflows.workflow_kit import parameter, prompt, put, tuum, workflow

ASKS: dict[str, Any] = {"promptRunes": [prompt("Верни JSON")], "aiService": "tool"}
TAKE = {"runeType": "json", "input": "ai_final_output", "output": "got"}


def change(value: Any, key: str = "COMMENTS", operator: str = "=", number: str = "481") -> dict[str, Any]:
    """A rune that changes a field of a deal."""
    named = {"entityType": "deal", "entityId": number, "attributeKey": key}
    return {"runeType": "operation", "operationType": "ModifyEntity", **named, "modifyOperator": operator, "modifyValue": value}


def create(**fields: Any) -> dict[str, Any]:
    return {"runeType": "operation", "operationType": "CreateEntity", "entityType": "deal", "entityId": "new", "initialAttributes": fields}


def take(path: str, **rune: Any) -> dict[str, Any]:
    return {**TAKE, "path": path, "output": path, **rune}


async def play(answer: str, *runes: dict[str, Any], **fields: Any) -> tuple[list[Any], list[str]]:
    """The fields that are proposed, and those of which people are told that they were left out."""
    outside = QuietOutside(answer=lambda _text: answer)
    async with a_stage() as stage:
        ended = await stage.play(workflow(tuum("only", *runes, **ASKS, **fields.pop("tuum", {})), **fields), outside)
    assert ended.status == "done", ended
    notices = ended.reply.notices if ended.reply is not None else ()
    told = [str(notice.args["field"]) for notice in notices if notice.code == "run-left-out"]
    assert ended.value.data.get("leftOut", []) == told
    return [params["fields"] for _, params in outside.effects], told


@pytest.mark.req("S003-X9", "S003-A11", "S003-41")
@pytest.mark.parametrize(("answer", "value"), [
    ('{"Sum": 5}', "{{sum}}"), ('{"sum": null}', "{{sum}}"), ('{"sum": ""}', "{{sum}}"), ('{"sum": null}', "Сумма: {{sum}}"),
    ("{}", "{{sum.of.parts}}"), ("{}", "{{nobody_gives_this}}"),
])  # fmt: skip
@pytest.mark.parametrize("operator", ["=", "+="])
async def test_a_change_without_a_value_is_left_out_and_told(answer: str, value: str, operator: str) -> None:
    """It proposed to empty the comment: «заметка → —», or to write «Сумма: »."""
    assert await play(answer, take("sum"), change(value, operator=operator)) == ([], ["COMMENTS"])


@pytest.mark.req("S003-X9", "S003-A11")
@pytest.mark.parametrize(
    ("answer", "runes", "fields", "left_out"),
    [
        ('{"a": 5}', [change("{{a}}", "TITLE"), change("{{b}}")], [{"TITLE": 5}], ["COMMENTS"]),
        ('{"a": 5}', [change("{{a}}, {{b}}")], [{"COMMENTS": "5, "}], []),
        ('{"a": 5}', [create(TITLE="{{a}}", COMMENTS="{{b}}")], [{"TITLE": 5}], ["COMMENTS"]),
        ('{"a": 5}', [create(TITLE="x", PHONE=[{"VALUE": "{{b}}"}, {"VALUE": "{{a}}"}])], [{"TITLE": "x", "PHONE": [{"VALUE": 5}]}], []),
        ('{"a": 5}', [create(COMMENTS="{{b}}"), change("да", "TITLE", number="new")], [], ["COMMENTS", "TITLE"]),
        ('{"a": 5}', [change("")], [{"COMMENTS": ""}], []),
        ('{"a": 5}', [change(None)], [{"COMMENTS": None}], []),
        ('{"a": 5}', [put("none", None), change("{{none}}")], [{"COMMENTS": None}], []),
        ('{"a": 0}', [change("{{a}}")], [{"COMMENTS": 0}], []),
    ],
    ids=range(9),
)
async def test_the_rest_is_proposed_and_so_is_what_an_author_empties(
    answer: str, runes: list[dict[str, Any]], fields: list[Any], left_out: list[str]
) -> None:
    """A record of which nothing is left is not made, and what would change it goes with it."""
    assert await play(answer, take("a"), take("b"), *runes) == (fields, left_out)


@pytest.mark.req("S003-49", "S003-X9")
async def test_null_of_a_model_is_left_out_of_operations_that_scripts_and_models_write() -> None:
    """Null in what an author alone has written empties the field, as it says."""
    named = {"operationType": "ModifyEntity", "entityType": "deal", "entityId": "481", "attributeKey": "COMMENTS", "modifyOperator": "="}
    source = f"emit({{**{named!r}, 'modifyValue': got.get('b')}})\n{{}}"
    by_model = {"runeType": "script", "source": source, "consumes": ["got"], "produces": []}
    assert await play("{}", {**TAKE, "path": ""}, by_model) == ([], ["COMMENTS"])
    by_author = {**by_model, "source": f"emit({{**{named!r}, 'modifyValue': None}})\n{{}}", "consumes": []}
    assert await play("{}", by_author) == ([{"COMMENTS": None}], [])
    listed = '[{"operationType": "ModifyEntity", "entityType": "deal", "entityId": "481", "attributeKey": "TITLE", "modifyOperator": "="}]'
    published = {"tuum": {"outputMappings": {"got": "got"}}, "terminal": {"operations": "got"}}
    assert await play(listed, {**TAKE, "path": ""}, **published) == ([], ["TITLE"])


@pytest.mark.req("S003-X9")
async def test_a_parameter_that_nobody_gave_empties_no_field() -> None:
    """A parameter that may be left out is no order to empty what stands there."""
    fields = {"triggerParameters": [parameter("note", required=False)]}
    assert await play("{}", change("{{note}}"), **fields) == ([], ["COMMENTS"])
