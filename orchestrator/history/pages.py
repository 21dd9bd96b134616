"""One page of a record's history as data for the doors: who changed what, when, by whose leave, and what became of it. Ring 2.

Field lines are those that a card would show, in the reader's language. Nothing here is markup, and nothing enters a model's prompt.
"""

from collections.abc import Mapping, Sequence
from datetime import datetime, timedelta
from typing import Any, Final
from zoneinfo import ZoneInfo

from orchestrator.directory.text import clean
from orchestrator.gate import fields, undoing
from orchestrator.gate.effects import Facts, Target
from orchestrator.gate.means import Means
from orchestrator.gate.shown import Context, Reader, show
from orchestrator.gate.stored_call import Unthawable, thaw
from orchestrator.history.index import RecordIndex, began, marked
from orchestrator.messages import Actor
from orchestrator.outgoing import channel_of
from orchestrator.portal_events.watched import Change, changes, target_of
from orchestrator.turns import Present
from state.clock import iso, new_id, parse_iso
from state.store import EffectRow, OutboxRow, StoredEvent

KIND: Final = "history"
PAGE: Final = 8
_SAME_HAND: Final = timedelta(minutes=5)
"""A change that a look finds so soon after a call of ours that wrote the field is that call's."""
_HIDDEN: Final = frozenset({"superseded"})
"""The card that took its place stands for it."""
Entry = dict[str, Any]


class Pages:
    """See the module docstring. May raise StoreError; names that the portal does not tell stay numbers."""

    def __init__(self, index: RecordIndex, means: Means, present: Present) -> None:
        """`present` knows people by their keys."""
        self._index = index
        self._means = means
        self._present = present

    async def body(
        self, target: str, record: Mapping[str, Any] | None, *, page: int, actor: Actor, screen: str, now: datetime
    ) -> dict[str, Any]:
        """The page, counted from 0 and brought into what there is; `record` is as it stands, None for one that was deleted."""
        maker = marked(record) if record is not None else ""
        rows = [
            row
            for row in await self._index.calls(target, maker=maker)
            if row.status not in _HIDDEN and row.call["call"]["kind"] == "bitrix"
        ]
        elsewhere = await self._elsewhere(target, rows)
        merged: list[tuple[str, EffectRow | tuple[StoredEvent, Sequence[Change]]]] = [(iso(began(row)), row) for row in rows]
        merged += [(event.ts, (event, found)) for event, found in elsewhere]
        merged.sort(key=lambda item: item[0], reverse=True)
        pages = max(1, -(-len(merged) // PAGE))
        page = max(0, min(page, pages - 1))
        kind, number = target_of(target)
        shown = [
            await self._call(one, target, actor, now) if isinstance(one, EffectRow) else await self._look(one, target, actor, now)
            for _, one in merged[page * PAGE : (page + 1) * PAGE]
        ]
        return {
            "record": target,
            "entity": kind.partition(":")[0],
            "number": number,
            "title": _title(record),
            "url": self._means.names.card_url(kind, number, user=actor.bitrix_user_id or 0) if record is not None else "",
            "deleted": record is None,
            "total": len(merged),
            "page": page,
            "pages": pages,
            "screen": screen,
            "entries": shown,
        }

    async def _call(self, row: EffectRow, target: str, actor: Actor, now: datetime) -> Entry:
        stored, decision = row.call, await self._index.decision(row.effect_id)
        asked, undone = str(stored["requested_by"]), await self._undone(row)
        return {
            "what": "call",
            "when": _when(iso(began(row)), actor, now),
            "by": self._name(asked, str((stored.get("actor") or {}).get("name") or "")),
            "decided_by": self._name(decision.by) if decision and decision.by != asked else "",
            "decided": decision is not None,
            "via": decision.via if decision else "",
            "status": row.status,
            "undo": bool(undoing.undoes(str(stored.get("slot") or ""))),
            "undone": _when(undone, actor, now) if undone else "",
            "method": stored["call"]["method"],
            **await self._changes(row, target, actor),
        }

    async def _undone(self, row: EffectRow) -> str:
        found = await self._index.undone_by(row.effect_id)
        return iso(found.updated_at) if found is not None and found.status == "succeeded" else ""

    async def _changes(self, row: EffectRow, target: str, actor: Actor) -> Entry:
        """Verb and lines of the card, of a batch those about this record."""
        try:
            call = thaw(row.call["call"], self._means.catalogue)
            before = {_target(name): image for name, image in (row.call.get("before") or {}).items()}
            card = await self._means.preview(call, Facts(records=before), actor)
        except (Unthawable, KeyError, TypeError, ValueError):  # a row of an older program, or emptied by an erasure
            return {"verb": "", "entity": "", "lines": []}
        number = target_of(target)[1]
        parts = [item for item in card["items"] if item.get("id") in (number, None)] if card["items"] else [card]
        lines = [{name: line[name] for name in ("field", "name", "before", "after")} for part in parts for line in part["lines"]]
        first = parts[0] if parts else card
        return {"verb": first["verb"], "entity": first["entity"], "lines": lines}

    async def _elsewhere(self, target: str, rows: Sequence[EffectRow]) -> list[tuple[StoredEvent, Sequence[Change]]]:
        """Changes that were not made through the bot, as far as its looks at the record show them."""
        kind, _ = target_of(target)
        entity = self._means.catalogue.entities.get(kind.partition(":")[0])
        found: list[tuple[StoredEvent, Sequence[Change]]] = []
        last: Mapping[str, str] | None = None
        for event in await self._index.looks(target):
            now = (event.data.get("records") or {}).get(target)
            if now and last and entity is not None:
                told = [one for one in changes(entity, last, now) if not _ours(one, event, rows, kind)]
                found += [(event, told)] if told else []
            last = now or last
        return found

    async def _look(self, one: tuple[StoredEvent, Sequence[Change]], target: str, actor: Actor, now: datetime) -> Entry:
        event, found = one
        kind, _ = target_of(target)
        values = event.data["records"][target]
        reader = Reader(names=self._means.names, locale=actor.locale, zone=actor.time_zone, user=actor.bitrix_user_id or 0)
        entity = self._means.catalogue.entities.get(kind.partition(":")[0])
        lines = []
        for change in found:
            info = fields.info(entity, change.field)
            category = int(fields.number(values.get("CATEGORY_ID")) or 0)
            context = Context(entity=kind, currency=str(values.get("CURRENCY_ID") or ""), category=category)
            before, after = [
                await show(value, info.kind if info else "text", context=context, reader=reader) for value in (change.before, change.after)
            ]
            lines.append(
                {"field": change.field, "name": fields.label(entity, change.field, actor.locale), "before": before, "after": after}
            )
        return {"what": "portal", "when": _when(event.ts, actor, now), "lines": lines}

    def _name(self, key: str, then: str = "") -> str:
        """What somebody is called now, else what they were called then, else their key."""
        known = self._present(Actor(key=key, name=""))
        return (known.name if known else "") or then or key


def history_row(session: str, body: Mapping[str, Any], now: datetime) -> OutboxRow:
    """The page as a message; another page of the same screen takes its place."""
    key = f"history:{body['screen']}"
    return OutboxRow(
        id=new_id(), session=session, channel=channel_of(session), kind=KIND, body=dict(body), key=key, created_at=now, due_at=now
    )


def _when(moment: str, actor: Actor, now: datetime) -> str:
    """ "18:30" today, "22.11 18:30" this year, else with the year; in the person's zone."""
    zone = ZoneInfo(actor.time_zone)
    here, today = parse_iso(moment).astimezone(zone), now.astimezone(zone)
    if here.date() == today.date():
        return f"{here:%H:%M}"
    return f"{here:%d.%m %H:%M}" if here.year == today.year else f"{here:%d.%m.%Y %H:%M}"


def _ours(change: Change, event: StoredEvent, rows: Sequence[EffectRow], kind: str) -> bool:
    """Whether a call of ours had written that field shortly before the look."""
    wanted = fields.squeeze(change.field, kind)
    seen = parse_iso(event.ts)
    near = (row for row in rows if row.status in {"succeeded", "unknown", "started"} and timedelta() <= seen - began(row) <= _SAME_HAND)
    return any(wanted in _written(row, kind) for row in near)


def _written(row: EffectRow, kind: str) -> set[str]:
    call = row.call["call"]
    names: set[str] = set()
    for leaf in call.get("commands") or [call]:
        params = leaf.get("params") or {}
        names |= {fields.squeeze(name, kind) for name in (params.get("fields") or params)}
        names |= {"status"} if leaf["method"].startswith("tasks.task.") else set()
    return names | ({"closed", "categoryid"} if "stageid" in names else set())


def _target(name: str) -> Target:
    kind, _, number = name.rpartition(":")
    return kind, int(number)


def _title(record: Mapping[str, Any] | None) -> str:
    row = record or {}
    person = " ".join(str(row[name]) for name in ("NAME", "LAST_NAME", "name", "lastName") if row.get(name))
    return clean(str(row.get("TITLE") or row.get("title") or row.get("SUBJECT") or person or ""), limit=80)
