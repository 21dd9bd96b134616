from dataclasses import dataclass, field
from typing import Final

from orchestrator.analytics.facts import Facts
from orchestrator.analytics.stretches import Clock

_MOST_FAULTS: Final = 4


class Misunderstood(Exception):
    """The message is one English sentence: all that is wrong. `period` are the words that are no clear period, if that is all."""

    def __init__(self, fault: str, *, period: str = "") -> None:
        super().__init__(fault)
        self.period = period


@dataclass(slots=True)
class Reading:
    """`faults` gathers what is wrong, so that one repair may mend all."""

    clock: Clock
    facts: Facts
    faults: list[str] = field(default_factory=list)
    period: str = ""

    def blame(self, fault: str) -> None:
        if fault not in self.faults:
            self.faults.append(fault)

    def finish(self) -> None:
        if self.faults:
            sentence = "; ".join(fault.rstrip(".") for fault in self.faults[:_MOST_FAULTS]) + "."
            raise Misunderstood(sentence, period=self.period if len(self.faults) == 1 else "")
