"""The text that an author wrote of a definition. It counts only if it reads as the document, so that it never says anything else."""

from collections.abc import Callable
from typing import Any

from orchestrator.documents.document import Document
from orchestrator.documents.keeping import keep_text
from orchestrator.documents.reading import Reading, read_document
from state.canonical import dumps
from state.journal.definitions import set_number
from state.model.definitions import DefinitionVersion


def build_source_writer(read: Document | None, before: DefinitionVersion | None) -> Callable[[Any], str]:
    """Writes what is stored into the text that was handed in, without one into that of the version before; "" where neither can take it."""

    def write(document: Any) -> str:
        known = read if read is not None and read.source else read_source(before) if before is not None else None
        if known is None:
            return ""
        return known.source if dumps(known.data) == dumps(document) else keep_text(known.source, document) or ""

    return write


def read_source(version: DefinitionVersion) -> Document | None:
    """Its author's text; None if there is none, or it says something else than the document."""
    document = read_document(version.source, "yaml").document if version.source else None
    return document if document is not None and dumps(document.data) == dumps(version.document) else None


def has_same_data(before: DefinitionVersion, after: DefinitionVersion, number_field: str) -> bool:
    """But for the number of the version: only comments, order or spacing may differ."""
    return dumps(set_number(before.document, number_field, after.version)) == dumps(after.document)


def read_version(version: DefinitionVersion) -> Reading:
    """With its author's text if that counts."""
    document = read_source(version) or Document.from_data(version.document)
    return Reading(document=document, draft=document, findings=())
