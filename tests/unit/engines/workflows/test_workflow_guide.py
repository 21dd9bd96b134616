"""The Russian guide to workflows is true: its files are correct, its commands print what the page shows, and its workflow does what it says."""

import asyncio
import re
import shlex
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from orchestrator.documents.reading import read_document
from orchestrator.runtime import worker
from state.canonical import dumps
from state.sql.dialect import build_sqlite_url
from state.sql.store import open_store
from tests.unit.engines.flows.terminal.flow_files import create_database
from tests.unit.engines.scenarios.scenario_kit import replies
from tests.unit.engines.scenarios.terminal.scenario_files import stand_alone
from tests.unit.engines.workflows.played_kit import a_workflow_world
from tests.unit.engines.workflows.terminal.workflow_files import call
from tests.unit.engines.workflows.test_record_runs import answers
from tests.unit.runs import runs_kit
from tests.unit.runs.runs_kit import RUN, index
from tests.unit.runs.test_runs_wait import click
from tests.unit.spine_kit import message, press

GUIDE = Path(__file__).resolve().parents[4] / "engines" / "workflows" / "README.ru.md"
NAMES = ("call_notes.yaml", "mistakes.yaml", "answers.yaml", "queries.yaml", "call_notes.test.yaml")
"""The names under which a reader saves the files of the page, in their order."""
EDIT = re.compile(r"Поменяйте в `([\w.]+)` строку `([^`]+)` на `([^`]+)`")
AFTER_CHAT, CHANGING = "\n## 8.", "\n## 9."


@pytest.fixture(autouse=True)
def reader(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """A folder with the files of the page, and an empty database."""
    stand_alone(monkeypatch, tmp_path)
    monkeypatch.setattr(worker, "POLL", 0.02)
    create_database(tmp_path)
    blocks = re.findall(r"```yaml\n(.*?)```", GUIDE.read_text(encoding="utf-8"), re.DOTALL)
    assert len(blocks) == len(NAMES)
    for name, block in zip(NAMES, blocks, strict=True):
        Path(name).write_text(block, encoding="utf-8")


def list_calls(page: str) -> Iterator[tuple[str, str]]:
    """Each command that is shown with its output: (command, output)."""
    for block in re.findall(r"```console\n(.*?)```", page, re.DOTALL):
        for part in block.split("$ sdelka workflow ")[1:]:
            command, _, output = part.partition("\n")
            yield command, output


def play(page: str) -> list[str]:
    """Do what a part of the page says, compare what came line by line, and return the commands. Spaces at the ends of lines do not count."""
    if found := EDIT.search(page):
        path = Path(found[1])
        assert found[2] in path.read_text(encoding="utf-8")
        path.write_text(path.read_text(encoding="utf-8").replace(found[2], found[3]), encoding="utf-8")
    done: list[str] = []
    for command, output in list_calls(page):
        told = call(*shlex.split(command))[1]
        assert [line.rstrip() for line in told.splitlines()] == [line.rstrip() for line in output.splitlines()], command
        done.append(command.partition(" ")[0])
    return done


def load(name: str) -> Any:
    return read_document(Path(name).read_text(encoding="utf-8")).require_document().data


async def run_in_chat(folder: Path) -> None:
    """Do in a chat what the page says, with a colleague who sets another day meanwhile; the person keeps that day."""
    document, given = load("call_notes.yaml"), load("answers.yaml")
    store = open_store(build_sqlite_url(folder / "sdelka.db"))
    async with a_workflow_world(folder, document, key="call_notes", world_options={"store": store}) as world:
        deal = world.portal.records["deal", 481]
        deal.update(COMMENTS="Первый звонок", CLOSEDATE="2026-12-01T03:00:00+03:00")

        def answer(_payload: Any) -> str:
            deal["CLOSEDATE"] = "2026-12-20T03:00:00+03:00"
            return dumps(given["summary"])

        world.model.will(answer)
        await world.work(runs_kit.start("call_notes", engine="workflow"))
        assert answers(world)[-1]["notices"][0]["code"] == "workflow-record-which"
        await world.work(message("Ромашка"))
        assert "Что было на звонке?" in str(answers(world)[-1])
        await world.work(message("Согласны на 90 000, ждут договор"))
        (asked,) = [one for one in answers(world) if one["actions"]]
        assert asked["notices"][0]["code"] == "workflow-conflict"
        assert world.portal.written() == []
        await world.work(click(*asked["actions"][0]["words"]))
        (card,) = [row for row in world.outbox() if row.kind == "card"]
        assert world.portal.written() == []
        await world.work(press(card.body, key=RUN))
        assert index(world).status == "done"
        fields = {"COMMENTS": "Первый звонок\nЗвонок: Клиент согласен на 90 000 ₽, ждёт договор."}
        assert world.portal.written() == [("crm.deal.update", {"id": 481, "fields": fields})]
        last = replies(world)[-1].body
        assert last["parts"][1]["text"] == "Клиент согласен на 90 000 ₽, ждёт договор."
        assert [one["label"]["args"]["label"] for one in last["actions"]] == ["Отправить договор", "Позвонить в пятницу"]


@pytest.mark.long
def test_the_guide_is_true_from_the_first_check_to_the_second_version(tmp_path: Path) -> None:
    """Each command prints what is shown; between publishing and reading the blocks the workflow is run in a chat as the page tells it."""
    page = GUIDE.read_text(encoding="utf-8")
    before, _, rest = page.partition(AFTER_CHAT)
    reading, _, changing = rest.partition(CHANGING)
    assert play(before) == ["validate", "validate", "compile", "graph", "run", "test", "publish"]
    asyncio.run(run_in_chat(tmp_path))
    assert play(reading) == ["blocks", "block", "record"]
    Path("call_notes.test.yaml").write_text(Path("real.test.yaml").read_text(encoding="utf-8"), encoding="utf-8")
    assert call("test", "call_notes.yaml")[0] == 0, "the recorded test is green"
    assert play(changing) == ["publish", "diff"]
