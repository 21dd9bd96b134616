"""Builds the engine of scenarios with everything that its steps reach. Part of the composition root."""

import asyncio
from collections.abc import Mapping
from dataclasses import replace
from functools import partial
from typing import Any, Final

from bot.plugins.wiring import EnginePorts, Wiring
from engines.scenarios.core.definition import is_for_customers
from engines.scenarios.core.engine import ScenarioEngine
from engines.scenarios.core.kind import build_kind, list_uses
from engines.scenarios.core.registry import build_step_types, load_plugins
from engines.scenarios.core.step_types import Download, Downloaded, ReadFile
from orchestrator.domain.errors import FileUnavailable
from orchestrator.domain.file_path import PathRefused, parse_path
from orchestrator.domain.http_address import OddAddress, parse_address
from orchestrator.domain.outputs import Notice
from orchestrator.gate.call.gate_deps import PolicySource
from orchestrator.gate.call.kinds.http import may_be_fetched
from orchestrator.performers.files.folder import FileRefused, Folder
from orchestrator.performers.http import HttpPerformer
from orchestrator.runs.registry import RegisteredEngine, RunCommand
from orchestrator.runs.sent_items import LARGEST_FILE

COMMAND: Final = "run"
FILES: Final = "file"
"""The kind of effects that the policy opens for the folder of files."""
AT_ONCE: Final = 2
"""How many files are fetched at once in this process; one of 20 MB takes several times that of memory until it is stored."""


def build_scenarios() -> RegisteredEngine:
    """Return the engine of scenarios with the steps of this program and of installed plugins, and its command."""
    types = build_step_types(load_plugins())
    return RegisteredEngine(
        engine=ScenarioEngine(types),
        commands={COMMAND: RunCommand(definition="", menu=Notice(code="menu-run"))},
        list_uses=partial(list_uses, types=types),
        describe=describe_scenario,
        is_for_customers=is_for_customers,
        is_offered=True,
        kind=build_kind(types),
    )


def describe_scenario(document: object) -> tuple[str, str]:
    """Return (name, description) of a scenario."""
    given: Mapping[str, Any] = document if isinstance(document, Mapping) else {}
    return str(given.get("name") or ""), str(given.get("description") or "")


def connect(scenarios: RegisteredEngine, ports: EnginePorts) -> RegisteredEngine:
    """Return the engine within the bounds of the settings, whose steps reach documents, the folder of files and files of other hosts."""
    assert isinstance(scenarios.engine, ScenarioEngine)  # noqa: S101 - as it was built here
    settings = ports.settings
    engine = scenarios.engine.limit(
        most_steps=settings.scenario_max_steps, most_depth=settings.scenario_max_depth, most_seconds=settings.scenario_max_seconds
    )
    read_file, download = build_file_reader(ports.folder, ports.policies), build_downloader(ports.http, ports.policies)
    return replace(scenarios, engine=engine.connect(ports.find_documents, read_file, download))


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


WIRING: Final = Wiring(build=build_scenarios, connect=connect)
