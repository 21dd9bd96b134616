"""The list of conversations, and the last turns of one."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from bot.console.conversations.turn_items import ItemReader
from bot.console.conversations.turns import Turn, group_items
from orchestrator.domain.address import TALK_CHANNELS
from orchestrator.reports.cards import list_card_timers
from orchestrator.reports.reading.damaged_records import DamageTolerantStore
from orchestrator.reports.viewer import Viewer
from state.journal.journal import to_lease_key, to_stream
from state.journal.pages import iterate_events
from state.journal.store import Store

TURNS: Final = 30
"""Turns at first, and with each press of «Показать раньше»."""
AT_ONCE: Final = 3
"""So many come with the page, more than a screen holds; the others follow."""
TOGETHER: Final = 9
MOST_SCANNED: Final = 5000
"""Records that are searched for the beginning of turns."""
_BLOCK: Final = 500
_LAST_WORDS: Final = 40
"""Records that are searched for words to show in the list."""
_SPOKEN: Final = frozenset({"MessageReceived"})


@dataclass(frozen=True, slots=True, kw_only=True)
class ConversationLine:
    session: str
    last: str
    events: int
    open_cards: int
    unknown: int = 0
    words: str = ""
    """Of a person; "" if not among the last records."""


def list_lines(store: Store, viewer: Viewer) -> list[ConversationLine]:
    """Newest first, without what `fill_lines` adds: unknown calls and the last words."""
    cards = Counter(timer.session for timer in list_card_timers(store))
    ends = [(to_lease_key(stream), seq, ts) for stream, seq, ts in store.list_ends()]
    talks = [
        (session, seq, ts) for session, seq, ts in ends if session.partition(":")[0] in TALK_CHANNELS and viewer.may_see_session(session)
    ]
    lines = [ConversationLine(session=session, last=ts, events=seq, open_cards=cards[session]) for session, seq, ts in talks]
    return sorted(lines, key=lambda line: (line.last, line.session), reverse=True)


def fill_lines(store: Store, lines: Sequence[ConversationLine]) -> list[ConversationLine]:
    """With the number of unknown calls, and the last words."""
    return [_fill_line(store, line) for line in lines]


def _fill_line(store: Store, line: ConversationLine) -> ConversationLine:
    stream = to_stream(line.session)
    records = store.read_encrypted(stream, max(0, line.events - _LAST_WORDS), _LAST_WORDS)
    spoken = next((seq for seq, kind, _ in reversed(records) if kind in _SPOKEN), 0)
    [event] = DamageTolerantStore(store).read_events(stream, spoken - 1, 1) if spoken else [None]
    return ConversationLine(
        session=line.session,
        last=line.last,
        events=line.events,
        open_cards=line.open_cards,
        unknown=len(store.list_effects(stream, "unknown")),
        words=str(event.data.get("text") or "") if event is not None else "",
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class TalkPart:
    """Turns, the number of the record with which they begin, and that of the last."""

    turns: Sequence[Turn]
    first: int
    head: int

    @property
    def has_earlier(self) -> bool:
        return self.first > 1


def find_start(store: Store, stream: str, before: int, turns: int = TURNS) -> int:
    """Of the last `turns` turns before the record `before`, or the first of `MOST_SCANNED` records."""
    end, count = before, 0
    while end > 1 and before - end < MOST_SCANNED:
        start = max(1, end - _BLOCK)
        for seq, kind, _ in reversed(store.read_encrypted(stream, start - 1, end - start)):
            count += kind in _SPOKEN
            if count == turns:
                return seq
        end = start
    return end


def read_part(store: Store, stream: str, first: int, reader: ItemReader) -> TalkPart:
    """From the record `first` on; 0 for the last `AT_ONCE` turns."""
    head = store.read_head(stream)[0]
    begin = first or find_start(store, stream, head + 1, AT_ONCE)
    events = iterate_events(DamageTolerantStore(store), stream, begin - 1, page=_BLOCK)
    return TalkPart(turns=group_items((event, reader.read(event)) for event in events), first=begin, head=head)
