"""Lets a turn go on after its cards: when the last card that a turn waited for is decided, the same turn runs again from its journal.

The commit that settles the last card stores the input that makes the turn go on. So a crash loses neither, and nothing is decided twice.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from orchestrator.domain.inputs import TurnGoesOn
from orchestrator.domain.outcome import Outcome, Pending
from orchestrator.domain.outputs import Notice
from orchestrator.engines.base import ChosenOption, TurnInput
from orchestrator.gate.approve.card_groups import find_origin_slot
from orchestrator.gate.approve.duplicates import restore_outcome
from orchestrator.gate.call.ports import Ledger
from orchestrator.gate.call.serialization import build_effect_id
from state.card import OPEN_STATUSES, Card
from state.clock import generate_id
from state.events.confirmations import ConfirmationDenied, ConfirmationRequested
from state.events.conversation import MessageReceived, ModelAnswered, NameAsked, NameChosen, PlanRecorded, StepRefused, TurnFinished
from state.journal.async_store import AsyncStore
from state.journal.store import Commit, InboxRow, StoredEvent
from state.session_state import Question, SessionState
from state.stored import JsonObject

_DECIDED: Final = frozenset({"succeeded", "refused", "denied"})
"""The statuses of an effect (proposed call) after which the turn may go on: a person has decided, and what came of it is known."""
_PAGE: Final = 500


@dataclass(frozen=True, kw_only=True)
class ToldPart:
    """What a turn that goes on had done, and told to the person, before it waited."""

    iterations: int = 0
    answers: int = 0
    """The number of the last answer of the model."""
    slots: frozenset[str] = frozenset()
    """The places in its plans of the steps that were refused, run or put on a card, or whose names were unclear."""


def build_go_on_rows(step: Commit, key: str, state: SessionState) -> list[InboxRow]:
    """Return the inputs that make turns of the session `key` go on because `step` settles the last card that each of them waited for.

    `state` is the state before the step. A turn whose cards are all decided at the moment it ends goes on at once.
    """
    ended = {one.turn_id: one.asker for one in step.events if isinstance(one, TurnFinished) and one.goes_on}
    if not ended and not (state.paused and step.effects):
        return []
    askers = {turn: paused.asker for turn, paused in (state.paused or {}).items()} | ended
    due = [*_find_settled_turns(step, state), *_find_ended_turns(list(ended), state)]
    return [_build_row(turn, card, key, step, askers[turn]) for turn, card in due if turn in askers]


def _find_settled_turns(step: Commit, state: SessionState) -> Iterator[tuple[str, Card]]:
    """Yield (turn, card) for each turn that has ended and of which this step settles the last card by a person's decision."""
    cards = state.agent.confirmations
    settled = {change.effect_id: change.status for change in step.effects}
    withdrawn = {one.effect_id for one in step.events if isinstance(one, ConfirmationDenied) and one.via == "model"}
    decided = {effect_id for effect_id, status in settled.items() if status in _DECIDED} - withdrawn
    last = {_find_turn(card, cards): card for card in cards.values() if card.effect_id in decided}
    for turn, card in last.items():
        waits = any(one.status in OPEN_STATUSES and one.effect_id not in settled for one in _list_cards(turn, cards))
        asked = any(isinstance(one, ConfirmationRequested) and one.slot.startswith(f"{turn}/") for one in step.events)
        if not waits and not asked:
            yield turn, card


def _find_ended_turns(ended: Sequence[str], state: SessionState) -> Iterator[tuple[str, Card]]:
    """Yield (turn, card) for each turn that ends in this step and whose cards are all decided already: somebody was very quick."""
    cards = state.agent.confirmations
    for turn in ended:
        own = _list_cards(turn, cards)
        card = next((one for one in own if one.status in {"executed", "refused", "denied"} and one.via != "model"), None)
        if card is not None and not any(one.status in OPEN_STATUSES for one in own):
            yield turn, card


def _list_cards(turn: str, cards: Mapping[str, Card]) -> list[Card]:
    return [card for card in cards.values() if find_origin_slot(card, cards).startswith(f"{turn}/")]


def _find_turn(card: Card, cards: Mapping[str, Card]) -> str:
    """Return the turn of the plan that led to the card: the slot is "<turn>/<iteration>/<step>"."""
    return find_origin_slot(card, cards).rpartition("/")[0].rpartition("/")[0]


def _build_row(turn: str, card: Card, key: str, step: Commit, asker: JsonObject) -> InboxRow:
    return InboxRow(
        id=generate_id(),
        source=f"{TurnGoesOn.KIND}:{turn}:{card.effect_id}",
        session=key,
        lane="turn",
        kind=TurnGoesOn.KIND,
        actor=asker,
        body=TurnGoesOn(turn_id=turn).to_json(),
        received_at=step.now,
    )


async def restore_told_step(slot: str, told: Mapping[str, StepRefused], ledger: Ledger) -> Outcome | Pending | None:
    """Return the result of a step that the first part of a turn submitted, as it stands now; None if nothing is stored for it.

    A step on a card has the result of the decision, also if another card had replaced the first one. `told` holds the refused steps.
    """
    if (refused := told.get(slot)) is not None:
        return Outcome(
            status="refused",
            effect_id=build_effect_id(slot),
            method=refused.method,
            reason=Notice(code=refused.code, args=refused.args),
            detail=refused.detail,
            call=refused.params,
        )
    cards = ledger.state.cards
    own = [card for card in cards.values() if find_origin_slot(card, cards) == slot]
    card = next((one for one in reversed(own) if one.status != "superseded"), None)
    row = await ledger.find_effect(card.effect_id if card is not None else build_effect_id(slot))
    if row is None:
        return None
    result = restore_outcome(row)
    return result if card is None or isinstance(result, Pending) else _add_decider(result, card)


def _add_decider(result: Outcome, card: Card) -> Outcome:
    if card.status == "denied":
        why = f', who said: "{card.reason}"' if card.reason else ""
        return result.model_copy(update={"detail": f"denied by {card.denied_by_name or 'a person'}{why}; nothing was sent"})
    return result.model_copy(update={"decided": f"approved by {card.approved_by_name}"}) if card.approved_by_name else result


async def restore_turn_input(turn_id: str, stream: str, end: int, store: AsyncStore) -> TurnInput | None:
    """Return the request of the turn as the journal holds it; None if the journal does not hold it any more. Raises StoreError.

    If the turn began with a person's answer to a question, the question is read too. `end` is the number of the stream's last event.
    """
    later: list[StoredEvent] = []
    begin: StoredEvent | None = None
    while end > 0:
        start = max(0, end - _PAGE)
        page = await store.read_events(stream, start, end - start)
        later = [*page, *later]
        begin = begin or next((one for one in page if one.type == "MessageReceived" and one.data.get("turn_id") == turn_id), None)
        if begin is not None:
            said = MessageReceived.from_data(begin.data)
            if not said.answers:
                return TurnInput(turn_id=turn_id, text=said.text, quoted=said.quoted, ref=said.ref, is_resumed=True)
            if (choice := _find_choice(said, later)) is not None:
                text = choice.question.text
                return TurnInput(turn_id=turn_id, text=text, answers=said.answers, choice=choice, is_resumed=True)
        end = start
    return None


def _find_choice(said: MessageReceived, events: Sequence[StoredEvent]) -> ChosenOption | None:
    """Return the option that began the turn, once both the question and the answer are among the `events`."""
    asked = next((one for one in events if one.type == "NameAsked" and NameAsked.from_data(one.data).question_id == said.answers), None)
    chosen = next(
        (NameChosen.from_data(one.data) for one in events if one.type == "NameChosen" and one.data.get("turn_id") == said.turn_id), None
    )
    if asked is None or chosen is None:
        return None
    question = Question.from_stored({**asked.data, "ts": asked.ts})
    options = (one for one in question.options if one["value"] == chosen.value and one["label"] == chosen.label)
    targets = [one["target"] for one in options if one["target"]]
    return ChosenOption(question=question, value=chosen.value, label=chosen.label, targets=targets)


def find_told_part(events: Sequence[StoredEvent]) -> ToldPart:
    """Return what the turn did before it last ended; `events` are its events in order. An empty part if it has not ended yet."""
    ends = [number for number, one in enumerate(events) if one.type == "TurnFinished"]
    if not ends:
        return ToldPart()
    before = events[: ends[-1]]
    plans = [PlanRecorded.from_data(one.data) for one in before if one.type == "PlanRecorded"]
    unclear = {step["slot"] for plan in plans for step in plan.steps if step.get("problem")}
    return ToldPart(
        iterations=max((plan.iteration for plan in plans), default=0),
        answers=max((ModelAnswered.from_data(one.data).iteration for one in before if one.type == "ModelAnswered"), default=0),
        slots=frozenset(str(one.data["slot"]) for one in before if one.data.get("slot")) | unclear,
    )
