"""Computes the portal's request counter, a leaky bucket, according to the portal's plan. It knows no clock and sends nothing."""

import math
import re
from dataclasses import dataclass

SPARE = 1.0
"""How many requests are kept free below the threshold, because two may arrive at the portal closer together than they were sent.

One request is half a second of draining on the standard plan."""

_OWN = re.compile(r"(\d{1,4}(?:\.\d{1,3})?)/(\d{1,5})", re.ASCII)


@dataclass(frozen=True, slots=True)
class Plan:
    """The request limit of a portal: a counter that each request raises by one and that falls by `rate` per second.

    A request that would raise it above `burst` is refused. Raises ValueError for a plan that allows no requests.
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
        """The highest counter that this program allows, a little below the portal's threshold."""
        return max(1.0, self.burst - SPARE)

    @property
    def kept_for_people(self) -> float:
        """How much of the counter is left free for requests that a person waits for: a fifth, which is a lookup and a change at once."""
        return self.burst / 5

    @property
    def seconds_to_drain(self) -> float:
        """The seconds until a full counter is empty. A counter that was read longer ago says nothing about the present one."""
        return self.burst / self.rate

    def drain(self, level: float, seconds: float) -> float:
        """Return the counter after `seconds` without requests."""
        return max(0.0, level - max(0.0, seconds) * self.rate)

    def apply_traffic(self, level: float, sent: int, refused: int) -> float:
        """Return the counter after `sent` requests, of which the portal refused `refused`.

        A refusal shows that the counter was full, and refused requests may count, too. So the counter is raised to the ceiling, and then by
        `refused`.
        """
        level += sent
        return max(level, self.ceiling) + refused if refused and self.is_limited else level

    def wait(self, level: float, *, beside_people: bool = False) -> float:
        """Return the seconds until the counter has room for one more request; 0 if it has room now.

        A request that no person waits for goes `beside_people`: it leaves them their part, unless the plan is too small for that.
        """
        if not self.is_limited:
            return 0.0
        over = level + 1 - (max(1.0, self.ceiling - self.kept_for_people) if beside_people else self.ceiling)
        return over / self.rate if over > 1e-9 else 0.0  # noqa: PLR2004 - the noise of adding fractions


PLANS = {"standard": Plan(), "enterprise": Plan(5.0, 250.0), "off": Plan(burst=math.inf)}


def parse_plan(text: str) -> Plan:
    """Return the plan with the name `text`, or one from a text like 10/300 (rate/burst). Raises ValueError for any other text."""
    if text in PLANS:
        return PLANS[text]
    own = _OWN.fullmatch(text)
    if own is None:
        msg = f"{', '.join(PLANS)}, or requests a second / at once such as 10/300"
        raise ValueError(msg)
    return Plan(float(own[1]), float(own[2]))
