"""Presses: twice, by others, from elsewhere, against each other, during the call, during the recovery, redelivered, after a death."""

import pytest

from tests.crash.lab_script import PATTERNS, PRESSES, SCRIPTS
from tests.crash.lab_walk import Lab, death, places

LONG = 1800


def test_every_pattern_is_played() -> None:
    """The conversations of presses hold each pattern once."""
    assert len(PATTERNS) == sum(step.kind in {"presses", "meanwhile"} for script in PRESSES for step in SCRIPTS[script])


@pytest.mark.timeout(300)
@pytest.mark.req("G2", "S004-A2")
@pytest.mark.parametrize("script", PRESSES)
async def test_pressed_again_and_again(script: str, lab: Lab) -> None:
    """Whatever is pressed, one consent leads to one write and a first no to none, and who may not decide does not."""
    run = await lab.untouched(script)
    at = len(run.report["labels"])
    assert await lab.walk(script, places(run, lambda place, _: place % (at // 5) == at // 10)) == {}
    assert lab.count["presses"] >= 100


RECOVERED = [("sum", "crm.deal.update", "crm.deal.get"), ("add", "crm.deal.add", "crm.deal.list"), ("batch", "batch", "batch")]


@pytest.mark.req("G2")
@pytest.mark.parametrize(("script", "call", "look"), RECOVERED)
@pytest.mark.parametrize("when", ["before", "acted"])
async def test_pressed_while_it_is_looked_up(script: str, call: str, look: str, when: str, lab: Lab) -> None:
    """A press that comes while the portal is asked what became of the call does not make it again."""
    plan = {"kills": [death(f"send({call}):{when}")], "held_after_death": look}
    assert await lab.walk(script, [plan]) == {}
    assert lab.count["deaths"] == 1


@pytest.mark.crash_long
@pytest.mark.timeout(LONG)
@pytest.mark.req("G2", "S004-A2")
@pytest.mark.parametrize("script", PRESSES)
async def test_pressed_and_killed(script: str, lab: Lab) -> None:
    """The same with deaths all along."""
    run = await lab.untouched(script)
    plans = places(run, lambda place, _: place % 29 == 7)
    assert await lab.walk(script, plans) == {}
    lab.tell(f"long, {script}: {lab.count['presses']} double presses with {len(plans)} deaths")
