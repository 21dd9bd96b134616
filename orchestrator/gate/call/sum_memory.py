"""Keeps in memory which sums ended calls had changed, for `orchestrator.gate.decide.sum_history`, which reads and explains them."""

from collections import OrderedDict
from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Final, NamedTuple

from orchestrator.gate.call.effect import Target

MOST_RECORDS: Final = 256
"""Of how many records calls are kept, the ones looked at last; of each at most as many calls as a ledger lists (200)."""


class PastChange(NamedTuple):
    """What one call had changed: when it started, and by field key the sums before it, each with its currency."""

    started_at: str
    at: datetime
    sums: Sequence[tuple[str, tuple[object, str]]]


class SumMemory:
    """What ended calls had changed, by record. One instance per gate, used from one event loop."""

    def __init__(self) -> None:
        """Start with nothing known."""
        self._ended: OrderedDict[Target, Mapping[str, PastChange | None]] = OrderedDict()

    def get_ended(self, target: Target) -> Mapping[str, PastChange | None]:
        """Return the ended calls that are known of the record, by effect id; None stands for a call that changed none of its sums."""
        return self._ended.get(target, {})

    def replace_ended(self, target: Target, ended: Mapping[str, PastChange | None]) -> None:
        """Know these calls of the record and no others; `ended` must not change any more. The record that was looked at first may go."""
        self._ended.pop(target, None)
        if ended:
            self._ended[target] = ended
        if len(self._ended) > MOST_RECORDS:
            self._ended.popitem(last=False)
