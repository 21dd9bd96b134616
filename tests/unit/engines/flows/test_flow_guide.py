"""The Russian guide to flows is true: its files are correct, its commands print what the page shows, and its flow works in the product."""

import re
import shlex
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from orchestrator.documents.reading import read_document
from orchestrator.runtime import worker
from state.canonical import dumps
from tests.unit.engines.flows.flow_kit import a_flow_world, start_in_chat
from tests.unit.engines.flows.terminal.flow_files import call, create_database
from tests.unit.engines.scenarios.scenario_kit import replies
from tests.unit.engines.scenarios.terminal.scenario_files import stand_alone
from tests.unit.runs.runs_kit import index, work_through
from tests.unit.spine_kit import message

GUIDE = Path(__file__).resolve().parents[4] / "engines" / "flows" / "README.ru.md"
NAMES = ("writer.yaml", "reviewer.yaml", "offer.yaml", "mistakes.yaml", "answers.yaml")
"""The names under which a reader saves the files of the page, in their order."""
EDIT = re.compile(r"Поменяйте в `([\w.]+)` строку `([^`]+)` на `([^`]+)`")


@pytest.fixture(autouse=True)
def reader(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """A folder with the files of the page, and an empty database."""
    stand_alone(monkeypatch, tmp_path)
    create_database(tmp_path)
    blocks = re.findall(r"```yaml\n(.*?)```", GUIDE.read_text(encoding="utf-8"), re.DOTALL)
    assert len(blocks) == len(NAMES)
    for name, block in zip(NAMES, blocks, strict=True):
        Path(name).write_text(block, encoding="utf-8")


def list_calls(page: str) -> Iterator[tuple[str, str]]:
    """Each command that is shown with its output: (command, output)."""
    for block in re.findall(r"```console\n(.*?)```", page, re.DOTALL):
        for part in block.split("$ sdelka flow ")[1:]:
            command, _, output = part.partition("\n")
            yield command, output


def play(page: str) -> Iterator[tuple[str, list[str], list[str]]]:
    """Do what the page says in its order; (command, lines that came, lines that are shown) of each."""
    before, _, after = page.partition("## 8.")
    for part in (before, after):
        if found := EDIT.search(part):
            path = Path(found[1])
            assert found[2] in path.read_text(encoding="utf-8")
            path.write_text(path.read_text(encoding="utf-8").replace(found[2], found[3]), encoding="utf-8")
        for command, output in list_calls(part):
            yield command, [line.rstrip() for line in call(*shlex.split(command))[1].splitlines()], output.splitlines()


@pytest.mark.long
def test_the_commands_of_the_guide_print_what_the_page_shows() -> None:
    """From the first check to the difference between two versions, line by line; spaces at the ends of lines do not count."""
    played = list(play(GUIDE.read_text(encoding="utf-8")))
    assert [command.partition(" ")[0] for command, _, _ in played] == [
        "validate", "validate", "graph", "run", "publish", "publish", "diff",
    ]  # fmt: skip
    for command, came, shown in played:
        assert came == shown, command


def load(name: str) -> Any:
    return read_document(Path(name).read_text(encoding="utf-8")).require_document().data


async def test_the_flow_of_the_guide_gives_its_result_in_the_product(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A person answers three questions in a chat, and the result has the parts and the quote that the page names."""
    monkeypatch.setattr(worker, "POLL", 0.02)
    writer, reviewer, flow = map(load, NAMES[:3])
    async with a_flow_world(tmp_path, flow, {"writer": writer, "reviewer": reviewer}) as (world, _):
        world.model.will("Черновик", dumps({"offer": "Предложение за 90 000 ₽", "changes": ["вписана сумма"]}))
        await work_through(world, start_in_chat("Ромашка"), message("обслуживание станков"), message("90 000"))
        assert index(world).status == "done"
        (last,) = replies(world)[-1:]
        assert [part["text"] for part in last.body["parts"]] == [
            "**Предложение**: Предложение за 90 000 ₽\n\n**Что исправлено**:\n- вписана сумма",
            "Черновик",
        ]
        told = [str(prompt) for prompt in world.model.prompts]
        assert "обслуживание станков" in told[0]
        assert "Черновик" in told[1]
