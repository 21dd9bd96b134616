"""What runs show of their progress: pictures and their changes, which are bounded, cleaned, and gone when the run has ended."""

import asyncio
from pathlib import Path
from typing import Any

import pytest

from orchestrator.engines.runs import Ask, Option, RunContext, RunResult, RunUpdate
from orchestrator.sessions import run_progress
from orchestrator.sessions.run_progress import MAX_CHARACTERS, RunProgress, merge_patch
from tests.unit.runs.function_kit import a_function_world, ended
from tests.unit.runs.runs_kit import RUN, start
from tests.unit.spine_kit import MODEL_KEY, NOW, until

EXAMPLES: list[tuple[Any, Any, Any]] = [
    ({"a": "b"}, {"a": "c"}, {"a": "c"}),
    ({"a": "b"}, {"b": "c"}, {"a": "b", "b": "c"}),
    ({"a": "b"}, {"a": None}, {}),
    ({"a": "b", "b": "c"}, {"a": None}, {"b": "c"}),
    ({"a": ["b"]}, {"a": "c"}, {"a": "c"}),
    ({"a": "c"}, {"a": ["b"]}, {"a": ["b"]}),
    ({"a": {"b": "c"}}, {"a": {"b": "d", "c": None}}, {"a": {"b": "d"}}),
    ({"a": [{"b": "c"}]}, {"a": [1]}, {"a": [1]}),
    (["a", "b"], ["c", "d"], ["c", "d"]),
    ({"a": "b"}, ["c"], ["c"]),
    ({"a": "foo"}, None, None),
    ({"a": "foo"}, "bar", "bar"),
    ({"e": None}, {"a": 1}, {"e": None, "a": 1}),
    ([1, 2], {"a": "b", "c": None}, {"a": "b"}),
    ({}, {"a": {"bb": {"ccc": None}}}, {"a": {"bb": {}}}),
]
"""The examples of RFC 7396, appendix A: what was there, the patch, what comes of it."""


@pytest.mark.parametrize(("target", "patch", "expected"), EXAMPLES)
def test_a_patch_does_what_its_standard_says(target: Any, patch: Any, expected: Any) -> None:
    assert merge_patch(target, patch) == expected


def test_a_change_says_which_picture_it_changes() -> None:
    """So that a client that has missed one takes the whole."""
    progress = RunProgress()
    progress.show_snapshot(RUN, {"done": 0})
    first = progress.find(RUN)
    progress.show_patch(RUN, {"done": 1})
    second = progress.find(RUN)
    assert first is not None
    assert second is not None
    assert (second.snapshot, second.patch, second.after) == ({"done": 1}, {"done": 1}, first.number)


def test_a_change_of_nothing_is_the_whole_picture() -> None:
    progress = RunProgress()
    progress.show_patch(RUN, {"done": 1})
    shown = progress.find(RUN)
    assert shown is not None
    assert (shown.snapshot, shown.patch) == ({"done": 1}, None)


def test_what_is_too_large_is_dropped_and_the_picture_stays() -> None:
    progress = RunProgress()
    assert progress.show_snapshot(RUN, {"text": "а"})
    assert not progress.show_snapshot(RUN, {"text": "а" * MAX_CHARACTERS})
    assert not progress.show_patch(RUN, {"more": "а" * MAX_CHARACTERS})
    shown = progress.find(RUN)
    assert shown is not None
    assert shown.snapshot == {"text": "а"}


def test_the_oldest_picture_makes_room(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(run_progress, "MAX_RUNS", 2)
    progress = RunProgress()
    for key in ("run:1", "run:2"):
        progress.show_snapshot(key, {})
    progress.show_patch("run:1", {"done": 1})
    progress.show_snapshot("run:3", {})
    assert [key for key in ("run:1", "run:2", "run:3") if progress.find(key) is not None] == ["run:1", "run:3"]


async def test_an_engine_shows_its_picture_cleaned_and_its_draft(tmp_path: Path) -> None:
    """Secrets and unknown links are taken out, a picture that is no JSON fails the run, and the end of the run takes the picture away."""

    async def play(ctx: RunContext) -> RunResult:
        await ctx.show(RunUpdate(text="Считаю", snapshot={"nodes": {"a": f"ключ {MODEL_KEY}", "b": "http://evil.example/x"}}), node="a")
        await ctx.show(RunUpdate(patch={"nodes": {"b": "готово"}}), node="b")
        await ctx.wait_input("ask", Ask(text="Дальше?", options=(Option(label="Да", value=1),)))
        return RunResult()

    async with a_function_world(tmp_path, play) as world:
        await world.work(start("plan"))
        shown = world.tools.progress.find(RUN)
        assert shown is not None
        assert shown.snapshot["nodes"]["b"] == "готово"
        assert MODEL_KEY not in str(shown.snapshot)
        assert any("Считаю" in str(partial) for partial in world.partials)


async def test_the_end_of_a_run_takes_its_picture_away(tmp_path: Path) -> None:
    goes = asyncio.Event()

    async def play(ctx: RunContext) -> RunResult:
        await ctx.show(RunUpdate(snapshot={"done": 0}), node="a")
        await goes.wait()
        return RunResult()

    async with a_function_world(tmp_path, play) as world, world.working() as orchestrator:
        await orchestrator.receive([start("plan")])
        await until(lambda: world.tools.progress.find(RUN) is not None)
        goes.set()
        await until(lambda: bool(ended(world)))
        await world.idle()
        assert world.tools.progress.find(RUN) is None


async def test_a_picture_that_is_no_json_fails_the_run_with_a_sentence(tmp_path: Path) -> None:
    async def play(ctx: RunContext) -> RunResult:
        await ctx.show(RunUpdate(snapshot={"at": NOW}), node="a")
        return RunResult()

    async with a_function_world(tmp_path, play) as world:
        await world.work(start("plan"))
        assert ended(world) == [("failed", "run-bad-value")]
