"""What was sent as several messages and is one input is one input again. Ring 2; judges nothing.

Three kinds: a paste that the messenger cut, messages of others forwarded with a word about them (before or after), and short messages
sent one right after the other. Text of others stays apart from the person's own words: it never instructs.
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
"""Messengers cut a long paste at about 4,096 UTF-16 units: whatever is this long goes on in the next message."""
CUT_PAUSE = 1.5
"""Seconds that a piece waits for the next one."""
FORWARD_PAUSE = 0.3
"""Seconds that what was forwarded waits for the rest of it, and what a person wrote for a forward that it is the comment of.

Messengers send a comment first and what it is about some tens of milliseconds later. The sign of life does not wait.
"""
MAX_PASTE = 20_000
LEAD_IN = 300
"""A first line up to so many characters that ends with a colon is the person's own word about what follows."""
AT_ONCE = 3
"""Seconds within which a messenger sends the pieces one after the other."""
QUICK = 1
"""So many whole seconds of the messenger's clock lie between messages of one breath."""
FRESH = timedelta(seconds=0.5)
"""What is worked on as soon as it comes has nothing behind it yet."""


async def merge_fragments(row: InboxRow, session: Session, store: AsyncStore) -> InboxRow | None:
    """The input with what belongs to it, as one in the place of the first; None where nothing is left to be worked on.

    A turn that has begun stays as it is, and so does what was joined before a crash.
    """
    asked = await recognize_answer(row, session, store)
    if asked is not None:
        await session.commit(actor=str(row.actor.get("key", "")), inbox_done=[row.id], inbox_new=[asked])
        wake(store)
        return None
    begun = (session.state["turn"] or {}).get("turn_id") == row.id or "pieces" in row.body
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
    """Why so many characters cannot be worked on: too many, or pictures without a word."""
    if length > MAX_PASTE:
        return Notice(code="too-long", args={"length": length, "limit": MAX_PASTE})
    return None if length else Notice(code="only-text")


async def _collect_fragments(row: InboxRow, session: Session, store: AsyncStore) -> list[InboxRow]:
    """The input with what belongs to it. What is worked on as soon as it comes has at most a forward behind it that is still on its way."""
    if _find_pause([row]) or session.now - row.received_at >= FRESH:
        return await _wait_for_fragments(row, store)
    if not _may_be_comment(row):
        return [row]
    await asyncio.sleep(FORWARD_PAUSE)
    found = _select_fragments(row, await store.list_waiting_inbox(row.session, row.lane))
    return await _wait_for_fragments(row, store) if any(_is_of_others(piece) for piece in found[1:2]) else [row]


def _may_be_comment(row: InboxRow) -> bool:
    """Whether a forward may follow: of messengers, which say when each was sent."""
    return bool(row.body.get("text")) and not row.body.get("quoted") and isinstance(row.body.get("at"), int)


async def _wait_for_fragments(row: InboxRow, store: AsyncStore) -> list[InboxRow]:
    """The pieces that are there, waiting a moment for the next one where more is likely to come."""
    pieces = _select_fragments(row, await store.list_waiting_inbox(row.session, row.lane))
    while pause := _find_pause(pieces):
        await asyncio.sleep(pause)
        found = _select_fragments(row, await store.list_waiting_inbox(row.session, row.lane))
        if len(found) == len(pieces):
            break
        pieces = found
    return pieces


def _find_pause(pieces: Sequence[InboxRow]) -> float:
    """Seconds until the next look, 0 where nothing more is to be expected."""
    last = pieces[-1]
    if _is_cut(last):
        return CUT_PAUSE
    if _is_of_others(last) or "album" in last.body:
        return FORWARD_PAUSE
    return 0


def _select_fragments(first: InboxRow, waiting: Sequence[InboxRow]) -> list[InboxRow]:
    """The first and what the same person sent right after it, as far as it belongs together."""
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
    """Whether `row` goes on with the last piece."""
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
    """One more of those that were forwarded, or the one word about them, before or after; each says when it was sent."""
    if not _has_dates(pieces[-1], row):
        return False
    if _is_of_others(row):
        return True
    return not any(piece.body.get("text") for piece in pieces)


def _is_quick(piece: InboxRow, after: InboxRow) -> bool:
    """Two messages of one breath. Where the messenger does not say when they were sent, each stands for itself."""
    return _has_dates(piece, after) and 0 <= after.body["at"] - piece.body["at"] <= QUICK


def _has_dates(piece: InboxRow, after: InboxRow) -> bool:
    return isinstance(piece.body.get("at"), int) and isinstance(after.body.get("at"), int)


def _is_typed(row: InboxRow) -> bool:
    """Written or forwarded by the person: no button, no choice, no voice."""
    return row.kind == "message" and row.body.get("origin") == "typed"


def _is_of_others(row: InboxRow) -> bool:
    """Nothing but text of somebody else."""
    return not row.body.get("text") and bool(row.body.get("quoted"))


def _is_cut(row: InboxRow) -> bool:
    said = row.body.get("text") or row.body.get("quoted") or ""
    return _is_typed(row) and len(said.encode("utf-16-le", "replace")) // 2 >= CUT


def _is_at_once(piece: InboxRow, after: InboxRow) -> bool:
    """Whether both were sent as one: by the messenger's own clock where it tells, since a bot that was away gets everything together."""
    if _has_dates(piece, after):
        return 0 <= int(after.body["at"]) - int(piece.body["at"]) <= AT_ONCE
    return abs((after.received_at - piece.received_at).total_seconds()) <= AT_ONCE


def _count_chars(body: Mapping[str, Any]) -> int:
    return len(body.get("text") or "") + len(body.get("quoted") or "")


def _join(pieces: Sequence[InboxRow]) -> InboxRow:
    """One input of them all, in the place of the first."""
    first = pieces[0]
    text, quoted = _split_cut_paste(pieces) if _is_cut(first) and not _is_mixed(pieces) else _split_own_and_quoted(pieces)
    kept = {name: first.body[name] for name in ("at", "message_id") if name in first.body}
    return replace(first, body={"text": text, "quoted": quoted, "origin": "typed", **kept, "pieces": len(pieces)}, attempts=0)


def _is_mixed(pieces: Sequence[InboxRow]) -> bool:
    """Whether own words and words of others are among them as such."""
    return len({_is_of_others(piece) for piece in pieces}) > 1


def _split_cut_paste(pieces: Sequence[InboxRow]) -> tuple[str, str]:
    """A paste that was cut: text of others (DESIGN §3: prose), with the first line of the person apart if it is short."""
    first = pieces[0]
    everything = "\n".join(piece.body.get("text") or piece.body.get("quoted") or "" for piece in pieces)
    line, _, rest = everything.partition("\n")
    own = bool(first.body.get("text")) and len(line) <= LEAD_IN and line.rstrip().endswith(":")
    return (line, rest) if own else ("", everything)


def _split_own_and_quoted(pieces: Sequence[InboxRow]) -> tuple[str, str]:
    """The person's own words, and those of others; a cut piece of a message is a paste whoever sent it."""
    own = [str(piece.body.get("text") or "") for piece in pieces if not _is_cut(piece)]
    others = [str(piece.body.get("quoted") or "") or (str(piece.body.get("text") or "") if _is_cut(piece) else "") for piece in pieces]
    return "\n".join(filter(None, own)), "\n\n".join(filter(None, others))
