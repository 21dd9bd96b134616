"""Where an author takes JSON out of a model's answer, nothing becomes null in silence: it is read, asked for once more, or fails by name."""

from collections.abc import Callable
from typing import Any

import pytest

from tests.unit.engines.workflows.stage_kit import QuietOutside, a_stage
from tests.unit.engines.workflows.workflow_kit import prompt, tuum, workflow

COMPLAINT = "Your last answer could not be taken"


def answer_in_turn(*answers: str) -> Callable[[str], str]:
    """Say these, one after another."""
    left = list(answers)
    return lambda _text: left.pop(0)


def build(*runes: dict[str, Any], **published: str) -> dict[str, Any]:
    return workflow(tuum("only", *runes, promptRunes=[prompt("Верни JSON")], aiService="tool", outputMappings=published))


def take(output: str = "sum", **rune: Any) -> dict[str, Any]:
    return {"runeType": "json", "input": "ai_final_output", "output": output, "path": output, **rune}


async def play(document: dict[str, Any], *answers: str) -> tuple[Any, QuietOutside]:
    """How the run ends, and what it asked."""
    outside = QuietOutside(answer=answer_in_turn(*answers))
    async with a_stage() as stage:
        return await stage.play(document, outside), outside


@pytest.mark.req("S003-41", "S003-49")
@pytest.mark.parametrize("text", ['{"sum": NaN}', "{'sum': 5}", '{"sum": 5', "нет", '{"sum": 5} и {"sum": 6}'])
async def test_what_cannot_be_read_is_asked_for_once_more_and_then_fails(text: str) -> None:
    """The model is told why; a second such answer fails the tuum in words. It was null, and the run was done."""
    ended, outside = await play(build(take(), sum="sum"), text, '{"sum": 5}')
    assert (ended.value.data["globals"]["sum"], len(outside.prompts)) == (5, 2)
    assert outside.prompts[1].startswith(COMPLAINT)
    ended, outside = await play(build(take(), sum="sum"), text, text)
    assert (ended.status, ended.code, len(outside.prompts)) == ("failed", "workflow-answer-unfit", 2)


@pytest.mark.req("S003-41", "S003-49")
@pytest.mark.parametrize("text", ['{"Sum": 5}', '{"sum": null}', "[5]", '{"sum": 5, "client": {}}'])
async def test_required_names_must_be_there_and_not_null(text: str) -> None:
    """They are named to the model; a list, or another spelling, has none of them."""
    document = build(take(required=["sum", "client.name"]), sum="sum")
    ended, outside = await play(document, text, '{"sum": 5, "client": {"name": "Анна"}}')
    assert ended.value.data["globals"]["sum"] == 5
    assert "client.name must be there and not null" in outside.prompts[1]
    ended, _ = await play(document, text, text)
    assert ended.code == "workflow-answer-unfit"


@pytest.mark.req("S003-41")
async def test_an_answer_that_came_again_is_what_the_following_runes_read() -> None:
    """They do not ask once each, and take no parts of the answer that could not be read."""
    document = build(take("name"), take("sum"), name="name", sum="sum", text="ai_final_output")
    ended, outside = await play(document, '{"name": "Анна", "sum": 5', '{"name": "Вера", "sum": 6}')
    assert ended.value.data["globals"] == {"name": "Вера", "sum": 6, "text": '{"name": "Вера", "sum": 6}'}
    assert len(outside.prompts) == 2


@pytest.mark.req("S003-41")
async def test_a_default_stands_for_what_an_author_expects_not_to_come() -> None:
    """Words without JSON are not asked about; JSON that was cut off is, and only then the default counts."""
    document = build(take(default="?"), sum="sum")
    ended, outside = await play(document, "Суммы в письме нет.")
    assert (ended.value.data["globals"]["sum"], len(outside.prompts)) == ("?", 1)
    ended, outside = await play(document, '{"sum": 5', '{"sum": 5')
    assert (ended.value.data["globals"]["sum"], len(outside.prompts)) == ("?", 2)


@pytest.mark.req("S003-41")
async def test_an_answer_of_a_rune_is_asked_for_again_too() -> None:
    """Whichever way the tuum asks."""
    runes = [prompt("Верни JSON"), {"runeType": "ai", "aiService": "tool", "output": "reply"}, take(input="reply")]
    document = workflow(tuum("only", *runes, outputMappings={"sum": "sum"}))
    ended, outside = await play(document, "{sum: 5}", '{"sum": 5,}')
    assert (ended.value.data["globals"]["sum"], len(outside.prompts)) == (5, 2)
