"""Builds the audit records of a run's nodes from its stream. Changes nothing."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

from orchestrator.domain.actor import Actor
from orchestrator.domain.effect import Effect, Outcome
from orchestrator.domain.outputs import Notice
from orchestrator.reports.log_rebuild.records import Record, Turn, build_iteration_records
from orchestrator.runs.memo import ACCEPTED
from orchestrator.sessions.audit import PlayedNode, build_node_record, describe_model_node, trim_state
from orchestrator.sessions.iterations import build_call_record
from orchestrator.sessions.paused_turns import is_node_of
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
"""Ends the name of a node that holds the end of a turn."""
_CLOSED = "/closed"
"""Ends the name of a node that closes an answered question."""

_ACCEPTED = f"/{ACCEPTED}"
"""Ends the name of an accepted refusal."""


@dataclass
class RunTrail:
    """What a run's events told so far, with proposed calls by effect id."""

    run: str
    started: RunStarted | None = None
    requested: dict[str, ConfirmationRequested] = field(default_factory=dict)
    begun: dict[str, CallStarted] = field(default_factory=dict)
    unknown: dict[str, CallOutcomeUnknown] = field(default_factory=dict)
    answers: dict[str, str] = field(default_factory=dict)
    turns: dict[str, Turn] = field(default_factory=dict)
    """Turns that the run played as nodes, by turn id ("run:<id>/<node>")."""
    questions: dict[str, Question] = field(default_factory=dict)
    """Questions that ended such turns, by id."""

    def take(self, event: Event) -> None:
        turn_id = str(getattr(event, "turn_id", ""))
        if turn_id.startswith(f"{self.run}/"):
            begun = MessageReceived(turn_id=turn_id, text="")
            played = self.turns.setdefault(turn_id, Turn(begun, "", ""))
            if isinstance(event, NameChosen) and not played.iterations and (question := self.questions.get(event.question_id)):
                played.resume(question.answer)
            played.take(event)
        if isinstance(event, NodeDone) and (turn := self.find_turn_of(event.node)) is not None:
            turn.take(event)
        match event:
            case RunStarted():
                self.started = event
            case ConfirmationRequested():
                self.requested[event.effect_id] = event
            case CallStarted():
                self.begun[event.effect_id] = event
            case CallOutcomeUnknown():
                self.unknown[event.effect_id] = event
            case _:
                pass

    def find_turn_of(self, node: str) -> Turn | None:
        """None for the run's own nodes."""
        return next((turn for turn_id, turn in self.turns.items() if is_node_of(node, turn_id)), None)

    def note_answer(self, node: str, value: object) -> None:
        if isinstance(value, Mapping) and "kind" in value:
            self.answers[node] = str(value["kind"])


def build_node_records(event: Event, trail: RunTrail, state: AgentState, store: Store) -> Iterator[tuple[str, Record]]:
    """(key of the owner, record); a turn played as a node has one for each model answer.

    `state` is the agent's after it.
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
    """None for a trial (`RunEffect.is_trial`) that nothing refused."""
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
    """None if the blob is gone."""
    text = store.load_blob(node_done.output_blob) if node_done.output_blob and node_done.output is None else None
    return parse_blob(text) if text is not None else node_done.output


def _build_waiting_call(effect_id: str, trail: RunTrail) -> JsonObject | None:
    """None if the journal lacks it, or it is in a turn's own records."""
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
