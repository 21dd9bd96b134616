"""The installed engines, and the documents: their folder, who may read it, what cannot be read, and services at addresses."""

from collections.abc import AsyncIterator, Iterator, Sequence
from importlib.util import find_spec
from typing import Any, Final

from bot.cli.ask_face import ASK_FACE
from bot.cli.author.faces import FAMILY, LIVE_FACE
from bot.cli.doctor.findings import Area, Finding
from bot.composition.features import drop_taken_commands
from bot.composition.tool_services import open_client
from bot.console.runs.run_face import RUN_FACE
from bot.http_api.engine_face import HTTP_FACE
from bot.i18n.translate import Translator
from bot.plugins.building import build_engines, leave_out
from bot.plugins.kind_face import KIND_FACE
from bot.plugins.loading import find_part, find_part_of_kind, list_faults, list_offering, load_plugins
from bot.plugins.plugin import EnginePlugin, Slot
from bot.plugins.turn_face import TURN_FACE
from bot.plugins.wiring import LIFETIME, WIRING
from bot.rehearsing.case_face import CASE_FACE
from bot.rehearsing.trial_face import TRIAL_FACE
from bot.settings.settings import Settings
from orchestrator.domain.errors import SdelkaError, ServiceFailed, SettingsError
from orchestrator.services.http_client import ServiceClients
from orchestrator.services.rag.answering import describe_access, describe_problem
from orchestrator.services.rag.building import open_index
from orchestrator.services.rag.folder import find_access_faults, scan_folder
from state.events.base import DEFAULT_ENGINE

DOCUMENTS = Area("documents")
_SHOWN: Final = 5
_SEE: Final = "See docs/documents.md."


def check_folder(settings: Settings) -> Iterator[Finding]:
    folder = settings.rag_docs_dir
    if settings.rag_service_url is not None:
        return
    if not folder.is_dir():
        yield DOCUMENTS.report_ok("RAG_DOCS_DIR", "There is no such folder, so nobody asks documents.")
        return
    try:
        listing = scan_folder(folder)
    except SdelkaError as error:
        yield DOCUMENTS.report_wrong("RAG_DOCS_DIR", f"{error.reason}.", "Give the program the right to read it.")
        return
    for problem in find_access_faults(folder, listing):
        yield DOCUMENTS.report_warning("access.yaml", describe_access(problem, "en"), _SEE)
    try:
        index = open_index(folder, settings.state_dir, settings.database_url)
    except SdelkaError as error:
        yield DOCUMENTS.report_wrong("index", f"{error.reason}.", "Check the database, or delete the file documents-….db in STATE_DIR.")
        return
    try:
        known = index.load_files()
    finally:
        index.close()
    unreadable = [describe_problem(file_record, "en") for file_record in known.values() if file_record.problem is not None]
    waiting = len(listing.files) - len(known)
    more = f" {waiting} of them are read when the bot runs." if waiting > 0 else ""
    yield DOCUMENTS.report_ok("RAG_DOCS_DIR", f"It holds {len(listing.files)} documents.{more}")
    if unreadable:
        yield DOCUMENTS.report_warning("unreadable", _list_shortly(unreadable), "Mend or remove them; nobody can ask them.")


def _list_shortly(sentences: Sequence[str]) -> str:
    more = f" and {len(sentences) - _SHOWN} more" if len(sentences) > _SHOWN else ""
    return " ".join(sorted(sentences)[:_SHOWN]) + more


async def check_services(settings: Settings) -> AsyncIterator[Finding]:
    for name, address in (("RAG_SERVICE_URL", settings.rag_service_url), ("HAIKU_SERVICE_URL", settings.haiku_service_url)):
        if address is not None:
            yield await _check_address(name, address)


async def _check_address(name: str, address: str) -> Finding:
    try:
        clients = ServiceClients({name: open_client(name, address)})
    except SettingsError as error:
        return DOCUMENTS.report_wrong(name, f"{error.reason}.", _SEE)
    try:
        health = await clients.check_health(name)
    except ServiceFailed as error:
        return DOCUMENTS.report_wrong(name, f"It does not answer: {error}.", "Check the address, and whether the service runs.")
    finally:
        await clients.aclose()
    if health.get("status") != "ok":
        return DOCUMENTS.report_warning(name, "It is not ready yet.", "Wait until it has read its documents.")
    return DOCUMENTS.report_ok(name, "It answers.")


AREA: Final = Area("engines")
SLOTS: Final[tuple[Slot[Any], ...]] = (WIRING, TURN_FACE, LIFETIME, RUN_FACE, ASK_FACE, HTTP_FACE)
SLOTS_OF_KINDS: Final[tuple[Slot[Any], ...]] = (KIND_FACE, TRIAL_FACE, CASE_FACE, FAMILY, LIVE_FACE)
_MENDING: Final = "Install the version of it that fits this program, or remove it; everything else works."


def check_engines() -> Iterator[Finding]:
    for plugin in load_plugins():
        yield from _check_slots(plugin)
    yield from _check_answering()
    engines = build_engines()
    drop_taken_commands(engines)
    Translator("ru"), Translator("en")
    for fault in list_faults():
        yield AREA.report_warning(fault.engine, fault.describe(), _MENDING)
    yield AREA.report_ok("engines", f"These can be used: {', '.join(engines) or 'none'}.")


def _check_answering() -> Iterator[Finding]:
    if find_part(TURN_FACE, DEFAULT_ENGINE) is None:
        says = f"The engine {DEFAULT_ENGINE}, which answers messages, cannot be used: the bot does not start."
        yield AREA.report_wrong(DEFAULT_ENGINE, says, "Install the program anew: this engine is a part of it.")
    if all(find_part(TURN_FACE, name) is None for name in list_offering(ASK_FACE)):
        says = "No engine that answers /ask can be used: there is no /ask, and `sdelka ask` says so."
        yield AREA.report_warning("ask", says, "Put the folder of one back if people are to ask it; everything else works.")


def _check_slots(plugin: EnginePlugin) -> Iterator[Finding]:
    for slot in SLOTS:
        find_part(slot, plugin.name)
    for slot in SLOTS_OF_KINDS:
        for kind in plugin.kinds:
            find_part_of_kind(slot, kind)
    for group in plugin.terminal:
        with leave_out(plugin.name, "terminal", f"sdelka {group.name} cannot be used"):
            if find_spec(group.module) is None:
                raise ModuleNotFoundError(f"No module named {group.module!r}")
    known = {slot.name for slot in SLOTS} | {f"{slot.name}/{kind}" for slot in SLOTS_OF_KINDS for kind in plugin.kinds}
    for name in sorted(plugin.parts.keys() - known):
        yield AREA.report_warning(plugin.name, f"No door has a slot {name}, for which the engine {plugin.name} offers something.", _MENDING)
