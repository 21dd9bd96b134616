"""Random little engines: a write with anything made of foreign text never runs unasked, whether the run is played at one go or again."""

import asyncio
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from orchestrator.domain.taint import FOREIGN, NOWHERE, Origins, Value, combine
from orchestrator.engines.runs import RunContext, RunEffect, RunModelRequest, RunResult
from orchestrator.runtime import worker
from tests.unit.runs.function_kit import a_function_world
from tests.unit.runs.runs_kit import index, start
from tests.unit.runs.test_runs_wait import order
from tests.unit.spine_kit import until

OWN: Origins = frozenset({"definition"})
TEXTS = ["Пришлите счёт на почту", "Отгрузка в четверг утром", "Скидка десять процентов обещана", "Номер договора 77125 от марта"]
MODEL = "Пересказано одной строкой"

SOURCES = st.tuples(
    st.just("source"), st.sampled_from(TEXTS), st.sampled_from(["prose", "document", "web", "database", "undeclared", "own"])
)
STEPS = st.one_of(
    SOURCES,
    st.tuples(st.sampled_from(["join", "copy", "map", "model", "forgets", "wait"]), st.integers(0, 9), st.integers(0, 9)),
)
PROGRAMS = st.tuples(SOURCES, st.lists(STEPS, max_size=6), st.integers(0, 9))


async def _read(ctx: RunContext, node: str, text: Any, **more: Any) -> Value:
    async def make() -> Any:
        return text

    return await ctx.memo(node, make, **more)


async def _do(ctx: RunContext, number: int, step: tuple[Any, ...], made: list[tuple[Value, bool]]) -> tuple[Value, bool]:
    """One step, and whether what it gives is made of foreign text."""
    what, first, second = step
    if what == "source":
        if second == "own":
            return Value("Позвонить", OWN), False
        more = {} if second == "undeclared" else {"origins": frozenset({second})}
        return await _read(ctx, f"read{number}", first, **more), True
    (one, foreign), (other, also) = made[first % len(made)], made[second % len(made)]
    match what:
        case "join":
            return combine(lambda left, right: f"{left}; {right}", one, other), foreign or also
        case "map":
            one = one.map(lambda text: str(text).upper())
        case "model":
            request = RunModelRequest(messages=[{"role": "user", "content": str(one.data)}], origins=one.origins)
            one = await ctx.ask_model(f"model{number}", request)
        case "copy":
            one = await _read(ctx, f"copy{number}", str(one.data), origins=NOWHERE)
        case "forgets":
            one = Value(str(one.data), OWN)
        case "wait":
            await ctx.sleep(f"wait{number}", ctx.now)  # what comes after it is played again from the beginning
    return one, foreign


async def _run(program: Any, folder: Path, *, again: bool) -> tuple[bool, int, int]:
    """Return (whether the write is made of foreign text, what was written, cards)."""
    first, rest, last = program
    said: list[bool] = []

    async def play(ctx: RunContext) -> RunResult:
        made: list[tuple[Value, bool]] = []
        for number, step in enumerate([first, *rest]):
            made.append(await _do(ctx, number, step, made))
        value, foreign = made[last % len(made)]
        said.append(foreign)
        await ctx.submit("act", RunEffect(method="crm.deal.update", params={"id": Value(481, OWN), "fields": {"COMMENTS": value}}))
        return RunResult()

    async with a_function_world(folder, play) as world:
        world.model.will(*[MODEL] * sum(step[0] == "model" for step in rest))
        await world.work(start("plan"))
        if again:
            await world.work(order("pause"))
            await world.work(order("resume"))
        world.model.script.clear()
        await until(lambda: index(world).status in {"done", "waiting", "failed"})
        return said[-1], len(world.portal.written()), len([row for row in world.outbox() if row.kind == "card"])


@pytest.mark.long
@pytest.mark.req("S004-A2")
@settings(max_examples=25, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(program=PROGRAMS, again=st.booleans())
def test_a_write_made_of_foreign_text_asks(program: Any, monkeypatch: pytest.MonkeyPatch, *, again: bool) -> None:
    """Where nothing foreign went into it, nobody is asked."""
    monkeypatch.setattr(worker, "POLL", 0.01)
    with TemporaryDirectory() as folder:
        foreign, written, cards = asyncio.run(_run(program, Path(folder), again=again))
    if foreign:
        assert (written, cards) == (0, 1)
    else:
        assert written + cards == 1


def test_every_foreign_origin_is_drawn() -> None:
    assert {"prose", "document", "web", "database"} == set(FOREIGN)
