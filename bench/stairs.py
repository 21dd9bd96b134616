"""How many stairs one typed sentence climbs: calls from one folder of the program to another, and files that it enters.

Counted, not timed: the figures differ only by how often the loops of the program look for work meanwhile. The trace is that of `make
style`. The bar stands for the way of an incoming message, from Telegram's update to the engine; the rest of the way to the card is told
beside it.
"""

import asyncio
from pathlib import Path
from typing import Any

from tests.style import run_trace

ROOT = Path(__file__).resolve().parents[1]
MOST_MOVES = 150


async def stairs_benches() -> list[dict[str, Any]]:
    """Moves between folders and files entered, to the engine and to the card."""
    trace = await asyncio.to_thread(run_trace, ROOT)
    incoming = trace["before_engine"]
    whole = f"to the card: {sum(trace['moves'].values())} moves, {len(trace['files'])} files"
    name = "moves between folders, typed sentence to engine"
    moves = {"name": name, "value": incoming["moves"], "unit": "moves", "bar": f"<= {MOST_MOVES}", "holds": incoming["moves"] <= MOST_MOVES}
    files = {"name": "files entered by it", "value": incoming["files"], "unit": "files", "bar": "", "holds": None}
    return [moves | {"versus": whole}, files | {"versus": ""}]
