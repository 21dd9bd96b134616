"""The clock jumps: back by an hour or a day, forward beyond the end of a card, at any place of a conversation."""

import pytest

from tests.crash.lab_walk import Lab, Plan

LONG = 1800
HOUR, DAY = 3600.0, 86400.0
SCRIPTS = {"sum": 7, "add": 11, "deny": 13, "drift": 17, "typed": 19}
"""How far the places of the short form lie apart."""


def jumps(places: int, *, every: int, script: str) -> list[Plan]:
    """One plan for each of every so many places; by how much goes round. A no that comes too late is no no."""
    sizes = (-HOUR, 2 * DAY, -DAY, 100.0) if script != "deny" else (-HOUR, -DAY, 100.0)
    return [{"more": {"jump": {"at": at, "seconds": sizes[at // every % len(sizes)]}}} for at in range(1, places + 1, every)]


@pytest.mark.timeout(300)
@pytest.mark.req("G2", "S004-14")
@pytest.mark.parametrize("script", ["sum", "typed"])
async def test_the_clock_jumps(script: str, lab: Lab) -> None:
    """No card is approved after its time, nothing runs twice, nothing is lost, and the journal stays whole."""
    run = await lab.untouched(script)
    assert await lab.walk(script, jumps(len(run.report["labels"]), every=SCRIPTS[script], script=script)) == {}


@pytest.mark.req("G2")
async def test_a_card_whose_time_runs_out_at_the_press_does_not_run(lab: Lab) -> None:
    """The clock goes beyond the card's end when the press has been taken in and is not yet judged."""
    run = await lab.run("sum", more={"jump": {"at": "~put_inbox.decision.*:after", "seconds": 2 * DAY}})
    assert "ConfirmationApproved" not in run.report["events"]
    assert "ConfirmationExpired" in run.report["events"]
    assert run.world.portal.ledger == []


@pytest.mark.crash_long
@pytest.mark.timeout(LONG)
@pytest.mark.req("G2", "S004-14")
@pytest.mark.parametrize("script", SCRIPTS)
async def test_the_clock_jumps_everywhere(script: str, lab: Lab) -> None:
    """The same at every fourth place."""
    run = await lab.untouched(script)
    plans = jumps(len(run.report["labels"]), every=4, script=script)
    assert await lab.walk(script, plans) == {}
    lab.tell(f"long, {script}: {len(plans)} jumps of the clock")
