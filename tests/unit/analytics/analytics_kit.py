"""What the tests of the numbers share: a firm in a file, who asks, and names."""

from collections.abc import Mapping, Sequence
from datetime import datetime
from pathlib import Path
from typing import Any

from orchestrator.analytics.counting import InlineCounter
from orchestrator.analytics.definitions import Definitions, load_definitions
from orchestrator.analytics.service import Analytics, Asker
from orchestrator.analytics.stretches import Clock
from orchestrator.domain.report import ReportAnswer, ReportTrouble
from tests.unit.analytics.mirror_firm import NOW, ZONE


class PlainNames:
    async def find_names(self, what: str, record: str, codes: Sequence[str]) -> Mapping[str, str]:
        return {code: f"{what} {code}" for code in codes}

    async def find_field_title(self, record: str, field: str) -> str:
        return {"UF_CRM_1747310101": "Площадка"}.get(field, "")


def build_asker(
    *, sees: frozenset[int] | None = None, now: datetime = NOW, zone: str = ZONE, locale: Any = "ru", names: Any = None
) -> Asker:
    return Asker(clock=Clock(now, zone), sees=sees, locale=locale, names=names or PlainNames())


class Desk:
    """Asks the firm in one file."""

    def __init__(self, path: Path, definitions: Definitions | None = None) -> None:
        self.path = path
        self.analytics = Analytics(InlineCounter(), definitions or load_definitions())

    async def ask(self, question: Any, asker: Asker | None = None, last: Any = None) -> ReportAnswer | ReportTrouble:
        return await self.analytics.answer(self.path, question, asker or build_asker(), last=last)

    async def answer(self, question: Any, asker: Asker | None = None, last: Any = None) -> ReportAnswer:
        answer = await self.ask(question, asker, last)
        assert isinstance(answer, ReportAnswer), answer
        return answer

    async def refuse(self, question: Any, asker: Asker | None = None, last: Any = None) -> str:
        trouble = await self.ask(question, asker, last)
        assert isinstance(trouble, ReportTrouble), trouble
        return trouble.detail

    async def list_records(
        self, question: Any, keys: Any = None, asker: Asker | None = None, limit: int = 100_000, besides: Any = ()
    ) -> tuple[int, ...]:
        return await self.analytics.list_records(self.path, question, keys, asker or build_asker(), limit=limit, besides=besides)


def read_rows(answer: ReportAnswer) -> dict[tuple[str | None, ...], tuple[float | None, ...]]:
    return {row.keys: tuple(cell.value for cell in row.cells) for row in answer.rows if row.kind == "group"}
