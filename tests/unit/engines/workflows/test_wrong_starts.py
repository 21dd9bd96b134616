"""Whatever a workflow is started with wrongly is said in words: what it is, where it stands, and what would fit."""

from pathlib import Path
from typing import Any

import pytest

from bot.i18n.translate import Translator
from orchestrator.domain.outputs import Notice
from orchestrator.domain.taint import Value
from orchestrator.engines.shared.declared import LaunchParameter
from orchestrator.engines.shared.launch import explain_mistake, read_answer
from tests.unit.engines.workflows.played_kit import a_workflow_world
from tests.unit.engines.workflows.workflow_kit import put, tuum, workflow
from tests.unit.runs import runs_kit
from tests.unit.runs.runs_kit import events
from tests.unit.spine_kit import World

PERSON = frozenset({"person"})
ASKING = workflow(
    tuum("only", put("text", "{{client}} {{size}} {{is_new}} {{colour}}"), outputMappings={"said": "text"}),
    triggerParameters=[
        {"name": "client", "type": "string"},
        {"name": "size", "type": "number", "required": False},
        {"name": "is_new", "type": "boolean", "required": False},
        {"name": "colour", "type": "string", "required": False, "choices": ["red", "blue"]},
    ],
    terminal={"rawText": "said"},
)
RU, EN = Translator("ru", "UTC"), Translator("en", "UTC")


def told(world: World) -> Notice:
    """Why the run failed, as its person is told."""
    (row,) = [row for row in world.outbox() if row.kind == "reply"]
    return Notice.model_validate(row.body["notices"][-1])


@pytest.mark.req("S003-61", "S003-62")
@pytest.mark.parametrize(("args", "detail", "words"), [
    ({"client": "Вектор"}, "args: client: parameters stand inside of args.parameters", "«client» здесь ничего не значит"),
    ({"parameters": "Вектор"}, "args.parameters must be an object", "в «parameters» нужен объект"),
    ({"parameters": {}}, "client is missing, it must be of the type string", "Не хватает параметра «client»."),
    ({"parameters": {"client": 5}}, "client must be of the type string", "другого типа: нужен текст."),
    ({"parameters": {"client": "x", "size": "5"}}, "size must be of the type number", "другого типа: нужно число."),
    ({"parameters": {"client": "x", "is_new": "да"}}, "is_new must be of the type boolean", "в программах true или false."),
    ({"parameters": {"client": "x", "colour": "green"}}, "colour must be one of red, blue", "возможно: red, blue."),
    (
        {"parameters": {"client": "x", "name": 1}},
        "there is no parameter name; there is client, size, is_new, colour",
        "Параметра «name» здесь нет, есть: client, size, is_new, colour.",
    ),
])  # fmt: skip
async def test_what_does_not_fit_is_named_with_what_would(tmp_path: Path, args: dict[str, Any], detail: str, words: str) -> None:
    """For the program in English, for people in their language; no name of a type stands in a Russian sentence."""
    async with a_workflow_world(tmp_path, ASKING) as world:
        await world.work(runs_kit.start("dossier", engine="workflow", **{name: Value(one, PERSON) for name, one in args.items()}))
        (event,) = events(world, "RunFinished")
        assert (event.data["status"], event.data["detail"]) == ("failed", detail)
        notice = told(world)
        assert words in RU.translate_notice(notice)
        assert not {"string", "number", "boolean", "array"} & set(RU.translate_notice(notice).replace(".", " ").split())
        assert EN.translate_notice(notice)


async def test_a_workflow_that_there_is_not_is_told_with_where_they_are_listed(tmp_path: Path) -> None:
    """In both languages; an old sentence, which names no command, is whole, too."""
    async with a_workflow_world(tmp_path, ASKING) as world:
        await world.work(runs_kit.start("dosier", engine="workflow"))
        notice = told(world)
        assert RU.translate_notice(notice).endswith("Какие процессы есть, покажет /workflow.")
        assert EN.translate_notice(notice).endswith("/workflow shows which there are.")
        assert RU.translate("run-definition-gone", definition="x") == "«x» здесь нет: возможно, переименовали или удалили."


@pytest.mark.parametrize(("typed", "value"), [("да", True), ("Нет", False), ("YES", True), ("no", False), ("true", True), ("может", None)])
def test_yes_and_no_are_read_as_people_write_them(typed: str, value: object) -> None:
    """In any language, beside what JSON means; of anything else it is said what is needed."""
    one = LaunchParameter.model_validate({"name": "is_new", "type": "boolean"})
    assert read_answer(one, typed) is value
    assert RU.translate_notice(explain_mistake(one, typed)) == "Нужно «да» или «нет»."
