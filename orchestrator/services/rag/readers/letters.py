"""EML: the subject, who wrote when to whom, the text, and the names of what is attached."""

import email
import email.policy
from email.message import EmailMessage
from typing import Final

from orchestrator.domain.shelf import Contents, Note
from orchestrator.language.lexicon import load_lexicon
from orchestrator.services.rag.document import Block, Document, UnreadableDocument, clean_text
from orchestrator.services.rag.readers.html import read_html
from orchestrator.services.rag.readers.plain_text import find_blocks

_HEADERS: Final = ("From", "To", "Cc", "Date")


def read_letter(data: bytes) -> Document:
    """Raises UnreadableDocument."""
    try:
        letter = email.message_from_bytes(data, policy=email.policy.default)
        assert isinstance(letter, EmailMessage)  # noqa: S101 - of this policy
        body = letter.get_body(("plain", "html"))
        text = body.get_content() if body is not None else ""
        is_html = body is not None and body.get_content_type() == "text/html"
        names = [clean_text(str(part.get_filename() or "?")) for part in letter.iter_attachments()]
        subject, people = clean_text(str(letter["subject"] or "")), [f"{name}: {letter[name]}" for name in _HEADERS if letter[name]]
    except (LookupError, ValueError, AttributeError, TypeError, KeyError):
        raise UnreadableDocument("broken") from None
    blocks = [Block("text", "; ".join(people))] if people else []
    blocks += read_html(text.encode("utf-8")).blocks if is_html else find_blocks(str(text))
    if names:
        blocks.append(Block("text", f"{load_lexicon('documents').read_text('attached')}: {', '.join(names)}."))
    notes = (Note("attachments", {"names": ", ".join(names)}),) if names else ()
    return Document(subject, tuple(blocks), Contents(sample=subject, notes=notes))
