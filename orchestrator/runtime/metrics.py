"""Counts the work of this process (turns, calls, cards) from the events it commits.

Holds no text of people and depends on no metrics library. A name that comes from a model, a provider or a portal never becomes a label:
only codes defined in this code base do.
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
from state.journal.store import Commit

OTHER: Final = "other"
CLASSES: Final = {"D": "delete", "C": "configuration", "M": "money", "N": "message", "W": "write", "R": "read"}
"""The words for the classes of calls, the gravest class first: a batch with calls of several classes counts as the gravest of them."""
GATE_REFUSALS: Final = frozenset({"frozen", "frozen-card", "denied-by-model"})
"""Refusal codes that are known although their sentences are not in the gate's tables."""


class Meter(Protocol):
    """Receives the counts. Its methods are called in the event loop: they must not block, and exceptions are only logged."""

    def count_turn(self, result: str) -> None:
        """Count a finished turn by its result."""

    def count_model_answer(self, *, model: str, seconds: float, prompt: int, completion: int) -> None:
        """Count one iteration with a model answer; `model` is the provider's own name and may be any text."""

    def count_model_failure(self) -> None:
        """Count one iteration without a usable model answer."""

    def count_call(self, call_class: str, outcome: str) -> None:
        """Count one call of the portal by outcome.

        The outcome is succeeded, refused or unknown, or what a later read of the portal found about an unknown one.
        """

    def count_refusal(self, code: str) -> None:
        """Count a step that the gate refused."""

    def count_confirmation(self, became: str) -> None:
        """Count a card that was requested, approved, denied, expired or superseded."""


def count_commit(commit: Commit, meter: Meter) -> None:
    """Pass the events of the commit, and of the earlier steps stored with it, to `meter`."""
    for step in (*commit.earlier, commit):
        for event in step.events:
            _count(event, meter)


def _count(event: Event, meter: Meter) -> None:
    match event:
        case TurnFinished():
            meter.count_turn(event.reason)
        case ModelAnswered():
            meter.count_model_answer(
                model=event.model, seconds=event.seconds, prompt=event.prompt_tokens, completion=event.completion_tokens
            )
        case ModelFailed():
            meter.count_model_failure()
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
    """Return the gravest class of a call as a word from `CLASSES`, "other" for unknown letters."""
    return next((word for letter, word in CLASSES.items() if letter in call_class), OTHER)


def to_known_code(code: str) -> str:
    """Return `code` if it is defined in this code base, else "other", so that foreign text never becomes a label."""
    return code if code in SENTENCES or code in REFUSALS or code in GATE_REFUSALS else OTHER
