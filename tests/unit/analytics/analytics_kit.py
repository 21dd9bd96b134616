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
from tests.unit.analytics.mirror_firm import NOW, ZONE, Firm

NBSP = "\u00a0"
NOVEMBER = {"from": "2026-11-01", "to": "2026-11-30"}


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


def at(text: str) -> int:
    """Seconds of a moment of Moscow."""
    return int(datetime.fromisoformat(f"{text}+03:00").timestamp())


def build_deal(number: int, **columns: Any) -> dict[str, Any]:
    usual = {
        "id": number, "funnel": 0, "stage": "NEW", "semantics": "P", "person": 7, "company": None, "contact": None, "lead": None, "source": None,
        "type": None, "currency": "RUB", "amount": 100_00, "base": 100_00, "probability": None, "created": at("2026-10-01T10:00:00"),
        "modified": 0, "moved": at("2026-11-01T10:00:00"), "active": None, "expected": None, "closed": None, "reached": 10,
    }  # fmt: skip
    deal = {**usual, **columns}
    if deal["semantics"] == "S":
        deal["stage"] = columns.get("stage", "WON")
        deal["closed"] = columns.get("closed", at("2026-11-10T10:00:00"))
    if "amount" in columns and "base" not in columns:
        deal["base"] = deal["amount"]
    return deal


def build_won(number: int, amount: int, day: str = "2026-11-10", **columns: Any) -> dict[str, Any]:
    return build_deal(number, semantics="S", amount=amount * 100, closed=at(f"{day}T12:00:00"), **columns)


def build_desk(path: Path, deals: Sequence[dict[str, Any]], **tables: list[dict[str, Any]]) -> Desk:
    stages = [
        ("deal", 0, "NEW", 10, "P"), ("deal", 0, "PREP", 20, "P"), ("deal", 0, "WON", 30, "S"), ("deal", 0, "LOSE", 40, "F"), ("deal", 1, "C1:NEW", 10, "P"),
    ]  # fmt: skip
    books = {
        "stage": [dict(zip(("kind", "funnel", "code", "sort", "semantics"), stage, strict=True)) for stage in stages],
        "rate": [
            {"currency": "RUB", "amount": 1.0, "is_base": 1, "updated": None},
            {"currency": "USD", "amount": 90.0, "is_base": 0, "updated": "2026-11-27"},
        ],
        "person": [
            {"id": 7, "department": 1, "is_active": 1},
            {"id": 8, "department": 1, "is_active": 1},
            {"id": 9, "department": 2, "is_active": 0},
        ],
    }
    return Desk(Firm({**books, "deal": list(deals), **tables}).write(path / "mirror.sqlite"))
