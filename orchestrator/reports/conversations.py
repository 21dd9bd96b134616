"""Lists conversations, renders one for people, and follows new events, each once. Changes nothing.

The events of a conversation form a stream: a numbered part of the journal. New events are shown in the order of their stream.
"""

from collections import deque
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass
from heapq import merge
from typing import Final

from orchestrator.reports.reading.journal_reader import as_record, read_stream, to_session_name
from orchestrator.reports.reading.narrator import Narrator
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
    """An overview of one conversation, shown as one row in the list of conversations. `last` is the time of the last event."""

    session: str
    events: int
    last: str
    people: tuple[str, ...]
    open_cards: int
    unknown: int


def list_conversations(store: Store, voice: Narrator) -> Iterator[Conversation]:
    """Yield an overview of every stream (the events of one conversation) in the journal.

    It holds the event count, the time of the last event, the people, and how many cards wait and how many calls have an unknown outcome.
    """
    for stream, seq, _ in sorted(store.list_heads()):
        state, _ = load_state(store, stream)
        last = store.read_events(stream, after=seq - 1, limit=1)
        cards = list_open_confirmations(state)
        asked = {entry.requested_by: entry.requested_by_name for entry in state.cards.values() if entry.has("requested_by")}
        key = to_session_name(stream)
        people = {**asked, **({key: ""} if voice.find_name(key) else {})}
        yield Conversation(
            session=key,
            events=seq,
            last=last[0].ts if last else "",
            people=tuple(voice.format_person(person, name) for person, name in people.items()),
            open_cards=len(cards),
            unknown=len(state.unknown),
        )


def read_conversation(store: Store, stream: str, *, last: int = 0, types: Collection[str] = ()) -> Iterable[StoredEvent]:
    """Return the last `last` events of a stream (a conversation's part of the journal), oldest first; 0 means all events.

    If `types` is not empty, only events of these types are counted and returned.
    """
    after = max(0, store.read_head(stream)[0] - last) if last and not types else 0
    wanted = (event for event in read_stream(store, stream, after=after) if not types or event.type in types)
    return deque(wanted, maxlen=last) if last else wanted


@dataclass(frozen=True, slots=True, kw_only=True)
class EventLine:
    """One event for people to read, with the name of its actor (`who`) and a sentence about it (`words`)."""

    event: StoredEvent
    who: str
    words: str

    def to_json(self) -> dict[str, object]:
        """Return the event with all its data, `who` and `words` as a JSON object."""
        return {**as_record(self.event), "who": self.who, "words": self.words}


def render_event(event: StoredEvent, voice: Narrator) -> EventLine:
    """Return the event together with the name of its actor and a sentence about it."""
    voice.remember_names(event)
    return EventLine(event=event, who=_find_actor(event, voice), words=describe_event(event, voice))


def _find_actor(event: StoredEvent, voice: Narrator) -> str:
    """Return who caused the event: "the model", "the bot", or a person such as "Anna (tg:7)".

    The event's own field `actor` is not enough, because it names the person on whose behalf the model or the bot acted.
    """
    if event.type in _MODEL:
        return "the model"
    return "the bot" if event.type in _BOT else voice.format_person(event.actor)


StreamPositions = dict[str, int]
"""By stream, the sequence number of the last event that the reader has seen."""


def read_positions(store: Store, streams: Collection[str] = ()) -> StreamPositions:
    """Return the sequence number of the last event of each of these streams (empty: of all streams), by stream."""
    return {stream: seq for stream, seq, _ in store.list_heads() if not streams or stream in streams}


def read_last_events(store: Store, ends: Mapping[str, int], count: int) -> list[StoredEvent]:
    """Return the newest `count` events of several streams, merged in order of time.

    `ends` gives for each stream the sequence number of the last event to consider; later events are ignored.
    """
    if count <= 0:
        return []
    newest: list[StoredEvent] = []
    for stream, seq in ends.items():
        found = [event for event in store.read_events(stream, after=max(0, seq - count), limit=count) if event.seq <= seq]
        newest = list(merge(newest, found, key=_get_time))[-count:]
    return newest


def watch_events(store: Store, shown: StreamPositions, wait: Callable[[], bool], streams: Collection[str] = ()) -> Iterator[StoredEvent]:
    """Yield the events after the positions `shown`, then each new event when it is stored. Update `shown` with each event.

    Between two reads of the journal the function calls `wait`, which pauses. It ends when `wait` returns False. `streams` limits it to
    these streams (empty: all).
    """
    while True:
        grown = [stream for stream, seq in read_positions(store, streams).items() if seq > shown.get(stream, 0)]
        for event in merge(*(read_stream(store, stream, after=shown.get(stream, 0)) for stream in grown), key=_get_time):
            shown[event.stream] = event.seq
            yield event
        if not wait():
            return


def _get_time(event: StoredEvent) -> str:
    return event.ts
