"""The house of the corpus at work: the real product over the files of a folder, a portal at the wire, a model that says what it is told."""

import asyncio
import gzip
import json
import shutil
from collections import Counter
from collections.abc import AsyncIterator, Iterable, Iterator, Mapping, Sequence
from contextlib import asynccontextmanager, contextmanager
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any, cast, get_args

import httpx
from typer.testing import CliRunner, Result

# Everything of the product that the corpus is read with; modules move, and their names are changed here and nowhere else.
from bitrix.client.client import BitrixClient
from bitrix.limits.limiter import Limiter
from bot.access.access import Access, load_access
from bot.cli.app import app
from bot.composition.database import open_async_store
from bot.composition.installation import load_rules
from bot.composition.people import People
from bot.plugins.building import load_installed_engines
from bot.settings.settings import Settings
from orchestrator.domain.actor import Actor
from orchestrator.domain.outputs import Notice
from orchestrator.gate.approve.confirmations import calculate_second_nonce
from orchestrator.model_client.client import ModelClient
from orchestrator.runtime.worker import Orchestrator
from state import canonical
from state.audit_log.interaction_log import list_users, read_records
from state.clock import generate_id
from state.events import codec, fold
from state.journal import definitions, journal
from state.journal.async_store import AsyncStore
from state.journal.record_index import What
from state.journal.run_index import RunFilter
from state.journal.schedule_index import collect_schedules
from state.journal.store import EffectStatus, InboxRow, OutboxRow, Store, StoredEvent
from state.model.session_state import SessionState
from state.sql.dialect import build_sqlite_url
from state.sql.store import open_store
from tests.assembly_kit import assemble
from tests.fixed_clock import FixedClock
from tests.unit.spine_kit import ScriptedModel, reply, until
from tests.unit.spine_portal import WEBHOOK, Portal, deal, user

# The end of them.

CORPUS = Path(__file__).parent
HOUSES = ("house_v1", "house_v2")
FIRST_DAY = datetime(2026, 11, 18, 8, 0, tzinfo=UTC)
CHAT, GROUP, SITE, TERMINAL = "tg:1007", "tg:-100200300:5", "http:site:form", "cli:local"
OPS = Actor(key="cli:local", name="local", role="admin", sees="all", bitrix_user_id=1)
CUSTOMER = Actor(key="http:site", name="site", bitrix_user_id=7, sees="all")
FAR = datetime(2100, 1, 1, tzinfo=UTC)
_USERS = {1: "Дина Ильина", 6: "Вера Белова", 7: "Анна Ковалёва", 8: "Борис Седов", 9: "Захар Уваров", 10: "Глеб Орлов"}


class HousePortal(Portal):
    """A portal with employees, deals of one name, and many deals; `records` can be kept and taken up again."""

    def __init__(self, kept: Mapping[str, Any] | None = None) -> None:
        super().__init__()
        self.away: set[int] = set()
        """Employees who were dismissed."""
        for number in range(600, 630):
            self.records["deal", number] = deal(number, f"Поставка {number}", f"{number}00.00", owner=7)
        self.records["deal", 701] = deal(701, "Двойник", "1000.00", owner=8)
        self.records["deal", 702] = deal(702, "Двойник", "2000.00", owner=8)
        if kept is not None:
            self.records = {(kind, number): record for kind, number, record in kept["records"]}
            self.bindings, self._next = kept["bindings"], kept["next"]

    def load(self) -> dict[str, Any]:
        """What it holds, as JSON data."""
        return {"records": [[*key, record] for key, record in self.records.items()], "bindings": self.bindings, "next": self._next}

    def _reference(self, method: str, params: dict[str, Any]) -> Any:
        match method:
            case "user.get":
                return [user(number, *name.split()) | {"ACTIVE": number not in self.away} for number, name in _USERS.items()]
            case "server.time":
                return "2026-11-18T11:00:00+03:00"
            case "profile":
                return {"ID": "1", "TIME_ZONE": "Europe/Moscow"}
            case _:
                return super()._reference(method, params)


class Hearing:
    """Recordings that are the words themselves."""

    async def read(self, file_id: str, limit: int) -> bytes:
        return file_id.encode()[:limit]

    async def transcribe(self, recording: bytes, *, language: str) -> str:
        return recording.decode()


def settings_of(folder: Path) -> Settings:
    """Those of a house in that folder."""
    return Settings(
        bitrix_webhook_url=WEBHOOK,
        openai_api_key="test",
        agent_mode="full",
        state_dir=folder,
        log_dir=folder / "logs",
        policy_file=folder / "policy.yaml",
        access_file=folder / "access.yaml",
        _env_file=None,
    )


def copied(name: str, folder: Path) -> Path:
    """A copy of a house to work with: `sdelka.db`, `logs`, `policy.yaml`, `access.yaml`."""
    shutil.copytree(CORPUS / name, folder, dirs_exist_ok=True)
    if (archive := folder / "sdelka.db.gz").exists():
        (folder / "sdelka.db").write_bytes(gzip.decompress(archive.read_bytes()))
        archive.unlink()
    return folder


def ordered(folder: Path, *words: str) -> Result:
    """A command of `sdelka` on the house in that folder; `by` is told as "ops"."""
    settings = {
        "STATE_DIR": folder,
        "LOG_DIR": folder / "logs",
        "ACCESS_FILE": folder / "access.yaml",
        "POLICY_FILE": folder / "policy.yaml",
    }
    env = {name: str(value) for name, value in settings.items()} | {"DATABASE_URL": None, "LOGNAME": "ops", "BITRIX_WEBHOOK_URL": WEBHOOK}
    return CliRunner().invoke(app, list(words), env=env)


@dataclass
class House:
    """Everything that a scene needs."""

    folder: Path
    store: AsyncStore
    clock: FixedClock
    portal: HousePortal
    model: ScriptedModel
    orchestrator: Orchestrator
    access: Access
    sent: int = 0

    def actor(self, number: int) -> Actor:
        """A person who may use the bot, by the number of their account."""
        found = self.access.find_actor(number)
        assert found is not None, number
        return found

    async def work(self, *rows: InboxRow) -> None:
        """Hand inputs in and wait until nothing is left to do, no timer either."""
        await self.orchestrator.receive(rows)
        await until(self._rests)

    async def _rests(self) -> bool:
        rests = not await self.store.list_due_timers(self.clock.now()) and await self.orchestrator.is_idle()  # a due timer becomes an input
        if not rests:
            for look in self.store.listeners:  # or what is due is looked for once a second
                look()
        return rests

    async def says(self, who: Actor, text: str, *answers: str | Exception, session: str = "", **body: Any) -> None:
        """A request in words, and what the model answers; all answers are asked for."""
        self.model.will(*answers)
        await self.work(self.message(who, text, session=session, **body))
        assert not self.model.script, "an answer of the model was not asked for"

    def message(self, who: Actor, text: str, *, session: str = "", **body: Any) -> InboxRow:
        return self.row("message", {"text": text, "origin": "typed", **body}, who, session, lane="turn")

    def pressed(self, who: Actor, entry: Mapping[str, Any], *, approve: bool = True, session: str = "", **body: Any) -> InboxRow:
        """A press on a card by its last button."""
        nonce = calculate_second_nonce(entry["nonce"]) if entry.get("taps", 1) > 1 and approve else entry["nonce"]
        given = {
            "confirmation_id": entry["confirmation_id"],
            "nonce": nonce,
            "approve": approve,
            "via": "button",
            "callback_id": generate_id(),
        }
        return self.row("decision", {**given, **body}, who, session)

    def button(self, who: Actor, *words: str, session: str = "") -> InboxRow:
        """A press on a button of a feature."""
        return self.row("press", {"words": list(words), "callback_id": generate_id(), "message_id": 1}, who, session)

    def command(self, who: Actor, name: str, args: str = "", *, session: str = "") -> InboxRow:
        return self.row("command", {"name": name, "args": args}, who, session, lane="turn" if name == "new" else "express")

    def row(
        self, kind: str, body: Mapping[str, Any], who: Actor | Mapping[str, Any], session: str = "", *, lane: Any = "express"
    ) -> InboxRow:
        """An input as a door stores it."""
        actor = who.model_dump(mode="json") if isinstance(who, Actor) else who
        number = generate_id()
        now = self.clock.now()
        return InboxRow(
            id=number,
            source=f"test:{number}",
            session=session or str(actor["key"]),
            lane=lane,
            kind=kind,
            actor=actor,
            body=body,
            received_at=now,
        )

    async def told(self) -> list[OutboxRow]:
        """What waits to be delivered in Telegram, in order; it is delivered now."""
        found: list[OutboxRow] = []
        while rows := await self.store.list_due_outbox("tg", self.clock.now() + timedelta(days=1)):
            for row in rows:
                self.sent += 1
                await self.store.mark_outbox_sent(row.id, str(9000 + self.sent))
            found.extend(rows)
        return found

    async def cards(self, session: str = CHAT, status: str = "requested") -> list[dict[str, Any]]:
        """The cards of a session that stand so, oldest first."""
        state, _ = await self.store.read(journal.load_state, f"session:{session}")
        return [item.to_stored() for item in state.agent.confirmations.values() if item.status == status]

    async def events(self, *types: str, session: str = CHAT) -> list[StoredEvent]:
        """The journal of a session, or those types of it."""
        return [event for event in await self.store.read(all_events, f"session:{session}") if not types or event.type in types]

    async def make_rounds(self) -> None:
        """What the features look after now and then."""
        for look in self.rounds:
            await look(self.orchestrator.receive, self.clock.now())
        await self.work()

    def __post_init__(self) -> None:
        """Rounds come when a scene says so, and not by the machine's clock."""
        tools = self.orchestrator.tools
        self.rounds = tools.features.periodic_tasks
        self.orchestrator.tools = replace(tools, features=replace(tools.features, periodic_tasks=(), frequent_tasks=()))


@asynccontextmanager
async def opened_house(folder: Path, clock: FixedClock, portal: HousePortal) -> AsyncIterator[House]:
    """The product started on the files of that folder, at work until the end."""
    settings, model = settings_of(folder), ScriptedModel()
    access = load_access(settings.access_file)
    client = BitrixClient(WEBHOOK, limiter=Limiter.create_unlimited(sleep=_at_once), transport=httpx.MockTransport(portal), now=clock.now)
    async with open_async_store(settings) as store:
        await access.load_registry(store)
        people = People(
            report_trouble=_trouble,
            show_partial=_partial,
            refresh_actor=lambda actor: access.refresh_actor(actor) or actor,
            audience=access,
            members=access,
            files=Hearing(),
        )
        orchestrator = assemble(settings, store, client, cast("ModelClient", model), people, clock=clock, transcriber=Hearing())
        house = House(folder, store, clock, portal, model, orchestrator, access)
        working = asyncio.ensure_future(orchestrator.run())
        try:
            yield house
        finally:
            working.cancel()
            await asyncio.gather(working, return_exceptions=True)
            orchestrator.tools.audit.wait()
            await client.aclose()


async def _trouble(session: str, notice: Notice) -> None:
    raise AssertionError(f"{session}: {notice}")


async def _partial(session: str, text: str) -> None:
    del session, text


async def _at_once(seconds: float) -> None:
    del seconds


@asynccontextmanager
async def reopened(folder: Path, died_at: str) -> AsyncIterator[House]:
    """The bot on a house eleven hours after its death; everything that waited has been worked."""
    clock = FixedClock(datetime.fromisoformat(died_at) + timedelta(hours=11))
    async with opened_house(folder, clock, HousePortal(read_json(folder / "portal.json"))) as made:
        made.model.will(*[answer] * 5)
        await made.work()
        yield made


def answer(payload: Mapping[str, Any]) -> str:
    """What the model says again to the runs that died while they waited for it, and to other requests."""
    first, last = (str(payload["messages"][place]["content"]) for place in (0, -1))
    effect = {"method": "crm.deal.update", "params": {"id": 617, "fields": {"OPPORTUNITY": "70004"}}}
    if first.startswith("Ты предлагаешь"):
        return json.dumps({"operations": [effect], "said": "Записал: 70004"})
    return "тариф за 70004" if "Опиши тариф" in last else reply(text="Хорошо.")


LISTS = ((1007, "history", "сделка 481"), (1007, "history", ""), (1007, "pending", ""), (1001, "pending", ""), (1001, "runs", ""))


_LISTED = ("notices", "entries", "confirmation_id")


async def told_in_chats(folder: Path, died_at: str) -> dict[str, Any]:
    """What the bot answers to commands that list, once it works again: sentences as codes, entries of the history, cards by their ids."""
    answers: dict[str, Any] = {}
    async with reopened(folder, died_at) as house:
        await house.told()
        for who, command, words in LISTS:
            await house.work(house.command(house.actor(who), command, words))
            rows = [row.body for row in await house.told()]
            answers[f"{who} {command} {words}"] = [next(body[part] for part in _LISTED if body.get(part)) for body in rows]
    return answers


def all_events(store: Store, stream: str) -> list[StoredEvent]:
    """A whole stream."""
    found: list[StoredEvent] = []
    while page := store.read_events(stream, after=len(found)):
        found.extend(page)
    return found


def folded(store: Store, stream: str) -> SessionState:
    """The state of a stream from its first event on, without the help of a snapshot."""
    events = ((event.type, dict(event.data), event.ts) for event in all_events(store, stream))
    return fold.fold_events(fold.create_state(), events)


KEPT_THEN = 20
"""How many lines of the history the version of the corpus kept."""


def as_then(state: SessionState) -> dict[str, Any]:
    """A state in its stored form, without what later versions keep beside what was kept then.

    That is the turn of each line of the history, and the lines before its last twenty: the version of the corpus dropped
    them one by one, later ones drop ten turns at a time.
    """
    stored = state.to_stored()
    lines = [{name: value for name, value in line.items() if name != "turn_id"} for line in stored["history"][-KEPT_THEN:]]
    return {**stored, "history": lines}


def digest(value: Any) -> str:
    """The hash of the canonical form."""
    return canonical.hash_text(value if isinstance(value, str) else canonical.dumps(value))


def encoded_again(event: StoredEvent, stored: str) -> str:
    """The clear part of an event, as today's classes write it, with the sealed text of what is `stored` in its place."""
    made = codec.encode(codec.decode(event.type, event.v, dict(event.data)))
    kept = canonical.loads(stored).get(codec.SEALED)
    if made.personal_text:
        return codec.insert_sealed(made.clear, kept)
    return made.clear if kept is None else canonical.dumps({**canonical.loads(made.clear), codec.SEALED: kept})


def stored_data(store: Store, stream: str) -> list[str]:
    """The data of each record of a stream as it lies there."""
    found: list[str] = []
    while page := store.read_encrypted(stream, after=len(found)):
        found.extend(data for _, _, data in page)
    return found


@contextmanager
def store_of(folder: Path) -> Iterator[Any]:
    """The database in that folder, upgraded where it has to be."""
    store = open_store(build_sqlite_url(folder / "sdelka.db"))
    try:
        yield store
    finally:
        store.close()


def same_version(event: StoredEvent) -> bool:
    """Whether the class of the event has the version that it was written with."""
    return event.v == codec.type_names[event.type].V


def opened_rules(folder: Path) -> Any:
    """Policy and catalogue of the house."""
    return load_rules(settings_of(folder), load_installed_engines())


def told_of(folder: Path) -> dict[str, Any]:
    """What the program says of the database in that folder, as JSON data."""
    with store_of(folder) as store:
        return _told(store)


FULL = (f"session:{CHAT}", "session:access")
"""The streams whose state is kept in full."""


def _told(store: Any) -> dict[str, Any]:
    streams = sorted(store.list_streams())
    events = {stream: all_events(store, stream) for stream in streams}
    states = {stream: folded(store, stream) for stream in streams}
    effects = [row for stream in streams for status in get_args(EffectStatus) for row in store.list_effects(stream, status)]
    timers = [
        [timer.id, timer.kind, timer.session, timer.due_at.isoformat(), dict(timer.body)]
        for timer in store.list_due_timers(FAR, limit=1000)
    ]
    return {
        "streams": {stream: _of_stream(store, stream, events[stream], states[stream]) for stream in streams},
        "states": {stream: as_then(states[stream]) for stream in FULL if stream in states},
        "open_cards": {
            stream: [one.to_stored() for one in found] for stream, state in states.items() if (found := fold.list_open_confirmations(state))
        },
        "events": dict(sorted(Counter(event.type for stream in streams for event in events[stream]).items())),
        "effects": {row.effect_id: [row.stream, row.status, digest(dict(row.call))] for row in effects},
        "timers": sorted(timers),
        "inbox": [[row.source, row.kind, row.session, row.lane] for row in _waiting(store)],
        "outbox": sorted(
            [row.session, row.kind, digest(dict(row.body))]
            for channel in ("tg", "http", "cli")
            for row in store.list_due_outbox(channel, FAR)
        ),
        "erased": sorted([row.person, row.erased_at] for row in store.open_erasure().list_keys() if row.erased_at),
        "frozen": store.get_value("freeze"),
        "blobs": {key: digest(store.load_blob(key) or "") for key in blob_keys(events)},
        "mentions": {what: len(store.list_index_entries("deal:481", what)) for what in get_args(What)},
        "runs": sorted([row.engine, row.definition, row.version, row.status, row.run_id, row.home] for row in store.list_runs(RunFilter())),
        "definitions": [_of_definition(store, head) for head in definitions.list_keys(store)],
        "schedules": [[one.schedule, one.home, one.entry.status, one.entry.due, one.entry.definition] for one in collect_schedules(store)],
    }


def blob_keys(events: Mapping[str, Sequence[StoredEvent]]) -> list[str]:
    """The large answers that the events speak of and that are left."""
    return sorted({key for found in events.values() for event in found if (key := str(event.data.get("result_blob") or ""))})


def _of_definition(store: Any, head: Any) -> list[Any]:
    versions = [definitions.find_version(store, head.kind, head.key, number) for number in range(1, head.last_version + 1)]
    texts = [[one.status, one.active, digest(one.document)] for one in versions if one is not None]
    return [head.kind, head.key, head.title, head.enabled, head.active_version, texts]


COMMANDS = (
    "budget --month 2026-11 --json",
    "journal erase --list --json",
    "freeze --status --json",
    "journal why deal 481 --json",
    "journal why deal 615 --json",
)


def told_by_commands(folder: Path, commands: Iterable[str] = COMMANDS) -> dict[str, Any]:
    """What commands print that read the house and depend on no present moment."""
    return {words: [json.loads(line) for line in ordered(folder, *words.split()).stdout.splitlines()] for words in commands}


def logs_of(logs: Path) -> dict[str, list[str]]:
    """The finished records in a folder of audit logs, by user, each as a hash of all but its place in the chain, which old ones have."""
    return {
        user: [digest({name: value for name, value in record.items() if name != "chain"}) for record in read_records(logs, user)]
        for user in list_users(logs)
    }


def _of_stream(store: Any, stream: str, events: Sequence[StoredEvent], state: SessionState) -> dict[str, Any]:
    snapshot = store.load_snapshot(stream)
    return {
        "records": len(events),
        "head": list(store.read_head(stream)),
        "state": digest(as_then(state)),
        "told": digest([dict(event.data) for event in events]),
        "erased": sum(event.erased for event in events),
        "snapshot": snapshot.seq if snapshot else 0,
    }


def _waiting(store: Any) -> list[InboxRow]:
    return [row for session, lane in store.list_ready_sessions() for row in store.list_waiting_inbox(session, lane)]


def read_json(path: Path) -> Any:
    """A file of the corpus."""
    return json.loads(path.read_text(encoding="utf-8"))
