"""Death at the calls of the operating system: before, in the middle of and after a write, a flush, a send, an unlink or a truncation.

Needs a C compiler. Long form: every call of a whole script, and of others every third or eighth.
"""

from collections.abc import Sequence
from itertools import cycle

import pytest

from tests.crash.lab_walk import Lab, Plan, calls

LONG = 1800
HOWS = {"write": cycle(("half", "before", "after")), "send": cycle(("before", "half", "after"))}
BETWEEN = cycle(("before", "after"))


def deaths(made: Sequence[str], *, every: int, first: int = 1, **more: object) -> list[Plan]:
    """One plan for each of every so many calls; how it dies goes round."""
    chosen = [(at, made[at - 1].partition(" ")[0]) for at in range(first, len(made) + 1, every)]
    return [{"more": {"call": {"how": next(HOWS.get(op, BETWEEN)), "at": at}, **more}} for at, op in chosen]


@pytest.mark.timeout(300)
@pytest.mark.req("G1", "G2")
@pytest.mark.parametrize(("script", "every"), [("sum", 29), ("free", 31), ("choice", 47)])
async def test_killed_at_some_calls(script: str, every: int, shimmed: Lab) -> None:
    """A torn page, a torn request, a flush that did not come: nothing is lost, doubled or told wrongly."""
    made = calls(await shimmed.untouched(script))
    assert await shimmed.walk(script, deaths(made, every=every, first=every // 2)) == {}


@pytest.mark.timeout(300)
async def test_killed_while_the_database_is_made(shimmed: Lab) -> None:
    """A half-made database is finished by the next start."""
    made = calls(await shimmed.run("one", more={"bare": True}))
    opening = next(at for at, call in enumerate(made) if call.startswith("send"))
    assert await shimmed.walk("one", deaths(made[:opening], every=opening // 6, bare=True)) == {}


@pytest.mark.crash_long
@pytest.mark.timeout(LONG)
@pytest.mark.req("G1", "G2")
@pytest.mark.parametrize(
    ("script", "every"), [("sum", 1), ("free", 3), ("choice", 8), ("deny", 8), ("batch", 8), ("paste", 8), ("event", 8), ("drift", 8)]
)
async def test_killed_at_every_call(script: str, every: int, shimmed: Lab) -> None:
    """The same at every call, or at every so many."""
    made = calls(await shimmed.untouched(script))
    plans = deaths(made, every=every)
    assert await shimmed.walk(script, plans) == {}
    shimmed.tell(f"long, {script}: {len(plans)} deaths at {len(made)} system calls")


@pytest.mark.crash_long
@pytest.mark.timeout(LONG)
async def test_killed_at_every_call_of_a_first_start(shimmed: Lab) -> None:
    """The same while the database is made."""
    made = calls(await shimmed.run("one", more={"bare": True}))
    plans = deaths(made, every=4, bare=True)
    assert await shimmed.walk("one", plans) == {}
    shimmed.tell(f"long, a first start: {len(plans)} deaths at {len(made)} system calls")
