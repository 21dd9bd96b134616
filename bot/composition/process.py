"""Runs one process: orchestrator, doors (Telegram, HTTP API) with the people as these know them, stop signals."""

import asyncio
import contextlib
import logging
import signal
import sys
from collections.abc import Callable, Sequence
from contextlib import AsyncExitStack
from dataclasses import dataclass
from functools import partial
from importlib import import_module
from typing import TYPE_CHECKING

from bot.access.access import Access, load_access
from bot.composition.bootstrap import open_orchestrator
from bot.composition.console_door import build_link_signer
from bot.composition.database import open_async_store
from bot.composition.engines import open_lifetimes
from bot.composition.http_port import HttpParts, open_http_port
from bot.composition.installation import Installation, build_installation
from bot.composition.late_app import Work
from bot.composition.model_checks import describe_chains, log_models
from bot.composition.people import People
from bot.composition.tool_services import open_documents
from bot.http_api.api import Api
from bot.http_api.server.tokens import PREFIX
from bot.monitoring.meters import find_version
from bot.monitoring.monitor import Monitor, open_monitor, watch_loop_lag
from bot.plugins.building import load_installed_engines
from bot.plugins.loading import list_faults
from bot.settings.faults import check_required, find_misspelt
from bot.settings.model_plan import load_plan
from bot.settings.settings import Settings, list_portal_settings, parse_webhook
from bot.telegram.lazy_aiogram import import_aiogram
from orchestrator.domain.actor import Actor
from orchestrator.domain.errors import SettingsError
from orchestrator.domain.outputs import Notice
from orchestrator.features.people.access_removal import build_start_row
from orchestrator.runs.registry import Engines
from orchestrator.runtime.worker import Orchestrator
from orchestrator.sessions.paid_models import ATTACHED_MODELS
from orchestrator.turns.feature import Files
from state.clock import Clock, SystemClock
from state.journal.async_store import AsyncStore
from state.journal.process_lease import keep_process_lease
from state.journal.store import StoreError

if TYPE_CHECKING:
    from bot.telegram.door import TelegramDoor


@dataclass(frozen=True, kw_only=True)
class Doors:
    """At least one of `telegram` and `api` is there."""

    access: Access
    telegram: "TelegramDoor | None"
    api: Api | None
    files: Files | None = None

    async def report_partial(self, session: str, what: str | Notice) -> None:
        """To the session's door: text so far, or a notice."""
        if self.api is not None and session.startswith(PREFIX):
            await self.api.mailbox.report_partial(session, what)
        elif self.telegram is not None:
            await self.telegram.delivery.report_partial(session, what)

    async def report_trouble(self, session: str, notice: Notice) -> None:
        """Tell the session's door that nothing can be stored."""
        if self.api is not None and session.startswith(PREFIX):
            await self.api.mailbox.report_trouble(session, notice)
        elif self.telegram is not None:
            await self.telegram.delivery.report_trouble(session, notice)

    def build_people(self, settings: Settings) -> People:
        """Raises SettingsError for an invalid address of the console."""
        return People(
            report_trouble=self.report_trouble,
            show_partial=self.report_partial,
            refresh_actor=self.refresh_actor,
            audience=self.access,
            members=self.access,
            files=self.files,
            messenger=self.telegram.messages if self.telegram is not None else None,
            sign_link=build_link_signer(settings),
        )

    def refresh_actor(self, actor: Actor) -> Actor | None:
        """None if access was lost."""
        if actor.key.startswith(PREFIX):
            return self.api.tokens.refresh_actor(actor) if self.api is not None else None
        return self.access.refresh_actor(actor)


def build_doors(settings: Settings, store: AsyncStore, access: Access, clock: Clock) -> Doors:
    """Telegram with a bot token, the HTTP API with API tokens. Raises SettingsError."""
    api = Api(settings, store, access, clock) if settings.http_api_tokens is not None else None
    token = settings.telegram_bot_token
    if token is None:
        return Doors(access=access, telegram=None, api=api)
    hook = parse_webhook(settings.telegram_webhook_url, settings.telegram_webhook_secret)
    import_telegram(settings)
    from bot.telegram.door import TelegramDoor, build_bot  # noqa: PLC0415 - see import_telegram
    from bot.telegram.intake.files import TelegramFiles  # noqa: PLC0415 - as above
    from bot.telegram.intake.people import ChatPeople  # noqa: PLC0415 - as above

    bot = build_bot(token.get_secret_value(), settings.telegram_api_base)
    telegram = TelegramDoor(bot, store, ChatPeople(access), clock, webhook=hook, is_alone=settings.database_url is None)
    return Doors(access=access, telegram=telegram, files=TelegramFiles(bot), api=api)


def import_telegram(settings: Settings) -> None:
    """Only with a bot token: they are a third of the program."""
    if settings.telegram_bot_token is not None:
        import_aiogram()
        import_module("bot.telegram.door")


log = logging.getLogger(__name__)

_ZONES_INTERVAL = 3600.0
_TURNS_TIMEOUT = 15.0
"""In seconds; service managers wait longer."""
_DELIVERY_TIMEOUT = 5.0


async def run_bot(settings: Settings, *, ready: Callable[[], None] = lambda: None, engines: Engines | None = None) -> None:
    """Serve until SIGTERM or SIGINT. Raises SettingsError if it cannot start.

    `ready` is called once when all is started.
    """
    check_required(settings, *([] if settings.http_api_tokens else ["telegram_bot_token"]), *list_portal_settings(settings))
    for name, meant in find_misspelt():
        log.warning("there is no setting %s: was %s meant?", name, meant, extra={"action": "setting_unknown", "setting": name})
    access = load_access(settings.access_file)
    log_models(settings)
    for fault in list_faults():  # met while the engines were looked for, before there was a log
        log.error("%s", fault.describe(), extra={"action": "engine_fault", "engine": fault.engine, "slot": fault.slot})
    clock = SystemClock()
    engines = load_installed_engines() if engines is None else engines
    async with open_async_store(settings) as store, open_monitor(settings, store, clock) as monitor, AsyncExitStack() as stack:
        open_lifetimes(settings, stack)
        await access.load_registry(store)
        documents = await open_documents(settings, stack, ATTACHED_MODELS)
        doors = build_doors(settings, store, access, clock)
        if doors.telegram is not None:
            monitor.watch_bot(doors.telegram.bot)
            if not len(access):
                log.warning("nobody may use the bot yet: use ACCESS_FILE or `sdelka invite`", extra={"action": "no_access"})
        installation = build_installation(settings, store, clock, engines)
        opening = open_orchestrator(
            installation, doors.build_people(settings), engines, documents=documents, reachability=monitor.reachability
        )
        orchestrator = await stack.enter_async_context(opening)
        monitor.track_cost(lambda: installation.policies.now().budget)
        await orchestrator.receive([build_start_row(clock.now())])
        parts = HttpParts(
            settings=settings,
            orchestrator=orchestrator,
            clock=clock,
            engines=engines,
            telegram=doors.telegram,
            api=doors.api,
            monitor=monitor,
            checks=monitor.build_health_checks(orchestrator, doors.telegram.is_delivering if doors.telegram is not None else None),
            access=access,
        )

        def announce() -> None:
            log.info("ready: %s", _describe_process(settings, doors, access), extra={"action": "ready"})
            ready()

        async with open_http_port(parts) as http:
            works = [*_list_works(installation, doors, orchestrator, monitor), *([http] if http is not None else [])]
            await _run_until_stopped(partial(_serve, works, announce), partial(_stop_gracefully, doors.telegram, orchestrator))


def _describe_process(settings: Settings, doors: Doors, access: Access) -> str:
    used = [name for name, door in (("Telegram", doors.telegram), ("HTTP API", doors.api)) if door is not None]
    _, answers = next(describe_chains(load_plan(settings), settings))
    return f"version {find_version()}, mode {settings.agent_mode}, {len(access)} people, doors: {' and '.join(used)}; {answers}"


def _list_works(installation: Installation, doors: Doors, orchestrator: Orchestrator, monitor: Monitor) -> list[Work]:
    """Until the process is stopped, beside the HTTP port."""
    access, store = doors.access, installation.store
    works: list[Work] = [
        partial(access.watch_registry, store),
        partial(_refresh_zones, access, orchestrator),
        orchestrator.run,
        partial(watch_loop_lag, monitor.meters.observe_lag),
    ]
    if doors.telegram is not None:
        works.append(partial(doors.telegram.run, orchestrator))
    if doors.api is not None:
        works.append(doors.api.run)
    if installation.settings.database_url is not None:  # the embedded database belongs to one process: nobody would take over its sessions
        works.append(partial(keep_process_lease, store, installation.clock, orchestrator.owner))
    return works


async def _stop_gracefully(door: "TelegramDoor | None", orchestrator: Orchestrator) -> None:
    """What exceeds `_TURNS_TIMEOUT` or `_DELIVERY_TIMEOUT` resumes after the next start."""
    if door is not None:
        door.close()
    if not await orchestrator.finish_running(_TURNS_TIMEOUT):
        log.warning("some requests are not through yet: they go on after the next start", extra={"action": "stopped_early"})
    if door is not None:
        with contextlib.suppress(TimeoutError, StoreError):
            async with asyncio.timeout(_DELIVERY_TIMEOUT):
                await door.delivery.wait_until_empty()


async def _serve(works: Sequence[Work], ready: Callable[[], None]) -> None:
    async with asyncio.TaskGroup() as group:
        for work in works:
            group.create_task(work())
        ready()


async def _refresh_zones(access: Access, orchestrator: Orchestrator) -> None:
    """Once an hour, since people move."""
    while True:
        await access.fetch_zones(orchestrator.tools.queries["zone"])
        await asyncio.sleep(_ZONES_INTERVAL)


async def _run_until_stopped(serve: Work, wind_down: Work) -> None:
    """Serve until SIGTERM or SIGINT, then wind down, which a second signal cancels. Raises the error of `serve`."""
    stop = asyncio.Event()
    loop = asyncio.get_running_loop()
    for name in (signal.SIGTERM, signal.SIGINT):
        loop.add_signal_handler(name, stop.set)
    serving = asyncio.ensure_future(serve())
    waiting = asyncio.ensure_future(stop.wait())
    try:
        await asyncio.wait({serving, waiting}, return_when=asyncio.FIRST_COMPLETED)
        if serving.done():
            _explain(serving.exception())
        else:
            await _run_until_second_stop(wind_down, stop)
    finally:
        waiting.cancel()
        serving.cancel()
        with contextlib.suppress(asyncio.CancelledError, ExceptionGroup):
            await serving


async def _run_until_second_stop(wind_down: Work, stop: asyncio.Event) -> None:
    stop.clear()
    ending, again = asyncio.ensure_future(wind_down()), asyncio.ensure_future(stop.wait())
    await asyncio.wait({ending, again}, return_when=asyncio.FIRST_COMPLETED)
    for task in (ending, again):
        task.cancel()
    with contextlib.suppress(asyncio.CancelledError):
        await ending


def _explain(error: BaseException | None) -> None:
    """Raise it, as SettingsError for a wrong or doubly polled bot token."""
    while isinstance(error, BaseExceptionGroup) and len(error.exceptions) == 1:
        error = error.exceptions[0]
    if error is not None and "aiogram" in sys.modules:
        _explain_telegram(error)
    if error is not None:
        raise error


def _explain_telegram(error: BaseException) -> None:
    from aiogram.exceptions import TelegramConflictError, TelegramUnauthorizedError  # noqa: PLC0415 - see import_telegram

    if isinstance(error, TelegramUnauthorizedError):
        raise SettingsError("TELEGRAM_BOT_TOKEN: Telegram does not accept it") from None
    if isinstance(error, TelegramConflictError):
        raise SettingsError("another process polls with this TELEGRAM_BOT_TOKEN: stop it first") from None
