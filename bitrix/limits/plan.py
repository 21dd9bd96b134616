"""The arithmetic of the leaky bucket in a portal's plan. Pure; knows no clock and no HTTP."""

import math
import re
from dataclasses import dataclass

SPARE = 1.0
"""How many requests are kept free below the threshold, because two may arrive at the portal closer together than they were sent.

One request is half a second of draining on the standard plan."""

_OWN = re.compile(r"(\d{1,4}(?:\.\d{1,3})?)/(\d{1,5})", re.ASCII)


@dataclass(frozen=True, slots=True)
class Plan:
    """A leaky bucket: the counter drains at `rate` per second; a request that would lift it above `burst` is refused.

    Raises ValueError for a plan that allows no sends.
    """

    rate: float = 2.0
    burst: float = 50.0

    def __post_init__(self) -> None:
        if not (self.rate > 0 and self.burst >= 1):
            msg = "a plan needs a rate above 0 and a burst of at least 1"
            raise ValueError(msg)

    @property
    def is_limited(self) -> bool:
        """Whether the plan has a threshold; false for the plan "off"."""
        return math.isfinite(self.burst)

    @property
    def ceiling(self) -> float:
        """How high this program lets the counter go."""
        return max(1.0, self.burst - SPARE)

    @property
    def seconds_to_drain(self) -> float:
        """Seconds until a full counter is empty; older knowledge of the counter says nothing about it now."""
        return self.burst / self.rate

    def drain(self, level: float, seconds: float) -> float:
        """Return the counter after `seconds` without requests."""
        return max(0.0, level - max(0.0, seconds) * self.rate)

    def apply_traffic(self, level: float, sent: int, refused: int) -> float:
        """Return the counter after `sent` requests, `refused` of which the portal refused: it was full, and they may have counted too."""
        level += sent
        return max(level, self.ceiling) + refused if refused and self.is_limited else level

    def wait(self, level: float) -> float:
        """Return the seconds until one more request fits."""
        over = level + 1 - self.ceiling
        return over / self.rate if over > 1e-9 else 0.0  # noqa: PLR2004 - the noise of adding fractions


PLANS = {"standard": Plan(), "enterprise": Plan(5.0, 250.0), "off": Plan(burst=math.inf)}


def parse_plan(text: str) -> Plan:
    """Return the plan called `text`, or the one it writes as rate/burst, such as 10/300. Raises ValueError for anything else."""
    if text in PLANS:
        return PLANS[text]
    own = _OWN.fullmatch(text)
    if own is None:
        msg = f"{', '.join(PLANS)}, or requests a second / at once such as 10/300"
        raise ValueError(msg)
    return Plan(float(own[1]), float(own[2]))
