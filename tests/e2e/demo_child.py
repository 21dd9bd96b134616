"""The demo as `sdelka demo` runs it, but for the start of its processes: they are forked, as it is itself (see tests/forker.py).

Each of them would import for seconds what the forker has imported. `test_demo_stops.py` starts the demo as its users do.
"""

import asyncio
import os
import sys
from typing import Any

from sandbox.demo.__main__ import main, parse
from tests.forker import forked

_start = asyncio.create_subprocess_exec


async def start_forked(python: str, *command: str, **more: Any) -> asyncio.subprocess.Process:
    """In the place of `create_subprocess_exec`: start the Python program of this command.

    Who stands in for it may be killed a moment before it is: a pipe that both hold tells when the last of them is gone.
    """
    assert python == sys.executable
    is_over, held = os.pipe()
    process = await _start(*forked(*command), stdin=held, **more)
    os.close(held)
    wait = process.wait

    async def wait_for_both() -> int:
        code = await wait()
        await asyncio.to_thread(os.read, is_over, 1)
        return code

    process.wait = wait_for_both  # type: ignore[method-assign]
    return process


if __name__ == "__main__":
    asyncio.create_subprocess_exec = start_forked  # type: ignore[assignment]
    sys.exit(asyncio.run(main(parse(sys.argv[1:]))))
