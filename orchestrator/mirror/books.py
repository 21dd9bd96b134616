"""The books that records refer to: stages, people, rates, own list fields. No mark tells a change, so read every ten minutes."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal, InvalidOperation
from typing import Any, Final

from bitrix.bulk.lists import PAGE, extract_rows
from bitrix.client.batch import Command, CommandOutcome
from orchestrator.mirror.parse_rows import parse_code, parse_number
from orchestrator.mirror.sources import INVOICES
from state.mirror.rows import PersonRow, RateRow, StageRow
from state.mirror.writing import MirrorWriter

BOOKS_SECONDS: Final = 600
FIELDS_SECONDS: Final = 6 * 3600
MOST_FIELDS: Final = 40
"""List fields of a kind: each makes every page longer."""
_LISTS: Final = frozenset({"enumeration", "crm_status", "boolean", "employee", "iblock_element", "iblock_section"})
_FUNNEL_KINDS: Final = {"deal": 2, f"item:{INVOICES}": INVOICES}
_PAGES_AT_ONCE: Final = 20
_MOST_PAGES: Final = 200


@dataclass(frozen=True, slots=True)
class KnownBooks:
    """What the last reading found, so that all fits into one batch: the funnels by kind, and how many people there are."""

    funnels: Mapping[str, tuple[int, ...]]
    people: int

    @classmethod
    def load(cls, writer: MirrorWriter) -> "KnownBooks":
        marks = {kind: writer.read_mark(f"funnels.{kind}") for kind in _FUNNEL_KINDS}
        funnels = {kind: tuple(map(int, mark.split())) for kind, mark in marks.items() if mark is not None}
        return cls(funnels, int(writer.read_mark("people") or 0))


def build_commands(known: KnownBooks, *, with_fields: bool) -> list[Command]:
    commands = [Command(f"funnels-{type_id}", "crm.category.list", {"entityTypeId": type_id}) for type_id in _FUNNEL_KINDS.values()]
    commands.append(Command("rates", "crm.currency.list", {}))
    commands += build_stage_commands(known.funnels)
    commands += _build_people_commands(range(min(_PAGES_AT_ONCE, known.people // PAGE + 1)))
    if with_fields:
        commands += [Command(f"fields-{kind}", f"crm.{kind}.fields", {}) for kind in ("deal", "lead")]
    return commands


def _build_people_commands(pages: Iterable[int]) -> list[Command]:
    return [Command(f"people-{page}", "user.get", {"sort": "ID", "order": "ASC", "start": page * PAGE}) for page in pages]


def build_stage_commands(funnels: Mapping[str, Sequence[int]]) -> list[Command]:
    books = {"stages-lead-0": "STATUS"}
    for kind, numbers in funnels.items():
        books |= {f"stages-{kind.replace(':', '_')}-{number}": _name_book(kind, number) for number in numbers}
    return [Command(key, "crm.status.list", {"filter": {"ENTITY_ID": book}, "order": {"SORT": "ASC"}}) for key, book in books.items()]


def _name_book(kind: str, funnel: int) -> str:
    if kind == "deal":
        return f"DEAL_STAGE_{funnel}" if funnel else "DEAL_STAGE"
    return f"SMART_INVOICE_STAGE_{funnel}"


@dataclass(frozen=True, slots=True)
class Books:
    """None for a book that the portal did not give: what was known stays."""

    funnels: Mapping[str, tuple[int, ...]]
    stages: tuple[StageRow, ...]
    failed_stages: frozenset[tuple[str, int]]
    people: tuple[PersonRow, ...] | None
    people_total: int
    rates: tuple[RateRow, ...] | None
    fields: Mapping[str, tuple[str, ...]] | None
    """By kind."""
    unread_fields: int = 0

    def build_rest(self, known: KnownBooks) -> list[Command]:
        """For stages of funnels, and pages of people, of which nobody knew."""
        new = {kind: [number for number in numbers if number not in known.funnels.get(kind, ())] for kind, numbers in self.funnels.items()}
        read = 0 if self.people is None else -(-len(self.people) // PAGE)
        pages = range(read, min(_MOST_PAGES, -(-self.people_total // PAGE))) if read else range(0)
        return [*(build_stage_commands(new) if any(new.values()) else ()), *_build_people_commands(pages)]


def parse_books(outcomes: Iterable[CommandOutcome]) -> Books:
    funnels: dict[str, tuple[int, ...]] = {}
    stages: list[StageRow] = []
    failed: set[tuple[str, int]] = set()
    people: list[PersonRow] | None = []
    people_total = 0
    rates: tuple[RateRow, ...] | None = None
    fields: dict[str, tuple[str, ...]] = {}
    unread = 0
    for outcome in outcomes:
        book, _, rest = outcome.key.partition("-")
        if book == "stages":
            kind, _, funnel = rest.replace("_", ":").rpartition("-")
            if outcome.status == "success":
                stages += _parse_stages(kind, int(funnel), outcome.result)
            else:
                failed.add((kind, int(funnel)))
        elif outcome.status != "success":
            people = None if book == "people" else people
        elif book == "funnels":
            kind = next(kind for kind, type_id in _FUNNEL_KINDS.items() if str(type_id) == rest)
            funnels[kind] = tuple(sorted(int(row["id"]) for row in extract_rows(outcome.result)))
        elif book == "people" and people is not None:
            people += map(_parse_person, extract_rows(outcome.result))
            people_total = max(people_total, outcome.total or 0)
        elif book == "rates":
            rates = tuple(row for row in map(_parse_rate, extract_rows(outcome.result)) if row is not None)
        elif book == "fields":
            fields[rest], left_out = _parse_fields(outcome.result)
            unread += left_out
    return Books(
        funnels, tuple(stages), frozenset(failed), None if people is None else tuple(people), people_total, rates, fields or None, unread
    )


def _parse_stages(kind: str, funnel: int, result: object) -> list[StageRow]:
    return [
        StageRow(kind, funnel, str(row["STATUS_ID"]), parse_number(row.get("SORT")) or 0, _parse_meaning(row))
        for row in extract_rows(result)
        if row.get("STATUS_ID")
    ]


def _parse_meaning(row: Mapping[str, Any]) -> str:
    extra = row.get("EXTRA")
    word = str(extra.get("SEMANTICS") or "") if isinstance(extra, Mapping) else ""
    meaning = str(row.get("SEMANTICS") or "") or {"success": "S", "failure": "F", "apology": "F"}.get(word, "P")
    return meaning if meaning in {"S", "F"} else "P"


def _parse_person(row: Mapping[str, Any]) -> PersonRow:
    departments = row.get("UF_DEPARTMENT")
    first = next(iter(departments), None) if isinstance(departments, list) else departments
    return PersonRow(int(row["ID"]), parse_number(first), int(row.get("ACTIVE") in (True, "Y", "1", 1)))


def _parse_rate(row: Mapping[str, Any]) -> RateRow | None:
    """None for a currency without a rate: its sums have no value in the base currency."""
    currency = parse_code(row.get("CURRENCY"))
    is_base = row.get("BASE") == "Y"
    try:
        rate = Decimal(1) if is_base else Decimal(str(row.get("AMOUNT"))) / Decimal(str(row.get("AMOUNT_CNT") or 1))
    except (InvalidOperation, ZeroDivisionError):
        return None
    if currency is None or not rate.is_finite() or rate <= 0:
        return None
    return RateRow(currency, f"{rate:f}", int(is_base), str(row["DATE_UPDATE"])[:10] if row.get("DATE_UPDATE") else None)


def _parse_fields(result: object) -> tuple[tuple[str, ...], int]:
    """The codes of own list fields, and how many are left out."""
    rows = result if isinstance(result, Mapping) else {}
    own = {str(code): row for code, row in rows.items() if str(code).startswith("UF_") and isinstance(row, Mapping)}
    codes = sorted(code for code, row in own.items() if row.get("type") in _LISTS)
    return tuple(codes[:MOST_FIELDS]), max(0, len(codes) - MOST_FIELDS)


def write_books(writer: MirrorWriter, books: Books) -> None:
    """Within a transaction of the caller."""
    if books.stages and not books.failed_stages:
        writer.put_stages(books.stages)
    if books.people is not None and books.people:
        writer.put_people(books.people)
        writer.set_marks({"people": books.people_total or len(books.people)})
    if books.rates is not None:
        writer.put_rates(books.rates)
    writer.set_marks({f"funnels.{kind}": " ".join(map(str, numbers)) for kind, numbers in books.funnels.items()})
