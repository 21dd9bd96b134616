"""What people do beyond a message and a press, killed on its way: an edit, an undo, a lead's decision, a forwarded lead, a second request.

Short form: the places that matter, by name. Long form (`make crash`): every place around every write and request, and random plans.
"""

import pytest

from tests.crash.lab_flows import FLOWS
from tests.crash.lab_walk import Lab, Plan, death, places, troubles
from tests.crash.test_random import plan_of

LONG = 1800
BY_NAME: dict[str, tuple[Plan, ...]] = {
    "edit": ({"kills": [death("~commit.EditAsked.*:after")]}, {"kills": [death("~commit.*ConfirmationSuperseded.*:after")]}),
    "edit-overtaken": ({"kills": [death("~commit.*ConfirmationSuperseded.*:before")]},),
    "edit-overtaking": ({"kills": [death("send(crm.deal.update):acted")]},),
    "undo": (
        {"kills": [death("commit(ConfirmationRequested,->requested,toast,card):after")]},
        {"kills": [death("send(crm.deal.update):acted"), death("~CallStarted.*:after")]},
        {"trouble": ("cut", 5)},
    ),
    "undo-free": ({"kills": [death("~commit.*CallSucceeded.*:after")]}, {"trouble": ("cut", 3)}),
    "undo-changed": ({"kills": [death("commit(toast,reply):after")]},),
    "lead-yes": ({"kills": [death("send(crm.deal.update):acted")]},),
    "lead-no": ({"kills": [death("~commit.DenialReasonGiven.:after")]}, {"kills": [death("~commit.ConfirmationDenied.*:after")]}),
    "lead-late": ({"kills": [death("~put_inbox.timer.*:after")]},),
    "forward-create": ({"kills": [death("~NameAsked.*:after")]}, {"kills": [death("send(crm.lead.add):acted")]}),
    "forward-take": ({"kills": [death("~NameAsked.*:before")]},),
    "again-expired": ({"kills": [death("commit(ConfirmationRequested,->requested,toast,card):after")]},),
    "again-refused": ({"kills": [death("~commit.CallRefused.*:after")]},),
}


@pytest.mark.timeout(300)
@pytest.mark.req("G1", "G2", "S004-A2")
@pytest.mark.parametrize("script", FLOWS)
async def test_killed_where_it_matters(script: str, lab: Lab) -> None:
    """One consent leads to one write, a replaced card to none, what is taken back stands there again, and each outcome is told once."""
    run = await lab.untouched(script)
    assert {mark: run.world.written(mark) for mark in FLOWS[script].written} == dict.fromkeys(FLOWS[script].written, 1)
    assert await lab.walk(script, BY_NAME[script]) == {}
    assert lab.count["deaths"] >= sum(len(plan.get("kills", ())) for plan in BY_NAME[script]), "a place of these is there no more"


@pytest.mark.crash_long
@pytest.mark.timeout(LONG)
@pytest.mark.req("G1", "G2", "S004-A2")
@pytest.mark.parametrize("script", FLOWS)
async def test_killed_everywhere(script: str, lab: Lab) -> None:
    """Every place before and after a write or a request, every fourth of the torn writes, and everything that can go wrong with a request."""
    run = await lab.untouched(script)
    chosen = [*places(run, lambda at, label: at % 4 == 0 or not label.endswith(":torn")), *troubles(run)]
    assert await lab.walk(script, chosen) == {}
    lab.tell(f"long, {script}: {len(chosen)} plans for {len(run.report['labels'])} places")


@pytest.mark.crash_long
@pytest.mark.timeout(LONG)
@pytest.mark.req("G1", "G2")
async def test_by_seed(lab: Lab) -> None:
    """Plans of seeds, as other scripts have them; a clock that is set back lets nothing come by its time, so those with such a jump are left out."""
    names = list(FLOWS)
    wrong: dict[str, list[str]] = {}
    for seed in range(2000, 2100):
        _, plan = plan_of(seed)
        if "jump" not in plan.get("more", {}):
            found = await lab.walk(names[seed % len(names)], [plan])
            wrong |= {f"seed {seed}: {what}": text for what, text in found.items()}
    assert wrong == {}
    lab.tell(f"long, seeds 2000 to 2099 over the ways: {lab.count['deaths']} deaths, {lab.count['troubles']} troubles")
