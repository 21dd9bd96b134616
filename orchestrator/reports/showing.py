"""The table of conversations, and one conversation as people read it. Ring 2; changes nothing."""

from collections import deque
from collections.abc import Collection, Iterable, Iterator
from dataclasses import dataclass
from typing import Any, Final

from orchestrator.reports.people import Voice
from orchestrator.reports.reading import as_record, paged, session_of
from orchestrator.reports.words import in_words
from state.agent_state import open_confirmations
from state.journal import state_of
from state.store import Store, StoredEvent

_MODEL: Final = frozenset({"ModelAnswered", "ModelFailed", "PlanRecorded"})
_BOT: Final = frozenset(
    {
        *("NameAsked", "StepRefused", "ConfirmationRequested", "ConfirmationSuperseded", "CallStarted", "CallSucceeded", "CallRefused"),
        *("CallOutcomeUnknown", "TurnFinished", "RecordsSeen", "PortalLookFailed"),
    }
)


@dataclass(frozen=True, kw_only=True)
class Conversation:
    """One line of the table."""

    session: str
    events: int
    last: str
    people: tuple[str, ...]
    open_cards: int
    unknown: int


def conversations(store: Store, voice: Voice) -> Iterator[Conversation]:
    """Every stream with its size, last activity, people, cards that wait and calls of unknown outcome."""
    for stream, seq, _ in sorted(store.heads()):
        state, _ = state_of(store, stream)
        last = store.read_events(stream, after=seq - 1, limit=1)
        cards = open_confirmations(state)
        asked = {
            entry["requested_by"]: entry.get("requested_by_name", "")
            for entry in state["agent"]["confirmations"].values()
            if "requested_by" in entry
        }
        key = session_of(stream)
        people = {**asked, **({key: ""} if voice.name(key) else {})}
        yield Conversation(
            session=key,
            events=seq,
            last=last[0].ts if last else "",
            people=tuple(voice.person(person, name) for person, name in people.items()),
            open_cards=len(cards),
            unknown=len(state["unknown"]),
        )


def told(store: Store, stream: str, *, last: int = 0, types: Collection[str] = ()) -> Iterable[StoredEvent]:
    """The events of a stream, of these types (all without), the `last` of them (all for 0)."""
    after = max(0, store.head(stream)[0] - last) if last and not types else 0
    wanted = (event for event in paged(store, stream, after=after) if not types or event.type in types)
    return deque(wanted, maxlen=last) if last else wanted


def line_of(event: StoredEvent, voice: Voice) -> dict[str, Any]:
    """One event for people and machines: all its data, and `words`."""
    voice.learn(event)
    return {**as_record(event), "who": _who(event, voice), "words": in_words(event, voice)}


def _who(event: StoredEvent, voice: Voice) -> str:
    """Who did it; `actor` says for whom."""
    if event.type in _MODEL:
        return "the model"
    return "the bot" if event.type in _BOT else voice.person(event.actor)
