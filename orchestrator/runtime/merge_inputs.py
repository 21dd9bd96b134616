"""Merges messages that were sent separately but are one request; interprets none of them.

That is: a paste cut by the messenger, forwards with the person's comment, and short messages in quick succession. Quoted text stays apart
from the person's own words: it must never act as an instruction.
"""

import asyncio
from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import timedelta
from typing import Any

from orchestrator.domain.outputs import Notice, build_reply
from orchestrator.runtime import outbox
from orchestrator.runtime.input_filter import build_dropped_event, recognize_answer, wake
from orchestrator.runtime.session import Session
from state.journal.async_store import AsyncStore
from state.journal.store import InboxRow

CUT = 4000
"""Messengers cut a long paste at about 4,096 UTF-16 units: a message this long is taken to continue in the next one."""
CUT_PAUSE = 1.5
"""Seconds to wait for the next part of a cut paste."""
FORWARD_PAUSE = 0.3
"""Seconds to wait for further forwards, and after a message that may be the comment on a forward.

Messengers send the comment first and the forward some tens of milliseconds later. The typing indicator does not wait for this.
"""
MAX_PASTE = 20_000
LEAD_IN = 300
"""Maximum characters of a first line that ends with a colon to count as the person's own words about the rest."""
AT_ONCE = 3
"""Seconds within which a messenger sends the parts of one message."""
QUICK = 1
"""Maximum difference, in whole seconds of the messenger's clock, between short messages that are merged."""
FRESH = timedelta(seconds=0.5)
"""An input younger than this is handled on arrival, so nothing can be queued behind it yet."""


async def merge_fragments(row: InboxRow, session: Session, store: AsyncStore) -> InboxRow | None:
    """Return the input merged with what belongs to it, in the place of the first part; None if nothing is left to handle.

    A turn that has already begun is left as it is, and so is an input that was merged before a crash.
    """
    asked = await recognize_answer(row, session, store)
    if asked is not None:
        await session.commit(actor=str(row.actor.get("key", "")), inbox_done=[row.id], inbox_new=[asked])
        wake(store)
        return None
    begun = session.state.turn_id == row.id or "pieces" in row.body
    pieces = [row] if begun or not _is_typed(row) else await _collect_fragments(row, session, store)
    left_out = [gone for piece in pieces if (gone := build_dropped_event(piece, session)) is not None]
    if left_out:
        await session.commit(*left_out, actor=str(row.actor.get("key", "")), inbox_done=[piece.id for piece in pieces])
        return None
    if len(pieces) == 1 and (_count_chars(row.body) or "album" not in row.body):
        return row
    joined = _join(pieces)
    fault = _find_fault(_count_chars(joined.body))
    if fault is not None:
        told = outbox.build_reply_row(session.key, build_reply(fault), session.now)
        await session.commit(actor=str(row.actor.get("key", "")), inbox_done=[piece.id for piece in pieces], outbox=[told])
        return None
    await session.commit(actor=str(row.actor.get("key", "")), inbox_done=[piece.id for piece in pieces[1:]], inbox_new=[joined])
    return joined


def _find_fault(length: int) -> Notice | None:
    """Return why a text of `length` characters cannot be handled: too long, or pictures without text; None if it can."""
    if length > MAX_PASTE:
        return Notice(code="too-long", args={"length": length, "limit": MAX_PASTE})
    return None if length else Notice(code="only-text")


async def _collect_fragments(row: InboxRow, session: Session, store: AsyncStore) -> list[InboxRow]:
    """Return the input with its further parts; one handled on arrival waits only for a forward that may still be on its way."""
    if _find_pause([row]) or session.now - row.received_at >= FRESH:
        return await _wait_for_fragments(row, store)
    if not _may_be_comment(row):
        return [row]
    await asyncio.sleep(FORWARD_PAUSE)
    found = _select_fragments(row, await store.list_waiting_inbox(row.session, row.lane))
    return await _wait_for_fragments(row, store) if any(_is_of_others(piece) for piece in found[1:2]) else [row]


def _may_be_comment(row: InboxRow) -> bool:
    """Whether a forward may follow this message; only messengers that give each message a sending time are considered."""
    return bool(row.body.get("text")) and not row.body.get("quoted") and isinstance(row.body.get("at"), int)


async def _wait_for_fragments(row: InboxRow, store: AsyncStore) -> list[InboxRow]:
    """Return the parts that have arrived, waiting a moment for the next one where more are likely."""
    pieces = _select_fragments(row, await store.list_waiting_inbox(row.session, row.lane))
    while pause := _find_pause(pieces):
        await asyncio.sleep(pause)
        found = _select_fragments(row, await store.list_waiting_inbox(row.session, row.lane))
        if len(found) == len(pieces):
            break
        pieces = found
    return pieces


def _find_pause(pieces: Sequence[InboxRow]) -> float:
    """Return the seconds to wait before looking again, 0 if nothing more is expected."""
    last = pieces[-1]
    if _is_cut(last):
        return CUT_PAUSE
    if _is_of_others(last) or "album" in last.body:
        return FORWARD_PAUSE
    return 0


def _select_fragments(first: InboxRow, waiting: Sequence[InboxRow]) -> list[InboxRow]:
    """Return the first input and those that the same person sent right after it, as far as they belong together."""
    pieces, length = [first], _count_chars(first.body)
    for row in (item for item in waiting if item.id != first.id):
        if not (_is_typed(row) and row.actor == first.actor and _is_continuation(pieces, row)):
            break
        length += _count_chars(row.body)
        if length > MAX_PASTE and not _is_cut(pieces[-1]):
            break
        pieces.append(row)
    return pieces


def _is_continuation(pieces: Sequence[InboxRow], row: InboxRow) -> bool:
    """Whether `row` continues the last of `pieces`."""
    last = pieces[-1]
    if not _is_at_once(last, row):
        return False
    if _is_cut(last) and _is_of_others(last) == _is_of_others(row):
        return True
    if "album" in last.body and last.body["album"] == row.body.get("album"):
        return True
    if _is_of_others(last) or _is_of_others(row):
        return _is_joined_forward(pieces, row)
    if _is_cut(last) or _is_cut(row):
        return False
    return _is_quick(last, row)


def _is_joined_forward(pieces: Sequence[InboxRow], row: InboxRow) -> bool:
    """Whether `row` is another forward, or the single comment before or after the forwards; needs the sending times of both."""
    if not _has_dates(pieces[-1], row):
        return False
    if _is_of_others(row):
        return True
    return not any(piece.body.get("text") for piece in pieces)


def _is_quick(piece: InboxRow, after: InboxRow) -> bool:
    """Whether two messages were sent in quick succession; always False if the messenger gives no sending times."""
    return _has_dates(piece, after) and 0 <= after.body["at"] - piece.body["at"] <= QUICK


def _has_dates(piece: InboxRow, after: InboxRow) -> bool:
    return isinstance(piece.body.get("at"), int) and isinstance(after.body.get("at"), int)


def _is_typed(row: InboxRow) -> bool:
    """Whether the person wrote or forwarded this message: not a button, a choice or a voice message."""
    return row.kind == "message" and row.body.get("origin") == "typed"


def _is_of_others(row: InboxRow) -> bool:
    """Whether the message holds only text of somebody else."""
    return not row.body.get("text") and bool(row.body.get("quoted"))


def _is_cut(row: InboxRow) -> bool:
    said = row.body.get("text") or row.body.get("quoted") or ""
    return _is_typed(row) and len(said.encode("utf-16-le", "replace")) // 2 >= CUT


def _is_at_once(piece: InboxRow, after: InboxRow) -> bool:
    """Whether both were sent at the same time.

    The messenger's clock counts where it is given, because a bot that was offline receives everything together.
    """
    if _has_dates(piece, after):
        return 0 <= int(after.body["at"]) - int(piece.body["at"]) <= AT_ONCE
    return abs((after.received_at - piece.received_at).total_seconds()) <= AT_ONCE


def _count_chars(body: Mapping[str, Any]) -> int:
    return len(body.get("text") or "") + len(body.get("quoted") or "")


def _join(pieces: Sequence[InboxRow]) -> InboxRow:
    """Return one input made of all `pieces`, in the place of the first."""
    first = pieces[0]
    text, quoted = _split_cut_paste(pieces) if _is_cut(first) and not _is_mixed(pieces) else _split_own_and_quoted(pieces)
    kept = {name: first.body[name] for name in ("at", "message_id") if name in first.body}
    return replace(first, body={"text": text, "quoted": quoted, "origin": "typed", **kept, "pieces": len(pieces)}, attempts=0)


def _is_mixed(pieces: Sequence[InboxRow]) -> bool:
    """Whether `pieces` hold both the person's own messages and forwarded ones."""
    return len({_is_of_others(piece) for piece in pieces}) > 1


def _split_cut_paste(pieces: Sequence[InboxRow]) -> tuple[str, str]:
    """Split a cut paste into the person's short first line, if there is one, and the pasted text, which counts as quoted."""
    first = pieces[0]
    everything = "\n".join(piece.body.get("text") or piece.body.get("quoted") or "" for piece in pieces)
    line, _, rest = everything.partition("\n")
    own = bool(first.body.get("text")) and len(line) <= LEAD_IN and line.rstrip().endswith(":")
    return (line, rest) if own else ("", everything)


def _split_own_and_quoted(pieces: Sequence[InboxRow]) -> tuple[str, str]:
    """Split `pieces` into the person's own words and quoted text; a cut part counts as a paste whoever sent it."""
    own = [str(piece.body.get("text") or "") for piece in pieces if not _is_cut(piece)]
    others = [str(piece.body.get("quoted") or "") or (str(piece.body.get("text") or "") if _is_cut(piece) else "") for piece in pieces]
    return "\n".join(filter(None, own)), "\n\n".join(filter(None, others))
