"""The lab: a nursery of children, a portal and a model on loopback, and one run of a script through its deaths."""

import asyncio
import json
import os
import signal
import sqlite3
import subprocess
import sys
import threading
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from contextlib import AbstractAsyncContextManager, asynccontextmanager, closing, suppress
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Literal, Self

from state.trace import HEADER
from tests.crash.lab_portal import LabPortal
from tests.crash.lab_script import REST, answer
from tests.crash.lab_shim import Traced, traced
from tests.crash.lab_wire import Asked, serving
from tests.unit.spine_portal import deal

HERE = Path(__file__).parent
ROOT = HERE.parents[1]
DEAD = (137, -signal.SIGKILL)
"""The exit codes of those who were killed."""
UNREADABLE = -1
"""In the place of an exit code: the database cannot be read."""
Trouble = Literal["late", "acted", "cut", "cut-undone"]
"""What happens at one request: the child dies when it has arrived (and it takes effect much later), or when it has taken effect; or the
connection ends without an answer, after it took effect or without."""


WISHES = ("late", "change", "noted", "hold", "reached", "release")
HELD = 0.5
"""Seconds to wait for a request that may never come: the call that was to be held need not be made."""


class Nursery:
    """The warm process; `run` lives one child to its end. Safe to use from one thread at a time."""

    def __init__(self, shim: Path | None = None) -> None:
        """`shim` is loaded before everything else."""
        self.shim = shim

    def __enter__(self) -> Self:
        environment = {"PATH": os.environ["PATH"], "PYTHONPATH": str(ROOT), "PYTHONDONTWRITEBYTECODE": "1"}
        if self.shim is not None:
            environment["LD_PRELOAD"] = str(self.shim)
        self._process = subprocess.Popen(
            [sys.executable, str(HERE / "child.py")], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, env=environment
        )
        self._turn = threading.Lock()
        return self

    def __exit__(self, *_: object) -> None:
        self._process.communicate(timeout=60)

    def run(self, config: Mapping[str, Any]) -> int:
        """The exit code of a child with that configuration; negative for a signal."""
        feed, answers = self._process.stdin, self._process.stdout
        assert feed is not None
        assert answers is not None
        with self._turn:
            feed.write(json.dumps(dict(config)) + "\n")
            feed.flush()
            return int(answers.readline())


@dataclass(frozen=True, kw_only=True)
class Question:
    """One request to the model: in which life it was asked, about which input, and how far the turn had come by then."""

    generation: int
    pid: int
    input_id: str
    """The input that was worked on: the message, or what made its turn go on after a card."""
    text: str
    """What the person had asked for."""
    iteration: int
    is_lost: bool = False
    """Whether the answer never arrived, so that it may be asked for again."""


@dataclass
class World:
    """The outside of the product: what is counted here is what really happened."""

    portal: LabPortal = field(default_factory=LabPortal)
    generation: int = 0
    trouble: tuple[Trouble, int] | None = None
    asked: list[Question] = field(default_factory=list)
    """Every request to the model."""
    weighty: list[str] = field(default_factory=list)
    """Requests that may be troubled: changes of the portal and questions to the model."""
    late: list[tuple[str, dict[str, Any]]] = field(default_factory=list)
    heard_the_rest: bool = False
    """Whether the last piece of a paste reached the model."""
    port: int = 0
    model_waits: asyncio.Event | None = None
    """While set and not fired, the model keeps its first asker waiting."""
    model_reached: asyncio.Event = field(default_factory=asyncio.Event)
    noted: int = 0
    """How many changes had taken effect when there was room again."""
    held: str = ""
    """How the names of the requests begin that the portal keeps waiting, from the first on until they are let go."""
    reached: asyncio.Event = field(default_factory=asyncio.Event)
    let_go: asyncio.Event = field(default_factory=asyncio.Event)

    def __post_init__(self) -> None:
        for number, title in {483: "Сделка 483", 484: "Сделка 484", 485: "Двойник один", 486: "Двойник два"}.items():
            self.portal.records["deal", number] = deal(number, title, "1000.00", owner=7)

    def written(self, mark: str) -> int:
        """How often the change with that mark took effect."""
        return sum(mark in json.dumps(line, ensure_ascii=False) for line in self.portal.ledger)

    async def answering(self, asked: Asked) -> tuple[int, bytes] | None:
        """What comes of one request; None where the connection ends without an answer."""
        name, payload, pid = asked.name, json.loads(asked.body) if asked.body else {}, int(asked.headers.get("x-pid", 0))
        trouble = self._trouble_of(name, payload)
        match trouble:
            case "late":
                os.kill(pid, signal.SIGKILL)
                self.late.append((name, payload))
                return None
            case "cut-undone":
                return None
            case "acted" | "cut":
                await self._answer(asked, payload)
                if trouble == "acted":
                    os.kill(pid, signal.SIGKILL)
                if name == "completions" and self.asked:
                    self.asked[-1] = replace(self.asked[-1], is_lost=True)
                return None
            case _:
                return await self._answer(asked, payload)

    def _trouble_of(self, name: str, payload: dict[str, Any]) -> Trouble | None:
        light = (
            name.endswith((".get", ".list", ".findbycomm"))
            or name in WISHES
            or (name == "batch" and not any("update" in text for text in payload["cmd"].values()))
        )
        if light:
            return None
        self.weighty.append(name)
        kind, at = self.trouble or (None, 0)
        return kind if len(self.weighty) == at else None

    async def _answer(self, request: Asked, payload: dict[str, Any]) -> tuple[int, bytes]:
        name = request.name
        if name in WISHES:
            await self._wished(name, payload)
            return 200, b"{}"
        if name == "completions":
            said, iteration, text = answer(payload["messages"])
            self.heard_the_rest |= any(REST in item["content"] for item in payload["messages"] if item["role"] == "user")
            pid, about = int(request.headers.get("x-pid", 0)), request.headers.get(HEADER.lower(), "")
            self.asked.append(Question(generation=self.generation, pid=pid, input_id=about, text=said, iteration=iteration))
            self.model_reached.set()
            waits, self.model_waits = self.model_waits, None
            if waits is not None:
                await waits.wait()
            choice = {"index": 0, "message": {"role": "assistant", "content": text}, "finish_reason": "stop"}
            whole = {"model": "lab", "choices": [choice], "usage": {"prompt_tokens": 1, "completion_tokens": 1}}
            return 200, json.dumps(whole).encode()
        if self.held and name.startswith(self.held):
            self.reached.set()
            await self.let_go.wait()
        response = self.portal.answer(name, payload)
        return response.status_code, response.content

    def hold(self, names: str) -> None:
        """Keep requests waiting whose names begin so."""
        self.held = names
        self.reached.clear()
        self.let_go.clear()

    def release(self) -> None:
        """Let go what is kept waiting."""
        self.held = ""
        self.let_go.set()

    async def _wished(self, name: str, payload: dict[str, Any]) -> None:
        """What the person of a child wants done outside."""
        match name:
            case "late":
                for method, params in self.late:
                    if method != "completions":
                        self.portal.answer(method, params)
                self.late.clear()
            case "change":
                if "refuse" in payload:
                    self.portal.refuses = payload["refuse"]
                else:
                    self.portal.records["deal", payload.pop("deal")].update(payload, MODIFY_BY_ID="9")
            case "noted":
                self.noted = len(self.portal.ledger)
            case "hold":
                self.hold(payload["names"])
            case "reached":
                with suppress(TimeoutError):
                    await asyncio.wait_for(self.reached.wait(), HELD)
            case _:
                self.release()


@asynccontextmanager
async def opened_world() -> AsyncIterator[World]:
    """A portal and a model on a loopback port."""
    world = World()
    async with serving(world.answering) as world.port:
        yield world


@dataclass(frozen=True, kw_only=True)
class Evidence:
    """All that is left of one run."""

    script: str
    world: World
    lines: Sequence[Mapping[str, Any]]
    inbox: Sequence[tuple[str, str, str]]
    codes: Sequence[int]
    trace: Sequence[Traced] = ()
    """The calls in their order; empty without a shim."""
    troubled: bool = False
    """Whether the disk was made to fail."""

    @property
    def report(self) -> Mapping[str, Any]:
        """What the last child found in its database."""
        return next(line for line in reversed(self.lines) if line["kind"] == "report")

    @property
    def finished(self) -> bool:
        """Whether a child came to the end of the script."""
        return self.codes[-1] == 0

    @property
    def deaths(self) -> int:
        """How many children were killed."""
        return sum(code in DEAD for code in self.codes)

    @property
    def double_presses(self) -> int:
        """How many presses were taken in beyond the first of each card."""
        taken = [line["source"] for line in self.lines if line["kind"] == "acknowledged" and "/press" in line["source"]]
        again = sum(int(line["count"]) for line in self.lines if line["kind"] == "redelivered")
        return len(taken) + again - len({source.rpartition("/")[2] for source in taken})


async def one_run(
    nursery: Nursery,
    folder: Path,
    script: str,
    *,
    kills: Sequence[Mapping[str, Any]] = (),
    trouble: tuple[Trouble, int] | None = None,
    fault: str = "",
    more: Mapping[str, Any] | None = None,
    common: Mapping[str, Any] | None = None,
    held_after_death: str = "",
    opened: Callable[[], AbstractAsyncContextManager[World]] = opened_world,
    ahead: float = 0.0,
) -> Evidence:
    """The script from its beginning to its end, through the deaths that were ordered; a fresh child after each.

    `more` goes to the first child only: trouble of its disk or clock. What does not come to an end then is begun anew, as by a
    supervisor. `common` goes to every one. `opened` makes the world, and each life's clock is `ahead` seconds further than that of the last,
    so that the leases of the dead are over where they are not expired at the start.
    """
    folder.mkdir(parents=True, exist_ok=True)  # noqa: ASYNC240 - a test's own folder
    async with opened() as world:
        world.trouble = trouble
        codes = []
        for generation in range(len(kills) + 3):
            world.generation = generation
            world.release()  # whoever had held something on its way is dead
            config = {"folder": str(folder), "port": world.port, "script": script, "fault": fault, "generation": generation}
            config |= (common or {}) | ({"ahead": generation * ahead} if ahead else {})
            if generation < len(kills):
                config["kill"] = dict(kills[generation])
            if generation == 0:
                config |= more or {}
            if generation == 1 and held_after_death:
                world.hold(held_after_death)
                config["presses_while_recovering"] = True
            codes.append(await asyncio.to_thread(nursery.run, config))
            if codes[-1] not in DEAD and not (more and generation == 0 and codes[-1]):
                break
        failing = any(order.get("how") in {"nospace", "eio"} for order in (more or {}).values() if isinstance(order, dict))
        state = None if (more or {}).get("abandoned") else Path((common or {}).get("state", folder))
        seen = evidence(script, folder, world, codes, state=state)
        return replace(seen, troubled=failing or "state" in (common or {}))


def evidence(script: str, folder: Path, world: World, codes: Sequence[int], *, state: Path | None) -> Evidence:
    """What the run left behind; a look into the database of `state` tidies its write-ahead log away."""
    stored: list[tuple[str, str, str]] = []
    if state is not None and (state / "sdelka.db").exists():
        try:
            stored = inbox(state / "sdelka.db")
        except sqlite3.DatabaseError:
            codes = [*codes, UNREADABLE]
    return Evidence(script=script, world=world, lines=told(folder), inbox=stored, codes=codes, trace=traced(folder / "trace"))


def told(folder: Path) -> list[dict[str, Any]]:
    """What the person of that folder saw, and what its door acknowledged."""
    file = folder / "told.jsonl"
    return [json.loads(line) for line in file.read_text(encoding="utf-8").splitlines()] if file.exists() else []


def inbox(database: Path) -> list[tuple[str, str, str]]:
    """(id, source, status) of every input."""
    with closing(sqlite3.connect(database)) as connection:
        return list(connection.execute("select id, source, status from inbox order by pos"))
