"""What a call without a mark may have left on the portal: a comment, a plan or a task with the same text from that time. Ring 2.

It only reads. A trace is a hint for who decides, never a verdict: others may have written the same, and what is not found may still come.
The portal's clock and ours may differ by any amount: its moments are compared with ours only by way of what it says the time is now.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any, Final

from bitrix.client import BitrixClient
from orchestrator.gate import fields
from orchestrator.gate.effects import Call
from state.canonical import to_storable

SLACK: Final = timedelta(seconds=30)
"""How far a moment of ours, told by the portal's clock, may be off: what a clock has drifted since, and the way of an answer."""
LATEST: Final = timedelta(minutes=2)
"""The cloud cuts requests at a minute; what came later is somebody else's."""
_BOXES: Final = ("tasks", "items")


@dataclass(frozen=True, kw_only=True)
class _TraceQuery:
    """Where an add would be seen: the list to ask, which of its fields say the time, and what must be the same."""

    method: str
    params: Mapping[str, Any]
    made_at: str
    same: Mapping[str, Any]


async def find_traces(call: Call, since: datetime, client: BitrixClient) -> str:
    """ "probably done: found 77" for each add of `call` that left something; "" when nothing is seen. Raises BitrixError."""
    found = [said for leaf in call.leaves for said in await _find_call_traces(leaf, since, client)]
    return f"probably done: {', '.join(found)}" if found else ""


async def _find_call_traces(call: Call, since: datetime, client: BitrixClient) -> list[str]:
    where = _build_query(call)
    if where is None:
        return []
    answer = await client.call(where.method, where.params, repeatable=True)
    ahead = _calculate_clock_offset(answer.time, client.now())
    if ahead is None:
        return []
    numbers = [_extract_number(row) for row in _extract_rows(to_storable(answer.result)) if _is_trace(row, where, since + ahead)]
    place = f"{call.key}: " if call.key else ""
    return [f"{place}found {number}" for number in numbers if number]


def _calculate_clock_offset(time: Mapping[str, Any], now: datetime) -> timedelta | None:
    """How far the portal's clock is ahead of ours, by the moment of an answer that just came; None where it names none."""
    told = time.get("date_finish") or time.get("date_start")
    try:
        moment = datetime.fromisoformat(str(told))
    except ValueError:
        return None
    return moment - now if moment.tzinfo is not None else None


def _build_query(call: Call) -> _TraceQuery | None:
    """None for calls that leave nothing to look for, and for those whose owner another command makes."""
    written = call.params.get(call.spec.fields_at) if call.spec.fields_at else call.params
    if not isinstance(written, Mapping) or call.references:
        return None
    match call.method:
        case "crm.timeline.comment.add":
            owner = {"ENTITY_ID": written.get("ENTITY_ID"), "ENTITY_TYPE": written.get("ENTITY_TYPE")}
            params = {"filter": owner, "order": {"ID": "DESC"}, "select": ["ID", "COMMENT", "CREATED", "ENTITY_ID"]}
            return _TraceQuery(
                method="crm.timeline.comment.list", params=params, made_at="CREATED", same={"COMMENT": written.get("COMMENT")}
            )
        case "crm.activity.todo.add":
            owner = {"OWNER_TYPE_ID": written.get("ownerTypeId"), "OWNER_ID": written.get("ownerId")}
            params = {"filter": owner, "order": {"ID": "DESC"}, "select": ["ID", "SUBJECT", "DESCRIPTION", "CREATED", *owner]}
            texts = {"SUBJECT": written.get("title"), "DESCRIPTION": written.get("description")}
            alike = {name: text for name, text in texts.items() if text}
            return _TraceQuery(method="crm.activity.list", params=params, made_at="CREATED", same={**owner, **alike}) if alike else None
        case "tasks.task.add":
            wanted = {name: fields.find_value(written, name, "task") for name in ("TITLE", "RESPONSIBLE_ID")}
            params = {"filter": wanted, "order": {"ID": "DESC"}, "select": ["ID", "TITLE", "RESPONSIBLE_ID", "CREATED_DATE"]}
            return _TraceQuery(method="tasks.task.list", params=params, made_at="CREATED_DATE", same=wanted)
        case _:
            return None


def _is_trace(row: Mapping[str, Any], where: _TraceQuery, since: datetime) -> bool:
    """The same text on the same record, from that very time of the portal: filters may have been dropped, so all is compared here."""
    try:
        made = datetime.fromisoformat(str(fields.find_value(row, where.made_at)))
    except ValueError:
        return False
    if made.tzinfo is None or not since - SLACK <= made <= since + LATEST:
        return False
    return all(_to_plain(fields.find_value(row, name)) == _to_plain(value) for name, value in where.same.items())


def _to_plain(value: Any) -> str:
    return " ".join(str(value if value is not None else "").split())


def _extract_number(row: Mapping[str, Any]) -> str:
    return str(fields.find_value(row, "ID") or "")


def _extract_rows(result: Any) -> Iterator[Mapping[str, Any]]:
    """The rows of a list in any of the portal's boxes; nothing for an odd answer."""
    if isinstance(result, Mapping):
        result = next((result[box] for box in _BOXES if box in result), [])
    yield from (row for row in result if isinstance(row, Mapping)) if isinstance(result, Sequence) and not isinstance(result, str) else ()
