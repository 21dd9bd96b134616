"""Builds who acts on the outside: the performers of all kinds of effects, and what engines reach there. Part of the composition root.

Nothing but this module makes performers; the gate is their only caller.
"""

import asyncio
from collections.abc import Mapping
from dataclasses import dataclass
from functools import partial
from typing import Final, Protocol, runtime_checkable

from bot.composition.installation import Installation
from bot.composition.people import People
from bot.composition.portal import Portal
from bot.settings.http_credentials import load_http_credentials
from bot.settings.settings import Settings
from orchestrator.domain.errors import FileUnavailable
from orchestrator.domain.file_path import PathRefused, parse_path
from orchestrator.domain.http_address import OddAddress, is_listed, parse_address
from orchestrator.domain.shelf import DocumentShelf
from orchestrator.engines.shared.file_access import Download, Downloaded, ReadFile
from orchestrator.features.history.reader import HistoryData, HistoryReader
from orchestrator.gate.call.gate_deps import PolicySource
from orchestrator.gate.call.kinds.http import may_be_fetched
from orchestrator.gate.call.ports import Performer
from orchestrator.performers.bitrix import BitrixPerformer
from orchestrator.performers.files.folder import FileRefused, Folder
from orchestrator.performers.files.performer import FilePerformer
from orchestrator.performers.http import HttpPerformer
from orchestrator.performers.knowledge import KnowledgePerformer
from orchestrator.performers.schedule import SchedulePerformer
from orchestrator.performers.telegram import TelegramPerformer
from orchestrator.runs.registry import Engines
from orchestrator.runs.sent_items import LARGEST_FILE
from orchestrator.runs.titles import find_published_title
from orchestrator.schedules.checks import StartChecker
from orchestrator.services.document_client import DocumentClient
from orchestrator.services.http_client import ServiceClients

FILES: Final = "file"
"""The kind of effects that the policy opens for the folder of files."""
AT_ONCE: Final = 2
"""How many files are fetched at once in this process; one of 20 MB takes several times that of memory until it is stored."""


@runtime_checkable
class _Closing(Protocol):
    """A performer with connections of its own, which are closed when the program stops."""

    async def aclose(self) -> None: ...


@dataclass(frozen=True, kw_only=True)
class Outside:
    """What this process reaches outside of itself beside models."""

    performers: Mapping[str, Performer]
    """Who performs effects, by their kind; `build_schedule_performer` makes the one that needs the engines."""
    services: ServiceClients
    documents: DocumentClient
    read_file: ReadFile
    download: Download
    shelf: DocumentShelf | None = None
    """The folder of documents of the service inside of this process; None if documents are kept elsewhere, or not at all."""

    async def aclose(self) -> None:
        """Close the connections; the portal's are its own."""
        await self.services.aclose()
        for performer in self.performers.values():
            if isinstance(performer, _Closing):
                await performer.aclose()


def build_outside(
    installation: Installation, portal: Portal, people: People, services: ServiceClients, shelf: DocumentShelf | None = None
) -> Outside:
    """Return what the settings allow to reach. Raises SettingsError for credentials that cannot be read.

    `services` are those that the tool agent asks, `shelf` the folder of documents of the service inside of this process.
    """
    settings, policies = installation.settings, installation.policies
    documents = DocumentClient(services, top_k=settings.param_rag_top_k)
    folder = Folder(settings.files_dir) if settings.files_dir is not None else None
    http = HttpPerformer(
        # connections are opened only to hosts that the policy lists when the call is made
        credentials=load_http_credentials(settings),
        may_be_private=lambda site: is_listed(site, policies.now().http_private_hosts),
    )
    performers: dict[str, Performer] = {
        "bitrix": BitrixPerformer(portal.client, portal.reads),
        "http": http,
        "knowledge": _build_knowledge(installation, portal, people, documents),
        **_build_mongo(settings),
        **_build_files(installation, people, folder),
    }
    return Outside(
        performers=performers,
        services=services,
        documents=documents,
        read_file=build_file_reader(folder, policies),
        download=build_downloader(http, policies),
        shelf=shelf,
    )


def build_schedule_performer(installation: Installation, people: People, engines: Engines) -> Performer:
    """Return the performer of effects on schedules, which start runs of these engines."""
    checker, find_title = StartChecker(engines, people.refresh_actor), partial(find_published_title, engines=engines)
    return SchedulePerformer(installation.store, installation.clock, checker, find_title)


def _build_knowledge(installation: Installation, portal: Portal, people: People, documents: DocumentClient) -> Performer:
    """Return the performer of the reads that the program answers itself."""
    sources = HistoryData(catalogue=installation.catalogue, names=portal.naming, records=portal.reads)
    histories = HistoryReader(installation.store, sources, installation.clock, people.refresh_actor)
    return KnowledgePerformer(installation.catalogue, installation.policies, installation.texts.help, histories, documents)


def _build_mongo(settings: Settings) -> dict[str, Performer]:
    """Return the performer of mongo effects, if a database is set. Its connection opens with the first call."""
    if settings.mongo_url is None:
        return {}
    from orchestrator.performers.mongo import MongoPerformer  # noqa: PLC0415  # the driver takes a while to load
    from orchestrator.performers.mongo_connection import MongoConnection  # noqa: PLC0415  # see above

    return {"mongo": MongoPerformer(MongoConnection(settings.mongo_url.get_secret_value()))}


def _build_files(installation: Installation, people: People, folder: Folder | None) -> dict[str, Performer]:
    """Return the performers of file effects, if there is a folder (FILES_DIR), and of messages to chats, if there is a messenger."""
    performers: dict[str, Performer] = {} if folder is None else {FILES: FilePerformer(folder)}
    if people.messenger is not None and people.members is not None:
        performers["telegram"] = TelegramPerformer(
            people.messenger, people.members, installation.policies, folder, installation.store.load_blob
        )
    return performers


def build_file_reader(folder: Folder | None, policies: PolicySource) -> ReadFile:
    """Return what reads files of the folder for the chat of a run. The policy opens the folder to it as to every other reader."""

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
    """Return what fetches files from the hosts that the policy opens at that moment (`may_be_fetched`)."""
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
