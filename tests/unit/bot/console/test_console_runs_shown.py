"""What a workflow shows while it runs, as the console takes it."""

import json
from typing import Any

import pytest

from bot.console.runs.controls import OpenOption, OpenWaits
from bot.console.runs.run_page import _RunPage
from bot.console.runs.shown import UpdateReader
from bot.console.runs.watch import RunWatch
from bot.http_api.approvals.card_models import Person
from bot.http_api.runs.run_models import Wait
from orchestrator.sessions.run_progress import RunProgress
from tests.unit.bot.console.console_kit import ANNA, ConsoleWorld

RUN = "run:1"


class _Watched:
    """A run whose pictures are taken as they come."""

    def __init__(self) -> None:
        self.progress, self.reader = RunProgress(), UpdateReader()

    def show(self, content: str, mode: str = "FullSnapshot", kind: str | None = None, *, is_seen: bool = True, **more: Any) -> None:
        update = {"Content": content, "UpdateMode": mode, "IncrementalType": kind, "StreamingStatus": "Streaming", "RequestId": "1", **more}
        self.progress.show_patch(RUN, {"displayUpdate": update})
        if is_seen:
            self.take()

    def take(self) -> None:
        picture = self.progress.find(RUN)
        assert picture is not None
        self.reader.take(picture)

    @property
    def content(self) -> str:
        return self.reader.shown.content


def patch(*operations: dict[str, Any]) -> str:
    return json.dumps(operations)


@pytest.mark.req("C-33", "S003-68")
def test_a_whole_text_replaces_what_was_shown() -> None:
    """A full snapshot leaves nothing of the text before it."""
    run = _Watched()
    run.show("один")
    run.show("два")

    assert run.content == "два"


@pytest.mark.req("C-33", "S003-69")
def test_json_patches_change_the_document_that_is_shown() -> None:
    """Each patch is applied to what the one before it has left."""
    run = _Watched()
    run.show('{"steps": []}')
    run.show(patch({"op": "add", "path": "/steps/-", "value": "a"}), "Incremental", "json-patch")
    run.show(patch({"op": "add", "path": "/steps/0", "value": "b"}), "Incremental", "json-patch")

    assert json.loads(run.content) == {"steps": ["b", "a"]}
    assert not run.reader.shown.is_incomplete


@pytest.mark.req("C-33", "S003-69")
def test_other_increments_are_added_to_the_text() -> None:
    """Text without a named kind of increment stands behind what was there, once, also when something else of the picture changes."""
    run = _Watched()
    run.show("Добрый ")
    run.show("день", "Incremental")
    run.progress.show_patch(RUN, {"blockStatus": {"BlockId": "b", "StatusCode": "Loading"}})
    run.take()

    assert run.content == "Добрый день"


@pytest.mark.req("C-33", "S003-70")
@pytest.mark.parametrize(
    "wrong",
    [
        patch({"op": "remove", "path": "/missing"}),
        patch({"op": "add", "path": "steps", "value": 1}),
        patch({"op": "jump", "path": "/a"}),
        patch({"op": "test", "path": "/a", "value": 2}),
        "[1, 2]",
        "{}",
        "no json",
        "",
        "[" * 5000,
    ],
)
def test_a_patch_that_does_not_fit_leaves_the_text_until_a_whole_one_comes(wrong: str) -> None:
    """What is shown stays and counts as incomplete; the next whole text mends it."""
    run = _Watched()
    run.show('{"a": 1}')
    run.show(wrong, "Incremental", "json-patch")

    assert (json.loads(run.content), run.reader.shown.is_incomplete) == ({"a": 1}, True)
    run.show("всё", StreamingStatus="Complete")
    assert (run.content, run.reader.shown.is_incomplete, run.reader.shown.status) == ("всё", False, "Complete")


@pytest.mark.req("C-33", "S003-70")
def test_a_missed_increment_is_said() -> None:
    """Whoever did not see an increment is told that what is shown is incomplete, and no increment is taken for another."""
    run = _Watched()
    run.show("a")
    run.show("b", "Incremental", is_seen=False)
    run.show("c", "Incremental")

    assert run.reader.shown.is_incomplete
    assert run.content == "a"


def _wait(question: str, *options: str) -> Wait:
    return Wait(node=question, waits_for="input", question=question, options=options, answers=[Person(id="tg:1007", name="Анна")])


@pytest.mark.req("C-33")
def test_an_option_that_two_questions_have_is_no_button_in_the_text() -> None:
    """Nobody could say which of them it answers; under each question it stands as its own."""
    both = OpenWaits(waits=(_wait("q1", "Да", "Нет"), _wait("q2", "Да", "Позже")), is_paused=False, me="tg:1007")

    assert both.list_options() == (OpenOption("Нет", "q1", 1), OpenOption("Позже", "q2", 1))
    assert OpenWaits(waits=both.waits, is_paused=False, me="tg:1008").list_options() == ()


@pytest.mark.req("C-33", "C-40")
async def test_a_button_in_the_text_answers_the_question_for_which_it_was_drawn(made: ConsoleWorld) -> None:
    """A question that is asked meanwhile with the same words is another one."""
    content = "[YAE-BLOCK:options]Да[/YAE-BLOCK]"
    page = await made.open("/", ANNA)
    answered: list[tuple[str, int | None]] = []
    with page.visit.page:
        page.visit.params = {"run": "0190aaaa-0000-7000-8000-000000000001"}
        shown = _RunPage(page.visit, RunWatch(page.visit, page.visit.params["run"]))

        async def take(question: str, *, option: int | None = None, text: str | None = None) -> bool:
            answered.append((question, option))
            return True

        shown._controls.answer = take  # type: ignore[method-assign]
        shown._draw_update(content, {"Да": OpenOption("Да", "q1", 0)})
        shown._waits = OpenWaits(waits=(_wait("q2", "Да"),), is_paused=False, me="tg:1007")
    await page.press("Да")

    assert answered == [("q1", 0)]
