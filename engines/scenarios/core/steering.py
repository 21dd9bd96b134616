"""Lets the person of a scenario go back a question, see how far it is, and cancel. No effect is ever repeated or undone."""

from collections import deque
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from engines.scenarios.core.variables import Variables
from orchestrator.domain.outputs import Notice
from orchestrator.engines.runs import Option

BACK: Final = Option(label="scenario-back", value={"__scenario__": "back"})
CANCEL: Final = Option(label="scenario-cancel", value={"__scenario__": "cancel"}, leaves=True)
"""No author can give a button such a value by chance."""
CANCELLED: Final = "scenario-cancelled"
_MOST_POINTS: Final = 50
"""Questions to which words alone go back; the values of each are in memory."""


@dataclass(frozen=True, kw_only=True)
class Point:
    """A question that can be asked anew, with variables and buttons as before it."""

    place: int
    variables: Variables
    options: tuple[Option, ...]


class Steering:
    def __init__(self, document: object, questions: Sequence[int]) -> None:
        """`questions` are the places of the steps that ask."""
        allowed: Mapping[str, Any] = document if isinstance(document, Mapping) else {}
        self._numbers = {place: number for number, place in enumerate(questions, start=1)}
        self._shows_progress = bool(allowed.get("show_progress"))
        self._may_cancel = bool(allowed.get("allow_cancel"))
        self._may_go_back = bool(allowed.get("allow_back"))
        self._points: deque[Point] = deque(maxlen=None if self._may_go_back else _MOST_POINTS)
        self._place = 0

    def begin_step(self, place: int) -> None:
        self._place = place

    def keep_point(self, point: Point) -> None:
        self._points.append(point)

    def drop_points(self) -> None:
        self._points.clear()

    def take_point(self) -> Point:
        return self._points.pop()

    @property
    def can_go_back(self) -> bool:
        return bool(self._points)

    @property
    def controls(self) -> tuple[Option, ...]:
        return (*((BACK,) if self._points and self._may_go_back else ()), *((CANCEL,) if self._may_cancel else ()))

    @property
    def heading(self) -> Notice | None:
        """None if it is not shown."""
        if not self._shows_progress or self._place not in self._numbers:
            return None
        return Notice(code="scenario-progress", args={"step": self._numbers[self._place], "of": len(self._numbers)})
