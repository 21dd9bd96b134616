"""Merges messages that form one request: a cut paste, forwards with a comment, quick short messages.

Quoted text stays apart: it must never act as an instruction.
"""

import asyncio
from collections.abc import Sequence
from dataclasses import replace
from datetime import timedelta
from typing import NamedTuple

from orchestrator.domain.address import Address
from orchestrator.domain.inputs import Input, ParsedInput, TextMessage, parse_neighbour
from orchestrator.domain.outputs import Notice, build_reply
from orchestrator.sessions import outbox
from orchestrator.sessions.input_filter import build_dropped_event, recognize_answer
from orchestrator.sessions.session import Session
from state.events.base import DEFAULT_ENGINE
from state.journal.async_store import AsyncStore
from state.journal.store import InboxRow

CUT = 4000
"""Messengers cut a paste at about 4,096 UTF-16 units."""
CUT_PAUSE = 1.5
"""Seconds to wait for the next part."""
FORWARD_PAUSE = 0.3
"""Seconds; the comment comes just before the forward."""
MAX_PASTE = 20_000
LEAD_IN = 300
"""Characters of a first line with a colon."""
AT_ONCE = 3
"""Seconds between parts of one message."""
QUICK = 1
"""Seconds of the messenger's clock."""
FRESH = timedelta(seconds=0.5)
"""Nothing is queued behind a younger input."""


class _Piece(NamedTuple):
    row: InboxRow
    said: TextMessage


async def merge_fragments(message: ParsedInput, session: Session, store: AsyncStore) -> ParsedInput | None:
    """Under the id of the first message; None if nothing is left. Unchanged once its turn has begun."""
    row = message.row
    answer = await recognize_answer(row, message.content, session, store)
    if answer is not None:
        await session.commit(actor=row.actor_key, inbox_done=[row.id], inbox_new=[answer])
        return None
    first = _to_piece(row, message.content)
    begun = first is None or session.state.turn_id == row.id or first.said.pieces is not None
    pieces = [] if first is None else [first] if begun else await _collect_fragments(first, session, store)
    rows = [piece.row for piece in pieces] or [row]
    left_out = [gone for inbox_row in rows if (gone := build_dropped_event(inbox_row, session)) is not None]
    if left_out:
        await session.commit(*left_out, actor=row.actor_key, inbox_done=[inbox_row.id for inbox_row in rows])
        return None
    if first is None or (len(pieces) == 1 and (_count_chars(first) or first.said.album is None)):
        return message
    joined = _join(pieces)
    fault = _find_fault(joined)
    if fault is not None:
        reply_row = outbox.build_reply_row(session.key, build_reply(fault), session.now)
        await session.commit(actor=row.actor_key, inbox_done=[inbox_row.id for inbox_row in rows], outbox=[reply_row])
        return None
    await session.commit(actor=row.actor_key, inbox_done=[inbox_row.id for inbox_row in rows[1:]], inbox_new=[joined.row])
    return ParsedInput(joined.row, joined.said)


def _to_piece(row: InboxRow, message: Input | None) -> _Piece | None:
    """None for buttons, choices, voice and commands of engines."""
    is_message = isinstance(message, TextMessage) and message.origin == "typed" and message.engine == DEFAULT_ENGINE
    return _Piece(row, message) if isinstance(message, TextMessage) and is_message else None


def _find_fault(whole: _Piece) -> Notice | None:
    length = _count_chars(whole)
    if length > MAX_PASTE:
        return Notice(code="too-long", args={"length": length, "limit": MAX_PASTE})
    return None if length else Notice(code="only-text", args={"kind": whole.said.attached or "other"})


async def _collect_fragments(first: _Piece, session: Session, store: AsyncStore) -> list[_Piece]:
    """A fresh message waits only if it may be a comment."""
    age = session.now - first.row.received_at
    if _find_pause([first]) or age >= FRESH:
        return await _wait_for_fragments(first, store)
    if not _may_be_comment(first):
        return [first]
    waited = max(0.0, age.total_seconds())  # less than nothing if the clock was set back
    await asyncio.sleep(max(0.0, FORWARD_PAUSE - waited))
    fragments = await _read_fragments(first, store)
    return await _wait_for_fragments(first, store) if any(_is_of_others(piece) for piece in fragments[1:2]) else [first]


def _may_be_comment(piece: _Piece) -> bool:
    """No reply, and not in a group, where no forward speaks to the bot."""
    text_message = piece.said
    if not text_message.text or text_message.quoted or text_message.at is None or text_message.reply_to is not None:
        return False
    return not Address.parse(piece.row.session).is_group


async def _wait_for_fragments(first: _Piece, store: AsyncStore) -> list[_Piece]:
    pieces = await _read_fragments(first, store)
    while pause := _find_pause(pieces):
        await asyncio.sleep(pause)
        fragments = await _read_fragments(first, store)
        if len(fragments) == len(pieces):
            break
        pieces = fragments
    return pieces


def _find_pause(pieces: Sequence[_Piece]) -> float:
    """Seconds, 0 if no more is expected."""
    last = pieces[-1]
    if _is_cut(last):
        return CUT_PAUSE
    if _is_of_others(last) or last.said.album is not None:
        return FORWARD_PAUSE
    return 0


async def _read_fragments(first: _Piece, store: AsyncStore) -> list[_Piece]:
    pieces, length = [first], _count_chars(first)
    for row in await store.list_waiting_inbox(first.row.session, first.row.lane):
        if row.id == first.row.id:
            continue
        piece = _to_piece(row, parse_neighbour(row))
        if piece is None or row.actor != first.row.actor or not _is_continuation(pieces, piece):
            break
        length += _count_chars(piece)
        if length > MAX_PASTE and not _is_cut(pieces[-1]):
            break
        pieces.append(piece)
    return pieces


def _is_continuation(pieces: Sequence[_Piece], after: _Piece) -> bool:
    last = pieces[-1]
    if not _is_at_once(last, after):
        return False
    if _is_cut(last) and _is_of_others(last) == _is_of_others(after):
        return True
    if last.said.album is not None and last.said.album == after.said.album:
        return True
    if _is_of_others(last) or _is_of_others(after):
        return _is_joined_forward(pieces, after)
    if _is_cut(last) or _is_cut(after):
        return False
    seconds = _measure_gap(last, after)  # None if the messenger gives no sending times
    return seconds is not None and 0 <= seconds <= QUICK


def _is_joined_forward(pieces: Sequence[_Piece], after: _Piece) -> bool:
    """False without sending times."""
    if _measure_gap(pieces[-1], after) is None:
        return False
    return _is_of_others(after) or not any(piece.said.text for piece in pieces)


def _measure_gap(piece: _Piece, after: _Piece) -> int | None:
    return after.said.at - piece.said.at if piece.said.at is not None and after.said.at is not None else None


def _is_of_others(piece: _Piece) -> bool:
    return not piece.said.text and bool(piece.said.quoted)


def _is_cut(piece: _Piece) -> bool:
    return len((piece.said.text or piece.said.quoted).encode("utf-16-le", "replace")) // 2 >= CUT


def _is_at_once(piece: _Piece, after: _Piece) -> bool:
    """Without sending times, by arrival: less exact after downtime."""
    seconds = _measure_gap(piece, after)
    return (
        0 <= seconds <= AT_ONCE if seconds is not None else abs((after.row.received_at - piece.row.received_at).total_seconds()) <= AT_ONCE
    )


def _count_chars(piece: _Piece) -> int:
    return len(piece.said.text) + len(piece.said.quoted)


def _join(pieces: Sequence[_Piece]) -> _Piece:
    first = pieces[0]
    text, quoted = _split_cut_paste(pieces) if _is_cut(first) and not _is_mixed(pieces) else _split_own_and_quoted(pieces)
    fields = first.said.model_dump(include={"at", "message_id"}, exclude_unset=True)
    attached = {piece.said.attached for piece in pieces} - {""}
    if attached:
        fields["attached"] = attached.pop() if len(attached) == 1 else "other"
    if cited := "\n".join(piece.said.cited for piece in pieces if piece.said.cited):
        fields["cited"] = cited
    answering = next((piece.said for piece in pieces if piece.said.answered or piece.said.answered_records), None)
    if answering is not None:
        fields |= answering.model_dump(include={"answered", "is_answered_own", "answered_records"}, exclude_unset=True)
    if any(piece.said.answers_others for piece in pieces):
        fields["answers_others"] = True
    text_message = TextMessage(text=text, quoted=quoted, origin="typed", pieces=len(pieces), **fields)
    return _Piece(replace(first.row, body=text_message.to_json(), attempts=0), text_message)


def _is_mixed(pieces: Sequence[_Piece]) -> bool:
    return len({_is_of_others(piece) for piece in pieces}) > 1


def _split_cut_paste(pieces: Sequence[_Piece]) -> tuple[str, str]:
    """(own words, pasted text)."""
    everything = "\n".join(piece.said.text or piece.said.quoted for piece in pieces)
    line, _, rest = everything.partition("\n")
    own = bool(pieces[0].said.text) and len(line) <= LEAD_IN and line.rstrip().endswith(":")
    return (line, rest) if own else ("", everything)


def _split_own_and_quoted(pieces: Sequence[_Piece]) -> tuple[str, str]:
    own = [piece.said.text for piece in pieces if not _is_cut(piece)]
    others = [piece.said.quoted or (piece.said.text if _is_cut(piece) else "") for piece in pieces]
    return "\n".join(filter(None, own)), "\n\n".join(filter(None, others))
