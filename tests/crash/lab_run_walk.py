"""Walks over the lab's runs: plays ways through deaths on a database of a kind, and counts what it sees."""

import random
import re
from re import Pattern
from typing import Any

from tests.crash.lab import Evidence, Nursery
from tests.crash.lab_run_checks import judge_many_deaths, judge_runs
from tests.crash.lab_run_world import opened_run_world
from tests.crash.lab_walk import Lab, Plan, Record, death, places
from tests.postgres_kit import Server

LEASED = 61.0
"""Seconds after which the lease of a dead process is over, on a database where it is not expired at the start."""
COUNTED = ("points", "doubles", "lost", "repeated", "other", "faults", "caught")
AT_REST = ("mark_outbox_sent", "expire_leases", "release", "acquire")
"""Writes that say nothing of runs: every fourth is died at."""

ANY = re.compile("")
STORED = "~commit.(NodeDone|RunWaits|RunWoken).*:after"
LATE = (0.0, 75.0, 600.0)
"""Seconds by which decisions come later."""


class RunLab(Lab):
    """The lab with the world and the judge of runs, on SQLite or on the given PostgreSQL server."""

    def __init__(self, nursery: Nursery, folder: Any, record: Record, *, server: Server | None = None) -> None:
        """`server` is the PostgreSQL server on which each run gets a fresh database; None for an SQLite file."""
        super().__init__(nursery, folder, record, judge=judge_runs)
        self._server = server
        self.figures = dict.fromkeys(COUNTED, 0)
        record("crash_runs", self.figures)

    async def run(self, script: str, **plan: Any) -> Evidence:
        """One run of a way, counted."""
        plan = {"opened": opened_run_world, **plan}
        common = plan.pop("common", {})
        if self._server is None:
            seen = await super().run(script, **plan, common=common)
        else:
            url = self._server.fresh()
            try:
                seen = await super().run(script, **plan, common={"database_url": url, **common}, ahead=LEASED)
            finally:
                self._server.drop(url)
        self.figures["points"] += seen.deaths
        return seen

    def allow_giving_up(self) -> None:
        """Find nothing in inputs that are given up after as many deaths as they have attempts."""
        self._judge_run = judge_many_deaths

    def _judge(self, wrong: list[str]) -> None:
        super()._judge(wrong)
        count_findings(self.figures, wrong)

    def fault(self, *, caught: bool) -> None:
        """One planted fault, and whether it was caught."""
        super().fault(caught=caught)
        self.figures["faults"] += 1
        self.figures["caught"] += caught


def count_findings(figures: dict[str, int], wrong: list[str]) -> None:
    """Add the findings of one run to the figures."""
    for text in wrong:
        kind = "repeated" if "asked again" in text else "doubles" if "is doubled" in text else "lost" if "is lost" in text else "other"
        figures[kind] += 1


def list_many_deaths(run: Evidence, number: int, dice: random.Random) -> list[Plan]:
    """So many plans of two or three deaths each, while every decision comes at once, after the leases are over, or late.

    Of three deaths the one in the middle comes behind something that was stored.
    """
    length = len(run.report["labels"])
    plans = []
    for count in range(number):
        first, second = dice.randint(5, length), dice.randint(1, length // 2)
        between = [death(STORED)] * (count % 2)
        plans.append({"kills": [death(first), *between, death(second)], "common": {"late": dice.choice(LATE)}})
    return plans


def list_points(run: Evidence, *, torn: bool = True, behind: Pattern[str] = ANY) -> list[Plan]:
    """One plan for each place of a way: around each commit, input and request, now and then around what says nothing of runs.

    Only places are taken whose label holds the pattern `behind`. `torn` adds every fourth of the places in the middle of a write; only a write-ahead log of a file can be torn.
    """

    def is_chosen(at: int, label: str) -> bool:
        if not behind.search(label):
            return False
        if label.endswith(":torn"):
            return torn and at % 4 == 0
        return at % 4 == 0 or not label.startswith(AT_REST)

    return places(run, is_chosen)
