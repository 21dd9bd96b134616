"""Counts turns, calls, cards and runs from committed events.

Only codes of this code base become labels, never foreign names.
"""

from typing import Final, Protocol

from orchestrator.gate.call.reasons import REFUSALS, SENTENCES
from state.events.base import Event
from state.events.calls import CallOutcomeUnknown, CallRefused, CallSucceeded, OutcomeReconciled
from state.events.confirmations import (
    ConfirmationApproved,
    ConfirmationDenied,
    ConfirmationExpired,
    ConfirmationRequested,
    ConfirmationSuperseded,
)
from state.events.conversation import ModelAnswered, ModelFailed, StepRefused, TurnFinished
from state.events.runs import NodeDone, NodeFailed, RunFinished, RunStarted, RunWoken
from state.journal.run_index import PREFIX as RUN
from state.journal.store import Commit

OTHER: Final = "other"
CLASSES: Final = {"D": "delete", "C": "configuration", "M": "money", "N": "message", "W": "write", "R": "read"}
"""The gravest first, which counts."""
GATE_REFUSALS: Final = frozenset({"frozen", "frozen-card", "denied-by-model"})
"""They are not in the gate's tables."""


class Meter(Protocol):
    """Must not block; exceptions are only logged."""

    def count_turn(self, result: str) -> None:
        """Why it ended. A turn that goes on counts once."""

    def count_model_answer(self, *, model: str, seconds: float, prompt: int, completion: int) -> None:
        """`model` may be any text."""

    def count_model_failure(self, *, model: str, prompt: int, completion: int) -> None:
        """`model` is "" if no answer came."""

    def count_call(self, call_class: str, outcome: str) -> None:
        """Such as "succeeded", "refused", "unknown" or "found_done"."""

    def count_refusal(self, code: str) -> None: ...

    def count_confirmation(self, became: str) -> None: ...

    def count_run(self, engine: str, became: str) -> None: ...

    def count_node(self, engine: str, kind: str) -> None: ...


MOST_RUNS: Final = 10_000


class CommitCounter:
    """Remembers the engine of each run."""

    def __init__(self, meter: Meter) -> None:
        self._meter = meter
        self._engines: dict[str, str] = {}

    def count(self, commit: Commit) -> None:
        count_commit(commit, self._meter)
        for step in (*commit.earlier, commit):
            if step.run is not None:
                self._engines[step.stream] = step.run.engine
                while len(self._engines) > MOST_RUNS:
                    del self._engines[next(iter(self._engines))]
            if step.stream.startswith(RUN):
                for event in step.events:
                    self._count_run_event(event, self._engines.get(step.stream, OTHER))

    def _count_run_event(self, event: Event, engine: str) -> None:
        match event:
            case RunStarted():
                self._meter.count_run(engine, "started")
            case RunWoken(node="", by="retry"):
                self._meter.count_run(engine, "retried")
            case RunFinished():
                self._meter.count_run(engine, event.status)
            case NodeDone():
                self._meter.count_node(engine, event.kind)
            case NodeFailed():
                self._meter.count_node(engine, "failed")
            case _:
                pass


def count_commit(commit: Commit, meter: Meter) -> None:
    for step in (*commit.earlier, commit):
        for event in step.events:
            _count(event, meter)


def _count(event: Event, meter: Meter) -> None:
    match event:
        case TurnFinished(resumed=False):
            meter.count_turn(event.reason)
        case ModelAnswered() | NodeDone() if event.model or isinstance(event, ModelAnswered):  # a node of a model, or a turn's service
            meter.count_model_answer(
                model=event.model, seconds=event.seconds, prompt=event.prompt_tokens, completion=event.completion_tokens
            )
        case ModelFailed() | NodeFailed(code="degraded"):
            meter.count_model_failure(model=event.model, prompt=event.prompt_tokens, completion=event.completion_tokens)
        case StepRefused():
            meter.count_refusal(to_known_code(event.code))
        case CallSucceeded():
            meter.count_call(to_class_word(event.call_class), "succeeded")
        case CallRefused():
            meter.count_call(to_class_word(event.call_class), "refused")
        case CallOutcomeUnknown():
            meter.count_call(to_class_word(event.call_class), "unknown")
        case OutcomeReconciled():
            meter.count_call("any", f"found_{event.verdict}")
        case _:
            _count_card(event, meter)


def _count_card(event: Event, meter: Meter) -> None:
    match event:
        case ConfirmationRequested():
            meter.count_confirmation("requested")
        case ConfirmationApproved():
            meter.count_confirmation("approved")
        case ConfirmationDenied():
            meter.count_confirmation("denied")
        case ConfirmationExpired():
            meter.count_confirmation("expired")
        case ConfirmationSuperseded():
            meter.count_confirmation("superseded")
        case _:
            pass


def to_class_word(call_class: str) -> str:
    """The gravest, such as "delete"; "other" for unknown letters."""
    return next((word for letter, word in CLASSES.items() if letter in call_class), OTHER)


def to_known_code(code: str) -> str:
    """Else "other": foreign text never becomes a label."""
    return code if code in SENTENCES or code in REFUSALS or code in GATE_REFUSALS else OTHER
