"""Builds what engines reach on the outside. Part of the composition root."""

import asyncio
from typing import Final

from orchestrator.domain.errors import FileUnavailable
from orchestrator.domain.file_path import PathRefused, parse_path
from orchestrator.domain.http_address import OddAddress, parse_address
from orchestrator.engines.shared.file_access import Download, Downloaded, ReadFile
from orchestrator.gate.call.gate_deps import PolicySource
from orchestrator.gate.call.kinds.http import may_be_fetched
from orchestrator.performers.files.folder import FileRefused, Folder
from orchestrator.performers.http import HttpPerformer
from orchestrator.runs.sent_items import LARGEST_FILE

FILES: Final = "file"
"""The kind of effects that the policy opens for the folder of files."""
AT_ONCE: Final = 2
"""How many files are fetched at once in this process; one of 20 MB takes several times that of memory until it is stored."""


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
