"""The documents: their folder, who may read it, what cannot be read, and services at addresses."""

from collections.abc import AsyncIterator, Iterator, Sequence
from typing import Final

from bot.cli.doctor.findings import Area, Finding
from bot.composition.tool_services import open_client
from bot.settings.settings import Settings
from orchestrator.domain.errors import SdelkaError, ServiceFailed, SettingsError
from orchestrator.services.http_client import ServiceClients
from orchestrator.services.rag.answering import describe_access, describe_problem
from orchestrator.services.rag.building import open_index
from orchestrator.services.rag.folder import find_access_faults, scan_folder

AREA = Area("documents")
_SHOWN: Final = 5
_SEE: Final = "See docs/documents.md."


def check_folder(settings: Settings) -> Iterator[Finding]:
    folder = settings.rag_docs_dir
    if settings.rag_service_url is not None:
        return
    if not folder.is_dir():
        yield AREA.report_ok("RAG_DOCS_DIR", "There is no such folder, so nobody asks documents.")
        return
    try:
        listing = scan_folder(folder)
    except SdelkaError as error:
        yield AREA.report_wrong("RAG_DOCS_DIR", f"{error.reason}.", "Give the program the right to read it.")
        return
    for problem in find_access_faults(folder, listing):
        yield AREA.report_warning("access.yaml", describe_access(problem, "en"), _SEE)
    try:
        index = open_index(folder, settings.state_dir, settings.database_url)
    except SdelkaError as error:
        yield AREA.report_wrong("index", f"{error.reason}.", "Check the database, or delete the file documents-….db in STATE_DIR.")
        return
    try:
        known = index.load_files()
    finally:
        index.close()
    unreadable = [describe_problem(file_record, "en") for file_record in known.values() if file_record.problem is not None]
    waiting = len(listing.files) - len(known)
    more = f" {waiting} of them are read when the bot runs." if waiting > 0 else ""
    yield AREA.report_ok("RAG_DOCS_DIR", f"It holds {len(listing.files)} documents.{more}")
    if unreadable:
        yield AREA.report_warning("unreadable", _list_shortly(unreadable), "Mend or remove them; nobody can ask them.")


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
        return AREA.report_wrong(name, f"{error.reason}.", _SEE)
    try:
        health = await clients.check_health(name)
    except ServiceFailed as error:
        return AREA.report_wrong(name, f"It does not answer: {error}.", "Check the address, and whether the service runs.")
    finally:
        await clients.aclose()
    if health.get("status") != "ok":
        return AREA.report_warning(name, "It is not ready yet.", "Wait until it has read its documents.")
    return AREA.report_ok(name, "It answers.")
