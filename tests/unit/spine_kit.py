"""A small world for the spine: real store, gate, client and orchestrator; the portal is scripted at the wire, the model is strict."""

import asyncio
import contextlib
import json
import sqlite3
import tempfile
from collections import deque
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping, Sequence
from contextlib import asynccontextmanager, contextmanager
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta
from functools import cache
from pathlib import Path
from typing import Any, cast
from unittest.mock import patch

import httpx
import yaml
from pydantic_settings import BaseSettings, PydanticBaseSettingsSource

from bitrix.client.client import BitrixClient
from bitrix.limits.limiter import Limiter
from bot.composition import features, installation
from bot.composition.people import People
from bot.settings.settings import Settings
from engines.crm_agent.core.prompt import AFTER_CARDS
from orchestrator.domain.actor import Actor, Mode
from orchestrator.domain.effect import Effect, Outcome, Pending, Provenance
from orchestrator.domain.inputs import read_input
from orchestrator.domain.models import ModelAnswer
from orchestrator.domain.outputs import Notice
from orchestrator.domain.shelf import DocumentShelf
from orchestrator.engines.crm_agent.agent_texts import AgentTexts, load_agent_texts
from orchestrator.features.portal_events.watcher import START, PortalWatcher
from orchestrator.gate.gate import Gate
from orchestrator.model_client.client import ModelClient
from orchestrator.runs.registry import Engines
from orchestrator.runtime.worker import Orchestrator
from orchestrator.services.http_client import ServiceClients
from orchestrator.sessions import session as sessions
from orchestrator.sessions.paused_turns import list_denied
from orchestrator.sessions.session import Session, open_session
from orchestrator.turns.feature import Feature, Files, Tools
from orchestrator.turns.turn import run_turn
from state.clock import generate_id
from state.journal.async_store import AsyncStore
from state.journal.store import InboxRow, Lane, OutboxRow, StoredEvent
from state.model.card import Card
from state.sql.dialect import build_sqlite_url, open_database
from state.sql.store import SqlStore, open_store
from tests.assembly_kit import assemble
from tests.fixed_clock import FixedClock
from tests.unit.spine_portal import WEBHOOK, Portal

NOW = datetime(2026, 11, 21, 12, 0, tzinfo=UTC)
CHAT = "tg:1007"
ANNA = Actor(key="tg:1007", name="Анна", bitrix_user_id=7)
BORIS = Actor(key="tg:1008", name="Борис", bitrix_user_id=8)
VERA = Actor(key="tg:1006", name="Вера", role="lead", bitrix_user_id=6, sees="all")
MODEL_KEY = "sk-verysecret0123456789"
DEADLINE = 30.0
OUT_OF_REACH = 3600.0
"""What a session notes is stored by the next commit: how busy the machine is changes no number of commits in a test."""
QUIET: dict[str, Any] = {"sum_jump": None}

Answer = str | ModelAnswer | Exception | Callable[[Mapping[str, Any]], str]


def watcher_of(orchestrator: Orchestrator) -> PortalWatcher:
    """What watches the portal in that process."""
    return orchestrator.tools.features.starts[START].__self__  # type: ignore[attr-defined,no-any-return]


def Said(text: str) -> ModelAnswer:  # noqa: N802 - reads as the value it gives
    """Return what the model client hands back."""
    return ModelAnswer(text=text, model="scripted", prompt_tokens=10, completion_tokens=5, finish_reason="stop", seconds=0.0)


class ScriptedModel:
    """Answers in order; an answer too many fails the test, and so does one that nobody asked for."""

    def __init__(self) -> None:
        self.script: deque[Answer] = deque()
        self.after_cards: deque[Answer] = deque()
        """The answers of turns that go on after their cards; without one the model finds that nothing is left."""
        self.prompts: list[list[dict[str, str]]] = []
        self.overrun = 0
        self.gate: asyncio.Event | None = None

    def will(self, *answers: Answer) -> None:
        self.script.extend(answers)

    def will_go_on(self, *answers: Answer) -> None:
        """Set the answers to the prompts that follow on decided cards."""
        self.after_cards.extend(answers)

    async def stream_chat(self, payload: dict[str, Any], on_delta: Callable[[str], Awaitable[None]] | None = None) -> ModelAnswer:
        self.prompts.append(payload["messages"])
        if str(payload["messages"][-1]["content"]).endswith(AFTER_CARDS):
            return Said(self._go_on(payload))
        if not self.script:
            self.overrun += 1
            msg = "the model was asked once too often"
            raise AssertionError(msg)
        answer = self.script.popleft()
        if self.gate is not None:
            await self.gate.wait()
        if isinstance(answer, Exception):
            raise answer
        if isinstance(answer, ModelAnswer):
            return answer
        text = answer if isinstance(answer, str) else answer(payload)
        if on_delta is not None:
            for start in range(0, len(text), 7):
                await on_delta(text[start : start + 7])
        return Said(text)

    def _go_on(self, payload: dict[str, Any]) -> str:
        if not self.after_cards:
            return reply(text="")
        answer = self.after_cards.popleft()
        if isinstance(answer, Exception):
            raise answer
        return answer.text if isinstance(answer, ModelAnswer) else answer if isinstance(answer, str) else answer(payload)

    def check(self) -> None:
        assert self.overrun == 0, f"the model was asked {self.overrun} times too often"
        assert not self.after_cards, f"{len(self.after_cards)} answers after cards were never asked for"
        assert not self.script, f"{len(self.script)} scripted answers were never asked for"


def reply(*steps: Mapping[str, Any], text: str = "Готово.") -> str:
    """A model answer in the agreed form."""
    return f"THOUGHT:\nдумаю\nACTION:\n{json.dumps(list(steps), ensure_ascii=False)}\nASSISTANT:\n{text}"


def step(method: str, params: Mapping[str, Any] | None = None, **more: Any) -> dict[str, Any]:
    """One step of an answer."""
    return {"method": method, "params": dict(params or {}), "comment": "так попросили", **more}


def state_of(prompt: Sequence[Mapping[str, str]]) -> Any:
    """What a prompt tells of the speaker, the time and the agent's state."""
    told = next(one["content"] for one in prompt if one["role"] == "system" and one["content"].startswith("STATE "))
    return json.loads(told.removeprefix("STATE "))


def raise_sum(amount: int | str = 1_200_000, deal: int = 481) -> dict[str, Any]:
    """The most ordinary change that asks."""
    return step("crm.deal.update", {"id": deal, "fields": {"OPPORTUNITY": amount}})


def effect(method: str, params: Mapping[str, Any] | None = None, *, slot: str = "t1/1/1", **more: Any) -> Effect:
    """An effect whose targets the person has named, and which no message has to order."""
    named = frozenset(
        f"{kind}:{number}" for kind in ("deal", "contact", "company", "lead", "task", "item:177") for number in (481, 482, 500, 43, 8017, 5)
    )
    provenance = more.pop("provenance", Provenance(message=None, targets=named, person_text="сделай"))
    return Effect(method=method, params=dict(params or {}), slot=slot, provenance=provenance, **more)


@cache
def _template() -> sqlite3.Connection:
    """A database of today's schema, made once a process."""
    memory = sqlite3.connect(":memory:", check_same_thread=False)
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "template.db"
        open_store(build_sqlite_url(path)).close()
        with contextlib.closing(sqlite3.connect(path)) as source:
            source.backup(memory)
    return memory


def memory_store() -> SqlStore:
    """The real store on a database in memory."""
    with open_database("sqlite://") as dialect:
        connection = dialect.engine.raw_connection()
        _template().backup(cast("sqlite3.Connection", connection.driver_connection))
        connection.close()
        return SqlStore(dialect)


@cache
def _shipped_rules() -> Any:
    """The shipped catalogue and policy, read once a process; without its second tap for sums that jump, which is no matter of most tests."""
    policy, catalogue = installation.load_rules(Settings(_env_file=None), Engines())
    return policy.model_copy(update=QUIET), catalogue


@cache
def _shipped_texts() -> AgentTexts:
    """The shipped texts of the prompt, which are frozen, read once a process."""
    return load_agent_texts()


class GivenSettings(Settings):
    """Settings of what a test gives and of defaults: looking for each field in the environment takes longer than the rest of a world."""

    @classmethod
    def settings_customise_sources(
        cls, settings_cls: type[BaseSettings], init_settings: PydanticBaseSettingsSource, **_: PydanticBaseSettingsSource
    ) -> tuple[PydanticBaseSettingsSource, ...]:
        return (init_settings,)


def _assembled(
    settings: Settings, store: AsyncStore, client: BitrixClient, model: ScriptedModel, people: People, *, card: bool = False, **rest: Any
) -> Orchestrator:
    build_runs = features.runs.build_feature if rest.get("engines") is not None else lambda *_, **__: Feature()
    rest["engines"] = rest.get("engines") or Engines()
    rules = _shipped_rules() if settings.policy_file is None else installation.load_rules(settings, rest["engines"])
    with (
        patch.object(installation, "load_rules", lambda *_: rules),
        patch.object(installation, "load_agent_texts", lambda _: _shipped_texts()),
        patch.object(features.runs, "build_feature", build_runs),
    ):
        made = assemble(settings, store, client, cast("ModelClient", model), people, **rest)
    made.tools = replace(
        made.tools, features=replace(made.tools.features, periodic_tasks=())
    )  # they come by the real clock, and the tests' own jumps
    if not card:  # it reads the portal in every first turn, and most tests look at what was read
        made.tools = replace(made.tools, queries={**made.tools.queries, "portal_card": build_no_card})
    return made


async def build_no_card(**_: Any) -> str:
    """The portal card of a test that does not want it."""
    return ""


@dataclass
class World:
    """Everything a spine test needs; made by `a_world`."""

    sql: SqlStore
    store: AsyncStore
    clock: FixedClock
    portal: Portal
    model: ScriptedModel
    orchestrator: Orchestrator
    client: BitrixClient
    logs: Path
    troubles: list[tuple[str, Notice]] = field(default_factory=list)
    partials: list[str] = field(default_factory=list)

    @property
    def tools(self) -> Tools:
        return self.orchestrator.tools

    @property
    def gate(self) -> Gate:
        return self.orchestrator.tools.gate

    async def session(self, key: str = CHAT, owner: str = "one") -> Session:
        """A session under its lease, as a process would open it."""
        return await open_session(self.store, self.clock, key, owner)

    async def submit(
        self, session: Session, what: Effect, *, actor: Actor = ANNA, mode: Mode = "full", turn_id: str = "t1"
    ) -> Outcome | Pending:
        """One effect through the gate."""
        denied = list_denied(turn_id, (), session.state)
        result = await self.gate.submit(what, actor=actor, mode=mode, turn_id=turn_id, ledger=session, denied=denied)
        await session.flush()  # as the end of the turn would
        return result

    async def asked(self, session: Session, what: Effect, *, actor: Actor = ANNA) -> Card:
        """The card that `what` leads to."""
        result = await self.submit(session, what, actor=actor)
        return card(session, result.confirmation_id)

    async def put(self, *rows: InboxRow) -> None:
        """Store inputs as a door does."""
        await self.store.put_inbox(rows)

    async def turn(self, session: Session, row: InboxRow) -> None:
        """Work one message as the worker does, without the worker."""
        await self.put(row)
        taken = await self.store.take_inbox(session.key, row.lane)
        assert taken is not None
        await run_turn(read_input(taken), session, self.tools)

    def events(self, *types: str, key: str = CHAT) -> list[StoredEvent]:
        """The journal of a session, or those types of it."""
        return [item for item in self.sql.read_events(f"session:{key}") if not types or item.type in types]

    def types(self, key: str = CHAT) -> list[str]:
        return [item.type for item in self.events(key=key)]

    def outbox(self, channel: str = "tg") -> list[OutboxRow]:
        """What waits to be delivered, in order; takes it off."""
        found: list[OutboxRow] = []
        while rows := self.sql.list_due_outbox(channel, self.clock.now() + timedelta(days=1)):
            found.extend(rows)
            for row in rows:
                self.sql.mark_outbox_sent(row.id, "77")
        return found

    def codes(self) -> list[str]:
        """The notices that wait to be delivered, cards as "card:<status>"."""
        return [code for row in self.outbox() for code in codes_of(row)]

    @asynccontextmanager
    async def working(self) -> AsyncIterator[Orchestrator]:
        """The orchestrator at work."""
        task = asyncio.ensure_future(self.orchestrator.run())
        try:
            yield self.orchestrator
        finally:
            task.cancel()
            await asyncio.gather(task, return_exceptions=True)

    async def idle(self) -> None:
        """Wait until nothing is left to be worked on, no timer either."""

        async def done() -> bool:
            return not self.sql.list_due_timers(self.clock.now()) and await self.orchestrator.is_idle()

        await until(done)

    async def work(self, *rows: InboxRow) -> None:
        """Take inputs in, work them to the end, stop."""
        async with self.working():
            await self.orchestrator.receive(rows)
            await self.idle()

    def audit(self) -> str:
        """Everything the audit log holds."""
        self.orchestrator.tools.audit.wait()
        return "".join(path.read_text(encoding="utf-8") for path in sorted(self.logs.glob("*.jsonl")))

    def stored_text(self) -> str:
        """Every text in the database."""
        with opening_of(self.sql) as connection:
            return "\n".join(connection.iterdump())


def opening_of(store: SqlStore) -> Any:
    """The plain connection behind a store, given back at the end."""

    @contextmanager
    def opened() -> Any:
        connection = store._database.take_connection()
        yield connection.driver_connection
        store._database.give_back(connection)

    return opened()


@asynccontextmanager
async def a_world(
    folder: Path,
    *,
    mode: Mode = "full",
    policy: Mapping[str, Any] | None = None,
    settings: Mapping[str, Any] | None = None,
    store: SqlStore | None = None,
    portal: Portal | None = None,
    card: bool = False,
    people: Sequence[Actor] = (),
    services: ServiceClients | None = None,
    engines: Engines | None = None,
    shelf: DocumentShelf | None = None,
    files: Files | None = None,
) -> AsyncIterator[World]:
    """The product on a database in memory, with a portal behind a mock transport; its portal card is empty unless `card`.

    The rights and names of `people` are found by their keys, as in an access file; everybody else keeps those of the input. It has no
    engines of runs, unless they are given: those of the program are a matter of their own tests.
    """
    sql = store or memory_store()
    wrapped = AsyncStore(sql)
    clock, model, wire = FixedClock(NOW), ScriptedModel(), portal or Portal()
    client = BitrixClient(WEBHOOK, limiter=Limiter.create_unlimited(sleep=_at_once), transport=httpx.MockTransport(wire), now=clock.now)
    path = folder / "policy.yaml" if policy is not None else None
    if path is not None:
        path.write_text(yaml.safe_dump({**QUIET, **(policy or {})}), encoding="utf-8")
    usual = {
        "bitrix_webhook_url": WEBHOOK,
        "openai_api_key": MODEL_KEY,
        "agent_mode": mode,
        "policy_file": path,
        "log_dir": folder / "logs",
        "state_dir": folder / "state",
    }
    chosen = GivenSettings(**{**usual, **(settings or {})}, _env_file=None)
    troubles: list[tuple[str, Notice]] = []
    partials: list[str] = []

    async def trouble(session: str, notice: Notice) -> None:
        troubles.append((session, notice))

    async def partial(session: str, text: str) -> None:
        partials.append(text)

    known = {one.key: one for one in people}
    orchestrator = _assembled(
        chosen,
        wrapped,
        client,
        model,
        People(report_trouble=trouble, show_partial=partial, refresh_actor=lambda actor: known.get(actor.key, actor), files=files),
        card=card,
        clock=clock,
        services=services,
        engines=engines,
        shelf=shelf,
    )
    world = World(sql, wrapped, clock, wire, model, orchestrator, client, folder / "logs", troubles, partials)
    try:
        with patch.object(sessions, "BUFFER_SECONDS", OUT_OF_REACH):
            yield world
        model.check()
    finally:
        orchestrator.tools.audit.wait(60)
        await cast("Any", orchestrator.tools.gate.deps.performers["knowledge"]).reports.aclose()
        await client.aclose()
        await wrapped.aclose()


async def _at_once(seconds: float) -> None:
    del seconds


async def until(check: Callable[[], Awaitable[bool]] | Callable[[], bool]) -> None:
    """Poll an observable state until it holds; fails after the deadline."""
    loop = asyncio.get_running_loop()
    end = loop.time() + DEADLINE
    while True:
        found = check()
        if found if isinstance(found, bool) else await found:
            return
        assert loop.time() < end, "it did not come about in time"
        await asyncio.sleep(0.002)


def card(session: Session, confirmation_id: str) -> Card:
    """A confirmation as the state holds it."""
    return session.state.cards[confirmation_id]


def codes_of(row: OutboxRow) -> Sequence[str]:
    """What a row says, as codes."""
    match row.kind:
        case "card":
            return [f"card:{row.body['status']}"]
        case "toast":
            return [f"toast:{row.body['notice']['code']}"]
        case "code":
            return ["code"]
        case _:
            return [notice["code"] for notice in row.body["notices"]] or ["reply"]


def message(text: str, *, actor: Actor = ANNA, key: str = CHAT, **body: Any) -> InboxRow:
    """A typed request."""
    return _row("message", "turn", {"text": text, "origin": "typed", **body}, actor, key)


def press(shown: Card | Mapping[str, Any], *, approve: bool = True, actor: Actor = ANNA, key: str = CHAT, **body: Any) -> InboxRow:
    """A press on a card, or on the message that shows it."""
    entry = shown if isinstance(shown, Card) else Card.from_stored(shown)
    given = {
        "confirmation_id": entry.confirmation_id,
        "nonce": entry.nonce,
        "approve": approve,
        "via": "button",
        "callback_id": generate_id(),
    }
    return _row("decision", "express", {**given, **body}, actor, key)


def command(name: str, *, actor: Actor = ANNA, key: str = CHAT, **body: Any) -> InboxRow:
    """A typed command."""
    return _row("command", "turn" if name == "new" else "express", {"name": name, **body}, actor, key)


def _row(kind: str, lane: Lane, body: Mapping[str, Any], actor: Actor, key: str) -> InboxRow:
    row_id = generate_id()
    return InboxRow(
        id=row_id,
        source=f"test:{row_id}",
        session=key,
        lane=lane,
        kind=kind,
        actor=actor.model_dump(mode="json"),
        body=body,
        received_at=NOW,
    )
