"""How late the event loop is: a task that sleeps and looks at the clock. Ring 3; costs one wake-up a second."""

import asyncio
from collections.abc import Callable
from typing import Final

LAG_INTERVAL: Final = 1.0


async def watch_loop_lag(note: Callable[[float], None], every: float = LAG_INTERVAL) -> None:
    """Tell `note` how much later than asked the loop came back, until cancelled."""
    loop = asyncio.get_running_loop()
    while True:
        due = loop.time() + every
        await asyncio.sleep(every)
        note(loop.time() - due)
