"""The reports of the morning: data/analytics/tiles.yaml."""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache

from orchestrator.analytics.definitions import FOLDER, read_data_file
from orchestrator.domain.actor import Actor
from orchestrator.domain.errors import SettingsError
from orchestrator.domain.report import ReportAnswer, ReportTrouble
from orchestrator.gate.call.permissions import find_visible_users
from orchestrator.language.text import Locale
from orchestrator.turns.feature import Reports
from state.stored import JsonObject


@dataclass(frozen=True, slots=True)
class Tile:
    code: str
    title: Mapping[Locale, str]
    question: JsonObject


@cache
def load_tiles() -> tuple[Tile, ...]:
    """In their order. Raises SettingsError."""
    try:
        tiles = read_data_file(FOLDER / "tiles.yaml")["tiles"].items()
        return tuple(Tile(code=code, title=tile["title"], question=tile["question"]) for code, tile in tiles)
    except (AttributeError, KeyError, TypeError):
        raise SettingsError("data/analytics/tiles.yaml: a tile has a title and a question; copy the data folder of this version") from None


async def count_for(actor: Actor, question: JsonObject, reports: Reports) -> ReportAnswer | ReportTrouble:
    """Over the records that the person may see now."""
    return await reports.answer(question, sees=find_visible_users(actor), zone=actor.time_zone, locale=actor.locale)
