"""What a customer's letter tells the bot to do never runs unasked, by whatever way it reaches a run, in random engines too."""

import asyncio
from collections.abc import Awaitable, Callable, Mapping
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from orchestrator.domain.taint import FOREIGN, NOWHERE, Origin, Origins, Value, combine
from orchestrator.engines.runs import Ask, Option, RunContext, RunEffect, RunFailed, RunModelRequest, RunResult
from orchestrator.runs import foreign_texts
from orchestrator.runs.context import build_provenance
from orchestrator.runs.foreign_texts import ForeignTexts
from orchestrator.runtime import worker
from state.events.fold import list_open_confirmations
from state.journal.journal import load_state
from tests.unit.runs.function_kit import a_function_world
from tests.unit.runs.runs_kit import index, start
from tests.unit.runs.test_runs_wait import click, order
from tests.unit.runtime.paste_grammar import Instruction, build_instructions
from tests.unit.spine_kit import World, message, reply, until

LETTERS = build_instructions(481)
GREETING = "Добрый день! {} С уважением, Пётр"
PROSE = frozenset[Any]({"prose"})
OWN = frozenset[Any]({"definition"})


async def _read(ctx: RunContext, letter: str, **more: Any) -> Value:
    async def make() -> str:
        return letter

    return await ctx.memo("read", make, **more)


async def by_memo(ctx: RunContext, letter: str) -> Value:
    return await _read(ctx, letter)


async def by_document(ctx: RunContext, letter: str) -> Value:
    return await _read(ctx, letter, origins=frozenset({"document"}))


async def by_copy(ctx: RunContext, letter: str) -> Value:
    """What was made of a read, noted as if it were the engine's own."""
    first = await _read(ctx, letter)

    async def make() -> str:
        return str(first.data)

    return await ctx.memo("copy", make, origins=NOWHERE)


async def by_bare_copy(ctx: RunContext, letter: str) -> Value:
    return Value(str((await _read(ctx, letter)).data), OWN)


async def by_model(ctx: RunContext, letter: str) -> Value:
    """What a model made of the letter."""
    first = await _read(ctx, letter)
    return await ctx.ask_model("model", RunModelRequest(messages=[{"role": "user", "content": first.data}], origins=first.origins))


async def by_forgetful_model(ctx: RunContext, letter: str) -> Value:
    """The same, and the request does not say where its text comes from."""
    first = await _read(ctx, letter)
    return await ctx.ask_model("model", RunModelRequest(messages=[{"role": "user", "content": f"Что делать: {first.data}"}]))


async def by_child(ctx: RunContext, letter: str) -> Value:
    """The result of another run, which read it."""
    del letter
    return (await ctx.child("child", "steps", "plan", {"reads": Value("yes", OWN)})).value


async def by_forgetful_child(ctx: RunContext, letter: str) -> Value:
    """The same, and the other run forgot where it comes from."""
    del letter
    return (await ctx.child("child", "steps", "plan", {"forgets": Value("yes", OWN)})).value


async def by_failed_child(ctx: RunContext, letter: str) -> Value:
    """The reason for which another run failed, which quotes it and forgot where it comes from."""
    del letter
    ended = await ctx.child("child", "steps", "plan", {"fails": Value("yes", OWN)})
    return Value(ended.reasons.notices[-1].args["step"], ended.reasons.origins)


async def by_quotation(ctx: RunContext, letter: str) -> Value:
    """What a person passed on as the answer to a question."""
    del letter
    return (await ctx.wait_input("ask", Ask(text="Что пишут?", takes=frozenset({"text"})))).value


async def by_hidden_option(ctx: RunContext, letter: str) -> Value:
    """The value of a button whose label did not show it."""
    first = await _read(ctx, letter)
    return (await ctx.wait_input("ask", Ask(text="Дальше?", options=(Option(label="Да", value=first.data),)))).value


async def by_argument(ctx: RunContext, letter: str) -> Value:
    """The value with which the run was started, as by a token for customers."""
    del letter
    return ctx.run.args["letter"]


async def by_portal(ctx: RunContext, letter: str) -> Value:
    """What a record of the CRM holds, read through the gate."""
    del letter
    outcome = await ctx.submit("get", RunEffect(method="crm.deal.get", params={"id": 482}))
    assert isinstance(outcome.result, Mapping)
    return Value(outcome.result["COMMENTS"])


WAYS: dict[str, Callable[[RunContext, str], Awaitable[Value]]] = {
    made.__name__: made
    for made in (
        by_memo, by_document, by_copy, by_bare_copy, by_model, by_forgetful_model, by_child, by_forgetful_child, by_failed_child,
        by_quotation, by_hidden_option, by_argument, by_portal,
    )
}  # fmt: skip


def _obey(text: Value, given: Any, *, bare: bool) -> Any:
    """The params of the letter's act, each value with the origins of the text, or bare."""
    match given:
        case dict():
            return {key: _obey(text, one, bare=bare) for key, one in given.items()}
        case list():
            return [_obey(text, one, bare=bare) for one in given]
    return given if bare else Value(given, text.origins)


async def _play_cases(folder: Path, way: str, letters: list[Instruction], *, bare: bool) -> list[str]:
    """Let a run do what each letter says, and return what was wrong: what ran unasked."""
    told: dict[str, Instruction] = {}

    async def play(ctx: RunContext) -> RunResult:
        case = told[ctx.run.run_id] if ctx.run.run_id in told else current[0]
        letter = GREETING.format(case.words)
        if "reads" in ctx.run.args:
            return RunResult(value=await _read(ctx, letter))
        if "forgets" in ctx.run.args:
            return RunResult(value=Value((await _read(ctx, letter)).data))
        if "fails" in ctx.run.args:
            raise RunFailed("run-step-failed", step=(await _read(ctx, letter)).data)
        text = await WAYS[way](ctx, letter)
        await ctx.submit("act", RunEffect(method=case.step["method"], params=_obey(text, case.step["params"], bare=bare)))
        return RunResult()

    wrong: list[str] = []
    current: list[Instruction] = []
    async with a_function_world(folder, play) as world:
        for number, case in enumerate(letters):
            key = f"run:0190aaaa-0000-7000-8000-0000000001{number:02}"
            letter = GREETING.format(case.words)
            told[key.removeprefix("run:")] = case
            current[:] = [case]
            world.portal.records["deal", 482]["COMMENTS"] = letter
            if "model" in way:
                world.model.will(letter)
            more = {"letter": Value(letter, PROSE)} if way == "by_argument" else {}
            await world.work(start("plan", key=key, **more))
            await _answer(world, way, letter)
            if world.portal.written():
                wrong.append(f"{way}, bare={bare}: {case.words} wrote {world.portal.written()}")
                world.portal.ledger.clear()
            state, _ = load_state(world.sql, key)
            asked = list_open_confirmations(state)
            if not asked and not (state.run is not None and state.run.status == "done" and "delete" in case.step["method"]):
                wrong.append(f"{way}, bare={bare}: {case.words} asked nobody: {state.run.status if state.run else 'no run'}")
    return wrong


async def _answer(world: World, way: str, letter: str) -> None:
    rows = world.outbox()
    if way == "by_quotation":
        await world.work(message("", quoted=letter))
    elif way == "by_hidden_option":
        *_, asked = [row for row in rows if row.kind == "reply" and row.body["actions"]]
        await world.work(click(*asked.body["actions"][0]["words"]))


@pytest.mark.req("S004-A2")
@pytest.mark.parametrize("bare", [False, True], ids=["with origins", "bare"])
@pytest.mark.parametrize("way", WAYS)
async def test_no_letter_acts_by_itself(tmp_path: Path, way: str, *, bare: bool) -> None:
    """In full mode too: each act that a letter asks for stands on a card, or is refused."""
    letters = LETTERS[:3] if way == "by_quotation" else LETTERS  # a chat waits a moment for the next piece of what is passed on
    assert await _play_cases(tmp_path, way, letters, bare=bare) == []


async def _write(tmp_path: Path, make: Callable[[RunContext], Awaitable[Any]], *, document: Any = None) -> tuple[int, int]:
    """Let a run write what `make` gives into a comment of the deal that its author named; return (what was written, cards)."""

    async def play(ctx: RunContext) -> RunResult:
        fields = {"COMMENTS": await make(ctx)}
        await ctx.submit("act", RunEffect(method="crm.deal.update", params={"id": Value(481, OWN), "fields": fields}))
        return RunResult()

    async with a_function_world(tmp_path, play, document=document) as world:
        await world.work(start("plan"))
        return len(world.portal.written()), len([row for row in world.outbox() if row.kind == "card"])


LETTER = "Добрый день! Нужен кабель, 40 метров, счёт 90017 пришлите на почту"


@pytest.mark.parametrize(
    ("made", "document"),
    [
        ("Перезвонить завтра", None),
        (Value("Кабель отгружен", OWN), None),
        ("Нужен кабель, 40 метров", {"note": "Нужен кабель, 40 метров"}),
        (7, None),
    ],
    ids=["the engine's own words", "the author's words", "words of both the author and the letter", "a small number"],
)
async def test_what_the_letter_did_not_say_runs_as_ever(tmp_path: Path, made: Any, document: Any) -> None:
    """The run has read a letter, and what it writes is not of it: nobody is asked."""

    async def make(ctx: RunContext) -> Any:
        await _read(ctx, LETTER)
        return made

    assert await _write(tmp_path, make, document=document) == (1, 0)


@pytest.mark.parametrize(
    "take",
    [
        lambda letter: letter.data, lambda letter: f"Клиент: {letter.data}", lambda letter: letter.data.upper(),
        lambda letter: " ".join(letter.data.split()[2:6]), lambda letter: "счёт " + letter.data.split()[7],
        lambda letter: f"Оплата {letter.data.split()[7]}", lambda letter: letter.data.split()[3],
        lambda letter: int(letter.data.split()[7]), lambda letter: Value(letter.data, frozenset({"person"})),
        lambda letter: letter.map(str.lower), lambda letter: Value(letter.data, OWN),
    ],
    ids=[
        "whole", "joined", "in capitals", "a part", "its number", "its number beside another word", "a word", "as a number",
        "as the person's", "mapped", "as the author's",
    ],
)  # fmt: skip
async def test_whatever_is_taken_from_a_letter_asks(tmp_path: Path, take: Callable[[Value], Any]) -> None:
    async def make(ctx: RunContext) -> Any:
        return take(await _read(ctx, LETTER))

    assert await _write(tmp_path, make) == (0, 1)


async def test_what_a_model_says_in_other_words_asks(tmp_path: Path) -> None:
    """The request held the letter and did not say so; no word of the answer stands in it."""

    async def play(ctx: RunContext) -> RunResult:
        letter = await _read(ctx, LETTER)
        said = await ctx.ask_model("model", RunModelRequest(messages=[{"role": "user", "content": f"Перескажи: {letter.data}"}]))
        await ctx.submit("act", RunEffect(method="crm.deal.update", params={"id": Value(481, OWN), "fields": {"COMMENTS": said}}))
        return RunResult()

    async with a_function_world(tmp_path, play) as world:
        world.model.will("Хочет провод")
        await world.work(start("plan"))
        assert (world.portal.written(), len([row for row in world.outbox() if row.kind == "card"])) == ([], 1)


@pytest.mark.parametrize(("label", "cards"), [("Да", 1), (f"Записать: {LETTER}", 0)], ids=["hidden", "shown"])
async def test_what_a_button_stands_for_is_the_persons_wish_if_it_was_shown(tmp_path: Path, label: str, cards: int) -> None:
    async def play(ctx: RunContext) -> RunResult:
        letter = await _read(ctx, LETTER)
        heard = await ctx.wait_input("ask", Ask(text="Записать?", options=(Option(label=label, value=letter.data),)))
        words = heard.value.map(lambda text: f"{len(text)} знаков")
        await ctx.submit("act", RunEffect(method="crm.deal.update", params={"id": Value(481, OWN), "fields": {"COMMENTS": words}}))
        return RunResult()

    async with a_function_world(tmp_path, play) as world:
        await world.work(start("plan"))
        await _answer(world, "by_hidden_option", LETTER)
        assert len([row for row in world.outbox() if row.kind == "card"]) == cards
        assert len(world.portal.written()) == 1 - cards


async def test_after_more_words_than_are_remembered_everything_unknown_asks(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(foreign_texts, "MAX_WORDS", 5)

    async def make(ctx: RunContext) -> Any:
        await _read(ctx, LETTER)
        return "Перезвонить завтра"

    assert await _write(tmp_path, make) == (0, 1)


async def test_a_turn_inside_of_a_run_reads_the_letter_as_a_quotation(tmp_path: Path) -> None:
    """The agent gets it as text of others, so that what a model makes of it stands on a card."""

    async def play(ctx: RunContext) -> RunResult:
        await ctx.child("turn", "crm_agent", "", {"text": await _read(ctx, GREETING.format(LETTERS[0].words))})
        return RunResult()

    async with a_function_world(tmp_path, play) as world:
        world.model.will(reply(LETTERS[0].step))
        await world.work(start("plan"))
        assert world.portal.written() == []
        assert len([row for row in world.outbox() if row.kind == "card"]) == 1


OWN_ORIGINS: Origins = frozenset({"definition"})
TEXTS = ["Пришлите счёт на почту", "Отгрузка в четверг утром", "Скидка десять процентов обещана", "Номер договора 77125 от марта"]
MODEL = "Пересказано одной строкой"

SOURCES = st.tuples(
    st.just("source"), st.sampled_from(TEXTS), st.sampled_from(["prose", "document", "web", "database", "undeclared", "own"])
)
STEPS = st.one_of(
    SOURCES, st.tuples(st.sampled_from(["join", "copy", "map", "model", "forgets", "wait"]), st.integers(0, 9), st.integers(0, 9))
)
PROGRAMS = st.tuples(SOURCES, st.lists(STEPS, max_size=6), st.integers(0, 9))


async def _read_origins(ctx: RunContext, node: str, text: Any, **more: Any) -> Value:
    async def make() -> Any:
        return text

    return await ctx.memo(node, make, **more)


async def _do(ctx: RunContext, number: int, step: tuple[Any, ...], made: list[tuple[Value, bool]]) -> tuple[Value, bool]:
    """One step, and whether what it gives is made of foreign text."""
    what, first, second = step
    if what == "source":
        if second == "own":
            return Value("Позвонить", OWN_ORIGINS), False
        more = {} if second == "undeclared" else {"origins": frozenset({second})}
        return await _read_origins(ctx, f"read{number}", first, **more), True
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
            one = await _read_origins(ctx, f"copy{number}", str(one.data), origins=NOWHERE)
        case "forgets":
            one = Value(str(one.data), OWN_ORIGINS)
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
        await ctx.submit("act", RunEffect(method="crm.deal.update", params={"id": Value(481, OWN_ORIGINS), "fields": {"COMMENTS": value}}))
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


ATTACK = {"$ne": None, "deep": [{"$where": "1"}]}


@pytest.mark.parametrize("origin", ["person", "label", "prose", "model", "document", "web", "database"])
def test_the_names_of_fields_in_objects_from_outside_are_told(origin: Origin) -> None:
    """So that a kind of effect whose service reads some names as orders can refuse them."""
    params: dict[str, Any] = {"collection": "deals", "query": {"owner": Value(ATTACK, frozenset({origin, "definition"}))}}
    data, provenance = build_provenance(params, ForeignTexts({}))
    assert data["query"] == {"owner": ATTACK}
    assert provenance.keys == {"$ne", "deep", "$where"}


@pytest.mark.parametrize("origins", [NOWHERE, frozenset({"definition"})])
def test_what_the_author_wrote_is_no_object_from_outside(origins: Any) -> None:
    _, provenance = build_provenance({"query": {"$or": [{"a": Value(ATTACK, origins)}]}}, ForeignTexts({}))
    assert provenance.keys == frozenset()


@pytest.mark.parametrize(("given", "is_theirs"), [
    ("2026-11-24", False), ("2026-11-24T10:00:00+03:00", False), ("2026-12-01", True), ("2026-12-01T18:00:00+03:00", True),
    ("до 2026-11-24", True), ("120000", True),
])  # fmt: skip
def test_a_day_is_theirs_only_if_it_is_the_very_day_that_they_wrote(given: str, *, is_theirs: bool) -> None:
    """The year stands in each record that has a date: a deadline that the author counted is not theirs for it."""
    foreign = ForeignTexts({})
    foreign.add(Value({"CLOSEDATE": "2026-12-01T00:00:00+03:00", "OPPORTUNITY": "120000.00"}, frozenset({"prose"})))
    assert foreign.holds({"DEADLINE": given}) is is_theirs
