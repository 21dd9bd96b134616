"""The core is killed at every place where it writes or talks; what a person and the portal see must stay right.

Short form: all places behind effects, changes and answers of the model, and every sixth of all. Long form (`make crash`): every
place, torn writes too, a conversation of all scripts, and second deaths while the first is being recovered from.
"""

import re
import shutil
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest
from lab import Evidence, Nursery, Trouble, one_run
from lab_checks import findings
from lab_script import PLANS, SINGLE, SUM

Record = Callable[[str, object], None]
Plan = Mapping[str, Any]
"""What befalls one run: arguments of `one_run`."""

LONG = 1800
_WEIGHTY = re.compile(r"->|ModelAnswered|TurnFinished|send\((?!.*\.(get|list)\))")
_TROUBLES: tuple[Trouble, ...] = ("late", "acted", "cut", "cut-undone")


def death(at: int | str) -> dict[str, Any]:
    """One death; odd places by leaving at once, even ones and labels by the signal."""
    return {"at": at, "how": "exit" if isinstance(at, int) and at % 2 else "kill"}


async def untouched(nursery: Nursery, folder: Path, script: str) -> Evidence:
    """The run that nothing befalls: it must be right, and its places are the ones to die at."""
    run = await one_run(nursery, folder / "untouched", script)
    assert findings(run) == []
    return run


def places(run: Evidence, chosen: Callable[[int, str], bool]) -> list[Plan]:
    """One plan for each place that is chosen."""
    return [{"kills": [death(at)]} for at, label in enumerate(run.report["labels"], start=1) if chosen(at, label)]


def troubles(run: Evidence) -> list[Plan]:
    """One plan for each thing that can go wrong with a change of the portal or a question to the model."""
    kinds = {name: _TROUBLES[:2] if name == "completions" else _TROUBLES for name in run.world.weighty}
    return [{"trouble": (kind, at)} for at, name in enumerate(run.world.weighty, start=1) for kind in kinds[name]]


async def walk(nursery: Nursery, folder: Path, script: str, plans: Iterable[Plan]) -> dict[str, list[str]]:
    """Every plan, one after the other: what it was → what did not hold."""
    found = {}
    for number, plan in enumerate(plans):
        own = folder / f"{number}"
        run = await one_run(nursery, own, script, **plan)
        if wrong := findings(run):
            found[f"{script} {dict(plan)}"] = wrong
        shutil.rmtree(own)
    return found


def in_short(at: int, label: str) -> bool:
    """Whether the short form dies here: while taking in, after what matters (before the next thing is the same to the world), now and then."""
    return at % 6 == 0 or label == "put_inbox:before" or (label.endswith((":after", ":acted")) and bool(_WEIGHTY.search(label)))


@pytest.mark.timeout(300)
@pytest.mark.req("G1", "G2", "S004-A2", "S004-X4")
@pytest.mark.parametrize("script", SINGLE)
async def test_killed_where_it_matters(script: str, nursery: Nursery, tmp_path: Path, record_property: Record) -> None:
    """At most one write for a consent, none after a denial, no input lost, no answer asked for twice, the truth told, the journal whole."""
    run = await untouched(nursery, tmp_path, script)
    plans = [*places(run, in_short), *troubles(run)]
    assert await walk(nursery, tmp_path, script, plans) == {}
    record_property(
        "crash", f"short, {script}: {len(plans)} deaths of {len(run.report['labels'])} places and {len(troubles(run))} troubles"
    )


@pytest.mark.req("G2")
async def test_killed_while_it_recovers(nursery: Nursery, tmp_path: Path, record_property: Record) -> None:
    """A second death in the middle of the recovery changes nothing of what must hold."""
    plans = [{"kills": [death("send(crm.deal.add):acted"), death(second)]} for second in range(2, 30, 3)]
    assert await walk(nursery, tmp_path, "add", plans) == {}
    record_property("crash", f"short, second deaths: {len(plans)}")


async def test_an_input_that_kills_is_given_up(nursery: Nursery, tmp_path: Path) -> None:
    """A request at which the program dies again and again is put aside, the person is told, and the model was asked once."""
    run = await one_run(nursery, tmp_path, "sum", kills=[death("commit(PlanRecorded):before")] * 3)
    assert run.codes == [-9, -9, -9, 0]
    assert [status for _, source, status in run.inbox if source == "sum/message"] == ["quarantined"]
    notices = [notice["code"] for line in run.lines if line["kind"] == "reply" for notice in line["body"]["notices"]]
    assert notices == ["failed"]
    assert run.world.asked == [(0, SUM, 1)]
    assert run.world.portal.ledger == []


TEETH: dict[str, tuple[str, Plan]] = {
    "intent_after_send": ("add", {"kills": [death("send(crm.deal.add):acted")]}),
    "retry_unknown": ("add", {"trouble": ("cut", 3)}),
    "no_compare_and_set": ("add", {}),
    "recovery_resends": ("add", {"kills": [death("send(crm.deal.add):acted")]}),
    "recovery_guesses": ("add", {"kills": [death("send(crm.deal.add):before")]}),
    "outbox_apart": ("deny", {"kills": [death("commit(TurnFinished):after")]}),
    "model_asked_again": ("free", {"kills": [death("commit(ModelAnswered):after")]}),
    "early_acknowledgement": ("deny", {"kills": [death("put_inbox:before")]}),
}


@pytest.mark.req("G2")
@pytest.mark.parametrize("fault", TEETH)
async def test_the_lab_has_teeth(fault: str, nursery: Nursery, tmp_path: Path) -> None:
    """A planted fault is found at the place it is about, and by no more than that: not without the death, which finds nothing without it."""
    script, plan = TEETH[fault]
    assert findings(await one_run(nursery, tmp_path / "both", script, fault=fault, **plan)) != []
    assert findings(await one_run(nursery, tmp_path / "death", script, **plan)) == []
    if plan:
        assert findings(await one_run(nursery, tmp_path / "fault", script, fault=fault)) == []


@pytest.mark.req("G2")
async def test_the_second_net_holds(nursery: Nursery, tmp_path: Path) -> None:
    """Where a second press is not objected to, the compare-and-set alone keeps the call from running twice."""
    run = await one_run(nursery, tmp_path, "add", fault="objection_ignored")
    assert run.finished
    assert run.world.written("Берёза") == 1


@pytest.mark.crash_long
@pytest.mark.timeout(LONG)
@pytest.mark.req("G1", "G2", "S004-A2")
@pytest.mark.parametrize("script", [*SINGLE, "whole"])
async def test_killed_everywhere(script: str, nursery: Nursery, tmp_path: Path, record_property: Record) -> None:
    """Every place of every script, writes torn in the middle too; of the conversation of all of them every fourth, and every trouble."""
    run = await untouched(nursery, tmp_path, script)
    chosen = places(run, lambda at, _: script != "whole" or at % 4 == 1)
    assert await walk(nursery, tmp_path, script, [*chosen, *troubles(run)]) == {}
    record_property("crash", _count("long", run, chosen))


@pytest.mark.crash_long
@pytest.mark.timeout(LONG)
@pytest.mark.req("G2")
@pytest.mark.parametrize("script", ["add", "free"])
async def test_killed_twice_everywhere(script: str, nursery: Nursery, tmp_path: Path, record_property: Record) -> None:
    """After each death that leaves something to recover, a second one at every third place of the recovery."""
    run = await untouched(nursery, tmp_path, script)
    firsts = [at for at, label in enumerate(run.report["labels"], start=1) if re.search(r"->.*:after|add\):acted", label)]
    plans = [{"kills": [death(first), death(second)]} for first in firsts for second in range(1, 40, 3)]
    assert await walk(nursery, tmp_path, script, plans) == {}
    record_property("crash", f"long, {script}: {len(plans)} second deaths")


@pytest.mark.crash_long
@pytest.mark.timeout(LONG)
@pytest.mark.req("G2")
@pytest.mark.parametrize("fault", TEETH)
async def test_the_walk_finds_the_fault(fault: str, nursery: Nursery, tmp_path: Path, record_property: Record) -> None:
    """Without being told where to look, the walk of the short form comes upon every planted fault."""
    script, _ = TEETH[fault]
    run = await untouched(nursery, tmp_path, script)
    plans: Sequence[Plan] = [{}, *places(run, in_short), *troubles(run)]
    for number, plan in enumerate(plans, start=1):
        if await walk(nursery, tmp_path, script, [{**plan, "fault": fault}]):
            record_property("crash", f"long, teeth: {fault} found at death {number} of {len(plans)}")
            return
    pytest.fail(f"{fault} was not found in {len(plans)} deaths")


def _count(form: str, run: Evidence, chosen: Sequence[Plan]) -> str:
    return f"{form}, {run.script}: {len(chosen)} deaths at {len(run.report['labels'])} places, {len(troubles(run))} troubles"


def test_the_script_leads_to_every_kind_of_call() -> None:
    """A change with consent, free ones, a batch, and one that is denied: what the lab walks over is what the product does."""
    methods = {step["method"] for steps in PLANS.values() for step in steps}
    assert methods == {"crm.deal.update", "crm.deal.add", "tasks.task.add", "crm.timeline.comment.add", "batch"}
