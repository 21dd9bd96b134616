"""Finds where shipped code names methods of the portal: in constants, f-strings, concatenations, `%`, `format` and `join`."""

import ast
import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Final

from bitrix.catalogue.catalogue import Catalogue

FOLDERS: Final = ("bot", "engines", "orchestrator", "bitrix", "state")
_FIELD: Final = re.compile(r"\{[^{}]*\}|%(?:\([^)]*\))?[a-z]")
_LETTERS: Final = re.compile(r"[a-z]{3}", re.IGNORECASE)
_TEXTS: Final = (ast.Constant, ast.JoinedStr, ast.BinOp, ast.Call)
_HOLE: Final = None
"""A part of a text that is known at run time only."""

Parts = list[str | None]


@dataclass(frozen=True, slots=True)
class Naming:
    """A place of the source whose text is, or may become, the names of these methods."""

    path: str
    line: int
    text: str
    methods: tuple[str, ...]


@dataclass(frozen=True)
class WriteGuard:
    """Looks for the names of methods that change something: a method of the catalogue counts as one unless it only reads."""

    catalogue: Catalogue

    @cached_property
    def _writes(self) -> Sequence[str]:
        return [method.name.lower() for method in self.catalogue if "." in method.name and not method.reads_only]

    @cached_property
    def _write_names(self) -> frozenset[str]:
        return frozenset(self._writes)

    @cached_property
    def _all_writes(self) -> str:
        return "\n".join(self._writes)

    def find_writes(self, root: Path, folders: Iterable[str] = FOLDERS) -> list[Naming]:
        """Every place below `root` that names a writing method; raises FileNotFoundError where a folder is gone or has no Python file."""
        return [
            found for path in list_files(root, folders) for found in self.find_in_source(path.relative_to(root).as_posix(), _read(path))
        ]

    def find_in_source(self, path: str, source: str) -> Iterator[Naming]:
        """The places of one file that name a writing method."""
        for node, parts in find_texts(ast.parse(source)):
            methods = self._match(parts)
            if methods:
                yield Naming(path, node.lineno, ast.unparse(node), methods)

    def _match(self, parts: Parts) -> tuple[str, ...]:
        """The writing methods that the text may name.

        A text without three letters of its own, such as f"{a}.{b}", names nothing: what it becomes is judged when it is sent.
        """
        text = "".join("\0" if part is _HOLE else part for part in parts).strip().lower().partition("?")[0]
        if "\0" not in text:
            return (text,) if text in self._write_names else ()
        if "." not in text or not _LETTERS.search(text):
            return ()
        pattern = "".join(r"[\w.]*" if piece == "\0" else re.escape(piece) for piece in re.split("(\0)", text))
        return tuple(re.findall(rf"^{pattern}$", self._all_writes, re.MULTILINE))


def list_files(root: Path, folders: Iterable[str] = FOLDERS) -> list[Path]:
    """The Python files of `folders`; raises FileNotFoundError for a folder that has none."""
    found: list[Path] = []
    for folder in folders:
        files = sorted((root / folder).rglob("*.py"))
        if not files:
            raise FileNotFoundError(root / folder)
        found += files
    return found


def find_texts(tree: ast.AST) -> Iterator[tuple[ast.expr, Parts]]:
    """The outermost expressions that make a text, with what is constant of each."""
    waiting: list[ast.AST] = [tree]
    while waiting:
        node = waiting.pop()
        parts = _fold(node)
        if parts is None or not any(parts):
            waiting.extend(ast.iter_child_nodes(node))
            continue
        assert isinstance(node, ast.expr)
        yield node, parts
        waiting.extend(child for hole in _list_holes(node) for child in ast.iter_child_nodes(hole))


def _fold(node: ast.AST) -> Parts | None:
    """The constant parts of a text and its holes; None for what is no text."""
    if not isinstance(node, _TEXTS):
        return None
    match node:
        case ast.Constant(value=str(text)):
            return _split_fields(text)
        case ast.JoinedStr(values=values):
            return [part for value in values for part in (_fold_value(value))]
        case ast.BinOp(left=left, op=ast.Add(), right=right):
            halves = _fold(left), _fold(right)
            return None if halves == (None, None) else [part for half in halves for part in (half or [_HOLE])]
        case ast.BinOp(left=left, op=ast.Mod()):
            return _fold(left)
        case ast.Call(func=ast.Attribute(value=value, attr="format")):
            return _fold(value)
        case ast.Call(func=ast.Attribute(value=ast.Constant(value=str(between)), attr="join"), args=[ast.List() | ast.Tuple() as pieces]):
            folded = [_fold(piece) or [_HOLE] for piece in pieces.elts]
            return [part for index, piece in enumerate(folded) for part in ([between, *piece] if index else piece)]
    return None


def _fold_value(value: ast.expr) -> Parts:
    if isinstance(value, ast.Constant):
        return [str(value.value)]
    return (_fold(value.value) if isinstance(value, ast.FormattedValue) else None) or [_HOLE]


def _split_fields(text: str) -> Parts:
    """A constant that `format` or `%` may fill in: its fields are holes. Prose is left whole, for it names nothing."""
    if " " in text.strip() or not _FIELD.search(text):
        return [text]
    return [piece for index, literal in enumerate(_FIELD.split(text)) for piece in ([_HOLE, literal] if index else [literal])]


def _list_holes(node: ast.AST) -> Iterator[ast.AST]:
    """The parts of a text that are no text themselves: other names may stand inside them."""
    for child in ast.iter_child_nodes(node):
        if _fold(child) is None:
            yield child


def _read(path: Path) -> str:
    return path.read_text(encoding="utf-8")
