"""What the mirror knows of the portal itself: its stages, list fields, people and rates. Nobody's records."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Final

from orchestrator.analytics.statements import Statement

FACTS: Final = (
    Statement("SELECT kind, funnel, code, sort, semantics FROM stage ORDER BY kind, funnel, sort, code"),
    Statement("SELECT kind, field FROM choice GROUP BY kind, field"),
    Statement("SELECT id, department, is_active FROM person"),
    Statement("SELECT currency, is_base, updated, amount FROM rate"),
    Statement("SELECT DISTINCT type FROM item"),
    Statement("SELECT name, value FROM meta"),
)


@dataclass(frozen=True, slots=True)
class Stage:
    funnel: int
    code: str
    sort: int
    semantics: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Facts:
    """`stages` and `own_fields` are by the kind of record ("deal", "lead", "item:31")."""

    stages: Mapping[str, tuple[Stage, ...]] = field(default_factory=lambda: MappingProxyType({}))
    own_fields: Mapping[str, tuple[str, ...]] = field(default_factory=lambda: MappingProxyType({}))
    dismissed: frozenset[int] = frozenset()
    departments: tuple[int, ...] = ()
    """The first ones of the people."""
    working: tuple[int, ...] = ()
    """Who is not dismissed."""
    currency: str = ""
    """The base currency of the portal."""
    rates: Mapping[str, str] = field(default_factory=lambda: MappingProxyType({}))
    """Currency → the day of its rate, "" if the portal doesn't say."""
    amounts: Mapping[str, float] = field(default_factory=lambda: MappingProxyType({}))
    """Currency → how much of the base currency one unit is."""
    item_types: frozenset[int] = frozenset()
    meta: Mapping[str, str] = field(default_factory=lambda: MappingProxyType({}))

    @property
    def has_call_activities(self) -> bool:
        """The portal gives no statistics of calls."""
        return self.meta.get("calls") == "activities"

    @property
    def history_since(self) -> int | None:
        """Seconds; None if all moves are there."""
        since = self.meta.get("history.since", "")
        return int(since) if since.isdecimal() and self.meta.get("part.older_history") != "ready" else None

    def list_funnels(self, record: str) -> tuple[int, ...]:
        return tuple(dict.fromkeys(stage.funnel for stage in self.stages.get(record, ())))


def build_facts(tables: Sequence[Sequence[tuple[object, ...]]]) -> Facts:
    """From the rows of FACTS."""
    stages, fields, people, rates, items, meta = tables
    by_kind: dict[str, list[Stage]] = {}
    for kind, funnel, code, sort, semantics in stages:
        by_kind.setdefault(str(kind), []).append(Stage(int(str(funnel)), str(code), int(str(sort)), str(semantics)))
    own: dict[str, list[str]] = {}
    for kind, name in fields:
        own.setdefault(str(kind), []).append(str(name))
    marks = {str(name): str(text) for name, text in meta}
    for mark in marks.get("fields", "").split():
        kind, _, name = mark.rpartition(".")
        if name not in own.setdefault(kind, []):
            own[kind].append(name)
    return Facts(
        stages={kind: tuple(rows) for kind, rows in by_kind.items()},
        own_fields={kind: tuple(names) for kind, names in own.items()},
        dismissed=frozenset(int(str(number)) for number, _, is_active in people if not is_active),
        working=tuple(int(str(number)) for number, _, is_active in people if is_active),
        departments=tuple(sorted({int(str(department)) for _, department, _ in people if department})),
        currency=next((str(code) for code, is_base, *_ in rates if is_base), ""),
        rates={str(code): str(updated or "") for code, _, updated, _ in rates},
        amounts={str(code): float(str(amount)) for code, _, _, amount in rates},
        item_types=frozenset(int(str(number)) for (number,) in items),
        meta=marks,
    )
