"""Reads what the pages of conversations show: the list of conversations, and the last turns of one. Reads only."""

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
from state.journal.pages import iterate_events
from state.journal.store import Store
from state.journal.streams import to_lease_key, to_stream

TURNS: Final = 30
"""How many turns are shown at first, and how many more with each press of «Показать раньше»."""
AT_ONCE: Final = 3
"""How many of the turns that are shown at first come with the page, more than a screen holds; the others follow when the browser has it."""
TOGETHER: Final = 9
"""How many of those others come at a time."""
MOST_SCANNED: Final = 5000
"""How many records of a stream are looked through for the beginning of these turns."""
_BLOCK: Final = 500
_LAST_WORDS: Final = 40
"""How many of the last records of a conversation are searched for words to show in the list."""
_SPOKEN: Final = frozenset({"MessageReceived"})


@dataclass(frozen=True, slots=True, kw_only=True)
class ConversationLine:
    """One line of the list of conversations."""

    session: str
    last: str
    """When the last thing happened."""
    events: int
    open_cards: int
    unknown: int = 0
    words: str = ""
    """The last words of a person, "" if they are not among the last records."""


def list_lines(store: Store, viewer: Viewer) -> list[ConversationLine]:
    """Return the conversations that the viewer may read, newest first, without what has to be read of each alone.

    That is the number of unknown calls and the last words, which `fill_lines` adds.
    """
    cards = Counter(timer.session for timer in list_card_timers(store))
    ends = [(to_lease_key(stream), seq, ts) for stream, seq, ts in store.list_ends()]
    talks = [
        (session, seq, ts) for session, seq, ts in ends if session.partition(":")[0] in TALK_CHANNELS and viewer.may_see_session(session)
    ]
    lines = [ConversationLine(session=session, last=ts, events=seq, open_cards=cards[session]) for session, seq, ts in talks]
    return sorted(lines, key=lambda line: (line.last, line.session), reverse=True)


def fill_lines(store: Store, lines: Sequence[ConversationLine]) -> list[ConversationLine]:
    """Return these lines with the number of calls whose outcome is unknown, and with the last words."""
    return [_fill_line(store, line) for line in lines]


def _fill_line(store: Store, line: ConversationLine) -> ConversationLine:
    stream = to_stream(line.session)
    records = store.read_encrypted(stream, max(0, line.events - _LAST_WORDS), _LAST_WORDS)
    spoken = next((seq for seq, kind, _ in reversed(records) if kind in _SPOKEN), 0)
    [said] = DamageTolerantStore(store).read_events(stream, spoken - 1, 1) if spoken else [None]
    return ConversationLine(
        session=line.session,
        last=line.last,
        events=line.events,
        open_cards=line.open_cards,
        unknown=len(store.list_effects(stream, "unknown")),
        words=str(said.data.get("text") or "") if said is not None else "",
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class TalkPart:
    """The end of a conversation: its turns, the number of the record with which they begin, and that of its last record."""

    turns: Sequence[Turn]
    first: int
    head: int

    @property
    def has_earlier(self) -> bool:
        """Whether the conversation has earlier turns."""
        return self.first > 1


def find_start(store: Store, stream: str, before: int, turns: int = TURNS) -> int:
    """Return the number of the record with which the last `turns` turns before the record `before` begin.

    It looks back at `MOST_SCANNED` records; if they hold fewer turns, the result is the first of these records.
    """
    end, found = before, 0
    while end > 1 and before - end < MOST_SCANNED:
        start = max(1, end - _BLOCK)
        for seq, kind, _ in reversed(store.read_encrypted(stream, start - 1, end - start)):
            found += kind in _SPOKEN
            if found == turns:
                return seq
        end = start
    return end


def read_part(store: Store, stream: str, first: int, reader: ItemReader) -> TalkPart:
    """Return the turns from the record `first` to the end of the stream; 0 for the last `AT_ONCE` turns."""
    head = store.read_head(stream)[0]
    begin = first or find_start(store, stream, head + 1, AT_ONCE)
    events = iterate_events(DamageTolerantStore(store), stream, begin - 1, page=_BLOCK)
    return TalkPart(turns=group_items((event, reader.read(event)) for event in events), first=begin, head=head)
