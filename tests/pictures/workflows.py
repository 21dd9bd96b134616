"""Scenes of the example workflows. Played by name: their pictures have a folder of their own."""

from collections.abc import Sequence
from pathlib import Path
from typing import Final

import engines
from tests.e2e.e2e_people import until
from tests.pictures.studio import Scene, Studio

_FOLDER: Final = Path(engines.__file__).parent / "workflows" / "examples"
_SLOW: Final = 4
"""For how many seconds a slow model is silent: the time in which somebody changes the record."""
_RECOUNT: Final = """
workflowId: recount
metadata: {title: Пересчёт сделки}
record: deal
tuums:
  - tuumId: think
    promptRunes: [{runeType: prompt, role: System, template: "Тон: деловой"}]
    aiService: tool
    mayPropose: [ModifyEntity deal]
    mainScript:
      consumes: [deal]
      source: |
        await emit({"operationType": "ModifyEntity", "entityType": "deal", "entityId": deal, "attributeKey": "OPPORTUNITY",
                    "modifyOperator": "=", "modifyValue": 150000})
"""


async def workflows(studio: Studio) -> None:
    """The list; the dossier of a client with its folded quotes and options; notes of a meeting that become one card."""
    await _begin(studio, ("find_company",), ("client_dossier", "meeting_notes", "pipeline_risks"))
    boris = studio.world.boris
    await boris.ask("/workflow")
    await studio.world.settled()
    await studio.shoot("list", boris, is_small=True)
    await boris.sees_words(await boris.say("/workflow client_dossier"), "Название компании?")
    told = await boris.sees_words(await boris.say("Ромашка"), "Назначить встречу")
    await studio.world.settled()
    await studio.shoot("dossier", boris, last=2, is_small=True)
    await studio.shoot("dossier-open", boris, last=1, is_small=True, is_open=True)
    assert "Сделок найдено" in told.text
    await boris.sees_words(await boris.say("/workflow meeting_notes"), "О какой сделке речь")
    await boris.sees_words(await boris.say("Ромашка"), "Заметки о встрече")
    card = await boris.sees_words(await boris.say("Обсудили насосы, просят счёт до вторника"), "Ответить клиенту")
    await studio.world.settled()
    await studio.shoot("notes-card", boris, last=1, is_small=True)
    await boris.decide(card, "Выполнить")
    await boris.sees_words(card.number, "Итоги встречи")
    await studio.world.settled()
    await studio.shoot("notes-done", boris, last=2, is_small=True)
    risks = await boris.sees_words(await boris.say("/workflow pipeline_risks"), "Уточнить срок")
    await boris.decide(risks, "Отклонить")
    await boris.sees_words(risks.number, "Сделок под угрозой")
    await studio.world.settled()
    await studio.shoot("risks", boris, last=2, is_small=True)


async def workflows_conflict(studio: Studio) -> None:
    """While the model is at work, somebody changes the very sum that the workflow proposes; a button decides whose it is."""
    file = studio.world.folder / "recount.yaml"
    file.write_text(_RECOUNT, encoding="utf-8")
    await _publish(studio, (("workflow", file),))
    boris = studio.world.boris
    await boris.sees_words(await boris.say("/workflow recount"), "О какой сделке речь")
    await studio.world.break_model("stall", seconds=_SLOW)
    asked = await boris.say("481")
    await until(lambda: _is_asked(studio), "the question to the model")
    await studio.world.edit("deal", 481, OPPORTUNITY="180000.00")
    conflict = await boris.sees_words(asked, "Процесс предлагает")
    await studio.world.settled()
    await studio.shoot("conflict", boris, last=1, is_small=True)
    await boris.press(conflict.number, conflict.data("150"))
    card = await boris.sees_words(conflict.number, "Сумма")
    await studio.world.settled()
    await studio.shoot("conflict-decided", boris, last=3, is_small=True)
    await boris.decide(card, "Отклонить")


async def _begin(studio: Studio, tuums: Sequence[str], keys: Sequence[str]) -> None:
    """Publish tuums, then workflows, and start the bot anew."""
    files = [("tuum", _FOLDER / "tuums" / f"{key}.yaml") for key in tuums] + [("workflow", _FOLDER / f"{key}.yaml") for key in keys]
    await _publish(studio, files)


async def _is_asked(studio: Studio) -> bool:
    """Return whether the model has been asked for the letter."""
    return "Тон: деловой" in str(await studio.world.prompts())


async def _publish(studio: Studio, files: Sequence[tuple[str, Path]]) -> None:
    await studio.bot.aclose()
    for kind, file in files:
        for words in (("save", kind, file.stem, str(file)), ("publish", kind, file.stem, "1", "--revision", "1")):
            code, told = await studio.world.command("definitions", *words)
            assert code == 0, told
    await studio.begin()


SCENES: Final[tuple[Scene, ...]] = (workflows, workflows_conflict)
