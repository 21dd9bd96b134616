"""The workflows of engines/workflows/examples, each played whole over a portal at the wire."""

from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import Any

import engines
from orchestrator.documents.reading import read_document
from state.canonical import dumps
from tests.unit.engines.scenarios.scenario_kit import replies
from tests.unit.engines.workflows.played_kit import a_workflow_world, result, start
from tests.unit.runs.runs_kit import RUN
from tests.unit.spine_kit import World, press

FOLDER = Path(engines.__file__).parent / "workflows" / "examples"


@cache
def load(path: Path) -> Mapping[str, Any]:
    """The data of an example."""
    document = read_document(path.read_text(encoding="utf-8")).document
    assert document is not None
    assert isinstance(document.data, Mapping)
    return document.data


TUUMS = {path.stem: load(path) for path in sorted((FOLDER / "tuums").glob("*.yaml"))}


def parts(world: World) -> list[tuple[str, str]]:
    return [(one.get("title", ""), one["text"]) for one in replies(world)[-1].body["parts"]]


def answer(payload: Mapping[str, Any]) -> str:
    """What the model answers: the beginning of what it was told about its part, so that calls side by side may come in any order."""
    system = str(payload["messages"][0]["content"])
    return "Позвонить директору.\nВАРИАНТЫ: Позвонить | Написать" if "советуешь" in system else f"[{system[:30]}]"


async def test_the_dossier_of_a_client(tmp_path: Path) -> None:
    """Deals and activities are told side by side, then comes advice with options; nothing is written."""
    async with a_workflow_world(tmp_path, load(FOLDER / "client_dossier.yaml"), tuums=TUUMS) as world:
        world.model.will(answer, answer, answer)
        await world.work(start(client="вектор"))
        assert [title for title, _ in parts(world)] == ["", "Сделки", "Дела", "Люди", "", ""]
    assert world.portal.written() == []
    (advice,) = [prompt for prompt in world.model.prompts if "советуешь" in prompt[0]["content"]]
    assert "Люди: Иван Иванов" in advice[1]["content"]


async def test_a_client_that_is_not_there_ends_the_dossier_with_words(tmp_path: Path) -> None:
    """The person reads which name was not found."""
    async with a_workflow_world(tmp_path, load(FOLDER / "client_dossier.yaml"), tuums=TUUMS) as world:
        await world.work(start(client="Лютик"))
        notices = [one for row in replies(world) for one in row.body["notices"]]
        assert "Компании «Лютик» в CRM нет. Проверьте название." in [one["args"].get("why") for one in notices]


async def test_notes_of_a_meeting_become_one_card(tmp_path: Path) -> None:
    """The comment is added to what stands there, and the to-do is made, by one press."""
    async with a_workflow_world(tmp_path, load(FOLDER / "meeting_notes.yaml")) as world:
        world.portal.records["deal", 481]["COMMENTS"] = "было"
        world.model.will(dumps({"summary": "Ждут счёт", "todo": "Выставить счёт", "deadline": "2026-12-01"}))
        await world.work(start(deal="481", notes="просили счёт до вторника"))
        (card,) = [row for row in world.outbox() if row.kind == "card"]
        await world.work(press(card.body, key=RUN))
        (update, made) = world.portal.written()
        assert update == ("crm.deal.update", {"id": "481", "fields": {"COMMENTS": "было\nЖдут счёт"}})
        assert made[1]["title"] == "Выставить счёт"
        assert [one["status"] for one in result(world)["applied"]] == ["succeeded", "succeeded"]


async def test_a_letter_in_three_tones(tmp_path: Path) -> None:
    """Three letters, each a quote under its name."""
    async with a_workflow_world(tmp_path, load(FOLDER / "proposal_letter.yaml")) as world:
        world.model.will(answer, answer, answer)
        await world.work(start(client="Вектор", subject="обучение", amount=150000))
        assert [title for title, _ in parts(world)] == ["Деловое", "Дружеское", "Короткое"]


async def test_the_risks_of_a_pipeline_become_a_table_and_one_card(tmp_path: Path) -> None:
    """The script decides what a risk is; two to-dos are proposed, and nothing else."""
    async with a_workflow_world(tmp_path, load(FOLDER / "pipeline_risks.yaml")) as world:
        for number in (481, 482):
            world.portal.records["deal", number]["CLOSEDATE"] = "2026-11-20T03:00:00+03:00"
        world.model.will("Начните с Ромашки.")
        await world.work(start())
        (card,) = [row for row in world.outbox() if row.kind == "card"]
        await world.work(press(card.body, key=RUN))
        assert [params["title"] for _, params in world.portal.written("crm.activity.todo.add")] == [
            "Уточнить срок: Ромашка",
            "Уточнить срок: Вектор",
        ]
        assert "Ромашка  1 000 000  20.11.2026" in parts(world)[-1][1]
