"""The event loop of `sdelka ask`, beside the terminal."""

import asyncio
import threading

import pytest

from bot.cli.ask import run_beside

PATIENCE = 10


@pytest.mark.req("S001-22")
def test_what_was_begun_goes_on_while_a_person_thinks() -> None:
    """Nothing is awaited at the prompt, and the service of documents still looks at its folder: who may read what is closed in time."""
    looked = threading.Event()

    async def watch() -> None:
        asyncio.get_running_loop().call_later(0.01, looked.set)

    with run_beside() as run:
        run(watch())
        assert looked.wait(PATIENCE)


def test_what_a_coroutine_returns_and_raises_reaches_the_terminal() -> None:
    """A pipe that nobody reads ends the program, not the loop."""

    async def answer() -> int:
        return 7

    async def fail() -> None:
        raise BrokenPipeError

    with run_beside() as run:
        assert run(answer()) == 7
        with pytest.raises(BrokenPipeError):
            run(fail())
