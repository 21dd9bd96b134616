"""What the calls of the bot's work showed of another party: whether it answers, and since when. Ring 3; asks nothing by itself."""

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from bitrix.errors import NoAccess, NotSent, OutcomeUnknown, Refused
from state.clock import read_boottime

_NO_ACCESS = frozenset({"INVALID_CREDENTIALS", "NO_AUTH_FOUND", "EXPIRED_TOKEN"})


@dataclass
class Reachability:
    """The last word about one party. `why` is a word or two of our own, never what the party wrote."""

    answers: bool | None = None
    why: str = "nothing was heard yet"
    at: float = 0.0
    clock: Callable[[], float] = field(default=read_boottime)

    def record(self, *, answers: bool, why: str = "") -> None:
        """A call ended like that."""
        self.answers, self.why, self.at = answers, why, self.clock()

    def measure_silence(self) -> float:
        """Seconds since the last word."""
        return float("inf") if self.answers is None else self.clock() - self.at


@dataclass(frozen=True)
class ReachabilityTracker:
    """Where the clients of one process tell how their calls ended."""

    portal: Reachability = field(default_factory=Reachability)
    model: Reachability = field(default_factory=Reachability)
    telegram: Reachability = field(default_factory=Reachability)
    record_wait: Callable[[float], None] = lambda _: None
    """Told how long each call of the portal waited for its place."""
    probes: dict[str, Callable[[], Any]] = field(default_factory=dict)
    """A cheap question to each party, by its name; `bootstrap` knows the clients."""

    def record_portal_call(self, error: Exception | None) -> None:
        """How one request to the portal ended: any answer but one that takes our access away counts as one."""
        match error:
            case NoAccess():
                self.portal.record(answers=False, why="no access")
            case Refused(code=code) if code.upper() in _NO_ACCESS:
                self.portal.record(answers=False, why="no access")
            case OutcomeUnknown():
                self.portal.record(answers=False, why="no answer")
            case NotSent(status=None, code=""):
                self.portal.record(answers=False, why="no connection")
            case _:
                self.portal.record(answers=True)

    def record_model_call(self, error: Exception | None) -> None:
        """How one request to the model ended."""
        self.model.record(answers=error is None, why="" if error is None else "no answer")
