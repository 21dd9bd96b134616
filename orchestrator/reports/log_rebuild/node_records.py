"""Builds the audit records of a run's nodes from the run's stream. A run is one execution of a scenario, flow or workflow.

A node is a named piece of a run's work. Changes nothing.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

from orchestrator.domain.actor import Actor
from orchestrator.domain.effect import Effect
from orchestrator.domain.outcome import Outcome
from orchestrator.domain.outputs import Notice
from orchestrator.reports.log_rebuild.records import Record, Turn, build_iteration_records
from orchestrator.runs.memo import ACCEPTED
from orchestrator.sessions.audit import PlayedNode, build_node_record, describe_model_node, trim_state
from orchestrator.sessions.paused_turns import is_node_of
from orchestrator.sessions.turn_context import build_call_record
from state.events.base import Event
from state.events.calls import CallOutcomeUnknown, CallStarted
from state.events.confirmations import ConfirmationRequested
from state.events.conversation import MessageReceived, NameChosen
from state.events.runs import NodeDone, RunStarted, RunWaits
from state.journal.blobs import parse_blob
from state.journal.store import Store
from state.model.session_state import AgentState, Question
from state.stored import JsonObject

_TURN = "/turn"
"""The end of the name of a node that holds the end of a turn."""
_CLOSED = "/closed"
"""The end of the name of a node that closes a question, after its answer has come."""

_ACCEPTED = f"/{ACCEPTED}"
"""The end of the name of a node that says that the run goes on after a refusal."""


@dataclass
class RunTrail:
    """What the events of a run have told so far: how it began, and the calls that its nodes proposed, by effect id."""

    run: str
    started: RunStarted | None = None
    requested: dict[str, ConfirmationRequested] = field(default_factory=dict)
    begun: dict[str, CallStarted] = field(default_factory=dict)
    unknown: dict[str, CallOutcomeUnknown] = field(default_factory=dict)
    answers: dict[str, str] = field(default_factory=dict)
    """The kind of the answer to each question that was answered, by node."""
    turns: dict[str, Turn] = field(default_factory=dict)
    """The turns of engines that hold conversations, which the run played as nodes, by turn id ("run:<id>/<node>")."""
    questions: dict[str, Question] = field(default_factory=dict)
    """The questions with which such turns ended, by id: another turn goes on with the answer."""

    def take(self, said: Event) -> None:
        """Add what the event says."""
        turn_id = str(getattr(said, "turn_id", ""))
        if turn_id.startswith(f"{self.run}/"):
            begun = MessageReceived(turn_id=turn_id, text="")
            played = self.turns.setdefault(turn_id, Turn(begun, "", ""))
            if isinstance(said, NameChosen) and not played.iterations and (question := self.questions.get(said.question_id)):
                played.resume(question.answer)
            played.take(said)
        if isinstance(said, NodeDone) and (turn := self.find_turn_of(said.node)) is not None:
            turn.take(said)
        match said:
            case RunStarted():
                self.started = said
            case ConfirmationRequested():
                self.requested[said.effect_id] = said
            case CallStarted():
                self.begun[said.effect_id] = said
            case CallOutcomeUnknown():
                self.unknown[said.effect_id] = said
            case _:
                pass

    def find_turn_of(self, node: str) -> Turn | None:
        """Return the turn that keeps something under this name, which makes it no node of the run; None for the run's own nodes."""
        return next((turn for turn_id, turn in self.turns.items() if is_node_of(node, turn_id)), None)

    def note_answer(self, node: str, value: object) -> None:
        """Remember the kind of the answer with which a node was woken; a wake without an answer has none."""
        if isinstance(value, Mapping) and "kind" in value:
            self.answers[node] = str(value["kind"])


def build_node_records(said: Event, trail: RunTrail, state: AgentState, store: Store) -> Iterator[tuple[str, Record]]:
    """Yield (key of the run's owner, audit record) for what the event `said` tells of a node; nothing for other events.

    A turn that the run played as a node has one record for each answer of the model; `state` is the agent state after it.
    """
    node = _find_node(said, trail, store)
    started = trail.started
    if started is None:
        return
    actor = Actor.model_construct(key=str(started.actor.get("key", "")), name=str(started.actor.get("name", "")))
    if isinstance(said, NodeDone) and said.kind == "turn":
        turn = trail.turns.get(f"{trail.run}/{said.node.removesuffix(_TURN)}")
        asked = _load_output(said, store)
        if turn is not None:
            turn.text = str(asked.get("asked", "")) if isinstance(asked, Mapping) else ""
            if isinstance(asked, Mapping) and "question" in asked:
                question = Question.from_stored(asked["question"])
                trail.questions[question.question_id] = question
                turn.text = question.text
            person = {"key": actor.key, "name": actor.name}
            yield from ((actor.key, one | {"state": trim_state(state)}) for one in build_iteration_records(turn, store, person))
    if node is None:
        return
    record = build_node_record(node, actor=actor, run=trail.run, definition=started.definition, engine=started.engine, mode=started.mode)
    yield actor.key, dict(record)


def _find_node(said: Event, trail: RunTrail, store: Store) -> PlayedNode | None:
    match said:
        case RunWaits(on="effect"):
            call = _build_waiting_call(said.waits_for, trail)
            return PlayedNode(node=said.node, what="effect", call=call) if call else None
        case NodeDone(kind="say"):
            return PlayedNode(node=said.node, what="say")
        case NodeDone(kind="input"):
            asked = said.node.removesuffix(_CLOSED)
            return PlayedNode(node=asked, what="input", text=trail.answers.get(asked, "timeout"))
        case NodeDone(kind="turn"):
            return None
        case NodeDone() if trail.find_turn_of(said.node) is None and not said.node.endswith(_ACCEPTED):
            return _build_done(said, trail, store)
        case _:
            return None


def _build_done(said: NodeDone, trail: RunTrail, store: Store) -> PlayedNode | None:
    """Return the finished node; None for a trial (`RunEffect.is_trial`) that nothing refused, with which nothing was asked or sent."""
    output = _load_output(said, store)
    if said.kind == "model":
        words = output if isinstance(output, str) else str(output.get("text", "")) if isinstance(output, Mapping) else ""
        return describe_model_node(said, words)
    if said.kind == "effect" and isinstance(output, Mapping):
        outcome = Outcome.model_validate(output)
        if outcome.status == "planned" and "preview" not in output:  # a plan is stored with its preview
            return None
        effect = Effect(method=outcome.method, params=dict(outcome.call), slot=f"{trail.run}/{said.node}")
        return PlayedNode(node=said.node, what="effect", call=build_call_record(effect, outcome))
    return PlayedNode(node=said.node, what="memo")


def _load_output(said: NodeDone, store: Store) -> object:
    """Return what a node gave, from its event or its blob; None if the blob is gone."""
    text = store.load_blob(said.output_blob) if said.output_blob and said.output is None else None
    return parse_blob(text) if text is not None else said.output


def _build_waiting_call(effect_id: str, trail: RunTrail) -> JsonObject | None:
    """Return the call for whose card, or for whose unknown outcome, a node waits.

    None if the journal does not tell of it, or if a turn made the call that the run played: then it stands in the turn's own records.
    """
    lost = trail.unknown.get(effect_id)
    if lost is not None:
        if lost.turn_id != trail.run:
            return None
        begun = trail.begun.get(effect_id)
        params = begun.params if begun is not None else {}
        base = {"call_id": effect_id, "method": lost.method, "proposed": params, "status": "unknown", "params": params}
        return base | {"class": lost.call_class, "reason": "outcome-unknown", "detail": lost.detail}
    asked = trail.requested.get(effect_id)
    if asked is None or asked.turn_id != trail.run:
        return None
    codes = [Notice.model_validate(reason).code for reason in asked.reasons]
    base = {"call_id": effect_id, "method": asked.method, "proposed": asked.params, "status": "waiting"}
    return base | {"confirmation_id": asked.confirmation_id, "reasons": codes}
