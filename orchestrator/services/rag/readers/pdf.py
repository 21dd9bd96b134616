"""Reads the text of PDF files. A scan has none, and is refused with that reason."""

import logging
from typing import BinaryIO, Final

from orchestrator.services.rag.document import Document, UnreadableDocument, clean_text
from orchestrator.services.rag.readers.plain_text import find_blocks

_MOST_PAGES: Final = 3000


def read_pdf(file: BinaryIO) -> Document:
    """Return the document in a PDF file. Raises UnreadableDocument."""
    import pypdf  # noqa: PLC0415 - imported in the worker that needs it
    from pypdf.errors import DependencyError, PyPdfError  # noqa: PLC0415 - see above

    logging.getLogger("pypdf").setLevel(logging.CRITICAL)
    try:
        reader = pypdf.PdfReader(file)
        if reader.is_encrypted and not reader.decrypt(""):
            raise UnreadableDocument("password")
        if len(reader.pages) > _MOST_PAGES:
            raise UnreadableDocument("too_long")
        text = "\n\n".join(page.extract_text() for page in reader.pages)
        told = reader.metadata.title if reader.metadata is not None else None
    except DependencyError:
        raise UnreadableDocument("password") from None
    except (PyPdfError, RecursionError, ValueError, KeyError, TypeError, AttributeError, IndexError, AssertionError, OSError):
        raise UnreadableDocument("broken") from None
    blocks = list(find_blocks(text))
    if not blocks:
        raise UnreadableDocument("no_text")
    return _choose_title(clean_text(told or ""), Document("", tuple(blocks)))


def _choose_title(told: str, document: Document) -> Document:
    """Return the document with the title of its properties, or else its first heading or line; programs often leave a file's name there."""
    first = document.blocks[0]
    if told and "." not in told[-6:] and not told.lower().startswith(("microsoft", "untitled")):
        return Document(told, document.blocks)
    return Document(first.text[:120], document.blocks[1:] if first.kind == "heading" else document.blocks)
