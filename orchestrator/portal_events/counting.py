"""How many events came for each record that is due, from the journal: only one proves that one hand was at it. Ring 2; reads only."""

from collections import Counter
from collections.abc import Iterable, Mapping
from typing import Any

from orchestrator.portal_events.catching_up import START_EVENT as START
from state.events import PortalEventReceived, RecordsSeen
from state.store import StoredEvent
from state.worker import AsyncStore

_TAIL = 50
_PAGE = 1000
_SEVERAL = 2
"""A start finds that something differs: how many events were missed is not known."""


async def count_events(store: AsyncStore, stream: str, due: Mapping[str, Mapping[str, Any]]) -> dict[str, int]:
    """Due target → how many events came since it was seen; those are left out of which it cannot be told. May raise StoreError."""
    seq, _ = await store.read_head(stream)
    begin = max(0, seq - _TAIL - 2 * len(due))
    tail: list[StoredEvent] = []
    while page := await store.read_events(stream, begin + len(tail), _PAGE):
        tail += page
    since = tail[0].ts if begin and tail else ""
    found = _count_by_target(tail)
    return {target: found[target] for target, entry in due.items() if entry["ts"] > since}


def _count_by_target(tail: Iterable[StoredEvent]) -> Counter[str]:
    found: Counter[str] = Counter()
    for event in tail:
        if event.type == RecordsSeen.__name__:
            for target in (*event.data["records"], *event.data["gone"]):
                found.pop(target, None)
        elif event.type == PortalEventReceived.__name__:
            found[event.data["target"]] += _SEVERAL if event.data["event"] == START else 1
    return found
