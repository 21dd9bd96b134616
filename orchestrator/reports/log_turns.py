"""One turn as its events tell it: what the model answered, what was planned, what became of each step. Ring 2, pure."""

from dataclasses import dataclass, field
from typing import Any

from state.store import StoredEvent

_RESULTS = frozenset({"StepRefused", "ConfirmationRequested", "CallSucceeded", "CallRefused", "CallOutcomeUnknown"})


@dataclass
class Iteration:
    """One answer of the model, or the one that a choice of the person took up again."""

    number: int
    raw: str = ""
    model: str = ""
    tokens: dict[str, int] = field(default_factory=dict)
    seconds: float = 0.0
    plan: dict[str, Any] = field(default_factory=dict)


class Turn:
    """Collects the events of one turn; those of decisions that overtake it have their place elsewhere."""

    def __init__(self, begun: StoredEvent, text: str) -> None:
        """`text` is what the person asked for."""
        self.turn_id: str = begun.data["turn_id"]
        self.actor = begun.actor
        self.text = text
        self.iterations: list[Iteration] = []
        self.results: dict[str, StoredEvent] = {}
        """By slot, what the step led to first: a card, although its call may have run before the turn was over."""
        self.started: dict[str, StoredEvent] = {}
        self.withdrawn: list[StoredEvent] = []
        """Cards that the model took back, in the order of its steps."""

    def take(self, event: StoredEvent) -> None:
        """Note what belongs to this turn."""
        data = event.data
        if data.get("turn_id") != self.turn_id:
            return
        match event.type:
            case "ModelAnswered":
                self._add_answer(event)
            case "ModelFailed":
                self.iterations.append(Iteration(number=data["iteration"]))
            case "PlanRecorded" if self.iterations:
                self.iterations[-1].plan = dict(data)
            case "CallStarted":
                self.started.setdefault(data["slot"], event)
            case "ConfirmationDenied" if data["via"] == "model":
                self.withdrawn.append(event)
            case _ if event.type in _RESULTS:
                self.results.setdefault(data["slot"], event)
            case _:
                pass

    def resume(self, answer: str) -> None:
        """The person chose, and the answer that led to the question goes on; the model was not asked for it again."""
        self.iterations.append(Iteration(number=0, raw=answer))

    @property
    def mode(self) -> str:
        """The mode that the turn's plans were judged in; "" where it had none."""
        return next((str(entry.plan["mode"]) for entry in self.iterations if entry.plan), "")

    def _add_answer(self, event: StoredEvent) -> None:
        data = event.data
        tokens = {"prompt": data["prompt_tokens"], "completion": data["completion_tokens"]}
        self.iterations.append(
            Iteration(number=data["iteration"], raw=data["text"], model=data["model"], tokens=tokens, seconds=data["seconds"])
        )
