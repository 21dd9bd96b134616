"""The Russian guide to scenarios is true: its files are correct, and its commands print what the page shows."""

import re
import shlex
from collections.abc import Iterator
from pathlib import Path

import pytest

from orchestrator.documents.reading import read_document
from orchestrator.runtime import worker
from tests.unit.engines.scenarios.scenario_kit import a_scenario_world, start, texts
from tests.unit.engines.scenarios.terminal.scenario_files import call, expect, stand_alone
from tests.unit.runs.runs_kit import RUN, index, work_through
from tests.unit.spine_kit import message, press

GUIDE = Path(__file__).resolve().parents[4] / "engines" / "scenarios" / "README.ru.md"
NAMES = ("lead.yaml", "mistakes.yaml", "lead.test.yaml")
"""The names under which a reader saves the files of the page, in their order."""


@pytest.fixture(autouse=True)
def reader(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """A folder with the files of the page, and no settings."""
    stand_alone(monkeypatch, tmp_path)
    blocks = re.findall(r"```yaml\n(.*?)```", GUIDE.read_text(encoding="utf-8"), re.DOTALL)
    assert len(blocks) == len(NAMES)
    for name, block in zip(NAMES, blocks, strict=True):
        Path(name).write_text(block, encoding="utf-8")


def list_calls() -> Iterator[tuple[str, str]]:
    """Each command of the page that is shown with its output: (command, output)."""
    for block in re.findall(r"```console\n(.*?)```", GUIDE.read_text(encoding="utf-8"), re.DOTALL):
        for part in block.split("$ sdelka scenario ")[1:]:
            command, _, output = part.partition("\n")
            yield command, output


@pytest.mark.parametrize(("command", "output"), list(list_calls()), ids=lambda one: one.split("\n")[0][:40])
def test_a_command_of_the_guide_prints_what_the_page_shows(command: str, output: str) -> None:
    """Line by line; spaces at the ends of lines do not count."""
    _, told = call(*shlex.split(command))
    assert [line.rstrip() for line in told.splitlines()] == output.splitlines()


def test_the_scenario_of_the_guide_is_correct_and_its_dialogues_reach_every_step() -> None:
    """Nothing to mend, a card foretold, and the test that the page teaches covers the whole file."""
    code, told = call("validate", "lead.yaml")
    assert (code, told.splitlines()[0]) == (0, "lead.yaml: No mistakes.")
    assert "warning" not in told
    assert "fields.OPPORTUNITY is critical" in told
    expect(call("test", "lead.yaml"), 0, "(100 %)")


@pytest.mark.long
def test_the_guide_teaches_types_that_there_are() -> None:
    """Each type of the page's short table is one that `sdelka scenario steps` knows."""
    table = GUIDE.read_text(encoding="utf-8").partition("| `type` |")[2].partition("\n\n")[0]
    for kind in re.findall(r"^\| `(\w+)`", table, re.MULTILINE):
        assert call("steps", kind)[0] == 0


async def test_the_scenario_of_the_guide_creates_a_lead_in_the_product(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """With the real gate and a portal at the wire a card asks because of the sum; approved, the lead is created once, and its number is said."""
    monkeypatch.setattr(worker, "POLL", 0.02)
    document = read_document((tmp_path / "lead.yaml").read_text(encoding="utf-8")).require_document().data
    async with a_scenario_world(tmp_path, document) as world:
        await work_through(world, start(), message("Анна Смирнова"), message("150 000"))
        (card,) = [row for row in world.outbox() if row.kind == "card"]
        assert world.portal.written() == []
        await world.work(press(card.body, key=RUN))
        ((method, params),) = world.portal.written()
        assert (method, params["fields"]["TITLE"], params["fields"]["OPPORTUNITY"]) == ("crm.lead.add", "Анна Смирнова", 150_000)
        assert re.fullmatch(r"Лид \d+ создан: Анна Смирнова, 150000 ₽\.", texts(world)[-1])
        assert index(world).status == "done"
