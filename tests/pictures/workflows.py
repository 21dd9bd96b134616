"""Scenes of the example workflows. Played by name: their pictures have a folder of their own."""

from collections.abc import Sequence
from pathlib import Path
from typing import Final

import examples
from tests.pictures.studio import Scene, Studio

_FOLDER: Final = Path(examples.__file__).parent / "workflows"


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


async def _begin(studio: Studio, tuums: Sequence[str], keys: Sequence[str]) -> None:
    """Publish tuums, then workflows, and start the bot anew."""
    await studio.bot.aclose()
    files = [("tuum", _FOLDER / "tuums" / f"{key}.yaml") for key in tuums] + [("workflow", _FOLDER / f"{key}.yaml") for key in keys]
    for kind, file in files:
        for words in (("save", kind, file.stem, str(file)), ("publish", kind, file.stem, "1", "--revision", "1")):
            code, told = await studio.world.command("definitions", *words)
            assert code == 0, told
    await studio.begin()


SCENES: Final[Sequence[Scene]] = (workflows,)
