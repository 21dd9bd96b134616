"""Files of flows and agents: which is which, and what is wrong with them. Agents that a flow names are files beside it, or in the store."""

import contextlib
from collections.abc import Collection, Iterator
from dataclasses import dataclass, replace
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, Final

from bot.cli.definition_desk import check_file, open_desk
from bot.cli.definition_files import SUFFIXES, load_engines, read_file
from bot.i18n.translate import Translator
from orchestrator.definitions.rules import find_key_mistake
from orchestrator.definitions.service import Submission
from orchestrator.domain.errors import SettingsError
from orchestrator.domain.finding import Finding, format_path, has_errors, sort_findings
from orchestrator.engines.flows.agents import KIND as AGENT
from orchestrator.engines.flows.kind import FLOW, list_agents

if TYPE_CHECKING:
    from bot.cli.definition_desk import DefinitionDesk

FOLDER: Final = "agents"
"""The folder beside flows in which agents may stand."""
OFF: Final = "finding-reference-off"
REFERENCES: Final = frozenset({"finding-reference-unknown", "finding-reference-draft", OFF})
"""The codes of mistakes about agents that the store does not have."""


@dataclass(frozen=True, kw_only=True)
class CheckedFile:
    """A file of a flow or an agent, and what is wrong with it."""

    path: Path
    kind: str
    findings: tuple[Finding, ...]
    document: object = None
    """None if it has errors, but for those about its agents."""
    critical: tuple[str, ...] | None = ()
    """The methods in it that need two people; None if that cannot be told."""
    agent_files: tuple[Path, ...] = ()
    """The agents that it names and that are files beside it."""
    not_looked_up: tuple[str, ...] = ()
    """The agents that it names, are no files, and could not be looked up without a database."""


@dataclass(frozen=True, kw_only=True)
class AgentStore:
    """The published agents, if there is a database."""

    desk: "DefinitionDesk | None"
    why_not: str = ""
    """Why nothing can be looked up."""


@contextlib.contextmanager
def open_agent_store() -> Iterator[AgentStore]:
    """Yield the store of the settings, opened for reading; one without a desk if there is no database."""
    with contextlib.ExitStack() as stack:
        try:
            store = AgentStore(desk=stack.enter_context(open_desk(load_engines(), reads=True)))
        except SettingsError as error:
            store = AgentStore(desk=None, why_not=error.reason)
        yield store


def check_path(path: Path, store: AgentStore) -> CheckedFile:
    """Return what is wrong with a file, which is a flow or an agent. Raises SettingsError."""
    kind = find_kind_of(read_file(path).document)
    checked = check_one(path, kind)
    return link_agents(checked, store) if kind == FLOW else checked


def check_one(path: Path, kind: str) -> CheckedFile:
    """Return what is wrong with a file by itself, whatever agents there are. Raises SettingsError."""
    reading = read_file(path)
    checked = check_file(load_engines(), kind, Submission(read=lambda: reading))
    return CheckedFile(path=path, kind=kind, findings=checked.findings, document=checked.document, critical=checked.critical)


def link_agents(flow: CheckedFile, store: AgentStore, given: Collection[str] = (), *, knows_files: bool = True) -> CheckedFile:
    """Return a flow with what is wrong with its agents.

    Nothing is missing of the keys `given`, and with `knows_files` of those that are files beside the flow.
    """
    reading = read_file(flow.path)
    if reading.draft is None:
        return flow
    names = {format_path(one.path): one.written for one in list_agents(reading.draft.data)}
    known = dict.fromkeys(names.values()) if knows_files else ()
    files = {name: file for name in known if name not in given and (file := find_agent_file(flow.path, name))}
    elsewhere = {path: name for path, name in names.items() if name not in files}
    if store.desk is None:
        missing = tuple(dict.fromkeys(name for name in elsewhere.values() if name not in given))
        return replace(flow, agent_files=tuple(files.values()), not_looked_up=missing)
    found = _look_up(flow, store.desk) if elsewhere else ()
    wrong = [one for one in found if one.path in elsewhere and (one.code == OFF or elsewhere[one.path] not in given)]
    return replace(flow, agent_files=tuple(files.values()), findings=tuple(sort_findings([*flow.findings, *wrong])))


def _look_up(flow: CheckedFile, desk: "DefinitionDesk") -> Iterator[Finding]:
    """Yield what the store says against the agents of a flow."""
    reading = read_file(flow.path)
    checked = desk.call(desk.service.check(desk.editor, FLOW, None, Submission(read=lambda: reading)))
    yield from (one for one in checked.findings if one.code in REFERENCES)


def find_flow_key(document: object) -> str:
    """Return the key under which a correct flow is stored."""
    return str(document["flowId"]) if isinstance(document, dict) else ""


def find_agent_file(flow: Path, name: str) -> Path | None:
    """Return the file that holds the agent of this key, beside the flow or in its folder `agents`; None if there is none.

    Raises SettingsError.
    """
    if find_key_mistake(name) is not None:
        return None
    places = (flow.parent / f"{name}{suffix}" for suffix in SUFFIXES), (flow.parent / FOLDER / f"{name}{suffix}" for suffix in SUFFIXES)
    return next((one for one in chain(*places) if one.is_file() and find_kind_of(read_file(one).draft) == AGENT), None)


def find_kind_of(document: object) -> str:
    """Return whether a document is meant as an agent or as a flow."""
    data = getattr(document, "data", None)
    return AGENT if isinstance(data, dict) and "systemPrompt" in data and "steps" not in data else FLOW


def describe_file(checked: CheckedFile, tr: Translator) -> str:
    """Return the sentence about a file: how many mistakes it has, and who may publish it."""
    count = sum(one.severity == "error" for one in checked.findings)
    if count:
        return tr.translate("flow-cli-mistakes", count=count)
    if checked.critical == ():
        return tr.translate("flow-cli-good")
    return tr.translate("flow-cli-good-two", methods=", ".join(checked.critical or ()) or "—")


def is_wrong(checked: CheckedFile) -> bool:
    """Return whether a file has an error."""
    return has_errors(checked.findings)
