from striprtf.striprtf import rtf_to_text

from orchestrator.domain.shelf import Contents
from orchestrator.services.rag.document import Block, Document, UnreadableDocument
from orchestrator.services.rag.readers.plain_text import find_blocks
from orchestrator.services.rag.readers.tables import Line, TableReader


def read_rtf(data: bytes) -> Document:
    """Cells come as lines with bars. Raises UnreadableDocument."""
    try:
        text = rtf_to_text(data.decode("latin-1"), errors="replace")  # type: ignore[no-untyped-call]
    except (ValueError, IndexError, KeyError, LookupError, RecursionError):
        raise UnreadableDocument("broken") from None
    tables, blocks = TableReader(), list[Block]()
    rows, words = list[Line](), list[str]()
    for line in (*text.splitlines(), ""):
        if line.count("|") > 1 or (rows and line.endswith("|")):
            blocks += find_blocks("\n".join(words))
            rows.append(Line(line.strip().strip("|").split("|")))
            words = []
            continue
        tables.names = []
        blocks += tables.read(rows)
        rows = []
        words.append(line)
    blocks += find_blocks("\n".join(words))
    title = blocks[0].text if blocks else ""
    return Document(
        title,
        tuple(blocks[1:] if blocks and blocks[0].kind == "heading" else blocks),
        Contents(rows=tables.rows, sample=tables.sample or title),
    )
