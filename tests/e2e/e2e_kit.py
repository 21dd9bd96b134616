"""The whole product over real HTTP: the servers, the bot in this process or as one of its own, the people of one test."""

import asyncio
import json
import os
import socket
from collections.abc import AsyncIterator, Sequence
from contextlib import AsyncExitStack, asynccontextmanager, chdir
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import httpx
import yaml
from typer.testing import CliRunner

from bot.access.access import load_access
from bot.cli.app import app
from bot.composition.bootstrap import open_orchestrator
from bot.composition.database import open_async_store
from bot.composition.installation import build_installation
from bot.composition.people import People
from bot.composition.process import run_bot
from bot.plugins.building import load_installed_engines
from bot.settings.settings import Settings
from bot.telegram.door import TelegramDoor, build_bot
from bot.telegram.intake.files import TelegramFiles
from bot.telegram.intake.people import ChatPeople
from bot.telegram.outgoing.rate_limiter import Limits, RateLimiter
from bot.token_bucket import BucketRate
from orchestrator.runs.registry import Engines
from orchestrator.runtime.worker import Orchestrator
from state.clock import Clock, SystemClock, measure_mark_age, read_boottime
from state.journal.async_store import AsyncStore
from tests.e2e.e2e_people import Person, until
from tests.e2e.e2e_servers import ROOT, TOKEN, Servers
from tests.forker import forked

_FAST = BucketRate(per_second=1000.0, burst=1000)
UNPACED = Limits(private=_FAST, group=_FAST, all=_FAST, drafts=_FAST)
"""Pacing is a matter of tests of its own; here a person writes faster than people do."""
READS = (".list", ".get", ".findbycomm", ".fields", ".getFields", "user.current", "profile", "server.time", "batch")
PEOPLE = (
    ("olga", "Ольга Романова", 1, "admin"),
    ("anna", "Анна Ковалёва", 6, "lead"),
    ("boris", "Борис Смирнов", 7, "manager"),
    ("vera", "Вера Лебедева", 8, "manager"),
)


class MovedClock:
    """The machine's clock, put forward when told."""

    def __init__(self) -> None:
        self.ahead = timedelta()

    def now(self) -> datetime:
        """The present moment and what was added to it."""
        return datetime.now(UTC) + self.ahead

    def mark(self) -> str:
        """As if the time that was added had passed."""
        return f"moved {read_boottime() + self.ahead.total_seconds():.3f}"

    def measure_since(self, mark: str) -> timedelta | None:
        """The difference."""
        return measure_mark_age(mark, "moved", read_boottime() + self.ahead.total_seconds())


@dataclass(frozen=True)
class Running:
    """The bot in this process."""

    orchestrator: Orchestrator
    store: AsyncStore


@dataclass
class World:
    """One test's world."""

    servers: Servers
    folder: Path
    portal: httpx.AsyncClient
    model: httpx.AsyncClient
    telegram: httpx.AsyncClient
    first_id: int
    running: Running | None = None
    people: dict[str, Person] = field(default_factory=dict)

    def __getattr__(self, name: str) -> Person:
        """Give the person of that name: world.boris, world.vera."""
        try:
            return self.__dict__["people"][name]  # type: ignore[no-any-return]
        except KeyError:
            raise AttributeError(name) from None

    # the bot

    def environment(self, **over: Any) -> dict[str, str]:
        """What the bot is told, as in production: nothing but environment variables."""
        told = {
            "TELEGRAM_BOT_TOKEN": TOKEN,
            "TELEGRAM_API_BASE": self.servers.telegram,
            "OPENAI_API_BASE": self.servers.model,
            "OPENAI_API_KEY": "sandbox",
            "BITRIX_WEBHOOK_URL": self.servers.webhook,
            "BITRIX_PLAN": "off",
            "AGENT_MODE": "full",
            "ACCESS_FILE": str(self.folder / "access.yaml"),
            "STATE_DIR": str(self.folder / "state"),
            "LOG_DIR": str(self.folder / "logs"),
        }
        return told | {name.upper(): str(value) for name, value in over.items()}

    async def application(self) -> dict[str, str]:
        """The settings of a local application, freshly authorised by the administrator, in place of the webhook's."""
        issued = (await self.portal.post("/sandbox/oauth", json={"user_id": 1})).json()
        return {
            "bitrix_portal": self.servers.portal,
            "bitrix_oauth_base": self.servers.portal,
            "bitrix_oauth_client_id": issued["client_id"],
            "bitrix_oauth_client_secret": issued["client_secret"],
            "bitrix_oauth_refresh_token": issued["refresh_token"],
        }

    @asynccontextmanager
    async def bot(self, *, clock: Clock | None = None, engines: Engines | None = None, **over: Any) -> AsyncIterator[Running]:
        """The bot as `sdelka run` makes it, without its signals; over the same data each time."""
        told = {name.lower(): value for name, value in self.environment(**over).items()}
        settings = Settings(_env_file=None, **told)  # type: ignore[arg-type]
        clock = clock or SystemClock()
        async with AsyncExitStack() as stack:
            store = await stack.enter_async_context(open_async_store(settings))
            access = load_access(settings.access_file)
            await access.load_registry(store)
            bot = build_bot(TOKEN, settings.telegram_api_base)
            door = TelegramDoor(bot, store, ChatPeople(access), clock, pacer=RateLimiter(UNPACED))
            engines = engines or load_installed_engines()
            people = People(
                report_trouble=door.delivery.report_trouble,
                show_partial=door.delivery.report_partial,
                refresh_actor=access.refresh_actor,
                audience=access,
                members=access,
                files=TelegramFiles(bot),
                messenger=door.messages,
            )
            made = await stack.enter_async_context(open_orchestrator(build_installation(settings, store, clock, engines), people, engines))
            working = asyncio.ensure_future(_at_work(made, door))
            self.running = Running(made, store)
            try:
                yield self.running
                if working.done():
                    await working  # the bot fell: its own error is what the test should show
            finally:
                self.running = None
                working.cancel()
                await asyncio.gather(working, return_exceptions=True)

    async def settled(self) -> None:
        """Wait until the bot in this process has nothing to work on and nothing to deliver."""
        running = self.running
        if running is None:
            return

        async def at_rest() -> bool:
            later = datetime.now(UTC) + timedelta(days=3)
            return await running.orchestrator.is_idle() and not await running.store.list_due_outbox("tg", later)

        await until(at_rest, "the bot at rest")
        running.orchestrator.tools.audit.wait()

    @asynccontextmanager
    async def process(self, *arguments: str, **over: Any) -> AsyncIterator[asyncio.subprocess.Process]:
        """`sdelka …` as a process of its own (forked from one that has imported it), killed at the end."""
        environment = {"PATH": os.environ["PATH"], "PYTHONPATH": str(ROOT), "PYTHONIOENCODING": "utf-8", **self.environment(**over)}
        with (self.folder / "bot.log").open("ab") as log:
            process = await asyncio.create_subprocess_exec(
                *forked("-m", "bot", *arguments),
                cwd=self.folder,
                env=environment,
                stdin=asyncio.subprocess.PIPE,
                stdout=asyncio.subprocess.PIPE,
                stderr=log,
            )
        try:
            yield process
        finally:
            if process.returncode is None:
                process.kill()
            await process.communicate()

    @asynccontextmanager
    async def running_bot(self, **over: Any) -> AsyncIterator[httpx.AsyncClient]:
        """All that `sdelka run` is, its HTTP door too, in this process: a process of its own takes five seconds to import the same."""
        with socket.create_server(("127.0.0.1", 0)) as free:
            port = free.getsockname()[1]
        told = {name.lower(): value for name, value in self.environment(http_port=port, **over).items() if value}
        serves = asyncio.Event()
        working = asyncio.ensure_future(run_bot(Settings(_env_file=None, **told), ready=serves.set))  # type: ignore[arg-type]
        begun = asyncio.ensure_future(serves.wait())
        try:
            await asyncio.wait({working, begun}, return_when=asyncio.FIRST_COMPLETED)
            async with httpx.AsyncClient(base_url=f"http://127.0.0.1:{port}", trust_env=False, timeout=20) as http:
                if not working.done():
                    yield http
            if working.done():
                await working  # the bot fell: its own error is what the test should show
        finally:
            for task in (begun, working):
                task.cancel()
            await asyncio.gather(begun, working, return_exceptions=True)

    async def command(self, *arguments: str, **over: Any) -> tuple[int, str]:
        """`sdelka …` in this process, with the settings of this world and no others: its exit code, and all it says.

        Not for `doctor`, which may end its whole process, nor for `run` and `chat`, which set up the log of theirs.
        """
        told = {name.upper(): None for name in Settings.model_fields} | self.environment(**over)

        def invoked() -> tuple[int, str]:
            with chdir(self.folder):
                result = CliRunner().invoke(app, arguments, env=told)
            if result.exception is not None and not isinstance(result.exception, SystemExit):
                raise result.exception
            return result.exit_code, result.output

        return await asyncio.to_thread(invoked)

    # the other parties

    async def script(self, *answers: str) -> None:
        """What the model will say, literally, before its rules speak again."""
        await _post(self.model, "/sandbox/script", {"answers": list(answers)})

    async def break_model(self, kind: str, **more: Any) -> None:
        """Spoil the model's next answers."""
        await _post(self.model, "/sandbox/faults", {"kind": kind, **more})

    async def break_portal(self, kind: str, method: str, **more: Any) -> None:
        """Spoil the portal's next answers to a method."""
        await _post(self.portal, "/sandbox/faults", {"kind": kind, "method": method, **more})

    async def prompts(self) -> list[dict[str, Any]]:
        """What the model was asked in this test."""
        found = (await self.model.get("/sandbox/requests")).json()["requests"]
        return [item for item in found if item["n"] > self.asked_before]

    async def calls(self, method: str = "") -> list[dict[str, Any]]:
        """The portal's ledger: every call that arrived, commands of a batch on lines of their own."""
        return list((await self.portal.get("/sandbox/ledger", params={"method": method})).json()["calls"])

    async def writes(self) -> list[str]:
        """The methods of the calls that are no reads, in order; a batch counts as its commands."""
        return [call["name"] or call["method"] for call in await self.calls() if not str(call["name"]).endswith(READS)]

    async def record(self, entity: str, number: int) -> dict[str, Any]:
        """A record as the portal holds it; {} when it is gone."""
        answer = await self.portal.get(f"/sandbox/records/{entity}/{number}")
        return dict(answer.json()) if answer.is_success else {}

    async def edit(self, entity: str, number: int, **fields: Any) -> None:
        """Somebody changes a record in the portal's pages."""
        answer = await self.portal.patch(f"/sandbox/records/{entity}/{number}", json=fields)
        assert answer.is_success, answer.text

    async def group(self, *members: Person) -> int:
        """A group chat of these people with the bot in it; its number."""
        body = {"title": "Отдел продаж", "members": [person.number for person in members]}
        return int((await _post(self.telegram, "/sandbox/chats", body))["chat_id"])

    # what is kept

    def audit(self) -> list[dict[str, Any]]:
        """All audit records of this test, by file and line."""
        files = sorted((self.folder / "logs").glob("*.jsonl"))
        return [json.loads(line) for file in files for line in file.read_text(encoding="utf-8").splitlines()]

    async def events(self, person: Person) -> list[Any]:
        """The journal of a person's session; the bot runs in this process."""
        assert self.running is not None
        return list(await self.running.store.read_events(f"session:{person.session}"))

    asked_before: int = 0


async def _at_work(made: Orchestrator, door: TelegramDoor) -> None:
    """Both of them, until cancelled; where one falls the other ends too."""
    async with asyncio.TaskGroup() as group:
        group.create_task(made.run())
        group.create_task(door.run(made))


async def _post(http: httpx.AsyncClient, path: str, body: Any) -> Any:
    answer = await http.post(path, json=body)
    assert answer.is_success, answer.text
    return answer.json()


@asynccontextmanager
async def opened_world(servers: Servers, folder: Path, first_id: int) -> AsyncIterator[World]:
    """Fresh records, a model without orders, and new people: nobody has met the bot before."""
    async with (
        httpx.AsyncClient(base_url=servers.portal, trust_env=False, timeout=10) as portal,
        httpx.AsyncClient(base_url=servers.model_root, trust_env=False, timeout=10) as model,
        httpx.AsyncClient(base_url=servers.telegram, trust_env=False, timeout=10) as telegram,
    ):
        world = World(servers=servers, folder=folder, portal=portal, model=model, telegram=telegram, first_id=first_id)
        await _post(portal, "/sandbox/reset", {})
        await model.delete("/sandbox/script")
        await model.delete("/sandbox/faults")
        await telegram.delete("/sandbox/faults")
        world.asked_before = (await model.get("/sandbox/requests")).json()["last"]
        await _people(world)
        yield world


async def _people(world: World) -> None:
    """Four people of the access file, each with the deals of a seeded employee, and a guest who is not in it."""
    listed = []
    for place, (key, name, bitrix, role) in enumerate((*PEOPLE, ("guest", "Гость", 0, "stranger"))):
        number = world.first_id + place
        await _post(world.telegram, "/sandbox/users", {"id": number, "first_name": name, "role": role})
        world.people[key] = Person(number, number, name, world.telegram, world.settled)
        if bitrix:
            listed.append({"telegram_id": number, "name": name, "bitrix_user_id": bitrix, "role": role})
    (world.folder / "access.yaml").write_text(yaml.safe_dump({"people": listed}, allow_unicode=True), encoding="utf-8")


def plan(*steps: dict[str, Any], say: str = "Предлагаю.") -> str:
    """A model's answer that proposes these steps."""
    return f"THOUGHT: план\nACTION: {json.dumps(list(steps), ensure_ascii=False)}\nASSISTANT: {say}"


def step(method: str, params: dict[str, Any] | None = None, **more: Any) -> dict[str, Any]:
    """One proposed call."""
    return {"method": method, "params": params or {}, "comment": "", **more}


def change_sum(deal: int, amount: Any, **more: Any) -> dict[str, Any]:
    """A step that changes the sum of a deal."""
    return step("crm.deal.update", {"id": deal, "fields": {"OPPORTUNITY": amount}}, **more)


def texts(seen: Sequence[Any]) -> str:
    """All that was shown, as one text."""
    return "\n---\n".join(message.text for message in seen)
