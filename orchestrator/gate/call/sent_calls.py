"""Which calls of its file a run of many changes has sent, so that none is sent again under another slot."""

from collections.abc import Iterable, Iterator
from typing import Final
from weakref import WeakKeyDictionary

from orchestrator.domain.effect import Outcome
from orchestrator.gate.call.ports import Ledger
from state.journal.store import EffectRow, EffectStatus

_SENT: Final[tuple[EffectStatus, ...]] = ("started", "succeeded", "unknown", "refused")
_NOT_DONE: Final = frozenset({"error", "not_run"})


class SentCalls:
    """Read once of each ledger: while it is open, nobody else writes its stream."""

    def __init__(self) -> None:
        self._keys: WeakKeyDictionary[Ledger, set[str]] = WeakKeyDictionary()

    async def load(self, ledger: Ledger) -> set[str]:
        """Without those of which the portal said that they did not happen. Raises StoreError."""
        if ledger not in self._keys:
            self._keys.setdefault(ledger, await _read_sent(ledger))
        return self._keys[ledger]

    async def mark(self, ledger: Ledger, keys: Iterable[str]) -> None:
        """Before they are sent."""
        (await self.load(ledger)).update(keys)

    async def settle(self, ledger: Ledger, keys: Iterable[str], outcome: Outcome) -> None:
        """Those may be sent later that were certainly not done."""
        statuses = {report.key: report.status for report in outcome.commands}
        default = "not_run" if outcome.status == "refused" else "unknown"
        (await self.load(ledger)).difference_update(key for key in keys if statuses.get(key, default) in _NOT_DONE)


async def _read_sent(ledger: Ledger) -> set[str]:
    sent: set[str] = set()
    for status in _SENT:
        for row in await ledger.list_effects(status):
            reports = {str(report["key"]): report["status"] for report in (row.outcome or {}).get("commands") or ()}
            default = "not_run" if status == "refused" else "unknown"
            sent |= {key for key in _list_keys(row) if reports.get(key, default) not in _NOT_DONE}
    return sent


def _list_keys(row: EffectRow) -> Iterator[str]:
    return (str(command["key"]) for command in (row.call.get("call") or {}).get("commands") or ())
