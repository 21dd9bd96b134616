"""Records how the bot's own calls to portal, model and Telegram end. It makes no calls itself."""

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field

from bitrix.errors import NoAccess, NotSent, OutcomeUnknown, Refused
from bitrix.limits.limiter import LimiterState
from orchestrator.model_client.router import CircuitBreaker
from state.clock import read_boottime

_NO_ACCESS = frozenset({"INVALID_CREDENTIALS", "NO_AUTH_FOUND", "EXPIRED_TOKEN"})


@dataclass
class Reachability:
    """The latest call to a service; `answers` is None before it, `why` never a text of the service."""

    answers: bool | None = None
    why: str = "nothing was heard yet"
    at: float = 0.0
    clock: Callable[[], float] = field(default=read_boottime)
    probe: Callable[[], Awaitable[object]] | None = None
    """A cheap call; set by who creates the client."""

    def record(self, *, answers: bool, why: str = "") -> None:
        self.answers, self.why, self.at = answers, why, self.clock()

    def measure_silence(self) -> float:
        """Seconds since the last call ended, infinity if there was none."""
        return float("inf") if self.answers is None else self.clock() - self.at


@dataclass(frozen=True, kw_only=True)
class PortalLimits:
    """As far as this process knows."""

    requests: LimiterState
    methods: Mapping[str, float]
    """Seconds of its time budget that each method used; infinite for a refused one."""
    seconds: float
    """The time budget of each method; 0 if none is set."""


@dataclass
class ReachabilityTracker:
    portal: Reachability = field(default_factory=Reachability)
    model: Reachability = field(default_factory=Reachability)
    telegram: Reachability = field(default_factory=Reachability)
    record_wait: Callable[[float], None] = lambda _: None
    """Called with the seconds of each wait for the rate limit."""
    record_provider_call: Callable[[str, str, float], None] = lambda *_: None
    """Called with name, outcome and seconds."""
    breakers: Mapping[str, CircuitBreaker] = field(default_factory=dict)
    """By provider; set by who builds them."""

    limits: Callable[[], PortalLimits] | None = None
    """Set by who builds the portal's client."""

    def record_portal_call(self, error: Exception | None) -> None:
        """Any answer shows that the portal works, except one that denies the bot's access."""
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
        self.model.record(answers=error is None, why="" if error is None else "no answer")
