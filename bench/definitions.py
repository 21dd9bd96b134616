"""What stored definitions cost: SQLite on disk with synchronous=FULL, 1,000 definitions of three versions with documents of 10 KB.

Wall time of one call, the best of some. "Listed" is the page of 1,000 definitions that a person sees; "found" is what each start of a run
asks for, with the digest of the text compared.
"""

import asyncio
import tempfile
import time
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from state.journal import definitions
from state.model.definitions import Author
from state.sql import SqlStore, build_sqlite_url, open_store

KEYS = 1000
VERSIONS = 3
TRIES = 20
BAR_MS = 20.0
ANNA = Author(key="tg:7", name="Анна", user=7, via="http", at=datetime(2026, 11, 22, 12, 0, tzinfo=UTC))
STEPS = [{"id": f"step_{number}", "prompt": "Спросите, как зовут клиента, и запишите ответ. " * 2} for number in range(50)]


async def definition_benches() -> list[dict[str, Any]]:
    """Listing, finding, and what an author waits for."""
    return await asyncio.to_thread(_benches)


def _benches() -> list[dict[str, Any]]:
    with tempfile.TemporaryDirectory() as folder:
        store = open_store(build_sqlite_url(Path(folder) / "bench.db"))
        begun = time.perf_counter()
        _fill(store)
        change = (time.perf_counter() - begun) / (KEYS * (VERSIONS + 1)) * 1000
        listed = _best(lambda: definitions.list_keys(store, "flow"))
        everything = _best(lambda: definitions.list_keys(store))
        found = _best(lambda: definitions.find_active(store, "flow", "flow-500"))
        told = _best(lambda: definitions.list_history(store, "flow", "flow-500"))
        store.close()
    bar = f"<= {BAR_MS:.0f} ms"
    return [
        _row("definitions: 1,000 listed", listed, bar, holds=listed <= BAR_MS),
        _row("definitions: 1,000 of all kinds listed", everything, bar, holds=everything <= BAR_MS),
        _row("definitions: active version of 10 KB found", found, "", holds=None),
        _row("definitions: history of one", told, "", holds=None),
        _row("definitions: a version created or published", change, "", holds=None),
    ]


def _fill(store: SqlStore) -> None:
    for number in range(KEYS):
        key = f"flow-{number}"
        for version in range(1, VERSIONS + 1):
            document = {"flowId": key, "version": version, "steps": STEPS}
            definitions.create_version(store, ANNA, "flow", key, document, title=f"Приём заявок {number}", note="правка")
        definitions.publish_version(store, ANNA, "flow", key, 1, expected=1, check=lambda _: None)


def _best(work: Callable[[], Any]) -> float:
    """Milliseconds of the fastest of some calls: what other programs of the machine take away is no property of ours."""
    times = []
    for _ in range(TRIES):
        begun = time.perf_counter()
        if not work():
            raise RuntimeError("nothing was found")
        times.append((time.perf_counter() - begun) * 1000)
    return min(times)


def _row(name: str, value: float, bar: str, *, holds: bool | None) -> dict[str, Any]:
    return {"name": name, "value": round(value, 2), "unit": "ms", "bar": bar, "holds": holds, "versus": ""}
