"""Erasing a person who has runs, or who answered in the run of somebody else."""

from base64 import b64encode
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from orchestrator.domain.outputs import build_reply
from orchestrator.engines.runs import Ask, RunContext, RunModelRequest, RunResult
from orchestrator.reports.consistency import EffectChecker
from orchestrator.reports.log_rebuild.rebuild import rebuild_records
from orchestrator.runs.feature import build_feature
from orchestrator.runs.registry import Definitions, Engines, RegisteredEngine, StaticDefinitions
from orchestrator.runtime import worker
from orchestrator.turns.feature import merge_features
from state.events.runs import NodeFailed
from state.journal.run_index import RunFilter
from state.sql import open_store
from state.verify.journal import verify_journal
from tests.unit.bot.telegram.door_kit import ANNA as ANNA_ID
from tests.unit.reports.erasing_kit import Home, everything, opened, run
from tests.unit.reports.erasing_kit import a_command as a_command  # noqa: PLC0414 - the fixtures
from tests.unit.reports.erasing_kit import a_home as a_home  # noqa: PLC0414
from tests.unit.runs.runs_kit import RUN, build_engines, events, index, start, steps
from tests.unit.runs.sent_kit import a_sent_world, contact, document, send
from tests.unit.spine_kit import ANNA, BORIS, CHAT, World, a_world, message, press

ASKED, GIVEN = "Как зовут нового покупателя?", "Синицын Пётр Аркадьевич"
NOTED = "адрес покупателя улица Лесная 7"
MINUTES, FAR = timedelta(minutes=2), datetime(2100, 1, 1, tzinfo=UTC)
LARGE = "Поставка трансформаторов заводу в Нижней Туре, письмо Воробьёва. " * 60
SECRETS = (GIVEN, NOTED, "Поставка трансформаторов", "Анна")
PLAN = steps(
    {"ask": ASKED},
    {"model": "о чём писал {s0}"},
    {"child": "inner"},
    {"write": "crm.deal.update", "params": {"id": 481, "fields": {"OPPORTUNITY": 1200000, "COMMENTS": "Покупатель {s0}"}}},
    {"say": "Сумма: {s3}"},
)
INNER = steps({"model": "кратко: {text}"}, {"sleep": 60})


class Consulting:
    """Asks Boris, writes down what he said, and waits for Anna."""

    replay = 1
    replays = frozenset({1})

    async def run(self, ctx: RunContext) -> RunResult:
        said = await ctx.wait_input("boris", Ask(text="Что скажешь?", takes=frozenset({"text"}), answers=(BORIS.key,)))
        await ctx.ask_model(
            "model", RunModelRequest(messages=[{"role": "user", "content": str(said.value.data)}], origins=said.value.origins)
        )
        await ctx.wait_input("anna", Ask(text="Дальше?", takes=frozenset({"text"}), answers=(ANNA.key,)))
        await ctx.say(build_reply(text=f"Борис: {said.value.data}"), key="end")
        return RunResult()


@pytest.fixture(autouse=True)
def quick(monkeypatch: pytest.MonkeyPatch) -> None:
    """Pauses of the loop are a matter of the real clock: shortened, not mocked away."""
    monkeypatch.setattr(worker, "POLL", 0.02)


@asynccontextmanager
async def bot(home: Home) -> AsyncIterator[World]:
    """The bot on that database, with the engines of this test."""
    async with a_world(home.folder, store=open_store(home.url)) as world:
        tools = world.orchestrator.tools
        asks = Engines(
            runs={"consult": RegisteredEngine(engine=Consulting())}, definitions=StaticDefinitions({("consult", "plan"): {"is": "code"}})
        )
        steps_ = build_engines({("steps", "plan"): PLAN, ("steps", "inner"): INNER})
        both = Engines(runs={**asks.runs, **steps_.runs}, definitions=_Both(asks.definitions, steps_.definitions))
        world.orchestrator.tools = replace(tools, features=merge_features(tools.features, build_feature(both)))
        yield world


class _Both(Definitions):
    def __init__(self, *parts: Any) -> None:
        self._parts = parts

    async def find(self, engine: str, key: str, /) -> Any:
        found = [await part.find(engine, key) for part in self._parts]
        return next((one for one in found if one is not None), None)


async def live(home: Home, *, decide: bool) -> None:
    """Anna's run asks her, gets a long answer of the model, has a child that sleeps, and waits for a card."""
    async with bot(home) as world:
        await world.work(start("plan"))
        world.model.will(LARGE, LARGE)
        await world.work(message(GIVEN))
        world.clock.advance(MINUTES)
        await world.work()
        session = await world.session(RUN)
        await session.commit(NodeFailed(node="s9", code="x", detail=NOTED), actor="system")
        if decide:
            (card,) = [one for one in session.state.cards.values() if one.is_waiting]
            await session.close()
            await world.work(press(card, key=RUN))
        else:
            await session.close()
        world.outbox()


@pytest.mark.slow
@pytest.mark.req("G2")
@pytest.mark.parametrize("home", ["file", "postgresql"], indirect=True)
@pytest.mark.parametrize("decide", [True, False])
async def test_what_the_runs_of_a_person_held_is_gone(home: Home, decide: bool) -> None:  # noqa: FBT001 - a table
    """Answers, outputs (also large ones), params, what the program noted: in the files before, in none after; the chain holds."""
    await live(home, decide=decide)
    before = everything(home)
    _, done = run(home)
    after = everything(home)
    assert [text for text in SECRETS[2:] if text.encode() not in before] == []
    assert [text for text in SECRETS if text.encode() in after] == []
    assert (done.remains, done.unproven_reasons) == ((), ())
    checked = verify_journal(home.url, judge=EffectChecker, anchors={}, progress=lambda _: None)
    assert checked.findings == []
    with opened(home) as store:
        assert [row.person for row in store.open_erasure().list_keys() if row.person.startswith("run:")] == [], "the owner's key is theirs"
        assert {row.person for row in store.open_erasure().list_keys() if not row.erased_at} <= {BORIS.key, "person:1007"}
        assert {row.owner for row in store.list_runs(RunFilter())} == {""}
        owners = {owner for stream in store.list_streams() for owner, _ in rebuild_records(store, stream, {})}
        assert "" not in owners, "no log of nobody is missed afterwards"


async def test_the_runs_of_an_erased_person_end_with_a_sentence(home: Home) -> None:
    """A run that waits for a card, and its child if it still sleeps: each ends as failed, and its chat is told why, once."""
    await live(home, decide=False)
    run(home)
    async with bot(home) as world:
        assert index(world).status == "waiting"
        await world.work()
        assert (index(world).status, index(world).owner) == ("failed", "")
        (ended,) = events(world, "RunFinished")
        assert (ended.data["code"], ended.actor) == ("run-owner-gone", "system")
        assert [code for code in world.codes() if code == "run-owner-gone"] == ["run-owner-gone"]
        assert world.portal.written() == []
    checked = verify_journal(home.url, judge=EffectChecker, anchors={}, progress=lambda _: None)
    assert [one for one in checked.findings if one.kind != "note"] == []
    with opened(home) as store:
        assert [one for one in store.list_due_timers(FAR, 10) if one.session.startswith("run:")] == []


async def test_a_second_run_of_the_command_is_not_refused_for_what_the_first_has_ordered(home: Home, command: Any) -> None:
    """No bot has worked since, so the order that ends the run waits; it is nothing that the person has asked for."""
    await live(home, decide=False)
    assert command(CHAT, "--yes")[0] == 3
    assert command(CHAT, "--yes", "--force")[0] == 0
    code, shown = command(CHAT, "--yes")
    assert (code, "Open:" in shown, "Proven" in shown) == (0, False, True)
    async with bot(home) as world:
        await world.work()
        assert index(world).status == "failed"


async def test_an_answer_in_the_run_of_somebody_else_is_gone_too(home: Home) -> None:
    """Boris answered in Anna's run. Without his words it would take another way than it took: it ends instead, and says so."""
    async with bot(home) as world:
        await world.work(start("plan", engine="consult"))
        world.model.will("Записал")
        await world.work(message(GIVEN, actor=BORIS, key=CHAT))
        assert [one.data["value"]["text"] for one in events(world, "RunWoken")] == [GIVEN]
        world.outbox()
    _, done = run(home, BORIS.key)
    assert done.remains == ()
    assert GIVEN.encode() not in everything(home)
    async with bot(home) as world:
        await world.work(message("дальше"))
        assert (index(world).status, index(world).owner) == ("failed", ANNA.key)
        assert "run-value-gone" in world.codes()


async def test_what_an_erased_person_sent_to_a_run_is_gone(home: Home) -> None:
    """A file with its name, and a contact: neither the database nor its files hold anything of them."""
    content = "Договор с покупателем Синицыным. ".encode() * 300
    async with a_sent_world(home.folder, ["document"], ["contact"], ["photo"], store=open_store(home.url)) as chat:
        chat.wire.files["doc"] = content
        await send(chat, 1, document(file_name="Синицын договор.pdf"))
        await send(chat, 2, contact(ANNA_ID, first_name="Синицын", last_name="Аркадий"))
        assert len(events(chat.world, "RunWoken")) == 2
        chat.world.outbox()
        assert b64encode(content) in everything(home)
    _, done = run(home)
    assert (done.remains, done.removed["blobs"]) == ((), 1)
    held = everything(home)
    for secret in (b64encode(content[:30]), "Синицын".encode(), b"79160000001"):
        assert secret not in held
