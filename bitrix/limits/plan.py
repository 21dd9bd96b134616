import math
import re
from dataclasses import dataclass

SPARE = 1.0
"""Requests kept free: two may arrive closer together than they were sent. One is half a second on the standard plan."""

_OWN = re.compile(r"(\d{1,4}(?:\.\d{1,3})?)/(\d{1,5})", re.ASCII)


@dataclass(frozen=True, slots=True)
class Plan:
    """Each request raises the counter by one, and it falls by `rate` per second; above `burst` is refused. Raises ValueError."""

    rate: float = 2.0
    burst: float = 50.0

    def __post_init__(self) -> None:
        if not (self.rate > 0 and self.burst >= 1):
            msg = "a plan needs a rate above 0 and a burst of at least 1"
            raise ValueError(msg)

    @property
    def is_limited(self) -> bool:
        return math.isfinite(self.burst)

    @property
    def ceiling(self) -> float:
        """A little below the portal's threshold."""
        return max(1.0, self.burst - SPARE)

    @property
    def kept_for_people(self) -> float:
        """A fifth of the counter: a lookup and a change at once."""
        return self.burst / 5

    @property
    def seconds_to_drain(self) -> float:
        """A counter read longer ago says nothing about the present one."""
        return self.burst / self.rate

    def drain(self, level: float, seconds: float) -> float:
        return max(0.0, level - max(0.0, seconds) * self.rate)

    def apply_traffic(self, level: float, sent: int, refused: int) -> float:
        """A refusal shows that the counter was full, and refused requests may count, too."""
        level += sent
        return max(level, self.ceiling) + refused if refused and self.is_limited else level

    def wait(self, level: float, *, beside_people: bool = False) -> float:
        """Seconds until there is room for one more. `beside_people` leaves people their part, unless the plan is too small."""
        if not self.is_limited:
            return 0.0
        over = level + 1 - (max(1.0, self.ceiling - self.kept_for_people) if beside_people else self.ceiling)
        return over / self.rate if over > 1e-9 else 0.0  # noqa: PLR2004 - the noise of adding fractions


PLANS = {"standard": Plan(), "enterprise": Plan(5.0, 250.0), "off": Plan(burst=math.inf)}


def parse_plan(text: str) -> Plan:
    if text in PLANS:
        return PLANS[text]
    own = _OWN.fullmatch(text)
    if own is None:
        msg = f"{', '.join(PLANS)}, or requests a second / at once such as 10/300"
        raise ValueError(msg)
    return Plan(float(own[1]), float(own[2]))
