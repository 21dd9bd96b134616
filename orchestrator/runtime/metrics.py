"""What is counted of the work of this process: a projection of the steps that it stored. Ring 2; knows no counters, holds nobody's words.

A name that comes from a model, a provider or a portal never becomes a label here: only words of our own do.
"""

from typing import Final, Protocol

from orchestrator.gate.call.reasons import REFUSALS, SENTENCES
from state.events.core import (
    CallOutcomeUnknown,
    CallRefused,
    CallSucceeded,
    ConfirmationApproved,
    ConfirmationDenied,
    ConfirmationExpired,
    ConfirmationRequested,
    ConfirmationSuperseded,
    Event,
    ModelAnswered,
    ModelFailed,
    OutcomeReconciled,
    StepRefused,
    TurnFinished,
)
from state.journal.store import Commit

OTHER: Final = "other"
CLASSES: Final = {"D": "delete", "C": "configuration", "M": "money", "N": "message", "W": "write", "R": "read"}
"""The gravest first: that is what a batch of several counts as."""
GATE_REFUSALS: Final = frozenset({"frozen", "frozen-card", "denied-by-model"})
"""Refusals whose sentence stands elsewhere."""


class Meter(Protocol):
    """Counts. Called in the loop: it must not wait, and what it raises is only logged."""

    def count_turn(self, result: str) -> None:
        """A turn said its last word."""
        ...

    def count_model_answer(self, *, model: str, seconds: float, prompt: int, completion: int) -> None:
        """One iteration had its answer; `model` is what the provider calls itself, whatever that is."""
        ...

    def count_model_failure(self) -> None:
        """One iteration had none that could be used."""
        ...

    def count_call(self, call_class: str, outcome: str) -> None:
        """One call of the portal: succeeded, refused, unknown, or what a later look at an unknown one found."""
        ...

    def count_refusal(self, code: str) -> None:
        """The gate refused a step."""
        ...

    def count_confirmation(self, became: str) -> None:
        """A card was requested, approved, denied, expired or superseded."""
        ...


def count_commit(commit: Commit, meter: Meter) -> None:
    """Tell `meter` what the stored step and those stored with it were."""
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
    """The gravest of the classes that a call has, as a word."""
    return next((word for letter, word in CLASSES.items() if letter in call_class), OTHER)


def to_known_code(code: str) -> str:
    """A reason of ours as it is, anything else as "other"."""
    return code if code in SENTENCES or code in REFUSALS or code in GATE_REFUSALS else OTHER
