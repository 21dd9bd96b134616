"""Counts of house style over Python sources, by syntax tree alone: nothing of the measured code is imported or run."""

import ast
import re
import subprocess
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

SHIPPED = ("bot", "orchestrator", "bitrix", "state")
"""The packages that are measured."""
GROUPS = (("orchestrator", "bot"), *((package,) for package in SHIPPED))
"""For what shares per 1,000 lines are told."""
SMALL, LARGE = 50, 400
"""Lines up to which a file is small, and above which it is large."""
VAGUE = ("get", "do", "handle", "process", "make")
"""Verbs that say little; they count as verbs, but only a tenth of the names may begin with one."""
_CYRILLIC = re.compile(r"[А-Яа-яЁё]")
NOT_READ = {
    "orchestrator/language/text.py": "the letters of the alphabet, for patterns",
    "orchestrator/engines/crm_agent/grammar.py": "a header of the model's protocol",
    "bitrix/errors.py": "what a portal answers, to recognize it",
    "state/journal/encryption.py": "the compression dictionary, which must never change",
}
"""Files whose Cyrillic literals nobody reads, each with the reason: they are not counted."""
_FUNCTION = (ast.FunctionDef, ast.AsyncFunctionDef)
_ACCESSORS = frozenset({"property", "cached_property", "computed_field", "setter", "getter", "deleter", "overload"})


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

    @property
    def lines(self) -> int:
        """The number of physical lines."""
        return len(self.text.splitlines())

    @property
    def is_empty_init(self) -> bool:
        """Whether this is an `__init__.py` with no statement but a docstring."""
        return self.path.rpartition("/")[2] == "__init__.py" and all(_is_bare_string(node) for node in self.tree.body)


@dataclass(frozen=True)
class Place:
    """Where something was counted."""

    path: str
    line: int
    text: str


@dataclass(frozen=True)
class Function:
    """A function or method; `lines` runs from its `def` to its last line, without decorators."""

    path: str
    line: int
    name: str
    lines: int
    has_docstring: bool
    is_public: bool
    """Reachable by public names only, at module or class level, and neither a property nor an overload."""


def parse_source(path: str, text: str) -> Source:
    """A source from its text."""
    return Source(path, text, ast.parse(text))


def load_sources(root: Path) -> list[Source]:
    """The shipped files that git tracks and that exist, in order of their paths."""
    order = ["git", "-C", str(root), "ls-files", "-z", "--", *SHIPPED]
    tracked = subprocess.run(order, capture_output=True, text=True, check=True).stdout.split("\0")
    paths = [path for path in sorted(tracked) if path.endswith(".py") and (root / path).is_file()]
    return [parse_source(path, (root / path).read_text(encoding="utf-8")) for path in paths]


def load_verbs(text: str) -> tuple[str, ...]:
    """The words of the verb list, one a line; lines that begin with # are comments."""
    lines = (line.strip() for line in text.splitlines())
    return tuple(line for line in lines if line and not line.startswith("#"))


def begins_with(name: str, words: tuple[str, ...]) -> bool:
    """Whether a name begins with one of the words; a word that ends in an underscore needs something after it."""
    return any(_begins(name, word) for word in words)


def _begins(name: str, word: str) -> bool:
    if word.endswith("_"):
        return name.startswith(word) and name != word
    return name == word or name.startswith(f"{word}_")


def find_string_keys(source: Source) -> Iterator[Place]:
    """Each `x["literal"]` and `x.get("literal"…)`; not `Literal["…"]` and other types, nor a route such as `router.get("/chat")`."""
    for node in ast.walk(source.tree):
        match node:
            case ast.Subscript(value=value, slice=ast.Constant(value=str(key))) if not _is_type(value):
                yield Place(source.path, node.lineno, f"[{key!r}]")
            case ast.Call(func=ast.Attribute(attr="get"), args=[ast.Constant(value=str(key)), *_]) if not key.startswith("/"):
                yield Place(source.path, node.lineno, f".get({key!r})")
            case _:
                pass


def _is_type(node: ast.expr) -> bool:
    """Whether an expression is named like a class: what stands in its brackets is a type and no key."""
    name = node.id if isinstance(node, ast.Name) else node.attr if isinstance(node, ast.Attribute) else ""
    return name[:1].isupper() and not name.isupper()


def find_any(source: Source) -> Iterator[Place]:
    """Each use of `Any` or `typing.Any`; an import is none."""
    for node in ast.walk(source.tree):
        match node:
            case ast.Name(id="Any") | ast.Attribute(attr="Any"):
                yield Place(source.path, node.lineno, source.text.splitlines()[node.lineno - 1].strip())
            case _:
                pass


def find_cyrillic(source: Source) -> Iterator[Place]:
    """Each string literal with Cyrillic letters that is no docstring; an f-string counts once, a file of `NOT_READ` not at all."""
    if source.path in NOT_READ:
        return
    inner = {id(part) for node in ast.walk(source.tree) if isinstance(node, ast.JoinedStr) for part in node.values}
    bare = {id(node.value) for node in ast.walk(source.tree) if isinstance(node, ast.Expr)}
    for node in ast.walk(source.tree):
        match node:
            case ast.Constant(value=str(text)) if id(node) not in inner | bare:
                pass
            case ast.JoinedStr(values=values):
                text = "".join(part.value for part in values if isinstance(part, ast.Constant))
            case _:
                continue
        if _CYRILLIC.search(text):
            yield Place(source.path, node.lineno, repr(text))


def find_statements(source: Source) -> Iterator[ast.stmt]:
    """Each statement that is no docstring."""
    return (node for node in ast.walk(source.tree) if isinstance(node, ast.stmt) and not _is_bare_string(node))


def find_running_statements(source: Source) -> Iterator[ast.stmt]:
    """Each statement that does something: no import, no class, no declared field, no docstring, no "..." in the place of a body.

    A key of a dict is no statement and the field that takes its place is one; what runs must not grow for it.
    """
    declared = {id(node) for kind in ast.walk(source.tree) if isinstance(kind, ast.ClassDef) for node in kind.body if _is_field(node)}
    still = (ast.Import, ast.ImportFrom, ast.ClassDef)
    return (node for node in find_statements(source) if not isinstance(node, still) and id(node) not in declared and not _is_dots(node))


def _is_field(node: ast.stmt) -> bool:
    return isinstance(node, ast.AnnAssign)


def _is_dots(node: ast.stmt) -> bool:
    return isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)


def _is_bare_string(node: ast.stmt) -> bool:
    return isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant) and isinstance(node.value.value, str)


def find_functions(source: Source) -> Iterator[Function]:
    """Each function of a file, also private and nested ones."""
    return _functions_in(source, source.tree, is_public=True)


def _functions_in(source: Source, parent: ast.AST, *, is_public: bool) -> Iterator[Function]:
    for node in ast.iter_child_nodes(parent):
        if isinstance(node, _FUNCTION):
            public = is_public and not node.name.startswith("_") and not _is_accessor(node)
            length = (node.end_lineno or node.lineno) - node.lineno + 1
            yield Function(source.path, node.lineno, node.name, length, ast.get_docstring(node) is not None, public)
            yield from _functions_in(source, node, is_public=False)
        elif isinstance(node, ast.ClassDef):
            yield from _functions_in(source, node, is_public=is_public and not node.name.startswith("_"))
        else:
            yield from _functions_in(source, node, is_public=is_public)


def _is_accessor(node: ast.FunctionDef | ast.AsyncFunctionDef) -> bool:
    for decorator in node.decorator_list:
        called = decorator.func if isinstance(decorator, ast.Call) else decorator
        name = called.id if isinstance(called, ast.Name) else called.attr if isinstance(called, ast.Attribute) else ""
        if name in _ACCESSORS:
            return True
    return False


def per_thousand(sources: list[Source], find: Callable[[Source], Iterator[object]]) -> dict[str, float]:
    """How many of something there are per 1,000 lines, by the label of each of `GROUPS`."""
    counts = [(source.package, sum(1 for _ in find(source)), source.lines) for source in sources]
    found: dict[str, float] = {}
    for group in GROUPS:
        lines = sum(length for package, _, length in counts if package in group)
        total = sum(count for package, count, _ in counts if package in group)
        found["+".join(group)] = round(1000 * total / lines, 1) if lines else 0.0
    return found


def percentile(values: list[int], share: float) -> int:
    """The smallest value that is at least as large as `share` of them; 0 for none."""
    ordered = sorted(values)
    return ordered[max(0, -int(-share * len(ordered) // 1) - 1)] if ordered else 0


def share(part: int, whole: int) -> float:
    """Per cent, with one decimal."""
    return round(100 * part / whole, 1) if whole else 0.0


def measure_sources(sources: list[Source], verbs: tuple[str, ...]) -> dict[str, float]:
    """All figures of the sources by the names of the table's rows."""
    functions = [function for source in sources for function in find_functions(source)]
    public = [function for function in functions if function.is_public]
    verbal = [function for function in public if begins_with(function.name, verbs)]
    small = [source for source in sources if source.lines <= SMALL]
    lengths = [function.lines for function in functions]
    return {
        **{f"keys {group}": value for group, value in per_thousand(sources, find_string_keys).items()},
        **{f"any {group}": value for group, value in per_thousand(sources, find_any).items()},
        "verbs": share(len(verbal), len(public)),
        "vague": share(sum(begins_with(function.name, VAGUE) for function in verbal), len(verbal)),
        "docstrings": share(sum(function.has_docstring for function in public), len(public)),
        "small": sum(not source.is_empty_init for source in small),
        "small all": len(small),
        "large": sum(source.lines > LARGE for source in sources),
        "function median": percentile(lengths, 0.5),
        "function p90": percentile(lengths, 0.9),
        "function max": max(lengths, default=0),
        "statements": sum(1 for source in sources for _ in find_statements(source)),
        "running": sum(1 for source in sources for _ in find_running_statements(source)),
        "cyrillic": sum(1 for source in sources for _ in find_cyrillic(source)),
        "files": len(sources),
        "lines": sum(source.lines for source in sources),
    }
