"""Sandbox portal, stats: counts requests, refusals and changes from lines of the ledger (log of calls), without storing them."""

from __future__ import annotations

from collections import Counter, defaultdict

from sandbox.portal.schema import Row


class Stats:
    """Counters of requests by HTTP status and of calls by method, since the start or the last `clear`."""

    def __init__(self) -> None:
        self.clear()

    def clear(self) -> None:
        """Reset all counters."""
        self._statuses: Counter[str] = Counter()
        self._methods: dict[str, Counter[str]] = defaultdict(Counter)

    def note(self, line: Row) -> None:
        """Count one completed line of the ledger (log of calls).

        A command inside a batch counts as a call of its method but not as a request; the batch itself counts as a request only.
        """
        status = "none" if line["status"] is None else str(line["status"])
        if line["http"] != "batch":
            self._statuses[status] += 1
        if line["name"] != "batch":
            method = self._methods[line["name"] or "unknown"]
            method["calls"] += 1
            method["committed"] += bool(line["applied"])
            if status in {"503", "429"}:
                method[f"refused_{status}"] += 1

    def shown(self) -> Row:
        """Return all counters as the JSON object of `GET /sandbox/stats`."""
        return {
            "requests": sum(self._statuses.values()),
            "refused_503": self._statuses["503"],
            "refused_429": sum(m["refused_429"] for m in self._methods.values()),
            "statuses": dict(sorted(self._statuses.items())),
            "committed": {name: m["committed"] for name, m in sorted(self._methods.items()) if m["committed"]},
            "methods": {name: dict(m) for name, m in sorted(self._methods.items())},
        }
