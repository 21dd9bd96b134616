"""Translates the journal of a flow's run into the seed's words (S002-X5). Pure. The table of events is in engines/flows/README.md."""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import dropwhile
from typing import Final, Literal

from engines.flows.core.definition import Agent, Flow
from engines.flows.core.engine import REOPENED
from engines.flows.core.operations import OPERATIONS, Operation, OperationsUnfit, read_operations, report_operations
from engines.flows.core.prompt import read_output
from engines.flows.core.tools import MOST_ROUNDS
from orchestrator.domain.effect import Outcome
from orchestrator.domain.taint import Value
from orchestrator.engines.base import find_step_id
from orchestrator.engines.runs import LIMIT
from orchestrator.runs.limits import RETRY
from state.events.conversation import ModelAsked
from state.events.runs import WHOLE, NodeDone, NodeFailed, RunFinished, RunStarted, RunWaits, RunWoken
from state.journal.store import StoredEvent
from state.stored import JsonObject

Key = tuple[str, int, int]
"""(step, visit, attempt) of an execution."""

FlowStatus = Literal["PENDING", "RUNNING", "PAUSED", "COMPLETED", "FAILED", "ABORTED", "CANCELLED"]
StepStatus = Literal["PENDING", "WAITING_APPROVAL", "RUNNING", "COMPLETED", "FAILED", "SKIPPED", "CANCELLED"]
EventType = Literal[
    "FLOW_STARTED",
    "FLOW_PAUSED",
    "FLOW_RESUMED",
    "FLOW_COMPLETED",
    "FLOW_FAILED",
    "FLOW_CANCELLED",
    "STEP_STARTED",
    "STEP_COMPLETED",
    "STEP_FAILED",
    "STEP_SKIPPED",
    "STEP_RETRY_SCHEDULED",
]
EVENTS_EACH: Final = 1000
"""Event numbers for each record of the journal: a flow that ends skips at most its 500 steps."""
EMPTY: Final = "empty-answer"
"""The answer was empty (S002-X7)."""
STEP_FAILED: Final = "flow-step-failed"
_OF_PROGRAM: Final = "run-"
"""Begins the codes of failures of the program or its operators: the run was aborted."""
TOOLS: Final = "tools-endless"
OPERATIONS_UNFIT: Final = "operations-unfit"
REFUSED: Final = "operations-refused"
"""Codes of attempts: endless calls of tools, forbidden operations, operations that were not done."""
_PLACE: Final = 3
_ROUND: Final = "round-"
_LAST_ROUND: Final = f"{_ROUND}{MOST_ROUNDS}"
_PAUSE: Final = "pause"
_AGENTS: Final = "agents"
_IN_HAND: Final = frozenset({"RUNNING", "WAITING_APPROVAL"})


@dataclass(frozen=True, slots=True)
class Trouble:
    """A word for programs, and an English sentence, "" where none is known."""

    code: str
    message: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Execution:
    """One attempt of one visit of a step. Times are those of the journal, "" for none yet."""

    step: str
    visit: int
    attempt: int
    status: StepStatus = "RUNNING"
    started_at: str = ""
    ended_at: str = ""
    used: Mapping[str, tuple[int, int]] = field(default_factory=dict)
    """(read, written) by model."""
    seconds: float = 0.0
    error: Trouble | None = None
    retry_at: str = ""
    """When the next attempt begins, if one is scheduled."""
    output: JsonObject | None = None
    """The answer as `content` with its fields, and what became of its operations."""

    @property
    def key(self) -> Key:
        return self.step, self.visit, self.attempt


@dataclass(frozen=True, slots=True, kw_only=True)
class Happening:
    """One event in the seed's words; `execution` is as it was then."""

    number: int
    type: EventType
    at: str
    step: str = ""
    execution: Execution | None = None
    error: Trouble | None = None
    by: str = ""
    """The key of the person who ordered it."""
    reason: str = ""


class FlowHistory:
    def __init__(self, flow: Flow | None) -> None:
        """`flow` is None if its text is gone, which leaves the events of the whole run."""
        self._agents: dict[str, Agent] = {}
        self._proposed: dict[Key, Sequence[Operation]] = {}
        self._steps = {step.id: step for step in flow.steps} if flow is not None else {}
        self._attempts = {step.id: max(step.max_attempts, 1) for step in flow.steps} if flow is not None else {}
        self.status: FlowStatus = "PENDING"
        self.seq = 0
        self.version = 0
        self.happenings: list[Happening] = []
        self.started: RunStarted | None = None
        self.started_at = self.ended_at = ""
        self.finished: RunFinished | None = None
        self.error: Trouble | None = None
        self._executions: dict[Key, Execution] = {}
        self._failed: Counter[tuple[str, int]] = Counter()
        self.left_behind: set[Key] = set()
        """They followed a failure of a step that has succeeded since, and are no part of the way."""
        self._count, self._is_changed = 0, False

    @property
    def executions(self) -> list[Execution]:
        return list(self._executions.values())

    def list_answers(self) -> list[tuple[str, JsonObject]]:
        """(step, what it gave last)."""
        outputs: dict[str, JsonObject] = {}
        for execution in self._executions.values():
            if execution.output is not None and execution.key not in self.left_behind:
                outputs[execution.step] = execution.output
        return list(outputs.items())

    @property
    def is_over(self) -> bool:
        """Unless somebody retries it."""
        return self.finished is not None

    def find_status(self, step: str) -> StepStatus:
        """That of its last execution; without one it follows from the flow's end."""
        last = next((execution for execution in reversed(self._executions.values()) if execution.step == step), None)
        if last is not None:
            return "PENDING" if last.retry_at and last.status == "FAILED" and not self.is_over else last.status
        return {"COMPLETED": "SKIPPED", "CANCELLED": "CANCELLED"}.get(self.status, "PENDING")  # type: ignore[return-value]  # as named

    def add(self, event: StoredEvent) -> None:
        self._count, self._is_changed = 0, False
        self._translate(event)
        self.seq = event.seq
        if self._is_changed:
            self.version = event.seq

    def _translate(self, event: StoredEvent) -> None:
        match event.type:
            case RunStarted.__name__:
                self.started, self.started_at = RunStarted.from_data(event.data), event.ts
                self._tell(event, "FLOW_STARTED", by=str(self.started.actor.get("key", "")))
            case ModelAsked.__name__:
                self._begin(event, ModelAsked.from_data(event.data))
            case NodeDone.__name__:
                self._note_done(event, NodeDone.from_data(event.data))
            case NodeFailed.__name__:
                self._note_failure(event, NodeFailed.from_data(event.data))
            case RunWaits.__name__:
                self._note_wait(event, RunWaits.from_data(event.data))
            case RunWoken.__name__:
                self._note_wake(event, RunWoken.from_data(event.data))
            case RunFinished.__name__:
                self._finish(event, RunFinished.from_data(event.data))

    def _begin(self, event: StoredEvent, question: ModelAsked) -> None:
        """A question that a crash repeats has begun its execution already."""
        place = self._find_place(question.node)
        if place is None or place[1] or place[0] in self._executions:
            return
        if self.status == "PENDING":
            self.status = "RUNNING"
        step, visit, attempt = place[0]
        self._executions[place[0]] = Execution(step=step, visit=visit, attempt=attempt, started_at=event.ts)
        self._tell_step(event, "STEP_STARTED", place[0])

    def _note_done(self, event: StoredEvent, done: NodeDone) -> None:
        self._note_decision(done.node)
        if done.node == _AGENTS and isinstance(done.output, Mapping):
            self._agents = {str(version): Agent.model_validate(document) for version, document in done.output.items()}
            return
        place = self._find_place(done.node)
        if place is None and done.node.endswith(f"/{REOPENED}"):
            self._leave_behind(done)
        elif place is None:
            self._note_operations(event, done)
        elif done.kind == "model" and place[0] in self._executions and _is_question(place[1]):
            self._add_use(place[0], done.model, done.prompt_tokens, done.completion_tokens, done.seconds)
            self._note_answer(event, place[0], _find_text(done.output), is_last=place[1] == _LAST_ROUND)

    def _leave_behind(self, reopened: NodeDone) -> None:
        own, numbers = (find_step_id(reopened.node), int(reopened.node.split("/")[1])), reopened.output or {}
        followed = dropwhile(lambda key: key[:2] != own, self._executions)
        self.left_behind.update(key for key in followed if key[:2] != own and key[1] <= numbers.get(key[0], 0))
        self._is_changed = True

    def _note_answer(self, event: StoredEvent, key: Key, text: str | None, *, is_last: bool) -> None:
        """Judge as the engine does; `text` is None where the answer calls tools."""
        if event.erased:
            self._complete(event, key)
        elif text is None and is_last:
            self._fail_attempt(event, key, Trouble(TOOLS, "The agent asks for tools again and again."))
        elif text is not None and not text.strip():
            self._fail_attempt(event, key, Trouble(EMPTY, "The agent gave an empty answer."))
        elif text is not None:
            output = read_output(Value(text))
            self._change(key, output=output.data)
            agent = self._agents.get(self._steps[key[0]].agent_version_id)
            try:
                proposed = read_operations(agent, output) if agent is not None else ()
            except OperationsUnfit as error:
                self._fail_attempt(event, key, Trouble(OPERATIONS_UNFIT, f"Its operations could not be taken: {error}."))
                return
            self._proposed[key] = proposed
            if not proposed:
                self._complete(event, key)

    def _note_operations(self, event: StoredEvent, done: NodeDone) -> None:
        key = self._find_waiting(done.node)
        if done.kind != "effect" or key is None or not self._proposed.get(key):
            return
        output = Value(self._executions[key].output or {})
        reported = report_operations(self._proposed[key], output, Outcome.model_validate(done.output))
        self._change(key, output=reported.output.data, error=None)
        if reported.is_success:
            self._complete(event, key)
        else:
            self._change(key, status="FAILED", ended_at=event.ts, error=Trouble(REFUSED, "Not all of its operations were done."))
            self._tell_step(event, "STEP_FAILED", key)

    def _note_failure(self, event: StoredEvent, failed: NodeFailed) -> None:
        place = self._find_place(failed.node)
        if place is None or place[0] not in self._executions or not _is_question(place[1]):
            return
        self._add_use(place[0], failed.model, failed.prompt_tokens, failed.completion_tokens)
        self._fail_attempt(event, place[0], Trouble(failed.code, failed.detail))

    def _fail_attempt(self, event: StoredEvent, key: Key, error: Trouble) -> None:
        self._change(key, status="FAILED", ended_at=event.ts, error=error)
        self._failed[key[:2]] += 1
        if self._failed[key[:2]] >= self._attempts.get(key[0], 1):
            self._tell_step(event, "STEP_FAILED", key)

    def _note_wait(self, event: StoredEvent, waits: RunWaits) -> None:
        if waits.node == WHOLE:
            self.status = "PAUSED"
            self._tell(event, "FLOW_PAUSED", by=waits.by)
            return
        place = self._find_place(waits.node)
        if place is not None and place[1] == _PAUSE and place[0] in self._executions:
            self._change(place[0], retry_at=waits.until)
            self._tell_step(event, "STEP_RETRY_SCHEDULED", place[0])
        elif waits.on == "effect" and (key := self._find_waiting(waits.node)) is not None:
            self._change(key, status="WAITING_APPROVAL")

    def _note_wake(self, event: StoredEvent, woken: RunWoken) -> None:
        if woken.node != WHOLE:
            self._note_decision(woken.node)
            return
        if woken.by == RETRY:
            self._failed.clear()
            self.finished, self.error, self.ended_at = None, None, ""
        self.status = "RUNNING" if self._executions else "PENDING"
        self._tell(event, "FLOW_RESUMED", reason=woken.by)

    def _note_decision(self, node: str) -> None:
        key = self._find_waiting(node)
        if key is not None and self._executions[key].status == "WAITING_APPROVAL":
            self._change(key, status="RUNNING")

    def _finish(self, event: StoredEvent, finished: RunFinished) -> None:
        self.finished, self.ended_at = finished, event.ts
        match finished.status:
            case "done":
                for key in self._list_in_hand():  # the text of its answer was erased
                    self._complete(event, key)
                self.status = "COMPLETED"
                begun = {execution.step for execution in self._executions.values()}
                for step in self._attempts:
                    if step not in begun:
                        self._tell(event, "STEP_SKIPPED", step=step)
                self._tell(event, "FLOW_COMPLETED")
            case "cancelled":
                for key in self._list_in_hand():
                    self._change(key, status="CANCELLED", ended_at=event.ts)
                self.status = "CANCELLED"
                self._tell(event, "FLOW_CANCELLED", by=finished.by)
            case _:
                for key in self._list_in_hand():
                    self._change(key, status="FAILED", ended_at=event.ts, error=Trouble(finished.code))
                    self._tell_step(event, "STEP_FAILED", key)
                is_of_program = finished.code.startswith(_OF_PROGRAM) and not finished.code.startswith(LIMIT)
                self.status = "ABORTED" if is_of_program else "FAILED"
                self.error = self._explain(finished)
                self._tell(event, "FLOW_FAILED", error=self.error)

    def _explain(self, finished: RunFinished) -> Trouble:
        code = finished.code
        last = next((one for one in reversed(self._executions.values()) if one.status == "FAILED" and one.error is not None), None)
        if code != STEP_FAILED or last is None or last.error is None:
            return Trouble(code, finished.detail)
        return Trouble(code, f"Step {last.step} failed: {last.error.message or last.error.code}")

    def _complete(self, event: StoredEvent, key: Key) -> None:
        self._change(key, status="COMPLETED", ended_at=event.ts)
        self._tell_step(event, "STEP_COMPLETED", key)

    def _list_in_hand(self) -> list[Key]:
        return [key for key, execution in self._executions.items() if execution.status in _IN_HAND]

    def _find_place(self, node: str) -> tuple[Key, str] | None:
        """Return the key and the rest of the node's name; None for a node of no attempt."""
        parts = node.split("/", _PLACE)
        step = find_step_id(node)
        if len(parts) < _PLACE or step not in self._attempts or not (parts[1].isdecimal() and parts[2].isdecimal()):
            return None
        return (step, int(parts[1]), int(parts[2])), parts[_PLACE] if len(parts) > _PLACE else ""

    def _find_waiting(self, node: str) -> Key | None:
        if (place := self._find_place(node)) is not None:
            return place[0] if place[1] and place[0] in self._executions else None
        parts = node.split("/")
        if len(parts) < _PLACE or parts[2] != OPERATIONS:
            return None
        return next((key for key in reversed(self._executions) if (key[0], str(key[1])) == (find_step_id(node), parts[1])), None)

    def _add_use(self, key: Key, model: str, read: int, completion_tokens: int, seconds: float = 0.0) -> None:
        if not model:
            return
        execution = self._executions[key]
        known = execution.used.get(model, (0, 0))
        self._change(
            key,
            used={**execution.used, model: (known[0] + read, known[1] + completion_tokens)},
            seconds=round(execution.seconds + seconds, 3),
        )

    def _change(self, key: Key, **values: object) -> None:
        self._is_changed = True
        self._executions[key] = replace(self._executions[key], **values)  # type: ignore[arg-type]  # the fields that callers name

    def _tell_step(self, event: StoredEvent, kind: EventType, key: Key) -> None:
        execution = self._executions[key]
        self._tell(event, kind, step=execution.step, execution=execution, error=execution.error)

    def _tell(
        self,
        event: StoredEvent,
        kind: EventType,
        *,
        step: str = "",
        execution: Execution | None = None,
        error: Trouble | None = None,
        by: str = "",
        reason: str = "",
    ) -> None:
        number = event.seq * EVENTS_EACH + self._count
        self._count, self._is_changed = self._count + 1, True
        self.happenings.append(
            Happening(number=number, type=kind, at=event.ts, step=step, execution=execution, error=error, by=by, reason=reason)
        )


def sum_use(executions: Iterable[Execution]) -> dict[str, tuple[int, int]]:
    """(read, written) by model."""
    total: dict[str, tuple[int, int]] = {}
    for execution in executions:
        for model, (read, completion_tokens) in execution.used.items():
            known = total.get(model, (0, 0))
            total[model] = (known[0] + read, known[1] + completion_tokens)
    return total


def _is_question(rest: str) -> bool:
    return not rest or rest.startswith(_ROUND)


def _find_text(output: object) -> str | None:
    """None if it calls tools."""
    if isinstance(output, Mapping):
        return str(output.get("text") or "") if not output.get("calls") else None
    return output if isinstance(output, str) else None
