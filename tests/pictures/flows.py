"""Scenes of the example flows. Played by name: their pictures have a folder of their own."""

from collections.abc import Sequence
from pathlib import Path
from typing import Final

import engines
from tests.e2e.e2e_people import Person, Shown, until
from tests.pictures.studio import Scene, Studio

_FOLDER: Final = Path(engines.__file__).parent / "flows" / "examples"
_SLOW: Final = 8
"""For how many seconds a slow model is silent: the time in which progress is photographed."""


async def flows(studio: Studio) -> None:
    """The list; a proposal is asked for, written while the chat sees the steps, and given with the agents' answers below it."""
    await _begin(
        studio, ("proposal_writer", "proposal_reviewer", "analyst", "architect", "reviewer", "secretary"), ("proposal", "solution_workshop")
    )
    boris = studio.world.boris
    await boris.ask("/flow")
    await studio.world.settled()
    await studio.shoot("list", boris, is_small=True)
    await boris.sees_words(await boris.say("/flow proposal"), "Для кого предложение?")
    await boris.sees_words(await boris.say("ООО «Ромашка»"), "Что предлагаем")
    await boris.sees_words(await boris.say("Насосы для котельной с доставкой и монтажом"), "На какую сумму")
    tone = await boris.sees_words(await boris.say("450 000"), "В каком тоне?")
    await studio.world.settled()
    await studio.shoot("asks", boris, last=7, is_small=True)
    await studio.world.break_model("stall", seconds=_SLOW)
    await boris.press(tone.number, tone.data("деловой"))
    await until(lambda: _is_drafted(boris, "⏳ Черновик"), "the progress of the flow")
    await studio.shoot("progress", boris, last=3, is_small=True)
    told: Shown = await boris.sees_words(tone.number, "Что уточнить у клиента")
    await studio.world.settled()
    await studio.shoot("result", boris, last=1, is_small=True)
    await studio.shoot("result-open", boris, last=1, is_small=True, is_open=True)
    assert "450" in told.text


async def flows_pipeline(studio: Studio) -> None:
    """The review of the pipeline: its card of to-dos, then the review."""
    await _begin(studio, ("pipeline_analyst", "pipeline_planner"), ("pipeline_review",))
    boris = studio.world.boris
    card = await boris.sees_words(await boris.say("/flow pipeline_review"), "Уточнить срок")
    await studio.world.settled()
    await studio.shoot("pipeline-card", boris, is_small=True)
    await boris.decide(card, "Выполнить")
    await boris.sees_words(card.number, "Требуют внимания")
    await studio.world.settled()
    await studio.shoot("pipeline-done", boris, last=2, is_small=True)


async def _is_drafted(person: Person, words: str) -> bool:
    """Return whether the draft in the person's chat holds these words."""
    messages = (await person.http.get(f"/sandbox/chats/{person.chat}/messages")).json()["messages"]
    return any(one.get("draft") and words in str(one["text"]) for one in messages)


async def _begin(studio: Studio, agents: Sequence[str], keys: Sequence[str]) -> None:
    """Publish agents, then flows, and start the bot anew."""
    await studio.bot.aclose()
    files = [("agent", _FOLDER / "agents" / f"{key}.yaml") for key in agents] + [("flow", _FOLDER / f"{key}.yaml") for key in keys]
    for kind, file in files:
        for words in (("save", kind, file.stem, str(file)), ("publish", kind, file.stem, "1", "--revision", "1")):
            code, told = await studio.world.command("definitions", *words)
            assert code == 0, told
    await studio.begin()


SCENES: Final[Sequence[Scene]] = (flows, flows_pipeline)
