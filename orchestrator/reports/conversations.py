"""Lists conversations, renders one, and follows new events, each once. Changes nothing."""

from collections import deque
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass
from heapq import merge
from typing import Final

from orchestrator.reports.reading.journal_reader import Narrator, as_record, read_stream, to_session_name
from orchestrator.reports.reading.sentences import describe_event
from state.events.fold import list_open_confirmations
from state.journal.journal import load_state
from state.journal.store import Store, StoredEvent

_MODEL: Final = frozenset({"ModelAsked", "ModelAnswered", "ModelFailed", "PlanRecorded"})
_BOT: Final = frozenset(
    {
        *("NameAsked", "StepRefused", "ConfirmationRequested", "ConfirmationSuperseded", "CallStarted", "CallSucceeded", "CallRefused"),
        *("CallOutcomeUnknown", "TurnFinished", "RecordsSeen", "PortalLookFailed"),
    }
)


@dataclass(frozen=True, kw_only=True)
class Conversation:
    """`last` is the time of the last event."""

    session: str
    events: int
    last: str
    people: tuple[str, ...]
    open_cards: int
    unknown: int


def list_conversations(store: Store, voice: Narrator) -> Iterator[Conversation]:
    """One for every stream of the journal."""
    for stream, seq, _ in sorted(store.list_heads()):
        state, _ = load_state(store, stream)
        last = store.read_events(stream, after=seq - 1, limit=1)
        cards = list_open_confirmations(state)
        requesters = {entry.requested_by: entry.requested_by_name for entry in state.cards.values() if entry.has("requested_by")}
        key = to_session_name(stream)
        people = {**requesters, **({key: ""} if voice.find_name(key) else {})}
        yield Conversation(
            session=key,
            events=seq,
            last=last[0].ts if last else "",
            people=tuple(voice.format_person(person, name) for person, name in people.items()),
            open_cards=len(cards),
            unknown=len(state.unknown),
        )


def read_conversation(store: Store, stream: str, *, last: int = 0, types: Collection[str] = ()) -> Iterable[StoredEvent]:
    """The last ones, oldest first; 0 means all. Only `types` count, if any are given."""
    after = max(0, store.read_head(stream)[0] - last) if last and not types else 0
    events = (event for event in read_stream(store, stream, after=after) if not types or event.type in types)
    return deque(events, maxlen=last) if last else events


@dataclass(frozen=True, slots=True, kw_only=True)
class EventLine:
    """`who` is the name of its actor, `words` a sentence."""

    event: StoredEvent
    who: str
    words: str

    def to_json(self) -> dict[str, object]:
        """With all its data."""
        return {**as_record(self.event), "who": self.who, "words": self.words}


def render_event(event: StoredEvent, voice: Narrator) -> EventLine:
    """Remembers the names in the event, too."""
    voice.remember_names(event)
    return EventLine(event=event, who=_find_actor(event, voice), words=describe_event(event, voice))


def _find_actor(event: StoredEvent, voice: Narrator) -> str:
    """Such as "the model", "the bot" or "Anna (tg:7)": `actor` names the person behind them."""
    if event.type in _MODEL:
        return "the model"
    return "the bot" if event.type in _BOT else voice.format_person(event.actor)


StreamPositions = dict[str, int]
"""Stream → number of the last event seen."""


def read_positions(store: Store, streams: Collection[str] = ()) -> StreamPositions:
    """Of all streams if `streams` is empty."""
    return {stream: seq for stream, seq, _ in store.list_heads() if not streams or stream in streams}


def read_last_events(store: Store, ends: Mapping[str, int], count: int) -> list[StoredEvent]:
    """Merged in order of time; `ends` has the last number of each stream to consider."""
    if count <= 0:
        return []
    newest: list[StoredEvent] = []
    for stream, seq in ends.items():
        recent = [event for event in store.read_events(stream, after=max(0, seq - count), limit=count) if event.seq <= seq]
        newest = list(merge(newest, recent, key=_get_time))[-count:]
    return newest


def watch_events(
    store: Store, positions: StreamPositions, wait: Callable[[], bool], streams: Collection[str] = ()
) -> Iterator[StoredEvent]:
    """Events after `positions`, which it updates, then each new one; `wait` pauses, and ends it by False."""
    while True:
        grown = [stream for stream, seq in read_positions(store, streams).items() if seq > positions.get(stream, 0)]
        for event in merge(*(read_stream(store, stream, after=positions.get(stream, 0)) for stream in grown), key=_get_time):
            positions[event.stream] = event.seq
            yield event
        if not wait():
            return


def _get_time(event: StoredEvent) -> str:
    return event.ts
