"""Reads who changed a record, for a question of the model; the gate has checked the rights.

Long texts may be of customers and are left out unless asked for.
"""

from dataclasses import dataclass
from typing import Final

from bitrix.catalogue.catalogue import Catalogue
from bitrix.errors import BitrixError
from orchestrator.directory.portal_reads import PortalReader
from orchestrator.domain.actor import Actor
from orchestrator.domain.address import parse_target
from orchestrator.domain.card_view import PreviewLine
from orchestrator.domain.message_views import HistoryEntry
from orchestrator.domain.own_reads import NOT_SHOWN, HistoryChange, HistoryLine, RecordHistory
from orchestrator.features.history.pages import HistoryPages, HistorySources
from orchestrator.features.history.record_index import RecordIndex
from orchestrator.gate.call import fields, targets
from orchestrator.gate.call.ports import Names
from orchestrator.language.text import Locale, trim_text
from orchestrator.turns.feature import RefreshActor
from state.clock import Clock
from state.journal.async_store import AsyncStore

MOST: Final = 20
_LONGEST_VALUE: Final = 300
_LABEL_KINDS: Final = frozenset({"money", "date", "datetime", "user", "stage", "category", "company", "contact", "flag", "number", "enum"})
_LABELS: Final = frozenset({"TITLE", "NAME", "SECOND_NAME", "LAST_NAME", "POST", "SUBJECT", "CURRENCY_ID"})
"""Names: short, and read as labels everywhere."""


@dataclass(frozen=True, kw_only=True)
class HistoryData:
    catalogue: Catalogue
    names: Names
    records: PortalReader


class HistoryReader:
    def __init__(self, store: AsyncStore, sources: HistorySources, clock: Clock, present: RefreshActor) -> None:
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
        history_changes = [_build_change(entry, kind, self._sources.catalogue, texts=texts) for entry in body.entries]
        prose = texts and any(_is_prose(line, entry, kind, self._sources.catalogue) for entry in body.entries for line in entry.lines)
        return RecordHistory(record=target, title=body.title, total=body.total, has_prose=prose, changes=history_changes)


def _build_change(entry: HistoryEntry, kind: str, catalogue: Catalogue, *, texts: bool) -> HistoryChange:
    lines = [_build_line(line, is_hidden=not texts and _is_prose(line, entry, kind, catalogue)) for line in entry.lines]
    return HistoryChange(
        when=entry.when,
        by=entry.by,
        approved_by=(entry.decided_by or entry.by) if entry.decided else "",
        status=entry.status or "seen in the portal",
        did=" ".join(part for part in (entry.verb, entry.entity or entry.method) if part) if entry.what == "call" else "",
        undone=entry.undone,
        lines=lines,
    )


def _build_line(line: PreviewLine, *, is_hidden: bool) -> HistoryLine:
    before, after = (NOT_SHOWN if is_hidden and text else trim_text(text, limit=_LONGEST_VALUE) for text in (line.before, line.after))
    return HistoryLine(name=line.name, before=before, after=after)


def _is_prose(line: PreviewLine, entry: HistoryEntry, kind: str, catalogue: Catalogue) -> bool:
    """A customer may have written it."""
    info = next(
        (
            field
            for name in (kind, entry.entity)
            if name and (entity := targets.find_definition(name, catalogue)) and (field := fields.find_field_info(entity, line.field))
        ),
        None,
    )
    return info is None or not (info.kind in _LABEL_KINDS or line.field.upper() in _LABELS)
