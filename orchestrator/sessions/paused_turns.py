"""Lets a turn go on after its cards: when the last card that a turn waited for is decided, the same turn runs again from its journal.

The commit that settles the last card stores the input that makes the turn go on. So a crash loses neither, and nothing is decided twice.
"""

from collections.abc import Collection, Mapping, Sequence
from contextlib import aclosing
from dataclasses import dataclass, field
from typing import Final

import orjson

from orchestrator.domain.effect import Provenance
from orchestrator.domain.inputs import TurnGoesOn
from orchestrator.domain.outcome import Outcome, Pending
from orchestrator.domain.outputs import Notice
from orchestrator.engines.base import ChosenOption, TurnInput
from orchestrator.gate.approve.card_groups import find_origin_slots
from orchestrator.gate.approve.duplicates import restore_outcome
from orchestrator.gate.call.ports import Ledger
from orchestrator.gate.call.serialization import build_effect_id
from state.clock import parse_iso
from state.events.base import DEFAULT_ENGINE
from state.events.confirmations import ConfirmationDenied, ConfirmationRequested
from state.events.conversation import MessageReceived, NameAsked, NameChosen, StepRefused, TurnFinished
from state.journal.async_store import AsyncStore
from state.journal.restored_rows import RESTORED
from state.journal.store import Commit, InboxRow, StoredEvent
from state.model.card import OPEN_STATUSES, Card
from state.model.session_state import PausedTurn, Question, SessionState

_DECIDED: Final = frozenset({"succeeded", "refused", "denied"})
"""The statuses of an effect (proposed call) after which the turn may go on: a person has decided, and what came of it is known."""
_CLOSED: Final = frozenset({"expired", "superseded"})
"""The statuses of an effect whose card waits no more, although nobody has decided it."""


@dataclass(frozen=True, kw_only=True)
class ToldPart:
    """What a turn that goes on had done, and told to the person, before it waited."""

    iterations: int = 0
    answers: int = -1
    """The number of the last answer of the model; 0 if a recorded answer of another turn stood in its place, -1 if there was none."""
    slots: frozenset[str] = frozenset()
    """The places in its plans of the steps that were refused, run or put on a card, or whose names were unclear."""
    joined: Mapping[str, str] = field(default_factory=dict)
    """Of these, those for whose call a card was open already: their place → the place of the step that had led to the card."""
    provenance: Provenance | None = None
    """Where words came from when it began to wait; None if that is not stored: its end is of an earlier program, or was erased."""


def build_go_on_rows(step: Commit, key: str, state: SessionState) -> list[InboxRow]:
    """Return the inputs that make turns of the session `key` go on because `step` settles the last card that each of them waited for.

    `state` is the state before the step. A turn whose cards are all decided at the moment it ends goes on at once. One that was stopped
    while it waited does not go on.
    """
    ended = {event.turn_id: _build_paused(event) for event in step.events if type(event) is TurnFinished and event.goes_on}
    if not ended and not (state.paused and any(change.status in _DECIDED for change in step.effects)):
        return []
    waiting = {key: paused_turn for key, paused_turn in (state.paused or {}).items() if not paused_turn.stopped} | ended
    origins = find_origin_slots(state.cards)
    due = ((turn, _find_last_card(turn, paused, step, state, origins, is_ending=turn in ended)) for turn, paused in waiting.items())
    return [_build_row(turn, card, key, step, waiting[turn]) for turn, card in due if card is not None and waiting[turn].asker]


def list_paused_turns(state: SessionState, asker: str) -> list[str]:
    """Return the turns of the person with the key `asker` that wait for an open card and go on when it is decided."""
    open_cards = (card.confirmation_id for card in state.cards.values() if card.status in OPEN_STATUSES)
    places = find_origin_slots(state.cards)
    origins = [places[one] for one in open_cards]
    mine = ((turn, one) for turn, one in (state.paused or {}).items() if one.asker.get("key") == asker and not one.stopped)
    return [turn for turn, paused_turn in mine if any(origin.startswith(f"{turn}/") or origin in paused_turn.joined for origin in origins)]


def list_denied(turn_id: str, joined: Collection[str], state: SessionState) -> frozenset[str]:
    """Return the essences of the calls that were denied in the turn, and are not to be proposed in it again.

    A person denies on a card that the turn led to or waited for; if they had edited it, what it asked for at first is denied too. `joined`
    holds the places of the steps of other turns for whose cards the turn waited. What the model withdrew in the turn counts as well.
    """
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
    """Return the last card for which a turn waited, if a person has decided it and this step settles it; otherwise None.

    `origins` holds the place in a plan that led to each card, by the id of the card. With `is_ending` the turn ends in this step, and its
    cards may have been decided before.
    """
    settled = {change.effect_id for change in step.effects if change.status in _DECIDED or change.status in _CLOSED}
    withdrawn = {event.effect_id for event in step.events if isinstance(event, ConfirmationDenied) and event.via == "model"}
    decided = {change.effect_id for change in step.effects if change.status in _DECIDED} - withdrawn
    own = [card for card in state.cards.values() if (at := origins[card.confirmation_id]).startswith(f"{turn}/") or at in paused.joined]
    last = next((card for card in own if card.effect_id in decided), None)
    if is_ending and last is None:
        last = next((card for card in own if card.status in {"executed", "refused", "denied"} and card.via != "model"), None)
    waits = any(card.status in OPEN_STATUSES and card.effect_id not in settled for card in own)
    asked = any(isinstance(event, ConfirmationRequested) and event.slot.startswith(f"{turn}/") for event in step.events)
    return None if waits or asked else last


def _build_row(turn: str, card: Card, key: str, step: Commit, paused: PausedTurn) -> InboxRow:
    return TurnGoesOn(turn_id=turn, engine=paused.engine or DEFAULT_ENGINE).to_row(
        key, source=f"{TurnGoesOn.KIND}:{turn}:{card.effect_id}", actor=paused.asker, now=step.now, lane="turn"
    )


async def restore_told_step(slot: str, told: ToldPart, refusals: Mapping[str, StepRefused], ledger: Ledger) -> Outcome | Pending | None:
    """Return the result of a step that the first part of a turn submitted, as it stands now; None if nothing is stored for it.

    A step on a card has the result of the decision, also if another card had replaced the first one, or if the step had asked for what a
    card of another turn asked for already. `refusals` holds the refused steps by their places.
    """
    if (refused := refusals.get(slot)) is not None:
        return Outcome(
            status="refused",
            effect_id=build_effect_id(slot),
            method=refused.method,
            reason=Notice(code=refused.code, args=refused.args),
            detail=refused.detail,
            call=refused.params,
        )
    cards, origin = ledger.state.cards, told.joined.get(slot, slot)
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
    """Return whether the turn waited already when the journal was restored from a backup: it may have gone on since the backup was made.

    Raises StoreError.
    """
    text = await store.get_value(RESTORED)
    return text is not None and parse_iso(paused.ts) <= parse_iso(orjson.loads(text)["restored_at"])


@dataclass(frozen=True, kw_only=True)
class RestoredTurn:
    """A turn as the journal holds it."""

    turn: TurnInput
    events: Sequence[StoredEvent]
    """The events of the turn, in order."""


def build_restored_turn(events: Sequence[StoredEvent]) -> RestoredTurn | None:
    """Return the turn whose events, in order, are `events`; None if it did not begin with a request of its own."""
    message_received = MessageReceived.from_data(events[0].data)
    turn = _build_turn_input(message_received, events)
    return RestoredTurn(turn=turn, events=events) if turn is not None else None


async def restore_turn(turn_id: str, stream: str, end: int, store: AsyncStore) -> RestoredTurn | None:
    """Return the turn as the journal holds it; None if the journal does not hold its beginning any more. Raises StoreError.

    If the turn began with a person's answer to a question, the question is read too. `end` is the number of the stream's last event.
    """
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
    """Return the events of a turn that was begun before a crash, however many came since, also those of the other lane."""
    found: list[StoredEvent] = []
    async with aclosing(store.iterate_back(stream, end)) as pages:
        async for page in pages:
            found = [one for one in page if is_event_of(one, turn_id)] + found
            if any(is_begin_of(one, turn_id) for one in page):
                break
    return found


def is_begin_of(event: StoredEvent, turn_id: str) -> bool:
    """Return whether the turn begins with this event."""
    return event.type == "MessageReceived" and event.data.get("turn_id") == turn_id


def is_event_of(event: StoredEvent, turn_id: str) -> bool:
    """Return whether the event belongs to this turn, or holds a value that `memo` kept for it."""
    return event.data.get("turn_id") == turn_id or is_node_of(event.data.get("node", ""), turn_id)


def is_node_of(node: str, turn_id: str) -> bool:
    """Return whether `node` is the name under which `memo` keeps a value of this turn."""
    return node.startswith(f"{turn_id}#")


def _build_turn_input(said: MessageReceived, later: Sequence[StoredEvent]) -> TurnInput | None:
    """Return the request that `said` began; None if the question that it answers is not among the events `later`."""
    if not said.answers:
        return TurnInput(turn_id=said.turn_id, text=said.text, quoted=said.quoted, cited=said.cited, ref=said.ref, is_resumed=True)
    choice = _find_choice(said, later)
    if choice is None:
        return None
    return TurnInput(turn_id=said.turn_id, text=choice.question.text, answers=said.answers, choice=choice, is_resumed=True)


def _find_choice(said: MessageReceived, events: Sequence[StoredEvent]) -> ChosenOption | None:
    """Return the option that began the turn, once both the question and the answer are among the `events`."""
    event = next((one for one in events if one.type == "NameAsked" and NameAsked.from_data(one.data).question_id == said.answers), None)
    chosen = next(
        (NameChosen.from_data(one.data) for one in events if one.type == "NameChosen" and one.data.get("turn_id") == said.turn_id), None
    )
    if event is None or chosen is None:
        return None
    question = Question.from_stored({**event.data, "ts": event.ts})
    options = (option for option in question.options if option["value"] == chosen.value and option["label"] == chosen.label)
    targets = [option["target"] for option in options if option["target"]]
    return ChosenOption(question=question, value=chosen.value, label=chosen.label, targets=targets)


def find_told_part(events: Sequence[StoredEvent]) -> ToldPart:
    """Return what the turn did before it last ended; `events` are its events in order. An empty part if it has not ended yet."""
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
