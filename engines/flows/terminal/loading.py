"""Loads the flow that is to be played: a file with the agents that are files beside it, or a published one; other agents from the store."""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from bot.cli.author.files import CheckedFile, PartStore, check_one, is_wrong, link_parts
from bot.cli.definition_desk import DefinitionDesk
from bot.cli.definition_files import SUFFIXES, get_key, read_file
from bot.cli.ops import escape_text
from engines.flows.core.agents import KIND as AGENT
from engines.flows.core.agents import FindAgents, find_no_agents
from engines.flows.core.definition import Flow
from engines.flows.core.kind import FLOW, list_agents
from engines.flows.terminal.files import FLOWS
from engines.flows.wiring import build_agent_finder
from orchestrator.definitions.references import StoredVersions, link_references
from orchestrator.domain.errors import SettingsError


@dataclass(frozen=True, kw_only=True)
class LoadedFlow:
    """A flow that can be played."""

    key: str
    document: Any
    """Its JSON data. Whatever its triggers say, its author may try it."""
    flow: Flow
    find_agents: FindAgents


@dataclass(frozen=True, kw_only=True)
class Loading:
    """What came of loading a flow: the flow, or the files with mistakes."""

    flow: LoadedFlow | None
    checked: tuple[CheckedFile, ...] = ()


def load_flow(given: str, version: int, store: PartStore) -> Loading:
    """Return the flow that is meant: a file if there is one of that name, or a key. Raises SettingsError."""
    path = Path(given)
    if path.suffix.lower() in SUFFIXES or path.is_file():
        if version:
            raise SettingsError("--version is for published flows: a file has one version")
        return _load_file(path, store)
    if store.desk is None:
        raise SettingsError(escape_text(f"{given} is no file, and published flows cannot be read: {store.why_not}"))
    desk = store.desk
    number = version or desk.call(desk.service.find_key(desk.editor, FLOW, given)).active_version
    if not number:
        raise SettingsError(escape_text(f"no version of {given} is published: name one with --version"))
    found = desk.call(desk.service.find_version(desk.editor, FLOW, given, number))
    return Loading(flow=_build(given, found.document, build_agent_finder(desk.store)))


def _load_file(path: Path, store: PartStore) -> Loading:
    flow = link_parts(FLOWS, check_one(path, FLOW), store)
    agents = [check_one(one, AGENT) for one in flow.part_files]
    checked = (flow, *agents)
    if any(is_wrong(one) for one in checked):
        return Loading(flow=None, checked=checked)
    if flow.not_looked_up:
        raise SettingsError(
            escape_text(f"there are no files of the agents {', '.join(flow.not_looked_up)} beside {path}, and {store.why_not}")
        )
    files = {get_key(one.path): one.document for one in agents}
    document = flow.document if store.desk is None else store.desk.call(_link(path, files, store.desk))
    return Loading(flow=_build(FLOWS.find_key(document), document, _add_files(files, store.desk)))


async def _link(path: Path, files: Mapping[str, object], desk: DefinitionDesk) -> Any:
    """Return the document of a flow in which agents that are no files are named by the UUIDs of their versions."""
    document = read_file(path).require_document()
    references = [one for one in list_agents(document.data) if one.written not in files]
    return (await link_references(document, references, StoredVersions(desk.store))).document


def _add_files(files: Mapping[str, object], desk: DefinitionDesk | None) -> FindAgents:
    """Return the function that finds agents of files by their keys, and others by UUID."""
    find_stored = build_agent_finder(desk.store) if desk is not None else find_no_agents

    async def find(versions: list[str], /) -> Mapping[str, object]:
        stored = await find_stored([one for one in versions if one not in files])
        return {**stored, **{one: files[one] for one in versions if one in files}}

    return find


def _build(key: str, document: Any, find_agents: FindAgents) -> LoadedFlow:
    free = {name: one for name, one in document.items() if name != "triggers"}
    return LoadedFlow(key=key, document=free, flow=Flow.model_validate(free), find_agents=find_agents)
