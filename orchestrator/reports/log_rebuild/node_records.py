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


def build_node_records(event: Event, trail: RunTrail, state: AgentState, store: Store) -> Iterator[tuple[str, Record]]:
    """Yield (key of the run's owner, audit record) for what the event `event` tells of a node; nothing for other events.

    A turn that the run played as a node has one record for each answer of the model; `state` is the agent state after it.
    """
    node = _find_node(event, trail, store)
    started = trail.started
    if started is None:
        return
    actor = Actor.model_construct(key=str(started.actor.get("key", "")), name=str(started.actor.get("name", "")))
    if isinstance(event, NodeDone) and event.kind == "turn":
        turn = trail.turns.get(f"{trail.run}/{event.node.removesuffix(_TURN)}")
        output = _load_output(event, store)
        if turn is not None:
            turn.text = str(output.get("asked", "")) if isinstance(output, Mapping) else ""
            if isinstance(output, Mapping) and "question" in output:
                question = Question.from_stored(output["question"])
                trail.questions[question.question_id] = question
                turn.text = question.text
            person = {"key": actor.key, "name": actor.name}
            yield from ((actor.key, one | {"state": trim_state(state)}) for one in build_iteration_records(turn, store, person))
    if node is None:
        return
    record = build_node_record(node, actor=actor, run=trail.run, definition=started.definition, engine=started.engine, mode=started.mode)
    yield actor.key, dict(record)


def _find_node(event: Event, trail: RunTrail, store: Store) -> PlayedNode | None:
    match event:
        case RunWaits(on="effect"):
            call = _build_waiting_call(event.waits_for, trail)
            return PlayedNode(node=event.node, what="effect", call=call) if call else None
        case NodeDone(kind="say"):
            return PlayedNode(node=event.node, what="say")
        case NodeDone(kind="input"):
            node = event.node.removesuffix(_CLOSED)
            return PlayedNode(node=node, what="input", text=trail.answers.get(node, "timeout"))
        case NodeDone(kind="turn"):
            return None
        case NodeDone() if trail.find_turn_of(event.node) is None and not event.node.endswith(_ACCEPTED):
            return _build_done(event, trail, store)
        case _:
            return None


def _build_done(node_done: NodeDone, trail: RunTrail, store: Store) -> PlayedNode | None:
    """Return the finished node; None for a trial (`RunEffect.is_trial`) that nothing refused, with which nothing was asked or sent."""
    output = _load_output(node_done, store)
    if node_done.kind == "model":
        words = output if isinstance(output, str) else str(output.get("text", "")) if isinstance(output, Mapping) else ""
        return describe_model_node(node_done, words)
    if node_done.kind == "effect" and isinstance(output, Mapping):
        outcome = Outcome.model_validate(output)
        if outcome.status == "planned" and "preview" not in output:  # a plan is stored with its preview
            return None
        effect = Effect(method=outcome.method, params=dict(outcome.call), slot=f"{trail.run}/{node_done.node}")
        return PlayedNode(node=node_done.node, what="effect", call=build_call_record(effect, outcome))
    return PlayedNode(node=node_done.node, what="memo")


def _load_output(node_done: NodeDone, store: Store) -> object:
    """Return what a node gave, from its event or its blob; None if the blob is gone."""
    text = store.load_blob(node_done.output_blob) if node_done.output_blob and node_done.output is None else None
    return parse_blob(text) if text is not None else node_done.output


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
    confirmation_requested = trail.requested.get(effect_id)
    if confirmation_requested is None or confirmation_requested.turn_id != trail.run:
        return None
    codes = [Notice.model_validate(reason).code for reason in confirmation_requested.reasons]
    base = {"call_id": effect_id, "method": confirmation_requested.method, "proposed": confirmation_requested.params, "status": "waiting"}
    return base | {"confirmation_id": confirmation_requested.confirmation_id, "reasons": codes}
