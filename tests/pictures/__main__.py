"""Pictures of the chat for docs/: the real bot against the sandboxes, photographed on the sandbox's chat page.

Run by hand: `python -m tests.pictures OUT [scene …]`. It proves nothing; no test imports it.
"""

import argparse
import asyncio
import itertools
import sys
import tempfile
from collections.abc import Mapping
from contextlib import AsyncExitStack
from pathlib import Path
from typing import Final

import httpx
from playwright.async_api import Browser, async_playwright

from tests.e2e.e2e_kit import MovedClock, opened_world
from tests.e2e.e2e_servers import Servers, running_servers
from tests.pictures import acts, cards, console, documents, effects, flows, many, points, runs, scenarios, talk, workflows
from tests.pictures.studio import Scene, Studio

CHROMIUM: Final = "/usr/bin/chromium"
_LATER: Final = (talk.today, cards.expired)
"""These put the clock forward; the others are played at the present hour."""
_EVERY: Final = (*(scene for scene in (*cards.SCENES, *acts.SCENES, *talk.SCENES) if scene not in _LATER), *_LATER)
SCENES: Final[Mapping[str, Scene]] = {
    scene.__name__: scene
    for scene in (
        *_EVERY,
        *points.SCENES,
        *runs.SCENES,
        *effects.SCENES,
        *documents.SCENES,
        *scenarios.SCENES,
        *flows.SCENES,
        *workflows.SCENES,
        *console.SCENES,
        *many.SCENES,
    )
}
UNASKED: Final = tuple(scene.__name__ for scene in _EVERY)
"""What is played when no scene is named."""


async def main(folder: Path, names: list[str]) -> int:
    """Play the scenes one after the other; 1 when one could not be played to its end."""
    failed = 0
    numbers = itertools.count(1000, 10)
    async with AsyncExitStack() as stack:
        servers = stack.enter_context(running_servers())
        playwright = await stack.enter_async_context(async_playwright())
        browser = await playwright.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox", "--disable-gpu"])
        clock = MovedClock()
        for name in names or UNASKED:
            try:
                await _play(SCENES[name], servers, browser, clock, folder, next(numbers))
            except (AssertionError, httpx.HTTPError) as error:
                failed += 1
                sys.stderr.write(f"{name}: {error!r}\n")
    return 1 if failed else 0


async def _play(scene: Scene, servers: Servers, browser: Browser, clock: MovedClock, folder: Path, first_id: int) -> None:
    with tempfile.TemporaryDirectory(prefix="sdelka-pictures-") as temporary:
        async with opened_world(servers, Path(temporary), first_id) as world:
            studio = Studio(world, clock, browser, folder)
            try:
                await studio.begin()
                await scene(studio)
            finally:
                await studio.bot.aclose()


if __name__ == "__main__":
    parser = argparse.ArgumentParser(prog="tests.pictures", description=__doc__)
    parser.add_argument("out", type=Path, help="folder of the pictures")
    parser.add_argument("scenes", nargs="*", help=f"which scenes; all of: {', '.join(SCENES)}")
    given = parser.parse_args()
    if unknown := sorted(set(given.scenes) - set(SCENES)):
        parser.error(f"there is no scene {', '.join(unknown)}; there are: {', '.join(SCENES)}")
    given.out.mkdir(parents=True, exist_ok=True)
    sys.exit(asyncio.run(main(given.out, given.scenes)))
