"""Common to the pages of definitions."""

import asyncio
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from typing import Final

from bot.console.visit import Visit
from bot.http_api.definitions.request_body import to_api_error
from bot.plugins.definition_text import write_version
from orchestrator.definitions.checking import Submission
from orchestrator.definitions.reader import KindUnknown
from orchestrator.definitions.rules import Editor, NotAllowed
from orchestrator.documents.document import Document, DocumentFormat
from orchestrator.documents.reading import Reading, read_document
from orchestrator.domain.finding import DefinitionRefused
from state.model.definitions import (
    DefinitionDamaged,
    DefinitionKey,
    DefinitionMissing,
    DefinitionsBusy,
    DefinitionUnstorable,
    DefinitionVersion,
    NotADraft,
    StaleRevision,
)

VIA: Final = "console"
ROOT: Final = "/definitions"
REFUSALS: Final = (
    KindUnknown,
    NotAllowed,
    DefinitionRefused,
    DefinitionMissing,
    StaleRevision,
    NotADraft,
    DefinitionsBusy,
    DefinitionDamaged,
    DefinitionUnstorable,
)
"""Raised by the service beside the errors of a database."""


def build_editor(visit: Visit) -> Editor:
    """With present rights. Raises VisitOver."""
    return Editor(actor=visit.actor, via=VIA)


@contextmanager
def reading() -> Iterator[None]:
    """Refusals become the ApiError of the endpoints, which the frame shows."""
    try:
        yield
    except REFUSALS as error:
        raise to_api_error(error) from None


def explain(visit: Visit, error: Exception) -> str:
    match error:
        case NotAllowed():
            return visit.say("console-definition-not-allowed", code=error.code, reason=error.reason)
        case DefinitionRefused():
            return visit.say("console-definition-mistakes", count=sum(finding.severity == "error" for finding in error.findings))
        case StaleRevision():
            return visit.say("console-definition-stale")
        case NotADraft():
            return visit.say("console-definition-published-already", number=error.present.version)
        case DefinitionMissing() | KindUnknown():
            return visit.say("console-not-found")
        case DefinitionUnstorable():
            return visit.say("console-definition-unstorable")
        case DefinitionDamaged():
            return visit.say("console-definition-damaged")
        case _:
            return visit.say("console-definition-busy")


def name_account(visit: Visit, key: str, name: str = "") -> str:
    """The person's name, or which program or terminal it is."""
    door, _, rest = key.partition(":")
    if door in {"cli", "http"}:
        return visit.say("console-definition-account", door=door, who=name or rest)
    actor = visit.services.access.find_actor_by_key(key)
    return name or (actor.name if actor is not None else key)


def find_title(head: DefinitionKey | DefinitionVersion) -> str:
    """On one line; without a title the key."""
    return " ".join(head.title.split()) or head.key


def build_path(kind: str, key: str, *rest: str) -> str:
    """Kinds and keys are plain words, which the store has checked."""
    return "/".join((ROOT, kind, key, *rest))


async def write_text(version: DefinitionVersion, form: DocumentFormat = "yaml") -> str:
    """Its author's, where one is kept."""
    return await asyncio.to_thread(write_version, version, form)


def submit_text(text: str, form: DocumentFormat, *, title: str | None = None, note: str = "") -> Submission:
    return Submission(read=partial(read_document, text, form), title=title, note=note)


def is_same_text(one: DefinitionVersion, other: DefinitionVersion) -> bool:
    """With the comments of its author."""
    return (one.digest, one.source) == (other.digest, other.source)


def submit_stored(version: DefinitionVersion) -> Submission:
    """To have it checked once more."""
    document = Document.from_data(version.document)
    return Submission(read=lambda: Reading(document=document, draft=document, findings=()), title=version.title)
