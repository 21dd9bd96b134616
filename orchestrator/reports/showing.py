"""The table of conversations, and one conversation as people read it. Ring 2; changes nothing."""

from collections import deque
from collections.abc import Collection, Iterable, Iterator
from dataclasses import dataclass
from typing import Any, Final

from orchestrator.reports.people import Narrator
from orchestrator.reports.reading import as_record, read_stream, to_session_name
from orchestrator.reports.words import describe_event
from state.agent_state import list_open_confirmations
from state.journal import load_state
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


def list_conversations(store: Store, voice: Narrator) -> Iterator[Conversation]:
    """Every stream with its size, last activity, people, cards that wait and calls of unknown outcome."""
    for stream, seq, _ in sorted(store.list_heads()):
        state, _ = load_state(store, stream)
        last = store.read_events(stream, after=seq - 1, limit=1)
        cards = list_open_confirmations(state)
        asked = {
            entry["requested_by"]: entry.get("requested_by_name", "")
            for entry in state["agent"]["confirmations"].values()
            if "requested_by" in entry
        }
        key = to_session_name(stream)
        people = {**asked, **({key: ""} if voice.find_name(key) else {})}
        yield Conversation(
            session=key,
            events=seq,
            last=last[0].ts if last else "",
            people=tuple(voice.format_person(person, name) for person, name in people.items()),
            open_cards=len(cards),
            unknown=len(state["unknown"]),
        )


def read_conversation(store: Store, stream: str, *, last: int = 0, types: Collection[str] = ()) -> Iterable[StoredEvent]:
    """The events of a stream, of these types (all without), the `last` of them (all for 0)."""
    after = max(0, store.read_head(stream)[0] - last) if last and not types else 0
    wanted = (event for event in read_stream(store, stream, after=after) if not types or event.type in types)
    return deque(wanted, maxlen=last) if last else wanted


def render_event(event: StoredEvent, voice: Narrator) -> dict[str, Any]:
    """One event for people and machines: all its data, and `words`."""
    voice.remember_names(event)
    return {**as_record(event), "who": _find_actor(event, voice), "words": describe_event(event, voice)}


def _find_actor(event: StoredEvent, voice: Narrator) -> str:
    """Who did it; `actor` says for whom."""
    if event.type in _MODEL:
        return "the model"
    return "the bot" if event.type in _BOT else voice.format_person(event.actor)
