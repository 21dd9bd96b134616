"""A turn that goes on after its cards ("approve, go on, propose the next step"), killed on its way and between two of its parts.

Short form: behind every effect, change, answer of the model and end of a turn of the plainest way, and the places that matter of the others, by
name. Long form (`make crash`): every place, torn writes too, everything that can go wrong with a request, and second deaths.
"""

import re

import pytest

from tests.crash.lab_go_on import GOING_ON
from tests.crash.lab_walk import Lab, Plan, death, in_short, name_places, places, troubles, troubles_in_short

LONG = 1800
RESUMED = re.compile(r"TurnResumed|->(succeeded|denied).*:after")
LAST = "~CallSucceeded.*:after"
BY_NAME: dict[str, tuple[Plan, ...]] = {
    "go-on-free": (
        {"kills": [death("~TurnFinished.*:after")]},
        {"kills": [death(LAST), death("~TurnResumed.*:before"), death("~TurnResumed.*:after")]},
        {"trouble": ("cut", 3)},
        {"trouble": ("cut", 5)},
    ),
    "go-on-both": (
        {"kills": [death("send(crm.deal.update):acted")]},
        {"kills": [death("~->succeeded.*:after")]},
        {"trouble": ("cut", 3)},
        {"trouble": ("cut-undone", 4)},
    ),
    "go-on-apart": ({"kills": [death("~ConfirmationDenied.*:after")]}, {"kills": [death("~TurnResumed.*:before")]}),
    "go-on-denied": ({"kills": [death("~ConfirmationDenied.*:after")]}, {"kills": [death("~ConfirmationDenied.*:before")]}),
    "go-on-choice": ({"kills": [death("~TurnResumed.*:after")]}, {"kills": [death(LAST)]}),
    "go-on-edit": ({"kills": [death("~ConfirmationSuperseded.*:after")]}, {"kills": [death("~TurnResumed.*:after")]}),
    "go-on-lead": ({"kills": [death("send(crm.deal.update):acted")]}, {"kills": [death("~TurnResumed.*:after")]}),
}


def _check_marks(script: str, written: dict[str, int]) -> None:
    assert written == dict.fromkeys(GOING_ON[script].written, 1)


@pytest.mark.timeout(300)
@pytest.mark.req("G1", "G2", "S004-A2")
async def test_killed_between_approval_and_the_next_step(lab: Lab) -> None:
    """No step is lost, no answer is asked for twice, nothing is written twice, and the turn goes on once for each time it waited."""
    run = await lab.untouched("go-on")
    _check_marks("go-on", {mark: run.world.written(mark) for mark in GOING_ON["go-on"].written})
    plans = [*places(run, lambda at, label: in_short(at, label) or RESUMED.search(label) is not None), *troubles_in_short(run)]
    assert await lab.walk("go-on", plans) == {}
    lab.tell(f"short, go-on: {len(plans)} plans for {len(run.report['labels'])} places")


@pytest.mark.timeout(300)
@pytest.mark.req("G1", "G2", "S004-A2")
@pytest.mark.parametrize("script", BY_NAME)
async def test_killed_where_it_matters(script: str, lab: Lab) -> None:
    """Free steps before the card, several cards, a denial, a choice, an edit, a lead: the same holds."""
    run = await lab.untouched(script)
    _check_marks(script, {mark: run.world.written(mark) for mark in GOING_ON[script].written})
    assert await lab.walk(script, BY_NAME[script]) == {}
    assert lab.count["deaths"] >= sum(len(plan.get("kills", ())) for plan in BY_NAME[script]), "a place of these is there no more"


@pytest.mark.crash_long
@pytest.mark.timeout(LONG)
@pytest.mark.req("G1", "G2", "S004-A2")
@pytest.mark.parametrize("script", GOING_ON)
async def test_killed_everywhere(script: str, lab: Lab) -> None:
    """Every place of the plainest way, every second of the others, and everything that can go wrong with a request."""
    run = await lab.untouched(script)
    every = 1 if script == "go-on" else 2
    chosen = [*places(run, lambda at, _: at % every == 0), *troubles(run)]
    assert await lab.walk(script, chosen) == {}
    lab.tell(f"long, {script}: {len(chosen)} plans for {len(run.report['labels'])} places")


@pytest.mark.crash_long
@pytest.mark.timeout(LONG)
@pytest.mark.req("G2")
async def test_killed_twice(lab: Lab) -> None:
    """After each death that leaves something to go on with, a second one at every fourth place of what follows."""
    run = await lab.untouched("go-on-free")
    firsts = [name for _, name in name_places(run, lambda _, label: bool(RESUMED.search(label)) and label.endswith(":after"))]
    plans = [{"kills": [death(first), death(second)]} for first in firsts for second in range(1, 40, 4)]
    assert await lab.walk("go-on-free", plans) == {}
    lab.tell(f"long, go-on-free: {len(plans)} second deaths")


def test_every_way_is_killed_by_name() -> None:
    """No way is left out of the short form."""
    assert set(BY_NAME) | {"go-on"} == set(GOING_ON)
