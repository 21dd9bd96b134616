"""A turn goes on from its journal when its last card is decided.

The commit that settles the card stores the input for this, so a crash loses neither.
"""

from collections.abc import Collection, Mapping, Sequence
from contextlib import aclosing
from dataclasses import dataclass, field
from typing import Final

import orjson

from orchestrator.domain.effect import Outcome, Pending, Provenance
from orchestrator.domain.inputs import TurnGoesOn
from orchestrator.domain.outputs import Notice
from orchestrator.engines.base import ChosenOption, TurnInput
from orchestrator.gate.approve.duplicates import restore_outcome
from orchestrator.gate.approve.plan_slots import find_origin_slots
from orchestrator.gate.call.ports import Ledger
from orchestrator.gate.call.serialization import build_effect_id
from state.clock import parse_iso
from state.events.base import DEFAULT_ENGINE
from state.events.confirmations import ConfirmationDenied, ConfirmationRequested
from state.events.conversation import MessageReceived, NameAsked, NameChosen, StepRefused, TurnFinished
from state.journal.async_store import AsyncStore
from state.journal.store import RESTORED, Commit, InboxRow, StoredEvent
from state.model.card import OPEN_STATUSES, Card
from state.model.session_state import PausedTurn, Question, SessionState

MOST_TURNS: Final = 4
MOST_EVENTS: Final = 100
"""Longer turns are read from the journal."""


class KeptTurns:
    """Events of turns of this process, so that a turn that goes on need not read them from the journal."""

    def __init__(self) -> None:
        self._turns: dict[str, list[StoredEvent]] = {}

    def keep_events(self, events: Sequence[StoredEvent]) -> None:
        """Unless they have ended for good."""
        for event in events:
            turn_id = event.data.get("turn_id") or str(event.data.get("node") or "").partition("#")[0]
            if event.type == "MessageReceived" and not event.data.get("answers"):
                self._turns[turn_id] = []
                while len(self._turns) > MOST_TURNS:
                    del self._turns[next(iter(self._turns))]
            if turn_id not in self._turns:
                continue
            turn = self._turns[turn_id]
            turn.append(event)
            if len(turn) > MOST_EVENTS or (event.type == "TurnFinished" and not event.data.get("goes_on")):
                del self._turns[turn_id]

    def find_events(self, turn_id: str) -> Sequence[StoredEvent]:
        """Empty if they have to be read."""
        return tuple(self._turns.get(turn_id, ()))

    def forget_all(self) -> None:
        """Called when what is known may differ from the journal."""
        self._turns.clear()


_DECIDED: Final = frozenset({"succeeded", "refused", "denied"})
"""A person has decided, and the outcome is known."""
_CLOSED: Final = frozenset({"expired", "superseded"})
"""The card waits no more, and nobody has decided."""


@dataclass(frozen=True, kw_only=True)
class ToldPart:
    """What a turn had done and told before it waited."""

    iterations: int = 0
    answers: int = -1
    """Number of the model's last answer; 0 for another turn's, -1 for none."""
    slots: frozenset[str] = frozenset()
    """Steps that were refused, run, put on a card, or unclear."""
    joined: Mapping[str, str] = field(default_factory=dict)
    """Step → the step of the card that was open before."""
    provenance: Provenance | None = None
    """None if not stored or erased."""


def build_go_on_rows(step: Commit, key: str, state: SessionState) -> list[InboxRow]:
    """For turns whose last card `step` settles, unless they were stopped. `state` is that before the step."""
    ended = {event.turn_id: _build_paused(event) for event in step.events if type(event) is TurnFinished and event.goes_on}
    if not ended and not (state.paused and any(change.status in _DECIDED for change in step.effects)):
        return []
    waiting = {key: paused_turn for key, paused_turn in (state.paused or {}).items() if not paused_turn.stopped} | ended
    origins = find_origin_slots(state.cards)
    due = ((turn, _find_last_card(turn, paused, step, state, origins, is_ending=turn in ended)) for turn, paused in waiting.items())
    return [_build_row(turn, card, key, step, waiting[turn]) for turn, card in due if card is not None and waiting[turn].asker]


def list_paused_turns(state: SessionState, asker: str) -> list[str]:
    open_cards = (card.confirmation_id for card in state.cards.values() if card.status in OPEN_STATUSES)
    places = find_origin_slots(state.cards)
    origins = [places[one] for one in open_cards]
    mine = ((turn, one) for turn, one in (state.paused or {}).items() if one.asker.get("key") == asker and not one.stopped)
    return [turn for turn, paused_turn in mine if any(origin.startswith(f"{turn}/") or origin in paused_turn.joined for origin in origins)]


def list_denied(turn_id: str, joined: Collection[str], state: SessionState) -> frozenset[str]:
    """Essences of calls that the turn may not propose again. `joined` are steps of other turns."""
    places = find_origin_slots(state.cards)
    denied = {places[card.confirmation_id] for card in state.cards.values() if card.status == "denied" and card.via != "model"}
    own = {place for place in denied if place in joined or place.startswith(f"{turn_id}/")}
    by_person = {card.essence for card in state.cards.values() if places[card.confirmation_id] in own}
    return frozenset(by_person | {essence for essence, denial in state.denied.items() if denial.turn_id == turn_id})


def _build_paused(turn_finished: TurnFinished) -> PausedTurn:
    return PausedTurn(ts="", asker=turn_finished.asker, joined=list(turn_finished.joined_slots.values()), engine=turn_finished.engine)


def _find_last_card(
    turn: str, paused: PausedTurn, step: Commit, state: SessionState, origins: Mapping[str, str], *, is_ending: bool
) -> Card | None:
    """None unless a person has decided it and this step settles it. `origins` are the cards' steps."""
    settled = {change.effect_id for change in step.effects if change.status in _DECIDED or change.status in _CLOSED}
    withdrawn = {event.effect_id for event in step.events if isinstance(event, ConfirmationDenied) and event.via == "model"}
    decided = {change.effect_id for change in step.effects if change.status in _DECIDED} - withdrawn
    own = [card for card in state.cards.values() if (at := origins[card.confirmation_id]).startswith(f"{turn}/") or at in paused.joined]
    last = next((card for card in own if card.effect_id in decided), None)
    if is_ending and last is None:
        last = next((card for card in own if card.status in {"executed", "refused", "denied"} and card.via != "model"), None)
    waits = any(card.status in OPEN_STATUSES and card.effect_id not in settled for card in own)
    has_new_card = any(isinstance(event, ConfirmationRequested) and event.slot.startswith(f"{turn}/") for event in step.events)
    return None if waits or has_new_card else last


def _build_row(turn: str, card: Card, key: str, step: Commit, paused: PausedTurn) -> InboxRow:
    return TurnGoesOn(turn_id=turn, engine=paused.engine or DEFAULT_ENGINE).to_row(
        key, source=f"{TurnGoesOn.KIND}:{turn}:{card.effect_id}", actor=paused.asker, now=step.now, lane="turn"
    )


async def restore_told_step(
    slot: str, told_part: ToldPart, refusals: Mapping[str, StepRefused], ledger: Ledger
) -> Outcome | Pending | None:
    """As it stands now, also by a card that replaced it; None if nothing is stored."""
    if (refused := refusals.get(slot)) is not None:
        return Outcome(
            status="refused",
            effect_id=build_effect_id(slot),
            method=refused.method,
            reason=Notice(code=refused.code, args=refused.args),
            detail=refused.detail,
            call=refused.params,
        )
    cards, origin = ledger.state.cards, told_part.joined.get(slot, slot)
    places = find_origin_slots(cards)
    own = [card for card in cards.values() if places[card.confirmation_id] == origin]
    card = next((one for one in reversed(own) if one.status != "superseded"), None)
    row = await ledger.find_effect(card.effect_id if card is not None else build_effect_id(origin))
    if row is None:
        return None
    result = restore_outcome(row)
    return result if card is None or isinstance(result, Pending) else _add_decider(result, card)


def _add_decider(result: Outcome, card: Card) -> Outcome:
    if card.status == "expired":
        return result.model_copy(update={"detail": "nobody decided in time; nothing was sent"})
    if card.status == "denied":
        why, decided = f', who said: "{card.reason}"' if card.reason else "", f"denied by {card.denied_by_name or 'a person'}"
        return result.model_copy(update={"decided": decided, "detail": f"{decided}{why}; nothing was sent"})
    return result.model_copy(update={"decided": f"approved by {card.approved_by_name}"}) if card.approved_by_name else result


async def is_from_backup(paused: PausedTurn, store: AsyncStore) -> bool:
    """The turn may have gone on since. Raises StoreError."""
    text = await store.get_value(RESTORED)
    return text is not None and parse_iso(paused.ts) <= parse_iso(orjson.loads(text)["restored_at"])


@dataclass(frozen=True, kw_only=True)
class RestoredTurn:
    turn: TurnInput
    events: Sequence[StoredEvent]


def build_restored_turn(events: Sequence[StoredEvent]) -> RestoredTurn | None:
    message_received = MessageReceived.from_data(events[0].data)
    turn = _build_turn_input(message_received, events)
    return RestoredTurn(turn=turn, events=events) if turn is not None else None


async def restore_turn(turn_id: str, stream: str, end: int, store: AsyncStore) -> RestoredTurn | None:
    """None if its beginning is gone. Raises StoreError."""
    later: list[StoredEvent] = []
    begin: StoredEvent | None = None
    async with aclosing(store.iterate_back(stream, end)) as pages:
        async for page in pages:
            later = [*page, *later]
            begin = begin or next((one for one in page if is_begin_of(one, turn_id)), None)
            if begin is not None and (turn := _build_turn_input(MessageReceived.from_data(begin.data), later)) is not None:
                return RestoredTurn(turn=turn, events=[stored_event for stored_event in later if is_event_of(stored_event, turn_id)])
    return None


async def read_turn_events(turn_id: str, stream: str, end: int, store: AsyncStore) -> list[StoredEvent]:
    turn_events: list[StoredEvent] = []
    async with aclosing(store.iterate_back(stream, end)) as pages:
        async for page in pages:
            turn_events = [one for one in page if is_event_of(one, turn_id)] + turn_events
            if any(is_begin_of(one, turn_id) for one in page):
                break
    return turn_events


def is_begin_of(event: StoredEvent, turn_id: str) -> bool:
    return event.type == "MessageReceived" and event.data.get("turn_id") == turn_id


def is_event_of(event: StoredEvent, turn_id: str) -> bool:
    """Whether it has the turn's id, or is a value of `memo`."""
    return event.data.get("turn_id") == turn_id or is_node_of(event.data.get("node", ""), turn_id)


def is_node_of(node: str, turn_id: str) -> bool:
    return node.startswith(f"{turn_id}#")


def _build_turn_input(received: MessageReceived, later: Sequence[StoredEvent]) -> TurnInput | None:
    """None if the answered question is not in `later`."""
    if not received.answers:
        return TurnInput(
            turn_id=received.turn_id,
            text=received.text,
            quoted=received.quoted,
            cited=received.cited,
            answered=received.answered,
            is_answered_own=received.is_answered_own,
            answered_records=received.answered_records,
            ref=received.ref,
            is_resumed=True,
        )
    choice = _find_choice(received, later)
    if choice is None:
        return None
    return TurnInput(turn_id=received.turn_id, text=choice.question.text, answers=received.answers, choice=choice, is_resumed=True)


def _find_choice(received: MessageReceived, events: Sequence[StoredEvent]) -> ChosenOption | None:
    """None unless question and answer are there."""
    event = next((one for one in events if one.type == "NameAsked" and NameAsked.from_data(one.data).question_id == received.answers), None)
    chosen = next(
        (NameChosen.from_data(one.data) for one in events if one.type == "NameChosen" and one.data.get("turn_id") == received.turn_id), None
    )
    if event is None or chosen is None:
        return None
    question = Question.from_stored({**event.data, "ts": event.ts})
    options = (option for option in question.options if option["value"] == chosen.value and option["label"] == chosen.label)
    targets = [option["target"] for option in options if option["target"]]
    return ChosenOption(question=question, value=chosen.value, label=chosen.label, targets=targets)


def find_told_part(events: Sequence[StoredEvent]) -> ToldPart:
    """Empty if the turn has not ended."""
    ends = [number for number, event in enumerate(events) if event.type == "TurnFinished"]
    if not ends:
        return ToldPart()
    before = events[: ends[-1]]
    plans = [one.data for one in before if one.type == "PlanRecorded"]
    unclear = {step["slot"] for plan in plans for step in plan["steps"] if step.get("problem")}
    joined = {slot: origin for number in ends for slot, origin in (events[number].data.get("joined_slots") or {}).items()}
    return ToldPart(
        iterations=max((plan["iteration"] for plan in plans), default=0),
        answers=max((one.data["iteration"] for one in before if one.type == "ModelAnswered"), default=0),
        slots=frozenset(str(one.data["slot"]) for one in before if one.data.get("slot")) | unclear | joined.keys(),
        joined=joined,
        provenance=Provenance.model_validate(provenance) if (provenance := events[ends[-1]].data.get("provenance")) else None,
    )
