"""What the journal holds of a turn that runs again, after a crash or its cards."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from orchestrator.domain.effect import Outcome
from orchestrator.sessions.paused_turns import ToldPart, find_told_part
from state.events.calls import CallSucceeded
from state.events.conversation import MessageReceived, ModelAnswered, PlanRecorded, StepRefused
from state.events.runs import NodeDone
from state.journal.store import StoredEvent
from state.model.session_state import SessionState
from state.stored import JsonObject


@dataclass(frozen=True, kw_only=True)
class RecordedTurn:
    """What was recorded of a turn before a crash; empty for a new turn."""

    is_fresh: bool = False
    answers: Mapping[int, ModelAnswered] = field(default_factory=dict)
    plans: Mapping[int, PlanRecorded] = field(default_factory=dict)
    refused_steps: Mapping[str, JsonObject] = field(default_factory=dict)
    """Steps that the gate refused, by slot."""
    told: ToldPart = field(default_factory=ToldPart)
    """What was done before the turn waited for cards."""
    reads: Mapping[str, CallSucceeded] = field(default_factory=dict)
    """Those on which an answer of the model rests, by slot."""
    values: Mapping[str, NodeDone] = field(default_factory=dict)
    waiting: Sequence[str] = ()
    """Confirmations of the person that waited when the turn began; empty for one begun by an older program."""

    @classmethod
    def from_events(cls, events: Sequence[StoredEvent]) -> "RecordedTurn":
        """`events` are in order, none for a new turn."""
        answers = [ModelAnswered.from_data(event.data) for event in events if event.type == "ModelAnswered"]
        plans = [PlanRecorded.from_data(event.data) for event in events if event.type == "PlanRecorded"]
        return cls(
            is_fresh=not events,
            answers={answer.iteration: answer for answer in answers},
            plans={plan.iteration: plan for plan in plans},
            refused_steps={StepRefused.from_data(event.data).slot: event.data for event in events if event.type == "StepRefused"},
            reads=_find_answered_reads(events),
            values={event.data["node"]: NodeDone.from_data(event.data) for event in events if event.type == "NodeDone"},
            told=find_told_part(events),
            waiting=next((MessageReceived.from_data(event.data).waiting for event in events if event.type == "MessageReceived"), ()),
        )


def list_waiting(state: SessionState, by: str) -> list[str]:
    """Confirmations of the person `by`, the oldest first."""
    return [card.confirmation_id for card in state.cards.values() if card.is_waiting and card.requested_by == by]


def _find_answered_reads(events: Sequence[StoredEvent]) -> Mapping[str, CallSucceeded]:
    """What was read after the last answer is read again; of an older program, everything is."""
    reads: dict[str, CallSucceeded] = {}
    answered: Mapping[str, CallSucceeded] = {}
    for event in events:
        if event.type == "CallSucceeded" and event.data.get("seen"):
            read = CallSucceeded.from_data(event.data)
            reads[read.slot] = read
        elif event.type == "ModelAnswered":
            answered = dict(reads)
    return answered


def build_read_outcome(read: CallSucceeded, result: object) -> Outcome:
    common = {name: getattr(read, name) for name in ("effect_id", "method", "call_class", "total", "commands", "unchanged")}
    sums = read.sums or ({} if read.seen.get("reason") else None)
    return Outcome.model_validate({**common, **read.seen, "result": result, "status": "succeeded", "sums": sums, "call": read.params})
