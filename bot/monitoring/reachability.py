"""Records from the bot's own calls whether another party answers. It makes no calls itself."""

from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field

from bitrix.errors import NoAccess, NotSent, OutcomeUnknown, Refused
from state.clock import read_boottime

_NO_ACCESS = frozenset({"INVALID_CREDENTIALS", "NO_AUTH_FOUND", "EXPIRED_TOKEN"})


@dataclass
class Reachability:
    """The latest result for one party. `why` is a word or two of ours, never the party's text."""

    answers: bool | None = None
    why: str = "nothing was heard yet"
    at: float = 0.0
    clock: Callable[[], float] = field(default=read_boottime)
    probe: Callable[[], Awaitable[object]] | None = None
    """A cheap call to the party; set by `bootstrap`, which knows the clients."""

    def record(self, *, answers: bool, why: str = "") -> None:
        """Record how a call ended."""
        self.answers, self.why, self.at = answers, why, self.clock()

    def measure_silence(self) -> float:
        """Return the seconds since the last result."""
        return float("inf") if self.answers is None else self.clock() - self.at


@dataclass(frozen=True)
class ReachabilityTracker:
    """Collects how calls of this process's clients ended."""

    portal: Reachability = field(default_factory=Reachability)
    model: Reachability = field(default_factory=Reachability)
    telegram: Reachability = field(default_factory=Reachability)
    record_wait: Callable[[float], None] = lambda _: None
    """Called with the seconds each portal call waited in the limiter."""

    def record_portal_call(self, error: Exception | None) -> None:
        """Record how a portal request ended: any answer counts as reachable, except one that denies our access."""
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
        """Record how a request to the model ended."""
        self.model.record(answers=error is None, why="" if error is None else "no answer")
