"""Builds the performers of effects, which only the gate calls, and what engines reach outside."""

import asyncio
from collections.abc import Mapping
from dataclasses import dataclass
from functools import partial
from typing import Final, Protocol, runtime_checkable

from bot.composition.installation import Installation
from bot.composition.numbers import build_numbers
from bot.composition.people import People
from bot.composition.portal import Portal
from bot.settings.http_credentials import load_http_credentials
from bot.settings.settings import Settings
from orchestrator.directory.agenda import load_agenda
from orchestrator.domain.bulk import BULK
from orchestrator.domain.errors import FileUnavailable
from orchestrator.domain.file_path import PathRefused, parse_path
from orchestrator.domain.http_address import OddAddress, is_listed, parse_address
from orchestrator.domain.shelf import DocumentShelf
from orchestrator.domain.standing_orders import RecordWatch
from orchestrator.engines.shared.file_access import Download, Downloaded, ReadFile
from orchestrator.features.daily.day_view import DayView
from orchestrator.features.history.pages import HistoryData, HistoryReader
from orchestrator.gate.call.gate_deps import PolicySource
from orchestrator.gate.call.kinds.http import may_be_fetched
from orchestrator.gate.call.ports import BulkFiles, Performer
from orchestrator.performers.bitrix import BitrixPerformer
from orchestrator.performers.bulk import BulkPerformer, PortalBulkFiles
from orchestrator.performers.files.folder import FileRefused, Folder
from orchestrator.performers.files.performer import FilePerformer
from orchestrator.performers.http import HttpPerformer
from orchestrator.performers.knowledge import KnowledgePerformer, KnowledgeRooms
from orchestrator.performers.numbers import Numbers
from orchestrator.performers.order import OrderPerformer
from orchestrator.performers.record_watch import MirrorWatch
from orchestrator.performers.schedule import SchedulePerformer
from orchestrator.performers.telegram import TelegramPerformer
from orchestrator.runs.registry import Engines
from orchestrator.runs.sent_items import LARGEST_FILE
from orchestrator.runs.titles import find_published_title
from orchestrator.schedules.firing import StartChecker
from orchestrator.services.http_client import DocumentClient, ServiceClients

FILES: Final = "file"
AT_ONCE: Final = 2
"""One file of 20 MB takes several times that of memory."""


@runtime_checkable
class _Closing(Protocol):
    """It has connections of its own."""

    async def aclose(self) -> None: ...


@dataclass(frozen=True, kw_only=True)
class Outside:
    performers: Mapping[str, Performer]
    services: ServiceClients
    documents: DocumentClient
    read_file: ReadFile
    download: Download
    numbers: Numbers
    bulk: BulkFiles
    day: DayView
    watch: RecordWatch
    shelf: DocumentShelf | None = None
    """None if documents are not in this process."""

    async def aclose(self) -> None:
        """The portal's connections are its own."""
        await self.services.aclose()
        await self.numbers.aclose()
        for performer in self.performers.values():
            if isinstance(performer, _Closing):
                await performer.aclose()


def build_outside(
    installation: Installation, portal: Portal, people: People, services: ServiceClients, shelf: DocumentShelf | None = None
) -> Outside:
    """Raises SettingsError for unreadable credentials.

    `services` are those of the tool agent.
    """
    settings, policies = installation.settings, installation.policies
    documents = DocumentClient(services, top_k=settings.param_rag_top_k)
    folder = Folder(settings.files_dir) if settings.files_dir is not None else None
    http = HttpPerformer(
        # connections are opened only to hosts that the policy lists when the call is made
        credentials=load_http_credentials(settings),
        may_be_private=lambda site: is_listed(site, policies.now().http_private_hosts),
    )
    numbers = build_numbers(installation, portal)
    day = DayView(
        agenda=partial(load_agenda, portal.reads, portal.naming),
        staff=portal.employees.list_working,
        present=people.refresh_actor,
        clock=installation.clock,
    )
    performers: dict[str, Performer] = {
        "bitrix": BitrixPerformer(portal.client, portal.reads, installation.store.load_blob),
        BULK: BulkPerformer(installation.store, installation.clock),
        "http": http,
        "knowledge": _build_knowledge(installation, portal, people, KnowledgeRooms(documents=documents, reports=numbers, days=day)),
        **_build_mongo(settings),
        **_build_files(installation, people, folder),
    }
    return Outside(
        performers=performers,
        services=services,
        documents=documents,
        read_file=build_file_reader(folder, policies),
        download=build_downloader(http, policies),
        numbers=numbers,
        bulk=PortalBulkFiles(installation.store, portal.reads, installation.clock),
        day=day,
        watch=MirrorWatch(numbers, portal.naming.find_title),
        shelf=shelf,
    )


def build_schedule_performer(installation: Installation, people: People, engines: Engines) -> Performer:
    checker, find_title = StartChecker(engines, people.refresh_actor), partial(find_published_title, engines=engines)
    return SchedulePerformer(installation.store, installation.clock, checker, find_title)


def build_order_performer(installation: Installation, people: People, outside: Outside) -> Performer:
    return OrderPerformer(installation.store, installation.clock, outside.watch, people.refresh_actor)


def _build_knowledge(installation: Installation, portal: Portal, people: People, rooms: KnowledgeRooms) -> Performer:
    sources = HistoryData(catalogue=installation.catalogue, names=portal.naming, records=portal.reads)
    histories = HistoryReader(installation.store, sources, installation.clock, people.refresh_actor)
    return KnowledgePerformer(installation.catalogue, installation.policies, installation.texts.help, histories, rooms)


def _build_mongo(settings: Settings) -> dict[str, Performer]:
    if settings.mongo_url is None:
        return {}
    from orchestrator.performers.mongo import MongoPerformer  # noqa: PLC0415  # the driver takes a while to load
    from orchestrator.performers.mongo_connection import MongoConnection  # noqa: PLC0415  # see above

    return {"mongo": MongoPerformer(MongoConnection(settings.mongo_url.get_secret_value()))}


def _build_files(installation: Installation, people: People, folder: Folder | None) -> dict[str, Performer]:
    """Files need FILES_DIR, messages to chats need a messenger."""
    performers: dict[str, Performer] = {} if folder is None else {FILES: FilePerformer(folder)}
    if people.messenger is not None and people.members is not None:
        performers["telegram"] = TelegramPerformer(
            people.messenger, people.members, installation.policies, folder, installation.store.load_blob
        )
    return performers


def build_file_reader(folder: Folder | None, policies: PolicySource) -> ReadFile:
    """The policy must open the folder."""

    async def read_file(path: str) -> bytes:
        if folder is None or FILES not in policies.now().open_kinds:
            raise FileUnavailable("the folder of files is not open")
        try:
            content = await asyncio.to_thread(folder.read, parse_path(path), limit=LARGEST_FILE)
        except (FileRefused, PathRefused) as refused:
            raise FileUnavailable(f"{refused.code}: {refused}") from None
        if content is None:
            raise FileUnavailable("there is no such file")
        return content.data

    return read_file


def build_downloader(http: HttpPerformer, policies: PolicySource) -> Download:
    places = asyncio.Semaphore(AT_ONCE)

    async def download(url: str, limit: int, *, fetches: bool) -> Downloaded | None:
        try:
            address = parse_address(url)
        except OddAddress as error:
            raise FileUnavailable(str(error), why="address") from None
        if not may_be_fetched(address, policies.now()):
            raise FileUnavailable(f"the policy does not open {address.site}", why="closed")
        if not fetches:
            return None
        async with places:
            content, media_type = await http.download(address, limit)
        return Downloaded(content=content, media_type=media_type)

    return download
