"""The core is killed at every place where it writes or talks; what a person and the portal see must stay right.

Short form: inputs, and once each behind every commit and every request that changes something, and every twenty-fifth of all. Long form (`make crash`): every
place, torn writes too, a conversation of all scripts, and second deaths while the first is being recovered from.
"""

import re

import pytest

from tests.crash.lab_checks import findings
from tests.crash.lab_script import PLANS, SINGLE, SUM, TURNS
from tests.crash.lab_walk import Lab, death, in_short, name_places, places, troubles, troubles_in_short

LONG = 1800


@pytest.mark.timeout(300)
@pytest.mark.req("G1", "G2", "S004-A2", "S004-X4")
@pytest.mark.parametrize("script", SINGLE)
async def test_killed_where_it_matters(script: str, lab: Lab) -> None:
    """At most one write for a consent, none after a denial, no input lost, no answer asked for twice, the truth told, the journal whole."""
    run = await lab.untouched(script)
    plans = [*places(run, in_short), *troubles_in_short(run)]
    assert await lab.walk(script, plans) == {}
    lab.tell(f"short, {script}: {len(plans)} plans for {len(run.report['labels'])} places")


@pytest.mark.timeout(300)
@pytest.mark.req("G1", "G2", "S004-A2")
@pytest.mark.parametrize("script", TURNS)
async def test_killed_in_other_turns(script: str, lab: Lab) -> None:
    """A choice among names, a /stop, a card that expires or that the portal overtakes, a typed yes, an event, a paste: the same holds."""
    run = await lab.untouched(script)
    chosen = places(run, lambda at, label: at % 61 == 0 or bool(re.search(r"(->|Question|RecordsSeen).*:after", label)))
    assert await lab.walk(script, [*chosen, *troubles(run)[1::6]]) == {}
    lab.tell(f"short, {script}: {len(chosen)} of {len(run.report['labels'])} places")


@pytest.mark.req("G2")
async def test_killed_while_it_recovers(lab: Lab) -> None:
    """A second death in the middle of the recovery changes nothing of what must hold."""
    plans = [{"kills": [death("send(crm.deal.add):acted"), death(second)]} for second in range(2, 30, 4)]
    assert await lab.walk("add", plans) == {}


async def test_an_input_that_kills_is_given_up(lab: Lab) -> None:
    """A request at which the program dies again and again is put aside, the person is told, and no stored answer was asked for again."""
    run = await lab.run("sum", kills=[death("~ConfirmationRequested.*:before")] * 3)
    assert run.codes == [-9, -9, -9, 0]
    assert [status for _, source, status in run.inbox if source == "sum/message"] == ["quarantined"]
    notices = [notice["code"] for line in run.lines if line["kind"] == "reply" for notice in line["body"]["notices"]]
    assert notices == ["failed"]
    assert {question.text for question in run.world.asked} == {SUM}
    assert [text for text in findings(run) if "asked again" in text] == []
    assert run.world.portal.ledger == []


@pytest.mark.req("G2")
async def test_the_second_net_holds(lab: Lab) -> None:
    """Where a second press is not objected to, the compare-and-set alone keeps the call from running twice."""
    run = await lab.run("add", fault="objection_ignored")
    assert run.finished
    assert run.world.written("Берёза") == 1


@pytest.mark.crash_long
@pytest.mark.timeout(LONG)
@pytest.mark.req("G1", "G2", "S004-A2")
@pytest.mark.parametrize("script", [*SINGLE, *TURNS, "whole"])
async def test_killed_everywhere(script: str, lab: Lab) -> None:
    """Every place of every script that changes something, writes torn in the middle too; of the others every second, of all in one every fourth."""
    run = await lab.untouched(script)
    every = 4 if script == "whole" else 2 if script in TURNS else 1
    chosen = places(run, lambda at, _: at % every == 0)
    assert await lab.walk(script, [*chosen, *troubles(run)]) == {}
    lab.tell(f"long, {script}: {len(chosen)} deaths at {len(run.report['labels'])} places, {len(troubles(run))} troubles on the wire")


@pytest.mark.crash_long
@pytest.mark.timeout(LONG)
@pytest.mark.req("G2")
@pytest.mark.parametrize("script", ["add", "free"])
async def test_killed_twice_everywhere(script: str, lab: Lab) -> None:
    """After each death that leaves something to recover, a second one at every sixth place of the recovery."""
    run = await lab.untouched(script)
    firsts = [name for _, name in name_places(run, lambda _, label: bool(re.search(r"->.*:after|add\):acted", label)))]
    plans = [{"kills": [death(first), death(second)]} for first in firsts for second in range(1, 40, 6)]
    assert await lab.walk(script, plans) == {}
    lab.tell(f"long, {script}: {len(plans)} second deaths")


def test_the_script_leads_to_every_kind_of_call() -> None:
    """A change with consent, free ones, a batch, and one that is denied: what the lab walks over is what the product does."""
    methods = {step["method"] for steps in PLANS.values() for step in steps}
    assert methods == {"crm.deal.update", "crm.deal.add", "crm.lead.add", "tasks.task.add", "crm.timeline.comment.add", "batch"}
