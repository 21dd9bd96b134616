"""`/chat` where runs are: a message that starts one or goes to one is answered with its id, and runs stay out of other answers."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from bot.http_api.chat.mailbox import Mailbox
from orchestrator.domain.outputs import Notice
from tests.unit.bot.http_api.chat_kit import SITE, Door, a_door
from tests.unit.runs.runs_kit import steps
from tests.unit.spine_kit import message

pytestmark = pytest.mark.req("S004-58", "G1")

ASK = {"ask": "Какой тариф?", "options": ["Базовый", "Полный"]}
DOCUMENTS = {("steps", "plan"): steps({"ask": "Как зовут?"}, ASK, {"say": "{s0}: {s1}"})}


async def ask(door: Door, text: str, **more: Any) -> dict[str, Any]:
    answer = await door.chat(text, **more)
    assert answer.status_code == 200, answer.text
    await door.world.idle()
    return dict(answer.json())


async def see(door: Door, path: str) -> Mapping[str, Any]:
    return dict((await door.http.get(path, headers={"X-API-Key": SITE})).json())


async def test_a_command_that_starts_a_run_answers_with_its_id(tmp_path: Path) -> None:
    """The id leads to the run; the same request again gives the same answer and no second run."""
    async with a_door(tmp_path, documents=DOCUMENTS) as door:
        first, again = await ask(door, "/steps plan", key="k1"), await ask(door, "/steps plan", key="k1")
        assert first == again
        assert first["run"] in first["assistant"]
        assert (await see(door, f"/runs/{first['run']}"))["waits"][0]["text"] == "Как зовут?"
        assert len((await see(door, "/runs"))["runs"]) == 1
        events = await door.events("/steps plan", user="43")
        assert [event for event, _, _ in events] == ["final"]
        assert events[0][2]["run"] not in {"", first["run"]}


async def test_words_and_buttons_that_go_to_a_run_are_acknowledged(tmp_path: Path) -> None:
    """Each answer names the run; a button of a question that is answered, or of no run, says that it is out of date."""
    async with a_door(tmp_path, documents=DOCUMENTS) as door:
        run = (await ask(door, "/steps plan"))["run"]
        assert (await ask(door, "Иван"))["run"] == run
        question = (await see(door, f"/runs/{run}"))["waits"][0]["question"]
        assert (await ask(door, f"run:{run}:{question}:1"))["run"] == run
        assert (await see(door, f"/runs/{run}"))["status"] == "done"
        said = [one.get("text") for one in (await see(door, "/sessions/http:site:42/events"))["events"]]
        assert said[-2:] == ["Иван: Полный", "Готово."]
        late = await ask(door, f"run:0190aaaa-0000-7000-8000-00000000dead:{question}:1")
        assert late["assistant"]
        assert late["run"] == ""


async def test_what_a_run_shows_is_no_part_of_another_answer(tmp_path: Path) -> None:
    """The stream of a message holds the steps and words of its own turn, whatever goes on in the session beside it."""
    async with a_door(tmp_path) as door:
        box, row = Mailbox(door.world.store), message("привет", key="http:site:42")
        with box.open_followed_ticket(row) as ticket:
            await box.report_partial(row.session, Notice(code="turn-begun", args={"turn": row.id}))
            await box.report_partial(row.session, "Отвечаю")
            await box.report_partial(row.session, Notice(code="run-shows", args={"run": "run:1", "said": "считаю"}))
            await box.report_partial(row.session, Notice(code="run-shown", args={"run": "run:1"}))
            assert (ticket.text, list(ticket.steps)) == ("Отвечаю", [])
