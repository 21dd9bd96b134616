"""Records whether the portal, the model and Telegram answer, from how the bot's own calls to them end. It makes no calls itself."""

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field

from bitrix.errors import NoAccess, NotSent, OutcomeUnknown, Refused
from bitrix.limits.limiter import LimiterState
from orchestrator.model_client.breaker import CircuitBreaker
from state.clock import read_boottime

_NO_ACCESS = frozenset({"INVALID_CREDENTIALS", "NO_AUTH_FOUND", "EXPIRED_TOKEN"})


@dataclass
class Reachability:
    """How the latest call to one outside service (the portal, the model or Telegram) ended. `answers` is None before the first call.

    `why` is a word or two for what is wrong, never a text that the service sent.
    """

    answers: bool | None = None
    why: str = "nothing was heard yet"
    at: float = 0.0
    clock: Callable[[], float] = field(default=read_boottime)
    probe: Callable[[], Awaitable[object]] | None = None
    """Makes a cheap call to the party, to find out whether it answers; set by who creates the client."""

    def record(self, *, answers: bool, why: str = "") -> None:
        """Record whether the outside service answered a call, and if not, why."""
        self.answers, self.why, self.at = answers, why, self.clock()

    def measure_silence(self) -> float:
        """Return the seconds since the last call to the outside service (such as the portal) ended, infinity if there was none."""
        return float("inf") if self.answers is None else self.clock() - self.at


@dataclass(frozen=True, kw_only=True)
class PortalLimits:
    """How much of the portal's limits this process knows to be used."""

    requests: LimiterState
    methods: Mapping[str, float]
    """The seconds that each method has used of its time budget; infinite for one that the portal refused."""
    seconds: float
    """The time budget of each method; 0 if none is set."""


@dataclass
class ReachabilityTracker:
    """Records how this process's calls to the portal, the model and Telegram end."""

    portal: Reachability = field(default_factory=Reachability)
    model: Reachability = field(default_factory=Reachability)
    telegram: Reachability = field(default_factory=Reachability)
    record_wait: Callable[[float], None] = lambda _: None
    """Called for each portal call with the seconds that it waited for the rate limit."""
    record_provider_call: Callable[[str, str, float], None] = lambda *_: None
    """Called for each call of a provider of models with its name, how it ended, and the seconds that it took."""
    breakers: Mapping[str, CircuitBreaker] = field(default_factory=dict)
    """The circuit breakers of the providers of models, by name; set by who builds them."""

    limits: Callable[[], PortalLimits] | None = None
    """Returns how much of the portal's limits is used; set by who builds its client."""

    def record_portal_call(self, error: Exception | None) -> None:
        """Record how a portal call ended; `error` is None for success.

        Any answer shows that the portal works, except one that denies the bot's access.
        """
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
        """Record how a call to the model ended; `error` is None for success."""
        self.model.record(answers=error is None, why="" if error is None else "no answer")
