"""Many runs, one after the other: which plans there are, what did not hold in which, and how much befell them in all."""

import re
import shutil
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Any

from tests.crash.lab import Evidence, Nursery, Trouble, one_run
from tests.crash.lab_checks import DOUBLED, LOST, findings

Record = Callable[[str, object], None]
Judge = Callable[[Evidence], list[str]]
Plan = Mapping[str, Any]
"""What befalls one run: arguments of `one_run`."""

TROUBLES: tuple[Trouble, ...] = ("late", "acted", "cut", "cut-undone")
WEIGHTY = re.compile(r"commit\((?!toast)|send\((?!.*\.(get|list)\))")
"""Commits, but for the answer to a press that came too late, and requests that change something."""
UNCOUNTED = ("take_inbox", "mark_outbox_sent", "acquire", "expire_leases", "release")
"""Writes of which a run has now more and now fewer: none of them is the same from run to run."""
READS = re.compile(r"\.(fields|getFields)\b")
"""Questions that change nothing, which are counted as weighty all the same."""
COUNTED = ("runs", "deaths", "troubles", "presses", "doubles", "lost", "wrong", "faults", "caught")


class Lab:
    """Runs plans in a folder of its own and counts what it sees; the count goes into the session's summary."""

    def __init__(self, nursery: Nursery, folder: Path, record: Record, *, judge: Judge = findings) -> None:
        """`record` takes the count along with the test's report; `judge` says what does not hold of a run."""
        self._judge_run = judge
        self.nursery = nursery
        self.folder = folder
        self.count = dict.fromkeys(COUNTED, 0)
        record("crash_count", self.count)
        self._record = record

    async def run(self, script: str, **plan: Any) -> Evidence:
        """One run, counted; its folder is there until the next one."""
        own = self.folder / "run"
        shutil.rmtree(own, ignore_errors=True)
        seen = await one_run(self.nursery, own, script, **plan)
        self.count["runs"] += 1
        self.count["deaths"] += seen.deaths
        self.count["presses"] += seen.double_presses
        self.count["troubles"] += (
            seen.troubled or (plan.get("trouble") or ("",))[0] in {"cut", "cut-undone"} or "jump" in plan.get("more", {})
        )
        return seen

    async def untouched(self, script: str) -> Evidence:
        """The run that nothing befalls: it must be right, and its places are the ones to die at."""
        seen = await self.run(script)
        found = self._judge_run(seen)
        assert found == [], found
        return seen

    async def walk(self, script: str, plans: Iterable[Plan]) -> dict[str, list[str]]:
        """Every plan, one after the other: what it was → what did not hold."""
        found = {}
        for plan in plans:
            seen = await self.run(script, **plan)
            if wrong := self._judge_run(seen):
                found[f"{script} {dict(plan)}"] = wrong
                self._judge(wrong)
        return found

    def _judge(self, wrong: list[str]) -> None:
        for text in wrong:
            kind = "doubles" if DOUBLED.search(text) else "lost" if LOST.search(text) else "wrong"
            self.count[kind] += 1

    def fault(self, *, caught: bool) -> None:
        """One planted fault, and whether it was caught."""
        self.count["faults"] += 1
        self.count["caught"] += caught

    def tell(self, line: str) -> None:
        """A line of the summary."""
        self._record("crash", line)


def death(at: int | str) -> dict[str, Any]:
    """One death; odd places by leaving at once, even ones and labels by the signal."""
    return {"at": at, "how": "exit" if isinstance(at, int) and at % 2 else "kill"}


def places(run: Evidence, chosen: Callable[[int, str], bool]) -> list[Plan]:
    """One plan for each place that is chosen."""
    return [{"kills": [{**death(at), "at": name}]} for at, name in name_places(run, chosen)]


def name_places(run: Evidence, chosen: Callable[[int, str], bool]) -> list[tuple[int, int | str]]:
    """Return the number of each place that is chosen, and the name under which the next run finds it again.

    How many looks for work lie before a place differs from run to run, and so does what was stored before a commit or is taken along by it.
    """
    named = enumerate(zip(run.report["labels"], run.report["names"], strict=True), start=1)
    return [(at, at if label.startswith(UNCOUNTED) else name) for at, (label, name) in named if chosen(at, label)]


def troubles(run: Evidence) -> list[Plan]:
    """One plan for each thing that can go wrong with a change of the portal or a question to the model."""
    kinds = {name: TROUBLES[:2] if name == "completions" else TROUBLES for name in run.world.weighty}
    return [{"trouble": (kind, at)} for at, name in enumerate(run.world.weighty, start=1) for kind in kinds[name]]


def calls(run: Evidence) -> list[str]:
    """Every call that the shim can trouble, in order, as "op file"."""
    return [f"{call.op} {call.what}" for call in run.trace if call.op not in {"mark", "close"}]


def in_short(at: int, label: str) -> bool:
    """Whether the short form dies here: while taking in, once a request took effect, once what matters is stored, and now and then.

    Before the next thing is the same to the world, and so is a request that took effect and was read, but of which nothing is stored yet.
    """
    if label.startswith("put_inbox"):
        return label.endswith((":before", ":after"))
    done = ":acted" if label.startswith("send(") else ":after"
    return at % 25 == 0 or (label.endswith(done) and WEIGHTY.search(label) is not None and READS.search(label) is None)


def troubles_in_short(run: Evidence) -> list[Plan]:
    """Those of changes and of questions to the model, without the death once it took effect, which is a place of its own."""
    found = [(plan["trouble"], run.world.weighty[plan["trouble"][1] - 1]) for plan in troubles(run)]
    return [{"trouble": trouble} for trouble, name in found if trouble[0] != "acted" and READS.search(name) is None]
