"""Runs (executions of definitions by an engine) killed at every commit and request: nothing twice, no wake-up lost, no answer paid again.

Short form: a sample of the places of each way by a fixed seed. Long form (`make crash`): every place, on SQLite and on PostgreSQL.
"""

import random
import re

import pytest

from tests.crash.lab import Nursery
from tests.crash.lab_run_checks import judge_runs
from tests.crash.lab_run_faults import PLANTED
from tests.crash.lab_run_walk import RunLab, list_many_deaths, list_points
from tests.crash.lab_runs import WAYS
from tests.crash.lab_walk import Plan, Record, death

LONG = 3600
SEED = 14
SAMPLE = 1
MANY = 12
STAIRS, KILLS = 700, 10
AFTER = re.compile(":after")
ENDS_A_STEP = re.compile(
    r"^commit\(.*\b(NodeDone|RunWaits|RunWoken|RunStarted|RunFinished|CallStarted|CallSucceeded|Confirmation\w+)\b.*:after$|^send\(.*:acted$"
)
"""The places behind which a run has stored something that it has done, and those at which a request took effect and was not read."""


@pytest.fixture
def postgres_lab(nursery: Nursery, lab_folder_of_runs: object, record_property: Record, postgres: object) -> RunLab:
    """The lab of runs on a real server."""
    return RunLab(nursery, lab_folder_of_runs, record_property, server=postgres)  # type: ignore[arg-type]


@pytest.mark.timeout(300)
@pytest.mark.req("G1", "G2", "S004-A2")
@pytest.mark.parametrize("way", WAYS)
async def test_killed_at_some_places(way: str, run_lab: RunLab) -> None:
    """Each write and message comes once, every run ends, and no stored answer of the model is asked for again."""
    run = await run_lab.untouched(way)
    chosen = list_points(run, behind=AFTER)
    dice = random.Random(f"{SEED} {way}")  # noqa: S311 - a plan is no secret
    assert await run_lab.walk(way, dice.sample(chosen, SAMPLE)) == {}


@pytest.mark.timeout(300)
@pytest.mark.req("G1", "G2", "S000-A13", "S002-1")
@pytest.mark.parametrize("way", ["run-scenario", "run-flow", "run-workflow"])
async def test_killed_between_any_two_steps(way: str, run_lab: RunLab) -> None:
    """Behind each thing that a scenario, flow or workflow stores, and behind each answer and call: model, tools, card, write, child, timer, messages."""
    run = await run_lab.untouched(way)
    plans = list_points(run, torn=False, behind=ENDS_A_STEP)
    assert await run_lab.walk(way, plans) == {}
    assert run_lab.figures["points"] > len(plans) * 0.8  # a busy machine may store two things at once, so that a place is not reached


@pytest.mark.timeout(300)
@pytest.mark.req("G2")
async def test_a_long_run_killed_at_its_last_node_pays_for_one(run_lab: RunLab) -> None:
    """Of 700 questions to the model, the 700th of which was answered to a process that died, one is asked again."""
    run = await run_lab.run("run-stairs", trouble=("acted", STAIRS))
    assert judge_runs(run) == []
    assert run.deaths == 1
    assert [sum(generation == number for generation, _, _ in run.world.prompts) for number in (0, 1)] == [STAIRS, 1]  # type: ignore[attr-defined]


@pytest.mark.timeout(300)
@pytest.mark.req("G1", "G2")
async def test_a_run_killed_ten_times_finishes(run_lab: RunLab) -> None:
    """Each start stores one answer and is killed: the run is not given up, and nobody is told that it was."""
    run = await run_lab.run("run-ten", kills=[death("~commit.*NodeDone.:after")] * KILLS)
    assert judge_runs(run) == []
    assert run.deaths == KILLS


@pytest.mark.crash_long
@pytest.mark.timeout(LONG)
@pytest.mark.req("G1", "G2", "S004-A2")
@pytest.mark.parametrize("way", WAYS)
async def test_killed_everywhere(way: str, run_lab: RunLab) -> None:
    """The same at every place on SQLite, with every fourth of the torn writes."""
    plans = list_points(await run_lab.untouched(way))
    assert await run_lab.walk(way, plans) == {}
    run_lab.tell(f"long, {way}: {len(plans)} places on SQLite")


@pytest.mark.crash_long
@pytest.mark.timeout(LONG)
@pytest.mark.req("G1", "G2", "S004-A2")
@pytest.mark.parametrize("way", WAYS)
async def test_killed_everywhere_on_postgresql(way: str, postgres_lab: RunLab) -> None:
    """The same at every place on PostgreSQL."""
    plans = list_points(await postgres_lab.untouched(way), torn=False)
    assert await postgres_lab.walk(way, plans) == {}
    postgres_lab.tell(f"long, {way}: {len(plans)} places on PostgreSQL")


@pytest.mark.timeout(300)
@pytest.mark.req("G1", "G2")
async def test_killed_on_postgresql(postgres_lab: RunLab) -> None:
    """One place on PostgreSQL, where the next process must wait for the lease of the dead one."""
    await postgres_lab.untouched("run-refused")
    assert await postgres_lab.walk("run-refused", [{"kills": [death("~commit.CallSucceeded.*:before")]}]) == {}
    assert postgres_lab.figures["points"] == 1


@pytest.mark.timeout(300)
@pytest.mark.req("G1", "G2")
async def test_killed_twice_while_decisions_come_late(run_lab: RunLab) -> None:
    """A process dies behind the press on a card that came ten minutes late, and the next one behind the first thing that it stored."""
    kills = [death("~ConfirmationApproved.*:after"), death("~commit.*:after")]
    run = await run_lab.run("run-plan", kills=kills, common={"late": 600.0})
    assert judge_runs(run) == []
    assert run.deaths == len(kills)


@pytest.mark.crash_long
@pytest.mark.timeout(LONG)
@pytest.mark.req("G1", "G2", "S004-A2")
@pytest.mark.parametrize("store", ["SQLite", "PostgreSQL"])
@pytest.mark.parametrize("way", WAYS)
async def test_killed_again_and_again(way: str, store: str, request: pytest.FixtureRequest) -> None:
    """Two and three deaths of one way by a fixed seed, while decisions come at once or late."""
    lab: RunLab = request.getfixturevalue("run_lab" if store == "SQLite" else "postgres_lab")
    lab.allow_giving_up()
    dice = random.Random(f"{SEED} {way} again")  # noqa: S311 - a plan is no secret
    assert await lab.walk(way, list_many_deaths(await lab.untouched(way), MANY, dice)) == {}
    lab.tell(f"long, {way}: {lab.figures['points']} deaths in {MANY} runs of two or three on {store}")


TEETH: dict[str, tuple[str, Plan]] = {
    "run_wake_apart": ("run-refused", {"kills": [death("~CallSucceeded.*:after")]}),
    "run_play_apart": ("run-silent", {"kills": [death("~RunWoken.*:after")]}),
    "run_end_apart": ("run-child", {"kills": [death("~commit.*RunFinished.*:after")]}),
    "run_start_apart": ("run-fan", {"kills": [death("commit():after")]}),
    "run_memo_ignored": ("run-refused", {"kills": [death("commit(NodeDone):after")]}),
    "run_child_twice": ("run-child", {"kills": [death("commit(RunWaits):before")]}),
    "run_wait_late": ("run-silent", {"kills": [death("commit(RunWaits,reply):before")]}),
    "run_timer_lost": ("run-plan", {"kills": [death("commit(RunWaits):after")]}),
    "run_say_again": ("run-plan", {}),
    "run_effect_anew": ("run-refused", {}),
    "run_cards_kept": ("run-cancel-waiting", {}),
    "run_retry_blind": ("run-refused", {}),
}


@pytest.mark.timeout(300)
@pytest.mark.req("G2")
@pytest.mark.parametrize("fault", TEETH)
async def test_a_planted_fault_is_found(fault: str, run_lab: RunLab) -> None:
    """A fault in the code of runs is found at the death it is about, and a program without the fault passes the same one."""
    way, plan = TEETH[fault]
    found = judge_runs(await run_lab.run(way, fault=fault, **plan))
    run_lab.fault(caught=found != [])
    assert found != []
    if plan:  # without a death, `test_killed_at_some_places` has it
        assert judge_runs(await run_lab.run(way, **plan)) == []


def test_every_planted_fault_is_tried() -> None:
    """None of the faults in `lab_run_faults` is left out."""
    assert set(TEETH) == {made.__name__ for made in PLANTED}
