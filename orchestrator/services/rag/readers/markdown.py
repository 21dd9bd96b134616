"""Raw HTML is left out, its text stays."""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Final

from markdown_it import MarkdownIt
from markdown_it.token import Token

from orchestrator.services.rag.document import Block, Document, UnreadableDocument
from orchestrator.services.rag.readers.plain_text import decode_text
from orchestrator.services.rag.readers.tables import Line, TableReader

_TAG: Final = re.compile(r"<!--.*?-->|<[^>]{0,1000}>", re.DOTALL)
_FRONT_MATTER: Final = re.compile(r"\A---\s*\n(.*?)\n---\s*\n", re.DOTALL)
_FRONT_TITLE: Final = re.compile(r"^title:\s*[\"']?(.+?)[\"']?\s*$", re.MULTILINE)
_PARSER: Final = MarkdownIt("commonmark", {"maxNesting": 30}).enable("table")


@dataclass(slots=True)
class _Table:
    lines: list[Line] = field(default_factory=list)
    row: list[str] = field(default_factory=list)


def read_markdown(data: bytes) -> Document:
    """Title: front matter, first heading or first line. Raises UnreadableDocument."""
    text = decode_text(data)
    if text is None:
        raise UnreadableDocument("unsupported", found="binary")
    front = _FRONT_MATTER.match(text)
    front_title = _FRONT_TITLE.search(front[1]) if front else None
    blocks = tuple(_iterate_blocks(_PARSER.parse(text[front.end() :] if front else text)))
    title = front_title[1] if front_title else next((block.text for block in blocks[:1]), "")
    if not front_title and blocks and blocks[0].kind == "heading":
        blocks = blocks[1:]
    return Document(title, blocks)


def _iterate_blocks(tokens: Sequence[Token]) -> Iterator[Block]:
    level, table = 0, None
    for token in tokens:
        if token.type == "heading_open":
            level = int(token.tag[1:])
        elif token.type == "table_open":
            table = _Table()
        elif token.type == "table_close" and table is not None:
            yield from TableReader(level=7).read(table.lines)
            table = None
        elif table is not None:
            _read_table_token(token, table)
        elif token.type == "inline":
            yield Block("heading" if level else "text", _join_inline(token), level or 1)
            level = 0
        elif token.type in {"fence", "code_block"}:
            yield Block("text", token.content)
        elif token.type == "html_block":
            yield Block("text", _TAG.sub(" ", token.content))


def _read_table_token(token: Token, table: _Table) -> None:
    if token.type == "inline":
        table.row.append(_join_inline(token))
    elif token.type == "tr_close":
        table.lines.append(Line(table.row, are_names=not table.lines))
        table.row = []


def _join_inline(token: Token) -> str:
    """Links by their text, pictures by their description."""
    parts: list[str] = []
    for child in token.children or ():
        if child.type in {"softbreak", "hardbreak"}:
            parts.append(" ")
        elif child.type in {"text", "code_inline", "image"}:
            parts.append(child.content)
    return "".join(parts)
