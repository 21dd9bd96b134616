"""One seed decides what befalls a conversation: deaths at places and calls, troubles on the wire, of the disk and of the clock."""

import random
from typing import Any

import pytest

from tests.crash.lab_script import PRESSES, SINGLE, TURNS
from tests.crash.lab_walk import TROUBLES, Lab, Plan

LONG = 1800
HOURS = 3600.0
LATE_BY_CLOCK = {"deny", "event"}
"""Scripts whose end comes by a timer: where the clock is set back it comes that much later, beyond the end of the script."""
DEADLY = {"late", "acted", "half", "after"}
MAX_DEATHS = 2
"""An input whose work dies a third time is given up at the fourth look, and its person told so: test_kill_points has that."""


def plan_of(seed: int) -> tuple[str, Plan]:
    """The same seed, the same plan."""
    dice = random.Random(seed)  # noqa: S311 - a plan is no secret
    script = dice.choice([*SINGLE, *TURNS, *(PRESSES if seed % 10 == 0 else ())])
    plan: dict[str, Any] = {"kills": [{"at": dice.randint(1, 90), "how": dice.choice(("kill", "exit"))} for _ in range(dice.randint(0, 2))]}
    more: dict[str, Any] = {}
    if dice.random() < 0.4:
        plan["trouble"] = (dice.choice(TROUBLES), dice.randint(1, 5))
    if dice.random() < 0.3 and script not in LATE_BY_CLOCK:
        more["jump"] = {"at": dice.randint(1, 80), "seconds": dice.choice((-24, -1, 0.1)) * HOURS}
    if dice.random() < 0.5:
        how, calls = dice.choice((("nospace", "write sdelka.db-wal"), ("eio", "flush sdelka.db-wal"), ("half", ""), ("after", "flush")))
        times = dice.choice((1, 2, 9)) if how == "nospace" else 1
        more["call"] = {"how": how, "calls": calls, "at": dice.randint(1, 60), "times": times}
    deaths = (plan.get("trouble", ("",))[0] in DEADLY) + (more.get("call", {}).get("how") in DEADLY)
    plan["kills"] = plan["kills"][: MAX_DEATHS - deaths]
    return script, plan | ({"more": more} if more else {})


@pytest.mark.timeout(300)
@pytest.mark.req("G1", "G2")
async def test_ten_seeds(lab: Lab) -> None:
    """Ten fixed ones."""
    wrong: dict[str, list[str]] = {}
    for seed in range(1, 11):
        script, plan = plan_of(seed)
        wrong |= {f"seed {seed}: {what}": found for what, found in (await lab.walk(script, [plan])).items()}
    assert wrong == {}


@pytest.mark.crash_long
@pytest.mark.timeout(LONG)
@pytest.mark.req("G1", "G2")
@pytest.mark.parametrize("part", range(4))
async def test_many_seeds(part: int, lab: Lab) -> None:
    """Three hundred, in four parts."""
    wrong: dict[str, list[str]] = {}
    for seed in range(1000 + part, 1300, 4):
        script, plan = plan_of(seed)
        wrong |= {f"seed {seed}: {what}": found for what, found in (await lab.walk(script, [plan])).items()}
    assert wrong == {}
    lab.tell(f"long, seeds {1000 + part} to 1299 by 4: {lab.count['deaths']} deaths, {lab.count['troubles']} troubles")
