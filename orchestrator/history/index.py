"""Which calls were about which record, kept in memory and brought up to date by what came since. Ring 2; reads only.

The journal is read once, page by page in the reader's thread, by the few types of events that name records; afterwards a question costs
no more than what was written since the last one. Nothing that people wrote is kept here: ids, records and moments.
"""

import asyncio
from collections.abc import Iterator, Mapping, Sequence
from datetime import datetime, timedelta
from typing import Any, Final, NamedTuple

from bitrix.catalogue import Catalogue
from orchestrator.gate.undoing import undoes
from orchestrator.reports.touching import touches
from orchestrator.reports.unreadable import PastDamage
from state.clock import parse_iso
from state.store import EffectRow, Store, StoredEvent
from state.worker import AsyncStore

PAGE: Final = 1000
CALLS: Final = 300
"""So many calls about one record are kept, the youngest."""
RECORDS: Final = 100_000
"""So many records are known, those that were met last."""
_AT_ONCE: Final = 200
"""So many rows are looked up in one go, so that nobody waits long for the reader's thread."""
_LATE: Final = timedelta(minutes=1)
"""An event of a commit that was under way may appear behind one that was read."""
_TYPES: Final = ("CallStarted", "ConfirmationRequested", "ConfirmationApproved", "ConfirmationDenied", "RecordsSeen")
_OVER: Final = frozenset({"succeeded", "refused", "denied", "expired", "superseded"})


class Decision(NamedTuple):
    """Who decided a card, and in which way."""

    by: str
    via: str


class Found(NamedTuple):
    """What one event says of records."""

    effect_id: str
    targets: tuple[str, ...]
    makes: tuple[str, ...]
    decision: Decision | None
    undoes: str
    seen: str
    """The id of a look at the records, "" for other events."""
    event_id: str = ""
    """The event that is the first of its effect, if none came before."""


class RecordIndex:
    """See the module docstring. One for a process; its methods may raise StoreError."""

    def __init__(self, store: AsyncStore, catalogue: Catalogue) -> None:
        """Nothing is read yet."""
        self._store = store
        self._catalogue = catalogue
        self._after = ""
        self._order = asyncio.Lock()
        self._calls: dict[str, dict[str, None]] = {}
        self._adds: dict[str, dict[str, None]] = {}
        """By kind of record the adds whose record is not known yet."""
        self._looks: dict[str, dict[str, None]] = {}
        self._decisions: dict[str, Decision] = {}
        self._undone: dict[str, str] = {}
        self._begun: dict[str, str] = {}

    async def refresh(self) -> None:
        """Read what was written since the last time."""
        async with self._order:
            while True:
                found, last = await self._store.read(_page, self._after, self._catalogue)
                for one in found:
                    self._keep(one)
                if not last:
                    break
                self._after = last
            if self._after:
                self._after = _before(self._after)

    async def calls(self, target: str) -> list[EffectRow]:
        """The calls about a record, the youngest first, as they stand now; those too that made it."""
        async with self._order:
            await self._resolve(target.rpartition(":")[0])
            rows = await self._rows(list(self._calls.get(target, ())))
        return sorted(rows, key=began, reverse=True)

    async def _resolve(self, kind: str) -> None:
        """Which records the adds of that kind have made; those whose outcome is still open stay to be asked for."""
        waiting = list(self._adds.get(kind, ()))
        for start in range(0, len(waiting), _AT_ONCE):
            for row in await self._rows(waiting[start : start + _AT_ONCE]):
                made = str((row.outcome or {}).get("created") or "").rpartition(":")[2]
                if made:
                    self.made(f"{kind}:{made}", row.effect_id)
                if made or row.status in _OVER:
                    self._adds[kind].pop(row.effect_id, None)

    async def effect(self, effect_id: str) -> EffectRow | None:
        """One call."""
        return next(iter(await self._rows([effect_id])), None)

    async def looks(self, target: str) -> list[StoredEvent]:
        """The looks at the record that followed events of the portal, oldest first."""
        return await self._store.read(_events, list(self._looks.get(target, ())))

    def made(self, target: str, effect_id: str) -> None:
        """The record itself says which call made it."""
        self._note(self._calls, target, effect_id)

    def decision(self, effect_id: str) -> Decision | None:
        """Who decided the call's card, None where there was none or nobody has."""
        return self._decisions.get(effect_id)

    def began_at(self, effect_id: str) -> str:
        """The id of the event with which that effect began, "" where it is not known."""
        return self._begun.get(effect_id, "")

    def undone_by(self, effect_id: str) -> str:
        """The last effect that was to take this one back, "" for none."""
        return self._undone.get(effect_id, "")

    async def _rows(self, ids: Sequence[str]) -> list[EffectRow]:
        return await self._store.read(_effects, ids) if ids else []

    def _keep(self, one: Found) -> None:
        for target in one.targets:
            self._note(self._looks if one.seen else self._calls, target, one.seen or one.effect_id)
        for kind in one.makes:
            self._note(self._adds, kind, one.effect_id, keep=RECORDS)
        if one.event_id:
            self._begun.setdefault(one.effect_id, one.event_id)
            _cut(self._begun, RECORDS)
        if one.decision is not None:
            self._decisions[one.effect_id] = one.decision
            _cut(self._decisions, RECORDS)
        if one.undoes:
            self._undone[one.undoes] = one.effect_id
            _cut(self._undone, RECORDS)

    def _note(self, place: dict[str, dict[str, None]], key: str, value: str, *, keep: int = CALLS) -> None:
        kept = place.pop(key, {})  # met again: young again
        kept.setdefault(value)
        _cut(kept, keep)
        place[key] = kept
        _cut(place, RECORDS)


def began(row: EffectRow) -> datetime:
    """When the call was sent, else when it was last decided."""
    started = row.call.get("started_at")
    return parse_iso(started) if started else row.updated_at


def _cut(mapping: dict[str, Any], keep: int) -> None:
    while len(mapping) > keep:
        del mapping[next(iter(mapping))]


def _before(last: str) -> str:
    """A place in the order of ids a little before `last`: ids begin with the time of their making."""
    digits = f"{max(0, int(last[:8] + last[9:13], 16) - int(_LATE.total_seconds() * 1000)):012x}"
    return f"{digits[:8]}-{digits[8:]}"


def _page(store: Store, after: str, catalogue: Catalogue) -> tuple[list[Found], str]:
    """What the next events say, and where to go on; "" at the end. Runs in the reader's thread."""
    page: Sequence[StoredEvent] = PastDamage(store).scan(_TYPES, after, PAGE)
    found = [one for event in page for one in _found(event, catalogue)]
    return found, page[-1].id if page else ""


def _found(event: StoredEvent, catalogue: Catalogue) -> Iterator[Found]:
    data = event.data
    effect_id = str(data.get("effect_id") or "")
    match event.type:
        case "RecordsSeen":
            yield Found("", (*data.get("records", ()), *data.get("gone", ())), (), None, "", event.id)
        case "ConfirmationApproved":
            yield Found(effect_id, (), (), Decision(str(data["approved_by"]), str(data["via"])), "", "")
        case "ConfirmationDenied":
            yield Found(effect_id, (), (), Decision(str(data["denied_by"]), str(data["via"])), "", "")
        case _:
            written = [one for one in touches(str(data["method"]), data.get("params"), catalogue) if not one.reads]
            made = {one.makes for one in written if one.makes and event.type == "CallStarted"}
            targets = {one.target for one in written if one.target}
            back = undoes(str(data.get("slot") or "")) if event.type == "CallStarted" else ""
            yield Found(effect_id, tuple(sorted(targets)), tuple(sorted(made)), None, back, "", event.id)


def _effects(store: Store, ids: Sequence[str]) -> list[EffectRow]:
    return [row for one in ids if (row := store.effect(one)) is not None]


def _events(store: Store, ids: Sequence[str]) -> list[StoredEvent]:
    """The events of these ids: each is what follows the place just before it."""
    found = [event for one in ids for event in PastDamage(store).scan((), one[:-1], 1)]
    return sorted(found, key=lambda event: (event.ts, event.stream, event.seq))


def marked(record: Mapping[str, Any]) -> str:
    """The effect that made this record, by the mark that the gate sets; "" for records of others."""

    def field(name: str, other: str) -> str:
        return str(record.get(name) or record.get(other) or "")

    if field("ORIGINATOR_ID", "originatorId") != "sdelka":
        return ""
    return field("ORIGIN_ID", "originId")[:32]
