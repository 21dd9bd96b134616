"""A change of many records and its way back, killed at places of it: the sandbox portal is a process of its own, and what it says is the truth."""

import asyncio
import json
import subprocess
from collections import Counter
from collections.abc import AsyncIterator, Iterator, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import httpx

from tests.crash.lab import DEAD, Nursery, told
from tests.crash.lab_walk import UNCOUNTED
from tests.forker import forked

SCRIPT = "bulk"
FIRST = 482
"""The first of the deals that are added for measurements."""
VALUE = "Проверено лабораторией"
CHANGE: Mapping[str, Any] = {"of": "deals", "filter": {">=ID": FIRST}, "fields": {"COMMENTS": VALUE}}
COUNT, PART = 60, 8
_LIVES = 3


@dataclass(frozen=True, kw_only=True)
class BulkEvidence:
    lines: Sequence[Mapping[str, Any]]
    calls: Sequence[Mapping[str, Any]]
    """What the portal has got and done."""
    values: Mapping[int, str]
    """The comment of each deal at the end."""
    before: Mapping[int, str]
    codes: Sequence[int]

    @property
    def report(self) -> Mapping[str, Any]:
        return next(line for line in reversed(self.lines) if line["kind"] == "report")

    @property
    def deaths(self) -> int:
        return sum(code in DEAD for code in self.codes)


class BulkPortal:
    def __init__(self, webhook: str) -> None:
        self.webhook = webhook
        self._http = httpx.AsyncClient(base_url=webhook.partition("/rest/")[0], timeout=30)

    async def reset(self) -> None:
        (await self._http.post("/sandbox/reset")).raise_for_status()
        (await self._http.delete("/sandbox/ledger")).raise_for_status()

    async def read_comments(self) -> dict[int, str]:
        rows = (await self._http.get("/sandbox/records/deal")).json()
        return {int(row["ID"]): str(row["COMMENTS"] or "") for row in rows}

    async def list_calls(self) -> list[dict[str, Any]]:
        return list((await self._http.get("/sandbox/ledger")).json()["calls"])

    async def aclose(self) -> None:
        await self._http.aclose()


@asynccontextmanager
async def serve_portal() -> AsyncIterator[BulkPortal]:
    command = forked("-m", "sandbox.portal", "--bucket", "off", "--bulk-deals", str(COUNT))
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:  # noqa: ASYNC220 - it is there before anything else
        assert process.stdout is not None
        portal = BulkPortal(json.loads(process.stdout.readline())["webhook"])
        try:
            yield portal
        finally:
            await portal.aclose()
            process.terminate()


async def kill_bulk(nursery: Nursery, folder: Path, portal: BulkPortal, kill: Mapping[str, Any] | None = None) -> BulkEvidence:
    """From the request to the way back, through at most one death; a fresh program after it."""
    folder.mkdir(parents=True)  # noqa: ASYNC240 - a test's own folder
    await portal.reset()
    before = await portal.read_comments()
    codes: list[int] = []
    for generation in range(_LIVES):
        config: dict[str, Any] = {"folder": str(folder), "port": 1, "script": SCRIPT, "generation": generation, "portal": portal.webhook}
        if generation == 0 and kill is not None:
            config["kill"] = dict(kill)
        codes.append(await asyncio.to_thread(nursery.run, config))
        if codes[-1] not in DEAD:
            break
    return BulkEvidence(
        lines=told(folder), calls=await portal.list_calls(), values=await portal.read_comments(), before=before, codes=codes
    )


def judge_bulk(run: BulkEvidence) -> list[str]:
    """What does not hold."""
    if run.codes[-1] != 0:
        return [f"the program is lost: it ended with {list(run.codes)}"]
    writes = [call for call in run.calls if call["method"] == "crm.deal.update" and call["outcome"] == "ok"]
    made = Counter(int(call["params"]["id"]) for call in writes if call["params"]["fields"]["COMMENTS"] == VALUE)
    put_back = Counter(int(call["params"]["id"]) for call in writes if call["params"]["fields"]["COMMENTS"] != VALUE)
    expected = {**run.before, **dict.fromkeys(made.keys() - put_back.keys(), VALUE)}
    return [
        *(f"{name} is broken" for name, stream in run.report["streams"].items() if stream["verified"] != "Verified"),
        *(f"deal {number} is doubled" for part in (made, put_back) for number, times in part.items() if times > 1),
        *(f"deal {number} was not on the card" for number in made if number < FIRST),
        *(f"deal {number} has {value!r}" for number, value in run.values.items() if value != expected[number]),
        *_judge_ends(run, len(made), len(put_back)),
    ]


def _judge_ends(run: BulkEvidence, made: int, put_back: int) -> Iterator[str]:
    """Each run told once what became of each record, and that is true."""
    runs, ends = run.report["runs"], _list_ends(run)
    cards = {line["body"]["confirmation_id"]: line["body"]["status"] for line in run.lines if line["kind"] == "card"}
    if "requested" in cards.values() or not cards:
        yield f"a card is lost: {cards}"
    if set(runs) - {"done"} or len(ends) != len(runs):
        yield f"a run is lost: {runs}, of which {len(ends)} told their ends"
    if len(runs) != sum(status == "executed" for status in cards.values()):
        yield f"a run is lost: {runs} for {cards}"
    for (head, *left), written, count in zip(ends, (made, put_back), (COUNT, made), strict=False):
        if (head["args"]["made"], head["args"]["count"]) != (written, count) or sum(
            one["args"]["count"] for one in left
        ) != count - written:
            yield f"a record is lost: {head} and {left} where {written} of {count} were written"


def _list_ends(run: BulkEvidence) -> list[list[Any]]:
    """The last message of each run that is over, in the order of the runs."""
    messages = {line["key"]: line["body"]["notices"] for line in run.lines if str(line.get("key")).endswith(":progress")}
    return [notices for notices in messages.values() if notices[0]["code"] == "bulk-done"]


def list_bulk_kills(run: BulkEvidence, count: int) -> list[dict[str, Any]]:
    """Deaths at so many places, evenly from the first of the freeze to the last of the way back."""
    named = enumerate(zip(run.report["labels"], run.report["names"], strict=True), start=1)
    chosen = [at if label.startswith(UNCOUNTED) else name for at, (label, name) in named]
    return [{"at": chosen[number * len(chosen) // count], "how": "kill"} for number in range(min(count, len(chosen)))]
