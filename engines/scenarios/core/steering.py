"""Lets the person of a scenario go a question back and, where the definition allows it, see how far it is and press buttons for both.

A step back never repeats or undoes an effect: only questions that came after the last effect can be gone back to.
"""

from collections import deque
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from engines.scenarios.core.variables import Variables
from orchestrator.domain.outputs import Notice
from orchestrator.engines.runs import Option

BACK: Final = Option(label="scenario-back", value={"__scenario__": "back"})
CANCEL: Final = Option(label="scenario-cancel", value={"__scenario__": "cancel"}, leaves=True)
"""The buttons; no author can give a button such a value by chance, and it has no other meaning than theirs."""
CANCELLED: Final = "scenario-cancelled"
_MOST_POINTS: Final = 50
"""To how many questions a person can go back with words alone; the values of each are kept while the run is played."""


@dataclass(frozen=True, kw_only=True)
class Point:
    """A question that can be asked anew: its step, with the variables and announced buttons as they were before it."""

    place: int
    variables: Variables
    options: tuple[Option, ...]


class Steering:
    """What one pass through a scenario offers beside its author's buttons."""

    def __init__(self, document: object, questions: Sequence[int]) -> None:
        """Offer what the definition allows; `questions` are the places of its steps that ask."""
        allowed: Mapping[str, Any] = document if isinstance(document, Mapping) else {}
        self._numbers = {place: number for number, place in enumerate(questions, start=1)}
        self._shows_progress = bool(allowed.get("show_progress"))
        self._may_cancel = bool(allowed.get("allow_cancel"))
        self._may_go_back = bool(allowed.get("allow_back"))
        self._points: deque[Point] = deque(maxlen=None if self._may_go_back else _MOST_POINTS)
        self._place = 0

    def begin_step(self, place: int) -> None:
        """Note that the step at this place begins."""
        self._place = place

    def keep_point(self, point: Point) -> None:
        """Let the person go back to the question that was answered just now."""
        self._points.append(point)

    def drop_points(self) -> None:
        """Let the person go back to none of the questions so far: something was done since."""
        self._points.clear()

    def take_point(self) -> Point:
        """Return the question to go back to, which is the last one."""
        return self._points.pop()

    @property
    def can_go_back(self) -> bool:
        """Whether there is a question before the present one to which the person may go back."""
        return bool(self._points)

    @property
    def controls(self) -> tuple[Option, ...]:
        """The buttons under the question of the present step."""
        return (*((BACK,) if self._points and self._may_go_back else ()), *((CANCEL,) if self._may_cancel else ()))

    @property
    def heading(self) -> Notice | None:
        """How far the scenario is at the question of the present step, None if that is not shown."""
        if not self._shows_progress or self._place not in self._numbers:
            return None
        return Notice(code="scenario-progress", args={"step": self._numbers[self._place], "of": len(self._numbers)})
