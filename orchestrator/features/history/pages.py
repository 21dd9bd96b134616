"""Builds one page of a record's history."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Final, Protocol
from zoneinfo import ZoneInfo

from bitrix.catalogue.catalogue import Catalogue
from bitrix.errors import BitrixError
from orchestrator.directory.portal_reads import PortalReader
from orchestrator.domain.actor import Actor
from orchestrator.domain.address import parse_target
from orchestrator.domain.card_view import PreviewLine, PreviewPart
from orchestrator.domain.effect import EffectRecord, StoredCall
from orchestrator.domain.message_views import HistoryBody, HistoryEntry
from orchestrator.domain.own_reads import NOT_SHOWN, HistoryChange, HistoryLine, RecordHistory
from orchestrator.features.history.portal_traces import EDITED, Trace, find_traces, is_seen_as
from orchestrator.features.history.record_index import RecordIndex, find_start_time
from orchestrator.gate.call import fields, targets
from orchestrator.gate.call.effect import Facts
from orchestrator.gate.call.origin_marks import find_origin_effect
from orchestrator.gate.call.ports import Names
from orchestrator.gate.call.serialization import UndecodableCall, decode_call
from orchestrator.gate.preview.format_values import Context, Reader, format_value
from orchestrator.gate.preview.preview import preview_for
from orchestrator.gate.undo import undo_policy
from orchestrator.language.date_format import format_short_day
from orchestrator.language.text import Locale, to_visible_line, trim_text
from orchestrator.reports.record_changes import Change, compare_values
from orchestrator.sessions import outbox
from orchestrator.turns.feature import RefreshActor
from state.clock import Clock, format_iso, parse_iso
from state.events.portal import RecordsSeen
from state.journal.async_store import AsyncStore
from state.journal.store import EffectRow, OutboxRow, StoredEvent
from state.stored import JsonObject

KIND: Final = "history"
PAGE: Final = 8
_SAME_HAND: Final = timedelta(minutes=5)
"""A change seen so soon after a call of the bot is the call's."""
_HIDDEN: Final = frozenset({"superseded"})
"""The card that replaced it is listed instead."""


class HistoryNames(Names, Protocol):
    async def find_field_type(self, entity: str, name: str) -> str: ...


class HistorySources(Protocol):
    @property
    def catalogue(self) -> Catalogue: ...

    @property
    def names(self) -> Names: ...

    @property
    def records(self) -> PortalReader: ...


class HistoryPages:
    """All methods may raise StoreError. An unknown name is shown as a number."""

    def __init__(self, index: RecordIndex, deps: HistorySources, present: RefreshActor) -> None:
        self._index = index
        self._deps = deps
        self._present = present

    async def build_body(
        self, target: str, record: JsonObject | None, *, page: int, actor: Actor, screen: str, now: datetime, size: int = PAGE
    ) -> HistoryBody:
        """`page` counts from 0. `record` is None if it was deleted."""
        maker = find_origin_effect(record) if record is not None else ""
        rows = [
            row
            for row in await self._index.list_calls(target, maker=maker)
            if row.status not in _HIDDEN and _read_call(row).kind == "bitrix"
        ]
        elsewhere = await self._find_outside_changes(target, rows)
        traces = await find_traces(parse_target(target)[0], record, _list_call_times(rows), self._deps.records)
        known = {event.id: trace for event, _ in elsewhere for trace in traces if is_seen_as(trace, parse_iso(event.ts))}
        merged: list[tuple[str, EffectRow | Trace | tuple[StoredEvent, Sequence[Change]]]] = [
            (format_iso(find_start_time(row)), row) for row in rows
        ]
        merged += [(event.ts, (event, changes)) for event, changes in elsewhere]
        merged += [(format_iso(trace.when), trace) for trace in traces if trace not in known.values()]
        merged.sort(key=lambda item: item[0], reverse=True)
        pages = max(1, -(-len(merged) // size))
        page = max(0, min(page, pages - 1))
        kind, number = parse_target(target)
        history_entries = [
            await self._build_call_entry(one, target, actor, now)
            if isinstance(one, EffectRow)
            else await self._build_trace_entry(one, target, record or {}, actor, now)
            if isinstance(one, Trace)
            else await self._build_outside_entry(one, target, actor, now, known.get(one[0].id))
            for _, one in merged[page * size : (page + 1) * size]
        ]
        return HistoryBody(
            record=target,
            entity=kind.partition(":")[0],
            number=number,
            title=_format_title(record),
            url=self._deps.names.build_card_url(kind, number, user=actor.bitrix_user_id or 0) if record is not None else "",
            deleted=record is None,
            total=len(merged),
            page=page,
            pages=pages,
            screen=screen,
            entries=history_entries,
        )

    async def _build_call_entry(self, row: EffectRow, target: str, actor: Actor, now: datetime) -> HistoryEntry:
        effect, decision = EffectRecord.model_validate(row.call), await self._index.find_decision(row.effect_id)
        requester, undone = effect.requested_by, await self._find_undo_time(row)
        return HistoryEntry(
            what="call",
            when=_format_when(format_iso(find_start_time(row)), actor, now),
            by=self._find_name(requester, str(effect.actor.get("name") or "")),
            decided_by=self._find_name(decision.by) if decision and decision.by != requester else "",
            decided=decision is not None,
            via=decision.via if decision else "",
            status=row.status,
            undo=bool(undo_policy.parse_undo_slot(effect.slot)),
            undone=_format_when(undone, actor, now) if undone else "",
            method=_read_call(row).method,
            **(await self._build_changes(row, target, actor)).to_json(),
        )

    async def _find_undo_time(self, row: EffectRow) -> str:
        undo = await self._index.find_undo(row.effect_id)
        return format_iso(undo.updated_at) if undo is not None and undo.status == "succeeded" else ""

    async def _build_changes(self, row: EffectRow, target: str, actor: Actor) -> PreviewPart:
        """Of a batch, only about this record. Empty if it cannot be decoded."""
        try:
            call = decode_call(row.call["call"], self._deps.catalogue)
            before = {parse_target(name): image for name, image in EffectRecord.model_validate(row.call).before.items()}
            card = await preview_for(actor, call, Facts(records=before), self._deps.names)
        except (UndecodableCall, KeyError, TypeError, ValueError):  # a row of an older version, or emptied by an erasure
            return PreviewPart(verb="", entity="", lines=())
        number = parse_target(target)[1]
        parts = [item for item in card.items if item.id in (number, None)] if card.items else [card]
        first = parts[0] if parts else card
        return PreviewPart(verb=first.verb, entity=first.entity, lines=[line for part in parts for line in part.lines])

    async def _find_outside_changes(self, target: str, rows: Sequence[EffectRow]) -> list[tuple[StoredEvent, Sequence[Change]]]:
        """Differences between readings after portal events."""
        kind, _ = parse_target(target)
        entity = self._deps.catalogue.entities.get(kind.partition(":")[0])
        outside: list[tuple[StoredEvent, Sequence[Change]]] = []
        last: Mapping[str, str] | None = None
        for event in await self._index.list_probes(target):
            now = RecordsSeen.from_data(event.data).records.get(target)
            if now and last and entity is not None:
                changes = [change for change in compare_values(entity, last, now) if not _is_ours(change, event, rows, kind)]
                outside += [(event, changes)] if changes else []
            last = now or last
        return outside

    async def _build_outside_entry(
        self, change_group: tuple[StoredEvent, Sequence[Change]], target: str, actor: Actor, now: datetime, trace: Trace | None
    ) -> HistoryEntry:
        event, changes = change_group
        kind, _ = parse_target(target)
        values = RecordsSeen.from_data(event.data).records[target]
        reader = Reader(names=self._deps.names, locale=actor.locale, zone=actor.time_zone, user=actor.bitrix_user_id or 0)
        entity = self._deps.catalogue.entities.get(kind.partition(":")[0])
        lines = []
        for change in changes:
            info = fields.find_field_info(entity, change.field)
            category = int(fields.parse_number(values.get("CATEGORY_ID")) or 0)
            context = Context(entity=kind, currency=str(values.get("CURRENCY_ID") or ""), category=category)
            before, after = [
                await format_value(value, info.kind if info else "text", context=context, reader=reader)
                for value in (change.before, change.after)
            ]
            name = fields.find_label(entity, change.field, actor.locale)
            lines.append(PreviewLine(field=change.field, name=name, before=before, after=after))
        by = await self._find_employee(trace.user) if trace is not None else ""
        return HistoryEntry(what="portal", when=_format_when(event.ts, actor, now), by=by, lines=lines)

    async def _build_trace_entry(self, trace: Trace, target: str, record: JsonObject, actor: Actor, now: datetime) -> HistoryEntry:
        """A move with the stage of now."""
        kind, _ = parse_target(target)
        line = PreviewLine(field=trace.field, name=EDITED[actor.locale], before="", after="")
        if trace.is_move:
            entity = self._deps.catalogue.entities.get(kind.partition(":")[0])
            info = fields.find_field_info(entity, trace.field)
            context = Context(entity=kind, category=int(fields.parse_number(fields.find_value(record, "CATEGORY_ID", kind)) or 0))
            reader = Reader(names=self._deps.names, locale=actor.locale, zone=actor.time_zone, user=actor.bitrix_user_id or 0)
            stage = fields.find_value(record, trace.field, kind)
            after = await format_value(stage, info.kind if info else "text", context=context, reader=reader)
            line = PreviewLine(field=trace.field, name=fields.find_label(entity, trace.field, actor.locale), before="", after=after)
        by = await self._find_employee(trace.user)
        return HistoryEntry(what="portal", when=_format_when(format_iso(trace.when), actor, now), by=by, lines=[line])

    async def _find_employee(self, number: int) -> str:
        try:
            return await self._deps.names.find_user_name(number) or str(number)
        except BitrixError:
            return str(number)

    def _find_name(self, key: str, then: str = "") -> str:
        """Else the former name `then`, else the key."""
        known = self._present(Actor(key=key, name=""))
        return (known.name if known else "") or then or key


def build_history_row(session: str, body: HistoryBody, now: datetime) -> OutboxRow:
    """Replaces another page with the same `screen`."""
    return outbox.build_row(session, KIND, body.to_json(), now, f"history:{body.screen}")


def _format_when(moment: str, actor: Actor, now: datetime) -> str:
    """Such as "18:30" today or "22.11 18:30" this year."""
    zone = ZoneInfo(actor.time_zone)
    here, today = parse_iso(moment).astimezone(zone), now.astimezone(zone)
    if here.date() == today.date():
        return f"{here:%H:%M}"
    return f"{format_short_day(here.date(), actor.locale, has_year=here.year != today.year)} {here:%H:%M}"


def _is_ours(change: Change, event: StoredEvent, rows: Sequence[EffectRow], kind: str) -> bool:
    """A call of `rows` wrote the field at most `_SAME_HAND` before."""
    field_key = fields.to_field_key(change.field, kind)
    seen = parse_iso(event.ts)
    near = (
        row
        for row in rows
        if row.status in {"succeeded", "unknown", "started"} and timedelta() <= seen - find_start_time(row) <= _SAME_HAND
    )
    return any(field_key in _list_written_fields(row, kind) for row in near)


def _list_call_times(rows: Sequence[EffectRow]) -> list[datetime]:
    """Of what the bot did or may have done: when it began and when it ended."""
    ours = [row for row in rows if row.status in {"succeeded", "unknown", "started"}]
    return [moment for row in ours for moment in (find_start_time(row), row.updated_at)]


def _list_written_fields(row: EffectRow, kind: str) -> set[str]:
    names: set[str] = set()
    for leaf in _read_call(row).leaves:
        names |= {fields.to_field_key(name, kind) for name in (leaf.params.get("fields") or leaf.params)}
        names |= {"status"} if leaf.method.startswith("tasks.task.") else set()
    return names | ({"closed", "categoryid"} if "stageid" in names else set())


def _read_call(row: EffectRow) -> StoredCall:
    return EffectRecord.model_validate(row.call).call or StoredCall()


def _format_title(record: JsonObject | None) -> str:
    row = record or {}
    person = " ".join(str(row[name]) for name in ("NAME", "LAST_NAME", "name", "lastName") if row.get(name))
    return to_visible_line(str(row.get("TITLE") or row.get("title") or row.get("SUBJECT") or person or ""), limit=80)


MOST: Final = 20
_LONGEST_VALUE: Final = 300
_LABEL_KINDS: Final = frozenset({"money", "date", "datetime", "user", "stage", "category", "company", "contact", "flag", "number", "enum"})
_LABEL_TYPES: Final = frozenset({"money", "date", "datetime", "boolean", "double", "integer", "employee", "enumeration", "crm_status"})
"""Of the company's own fields."""
_LABELS: Final = frozenset({"TITLE", "NAME", "SECOND_NAME", "LAST_NAME", "POST", "SUBJECT", "CURRENCY_ID"})
"""Names: short, and read as labels everywhere."""


@dataclass(frozen=True, kw_only=True)
class HistoryData:
    catalogue: Catalogue
    names: HistoryNames
    records: PortalReader


class HistoryReader:
    """For a question of the model, whose rights the gate has checked. Long texts may be of customers and are left out unless asked for."""

    def __init__(self, store: AsyncStore, sources: HistoryData, clock: Clock, present: RefreshActor) -> None:
        self._pages = HistoryPages(RecordIndex(store), sources, present)
        self._sources = sources
        self._clock = clock

    async def read(self, *, target: str, zone: str, locale: Locale, texts: bool) -> RecordHistory:
        """With `texts` also long ones. Raises StoreError."""
        kind, number = parse_target(target)
        try:
            record = (await self._sources.records.load_records([(kind, number)]))[kind, number]
        except BitrixError:
            record = None
        reader = Actor(key="", name="", locale=locale, time_zone=zone)
        body = await self._pages.build_body(target, record, page=0, size=MOST, actor=reader, screen="", now=self._clock.now())
        prose = {line.field for entry in body.entries for line in entry.lines if await self._is_prose(line, entry, kind)}
        history_changes = [_build_change(entry, hidden=set() if texts else prose) for entry in body.entries]
        return RecordHistory(record=target, title=body.title, total=body.total, has_prose=texts and bool(prose), changes=history_changes)

    async def _is_prose(self, line: PreviewLine, entry: HistoryEntry, kind: str) -> bool:
        """A customer may have written it."""
        entities = [entity for name in (kind, entry.entity) if name and (entity := targets.find_definition(name, self._sources.catalogue))]
        info = next((field for entity in entities if (field := fields.find_field_info(entity, line.field))), None)
        if info is None:
            return await self._sources.names.find_field_type(kind, line.field) not in _LABEL_TYPES
        return not (info.kind in _LABEL_KINDS or line.field.upper() in _LABELS)


def _build_change(entry: HistoryEntry, *, hidden: Collection[str]) -> HistoryChange:
    return HistoryChange(
        when=entry.when,
        by=entry.by,
        approved_by=(entry.decided_by or entry.by) if entry.decided else "",
        status=entry.status or "seen in the portal",
        did=" ".join(part for part in (entry.verb, entry.entity or entry.method) if part) if entry.what == "call" else "",
        undone=entry.undone,
        lines=[_build_line(line, is_hidden=line.field in hidden) for line in entry.lines],
    )


def _build_line(line: PreviewLine, *, is_hidden: bool) -> HistoryLine:
    before, after = (
        NOT_SHOWN if is_hidden and any(map(str.isalpha, text)) else trim_text(text, limit=_LONGEST_VALUE)
        for text in (line.before, line.after)
    )
    return HistoryLine(name=line.name, before=before, after=after)
