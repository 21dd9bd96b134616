"""Who edited a record last, and who moved it last, as the portal itself says: its only words about people."""

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Final

from bitrix.errors import BitrixError
from orchestrator.directory.portal_reads import PortalReader
from orchestrator.gate.call import fields
from orchestrator.language.lexicon import load_lexicon
from orchestrator.language.time_zones import parse_moment
from orchestrator.reports.record_changes import KINDS
from state.stored import JsonObject

EDITED: Final = load_lexicon("records").read_titles("edited_last")
_CRM: Final = (("DATE_MODIFY", "MODIFY_BY_ID"), ("MOVED_TIME", "MOVED_BY_ID"))
_MARKS: Final = {"task": (("CHANGED_DATE", "CHANGED_BY"), ("STATUS_CHANGED_DATE", "STATUS_CHANGED_BY"))}
_SAME_HAND: Final = timedelta(minutes=5)
_SAME_ACT: Final = timedelta(minutes=1)


@dataclass(frozen=True, slots=True, kw_only=True)
class Trace:
    """`field` is that of the stage for a move, else that of the moment: which values an edit changed the portal does not say."""

    when: datetime
    user: int
    field: str
    is_move: bool


async def find_traces(kind: str, record: JsonObject | None, own_calls: Collection[datetime], records: PortalReader) -> list[Trace]:
    """Without what the bot did itself: the portal names the webhook's owner for it."""
    edited, moved = _read_traces(kind, record) if record is not None else (None, None)
    if edited is not None and moved is not None and edited.user == moved.user and abs(edited.when - moved.when) <= _SAME_ACT:
        edited = None
    traces = [trace for trace in (edited, moved) if trace is not None]
    account = await _find_account(records) if traces and own_calls else 0
    return [trace for trace in traces if not _is_ours(trace, own_calls, account)]


def _read_traces(kind: str, record: JsonObject) -> Sequence[Trace | None]:
    entity = kind.partition(":")[0]
    stage = KINDS[entity].stage if entity in KINDS else ""
    marks = _MARKS.get(entity, _CRM)
    return [
        _read_trace(kind, record, when, who, field=stage if is_move else when, is_move=is_move) if stage or not is_move else None
        for is_move, (when, who) in enumerate(marks)
    ]


def _read_trace(kind: str, record: JsonObject, when: str, who: str, *, field: str, is_move: int) -> Trace | None:
    moment = parse_moment(str(fields.find_value(record, when, kind) or ""), zone="UTC")
    user = fields.parse_number(fields.find_value(record, who, kind))
    return Trace(when=moment, user=int(user), field=field, is_move=bool(is_move)) if moment is not None and user and user > 0 else None


def _is_ours(trace: Trace, own_calls: Collection[datetime], account: int) -> bool:
    is_near = any(abs(trace.when - call) <= _SAME_HAND for call in own_calls)
    return is_near and account in {0, trace.user}


async def _find_account(records: PortalReader) -> int:
    """0 if the portal does not say."""
    try:
        return await records.reference.load_account()
    except BitrixError:
        return 0


def is_seen_as(trace: Trace, seen: datetime) -> bool:
    """A reading after an event of the portal, which tells the values, is about the same change."""
    return timedelta() <= seen - trace.when <= _SAME_HAND
