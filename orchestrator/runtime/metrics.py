"""Counts the work of this process (turns, calls, cards, runs) from the events that its sessions commit.

It keeps no text of people and depends on no metrics library. Names that come from a model or a portal never become labels of metrics; only
codes defined in this code base do.
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
"""The words for the classes of calls, the gravest class first: a batch with calls of several classes counts as the gravest of them."""
GATE_REFUSALS: Final = frozenset({"frozen", "frozen-card", "denied-by-model"})
"""Refusal codes that are known although their sentences are not in the gate's tables."""


class Meter(Protocol):
    """Receives the counts of this process and stores them as metrics.

    Its methods are called in the event loop, so an implementation must not block. An exception in them is only logged.
    """

    def count_turn(self, result: str) -> None:
        """Count a finished turn; `result` is the reason for its end, such as "failed".

        A turn that goes on after its cards is counted once, when it ends with them.
        """

    def count_model_answer(self, *, model: str, seconds: float, prompt: int, completion: int) -> None:
        """Count an answer of the model, with its duration and the tokens of prompt and completion.

        `model` is the name that the provider gives, so it may be any text.
        """

    def count_model_failure(self, *, model: str, prompt: int, completion: int) -> None:
        """Count an iteration in which the model gave no usable answer, with the tokens of one that came all the same.

        `model` is "" if none came.
        """

    def count_call(self, call_class: str, outcome: str) -> None:
        """Count one call of the portal by its class (a word such as "delete") and its outcome.

        The outcome is "succeeded", "refused" or "unknown". When the bot later looks in the portal for the result of an unknown call, this
        is counted as one more call, with an outcome such as "found_done".
        """

    def count_refusal(self, code: str) -> None:
        """Count a step that the gate refused; `code` says why."""

    def count_confirmation(self, became: str) -> None:
        """Count a card whose state `became` "requested", "approved", "denied", "expired" or "superseded"."""

    def count_run(self, engine: str, became: str) -> None:
        """Count a run (an execution of a scenario, flow or workflow) that became "started", "retried", "done", "failed" or "cancelled"."""

    def count_node(self, engine: str, kind: str) -> None:
        """Count a node (named piece of work) of a run by what it did, such as "model"; `kind` is "failed" for one that failed."""


MOST_RUNS: Final = 10_000
"""Of how many runs the engine is kept in memory."""


class CommitCounter:
    """Passes the commits of this process to a meter. It remembers the engine of each run, which most events of the run do not name."""

    def __init__(self, meter: Meter) -> None:
        """Count with this meter; no run is known yet."""
        self._meter = meter
        self._engines: dict[str, str] = {}

    def count(self, commit: Commit) -> None:
        """Count the events of a commit, together with those of buffered steps that are stored with it."""
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
    """Pass to `meter` the events of a commit, and those that the session had kept in memory and stores together with it."""
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
    """Return one word from `CLASSES` for the classes of a call, such as "delete"; "other" for unknown letters.

    Each letter of `call_class` is a class. If there are several, as in "DW" (delete and write), the gravest counts.
    """
    return next((word for letter, word in CLASSES.items() if letter in call_class), OTHER)


def to_known_code(code: str) -> str:
    """Return `code` if it is defined in this code base, else "other", so that foreign text never becomes a label."""
    return code if code in SENTENCES or code in REFUSALS or code in GATE_REFUSALS else OTHER
