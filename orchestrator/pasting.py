"""A paste that the messenger cut into messages is one input again. Ring 2; judges nothing.

Whatever is as long as a messenger's limit is taken to go on in the next message of the same person.
"""

import asyncio
from collections.abc import Sequence
from dataclasses import replace

from orchestrator import outgoing
from orchestrator.messages import Notice, say
from orchestrator.session import Session
from state.store import InboxRow
from state.worker import AsyncStore

CUT = 4000
"""Messengers cut a long paste at about 4,096 UTF-16 units: whatever is this long goes on in the next message."""
CUT_PAUSE = 1.5
"""Seconds that a piece waits for the next one."""
MAX_PASTE = 20_000
LEAD_IN = 300
"""A first line up to so many characters that ends with a colon is the person's own word about what follows."""
AT_ONCE = 3
"""Seconds within which a messenger sends the pieces one after the other."""


async def whole(row: InboxRow, session: Session, store: AsyncStore) -> InboxRow | None:
    """The input with the pieces that follow it, as one in the place of the first; None when that is too long.

    A turn that has begun stays as it is, and so does a paste that was joined before a crash.
    """
    pieces = [row]
    if (session.state["turn"] or {}).get("turn_id") != row.id and "pieces" not in row.body:
        pieces = await _gathered(row, store)
    if len(pieces) == 1:
        return row
    joined = _joined(pieces)
    length = len(joined.body["text"]) + len(joined.body["quoted"])
    fits = length <= MAX_PASTE
    told = say(Notice(code="too-long", args={"length": length, "limit": MAX_PASTE}))
    await session.commit(
        actor=str(row.actor.get("key", "")),
        inbox_done=[piece.id for piece in (pieces[1:] if fits else pieces)],
        inbox_new=[joined] if fits else [],
        outbox=[] if fits else [outgoing.reply_row(session.key, told, session.now)],
    )
    return joined if fits else None


async def _gathered(row: InboxRow, store: AsyncStore) -> list[InboxRow]:
    """The pieces that are there, waiting a moment for the next one while the last was cut."""
    pieces, waited = [row], False
    while _is_cut(pieces[-1]):
        found = _pieces(row, await store.waiting_inbox(row.session, row.lane))
        if len(found) == len(pieces):
            if waited:
                break
            await asyncio.sleep(CUT_PAUSE)
        waited = len(found) == len(pieces)
        pieces = found
    return pieces


def _is_cut(row: InboxRow) -> bool:
    said = row.body.get("text") or row.body.get("quoted") or ""
    return row.kind == "message" and row.body.get("origin") == "typed" and len(said.encode("utf-16-le", "replace")) // 2 >= CUT


def _pieces(first: InboxRow, waiting: Sequence[InboxRow]) -> list[InboxRow]:
    """The first and what the same person wrote right after it, as long as each piece was cut."""
    pieces = [first]
    for row in (item for item in waiting if item.id != first.id):
        typed = row.kind == "message" and row.body.get("origin") == "typed"
        same = typed and row.actor == first.actor and bool(row.body.get("text")) == bool(first.body.get("text"))
        if not (same and _is_cut(pieces[-1]) and _at_once(pieces[-1], row)):
            break
        pieces.append(row)
    return pieces


def _at_once(piece: InboxRow, after: InboxRow) -> bool:
    """Whether both were sent as one: by the messenger's own clock where it tells, since a bot that was away gets everything together."""
    earlier, later = piece.body.get("at"), after.body.get("at")
    if isinstance(earlier, int) and isinstance(later, int):
        return 0 <= later - earlier <= AT_ONCE
    return abs((after.received_at - piece.received_at).total_seconds()) <= AT_ONCE


def _joined(pieces: Sequence[InboxRow]) -> InboxRow:
    """One input of them all: pasted text (DESIGN §3: prose), with the first line of the person apart if it is short."""
    first = pieces[0]
    whole = "\n".join(piece.body.get("text") or piece.body.get("quoted") or "" for piece in pieces)
    line, _, rest = whole.partition("\n")
    own = bool(first.body.get("text")) and len(line) <= LEAD_IN and line.rstrip().endswith(":")
    body = {"text": line if own else "", "quoted": rest if own else whole, "origin": "typed"}
    return replace(first, body=body | {"pieces": len(pieces)}, attempts=0)
