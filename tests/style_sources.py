"""The shipped sources as syntax trees, and who imports whom: nothing of the measured code is imported or run."""

import ast
import subprocess
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TypeVar

SHIPPED = ("bot", "orchestrator", "engines", "bitrix", "state")
"""The packages that are measured."""
FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef)
Node = TypeVar("Node", bound=ast.AST)


@dataclass(frozen=True)
class Source:
    """One parsed file; `path` is relative to the root of the repository."""

    path: str
    text: str
    tree: ast.Module

    @property
    def package(self) -> str:
        """The top-level folder."""
        return self.path.partition("/")[0]

    @cached_property
    def physical_lines(self) -> Sequence[str]:
        return self.text.splitlines()

    @property
    def lines(self) -> int:
        """The number of physical lines."""
        return len(self.physical_lines)

    @property
    def is_empty_init(self) -> bool:
        """Whether this is an `__init__.py` with no statement but a docstring."""
        return self.path.rpartition("/")[2] == "__init__.py" and all(is_bare_string(node) for node in self.tree.body)

    def list_nodes(self, kind: type[Node]) -> Sequence[Node]:
        """All nodes of exactly this class."""
        return self._nodes[kind]  # type: ignore[return-value]

    def list_inner_nodes(self, kind: type[Node]) -> Sequence[Node]:
        """Those of them that stand in a function, its parameters included."""
        return self._inner_nodes[kind]  # type: ignore[return-value]

    @cached_property
    def _nodes(self) -> Mapping[type[ast.AST], list[ast.AST]]:
        by_class: dict[type[ast.AST], list[ast.AST]] = defaultdict(list)
        for node in ast.walk(self.tree):
            by_class[type(node)].append(node)
        return by_class

    @cached_property
    def _inner_nodes(self) -> Mapping[type[ast.AST], list[ast.AST]]:
        by_class: dict[type[ast.AST], list[ast.AST]] = defaultdict(list)
        waiting: list[tuple[ast.AST, bool]] = [(self.tree, False)]
        while waiting:
            parent, is_inner = waiting.pop()
            is_inner = isinstance(parent, FUNCTIONS) or (is_inner and not isinstance(parent, ast.ClassDef))
            for node in ast.iter_child_nodes(parent):
                if is_inner:
                    by_class[type(node)].append(node)
                waiting.append((node, is_inner))
        return by_class


def parse_source(path: str, text: str) -> Source:
    """A source from its text."""
    return Source(path, text, ast.parse(text))


def load_sources(root: Path) -> list[Source]:
    """The shipped files that git tracks and that exist, in order of their paths."""
    order = ["git", "-C", str(root), "ls-files", "-z", "--", *SHIPPED]
    tracked = subprocess.run(order, capture_output=True, text=True, check=True).stdout.split("\0")
    paths = [path for path in sorted(tracked) if path.endswith(".py") and (root / path).is_file()]
    return [parse_source(path, (root / path).read_text(encoding="utf-8")) for path in paths]


def is_bare_string(node: ast.stmt) -> bool:
    """Whether a statement is a docstring, or a string that stands where one could."""
    return isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant) and isinstance(node.value.value, str)


def find_importers(sources: Sequence[Source]) -> dict[str, set[str]]:
    """By the path of each source, the paths of the others that import it; modules named in strings, as by plugins, are not seen."""
    paths = {_name_module(source.path): source.path for source in sources}
    importers: dict[str, set[str]] = {source.path: set() for source in sources}
    for source in sources:
        for name in _list_named_modules(source):
            path = paths.get(name)
            if path is not None and path != source.path:
                importers[path].add(source.path)
    return importers


def _name_module(path: str) -> str:
    return path.removesuffix(".py").removesuffix("/__init__").replace("/", ".")


def _list_named_modules(source: Source) -> Iterator[str]:
    for plain in source.list_nodes(ast.Import):
        yield from (alias.name for alias in plain.names)
    for chosen in source.list_nodes(ast.ImportFrom):
        yield chosen.module or ""
        yield from (f"{chosen.module}.{alias.name}" for alias in chosen.names)
