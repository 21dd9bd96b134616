"""People read titles, by which runs of one scenario are told apart, and pictures of the progress, bounded, and gone at the end."""

import asyncio
from collections.abc import Sequence
from dataclasses import replace
from datetime import timedelta
from pathlib import Path
from typing import Any
from unittest.mock import patch

import pytest

from bot.i18n.translate import Translator
from bot.plugins.building import load_installed_engines
from bot.rendering.kinds import render_message
from bot.rendering.spans import to_plain_text
from examples.engines.steps import StepsEngine
from orchestrator.domain.inputs import FeatureClick
from orchestrator.domain.outputs import Notice
from orchestrator.engines.runs import Ask, Option, RunContext, RunResult, RunUpdate
from orchestrator.language.text import Locale
from orchestrator.runs.ending import build_restored_row
from orchestrator.runs.registry import RegisteredEngine, StaticDefinitions
from orchestrator.runs.titles import NONE, RunName, find_title, name_runs
from orchestrator.sessions import run_progress
from orchestrator.sessions.run_progress import MAX_CHARACTERS, RunProgress, merge_patch
from state.journal.run_index import RunFilter
from state.journal.store import InboxRow
from tests.unit.engines.flows.test_flow_chart import FLOW
from tests.unit.engines.scenarios.scenario_kit import ask, scenario
from tests.unit.runs.function_kit import a_function_world, ended
from tests.unit.runs.runs_kit import RUN, events, start, work_through
from tests.unit.runs.test_runs_wait import order
from tests.unit.spine_kit import ANNA, MODEL_KEY, NOW, World, a_world, command, message, until

FIRST, SECOND = "run:00000000-0000-8000-a000-000000111111", "run:00000000-0000-8000-a000-000000222222"
DOCUMENTS: dict[tuple[str, str], Any] = {
    ("scenario", "lead"): scenario(ask(), name="Квалификация  лида"),
    ("scenario", "bare"): {"steps": [ask()]},
}
ENGINES = replace(load_installed_engines(), definitions=StaticDefinitions(DOCUMENTS))


async def test_the_list_and_the_words_of_two_runs_of_one_scenario_name_title_and_id(tmp_path: Path) -> None:
    """/runs has them with the ends of their ids, and so has the sentence that says which one got the words; /cancel takes a title."""
    async with a_world(tmp_path, engines=ENGINES) as world:
        await work_through(world, start("lead", engine="scenario", key=FIRST), start("lead", engine="scenario", key=SECOND))
        world.outbox()
        await world.work(command("runs"))
        (listed,) = [row for row in world.outbox() if row.kind == "reply"]
        names = [(one["args"]["definition"], one["args"]["id"]) for one in listed.body["notices"] if one["code"] == "run-line"]
        assert sorted(names) == [("Квалификация лида", "111111"), ("Квалификация лида", "222222")]
        assert sorted((one["label"]["args"]["definition"], one["label"]["args"]["id"]) for one in listed.body["actions"]) == sorted(names)
        await world.work(message("Иван"))
        (told,) = [one for row in world.outbox() if row.kind == "reply" for one in row.body["notices"] if one["code"] == "run-chosen"]
        assert told["args"] == {"taken": "Квалификация лида · 222222", "waiting": "Квалификация лида · 111111", "count": 1}
        await world.work(command("cancel", args="квалификация лида"))
        assert [one.status for one in world.sql.list_runs(RunFilter(run_id=FIRST.removeprefix("run:")))] == ["cancelled"]
        await world.work(start("lead", engine="scenario", key=FIRST[:-1] + "4"))
        await world.work(start("bare", engine="scenario", key="run:00000000-0000-8000-a000-000000333333"))
        world.outbox()
        rows = world.sql.list_runs(RunFilter(statuses=("waiting",)))
        assert await name_runs(rows, ENGINES, world.store) == {
            (FIRST[:-1] + "4").removeprefix("run:"): RunName("Квалификация лида", NONE),
            "00000000-0000-8000-a000-000000333333": RunName("bare", NONE),
        }


async def test_a_run_keeps_the_title_with_which_it_began(tmp_path: Path) -> None:
    """A definition that is renamed or gone changes nothing about it, and keeps no list from being shown."""
    documents = dict(DOCUMENTS)
    engines = replace(load_installed_engines(), definitions=StaticDefinitions(documents))
    async with a_world(tmp_path, engines=engines) as world:
        await world.work(start("lead", engine="scenario", key=FIRST))
        rows = world.sql.list_runs(RunFilter())
        documents["scenario", "lead"] = scenario(ask(), name="Другое")
        assert [one.written for one in (await name_runs(rows, engines, world.store)).values()] == ["Квалификация лида"]
        documents.clear()
        assert [one.written for one in (await name_runs(rows, engines, world.store)).values()] == ["Квалификация лида"]


async def test_a_run_of_an_earlier_program_is_called_by_the_title_of_now_or_its_key(tmp_path: Path) -> None:
    """Its beginning says no title: the list looks it up, and what cannot be looked up has its key, as its messages have."""
    documents = dict(DOCUMENTS)
    engines = replace(load_installed_engines(), definitions=StaticDefinitions(documents))
    async with a_world(tmp_path, engines=engines) as world:
        with patch("orchestrator.runs.runner.find_title", lambda _document, _registered: ""):
            await world.work(start("lead", engine="scenario", key=FIRST))
        assert "title" not in find_start(world)
        rows = world.sql.list_runs(RunFilter())
        assert [one.written for one in (await name_runs(rows, engines, world.store)).values()] == ["Квалификация лида"]
        documents.clear()
        assert [one.written for one in (await name_runs(rows, engines, world.store)).values()] == ["lead"]
        assert await name_runs([rows[0]._replace(engine="gone")], engines, world.store) == {rows[0].run_id: RunName("lead")}
        await world.work(order("cancel", key=FIRST))
        assert "«lead»" in said(world, "ru")[-1]


def find_start(world: World, key: str = FIRST) -> dict[str, Any]:
    """The beginning of the run as it is stored."""
    (event,) = events(world, "RunStarted", key=key)
    return dict(event.data)


def said(world: World, language: Locale) -> list[str]:
    """What the chats were told, in words."""
    tr = Translator(language)
    return [to_plain_text(render_message(row.kind, row.body, tr)) for row in world.outbox() if row.kind == "reply"]


@pytest.mark.parametrize("language", ["ru", "en"])
async def test_every_message_about_a_run_calls_it_by_its_title(tmp_path: Path, language: Locale) -> None:
    """Reminded of, paused, restored, cancelled and failed: nobody reads a key."""
    failing = scenario({"type": "branch", "condition": "missing > 5", "branches": {}}, name="Сломанный")
    engines = replace(load_installed_engines(), definitions=StaticDefinitions({**DOCUMENTS, ("scenario", "broken"): failing}))
    async with a_world(tmp_path, engines=engines) as world:
        await world.work(command("run", args="lead"))
        (row,) = world.sql.list_runs(RunFilter())
        key = f"run:{row.run_id}"
        world.clock.advance(timedelta(hours=25))
        await world.work()
        await world.work(order("pause", key=key))
        await world.work(build_restored_row(key, "2026-11-01T00:00:00Z", world.clock.now()))
        await work_through(world, order("cancel", key=key), start("broken", engine="scenario", key=FIRST))
        rows = [one for one in world.outbox() if one.kind == "reply"]
        codes = [notice["code"] for row in rows for notice in row.body["notices"]]
        assert {"run-reminder", "run-is-paused", "run-restored"} <= set(codes)
        assert codes.count("run-ended") == 2
        tr = Translator(language)
        told = [to_plain_text(render_message(row.kind, row.body, tr)) for row in rows]
        labels = [tr.translate_notice(Notice.model_validate(one["label"])) for row in rows for one in row.body["actions"]]
        assert not [one for one in (*told, *labels) if "lead" in one or "broken" in one]
        assert sum("Квалификация лида" in one for one in told) == 4
        assert sum("Сломанный" in one for one in told) == 1


async def test_the_receipt_of_a_run_that_is_read_over_http_names_its_title(tmp_path: Path) -> None:
    """Both by the typed key and by the button of the list; what cannot be found is called as it was typed."""
    async with a_world(tmp_path, engines=ENGINES) as world:
        await work_through(world, command("run", args="lead", key="http:site"), command("run", args="nothing", key="http:site"))
        await world.work(command("run", key="http:site"))
        (words,) = [
            one["words"]
            for body in read_pulled(world)
            for one in body["actions"]
            if one["label"]["args"].get("title") == "Квалификация лида"
        ]
        await world.work(build_click(words, "http:site"))
        begun = [one["args"]["definition"] for body in read_pulled(world) for one in body["notices"] if one["code"] == "run-started"]
        assert begun == ["Квалификация лида", "nothing", "Квалификация лида"]


async def test_customers_learn_no_title_of_what_does_not_exist_for_them(tmp_path: Path) -> None:
    """Neither the receipt nor the refusal knows more than the key that they gave."""
    customer = ANNA.model_copy(update={"for_customers": True})
    async with a_world(tmp_path, engines=ENGINES) as world:
        await world.work(command("run", args="lead", key="http:site", actor=customer))
        told = str(read_pulled(world))
        assert "lead" in told
        assert "Квалификация" not in told


def read_pulled(world: World) -> list[dict[str, Any]]:
    """The messages of the HTTP session, which its client fetches."""
    stored = world.sql.read_events("session:http:site")
    return [dict(one.data["body"]) for one in stored if one.type == "AnswerGiven"]


def build_click(words: Sequence[str], key: str) -> InboxRow:
    """A press on a button with these words."""
    row = command("x", key=key)
    return replace(row, lane="express", kind=FeatureClick.KIND, body=FeatureClick(words=tuple(words), callback_id="").to_json())


@pytest.mark.parametrize(("engine", "title"), [("scenario", "Квалификация лида"), ("flow", "Проба"), ("steps", "")])
async def test_each_engine_says_the_title_of_its_definitions(tmp_path: Path, engine: str, title: str) -> None:
    """A flow has it in its metadata; an engine that knows no titles leaves the key."""
    documents = {**DOCUMENTS, ("flow", "lead"): FLOW, ("steps", "lead"): {"steps": [{"name": "a", "ask": "?"}]}}
    runs = {**load_installed_engines().runs, "steps": RegisteredEngine(engine=StepsEngine())}
    async with a_world(tmp_path, engines=replace(load_installed_engines(), runs=runs, definitions=StaticDefinitions(documents))) as world:
        await world.work(start("lead", engine=engine, key=FIRST))
        assert find_start(world).get("title", "") == title


async def test_a_child_has_a_title_of_its_own(tmp_path: Path) -> None:
    """The scenario inside is called by its own title where it stands alone, as in a list."""
    sub = {"type": "execute_sub_scenario", "params": {"sub_scenario_id": "lead", "output_mapping": []}}
    documents = {**DOCUMENTS, ("scenario", "whole"): scenario(sub, name="Весь путь")}
    async with a_world(tmp_path, engines=replace(load_installed_engines(), definitions=StaticDefinitions(documents))) as world:
        await world.work(start("whole", engine="scenario", key=FIRST))
        names = await name_runs(world.sql.list_runs(RunFilter()), ENGINES, world.store)
        assert sorted(one.written for one in names.values()) == ["Весь путь", "Квалификация лида"]


def test_a_title_that_cannot_be_read_or_is_long_keeps_no_run_from_beginning() -> None:
    """It is one line without invisible signs, of a length that a button takes."""

    def fail(_document: object) -> tuple[str, str]:
        raise ValueError("no title")

    assert find_title({}, RegisteredEngine(engine=StepsEngine(), describe=fail)) == ""
    title = find_title({}, RegisteredEngine(engine=StepsEngine(), describe=lambda _document: ("Очень\n\u202eдлинное " * 30, "")))
    assert title.startswith("Очень длинное")
    assert len(title) <= 60


EXAMPLES: list[tuple[Any, Any, Any]] = [
    ({"a": "b"}, {"a": "c"}, {"a": "c"}), ({"a": "b"}, {"b": "c"}, {"a": "b", "b": "c"}), ({"a": "b"}, {"a": None}, {}),
    ({"a": "b", "b": "c"}, {"a": None}, {"b": "c"}), ({"a": ["b"]}, {"a": "c"}, {"a": "c"}), ({"a": "c"}, {"a": ["b"]}, {"a": ["b"]}),
    ({"a": {"b": "c"}}, {"a": {"b": "d", "c": None}}, {"a": {"b": "d"}}), ({"a": [{"b": "c"}]}, {"a": [1]}, {"a": [1]}),
    (["a", "b"], ["c", "d"], ["c", "d"]), ({"a": "b"}, ["c"], ["c"]), ({"a": "foo"}, None, None), ({"a": "foo"}, "bar", "bar"),
    ({"e": None}, {"a": 1}, {"e": None, "a": 1}), ([1, 2], {"a": "b", "c": None}, {"a": "b"}),
    ({}, {"a": {"bb": {"ccc": None}}}, {"a": {"bb": {}}}),
]  # fmt: skip
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
