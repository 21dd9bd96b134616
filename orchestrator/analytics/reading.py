from dataclasses import dataclass, field
from typing import Final

from orchestrator.analytics.facts import Facts
from orchestrator.analytics.names import UNKEPT
from orchestrator.analytics.stretches import Clock
from orchestrator.analytics.words import say

_MOST_FAULTS: Final = 4


class Misunderstood(Exception):
    """The message is one English sentence: all that is wrong. `period` are the words that are no clear period, if that is all.

    `unkept` is the code of what the portal does not tell: no repair of the question helps.
    """

    def __init__(self, fault: str, *, period: str = "", unkept: str = "") -> None:
        super().__init__(fault)
        self.period = period
        self.unkept = unkept


@dataclass(slots=True)
class Reading:
    """`faults` gathers what is wrong, so that one repair may mend all."""

    clock: Clock
    facts: Facts
    faults: list[str] = field(default_factory=list)
    period: str = ""
    unkept: str = ""

    def blame_portal(self, name: str) -> bool:
        """True if `name` is of what the portal does not tell."""
        reason = UNKEPT.get(name.strip().lower(), "")
        if reason:
            self.unkept = self.unkept or reason
            self.blame(say("unkept", reason, "en"))
        return bool(reason)

    def blame(self, fault: str) -> None:
        if fault not in self.faults:
            self.faults.append(fault)

    def finish(self) -> None:
        if self.faults:
            sentence = "; ".join(fault.rstrip(".") for fault in self.faults[:_MOST_FAULTS]) + "."
            raise Misunderstood(sentence, period=self.period if len(self.faults) == 1 else "", unkept=self.unkept)
