"""Counts of house style over the shipped sources."""

import ast
import re
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from tests.style_sources import FUNCTIONS, SHIPPED, Source, find_importers, is_bare_string

DECIDING = ("orchestrator", "bot", "engines")
"""The packages whose shares have a bar: what moves between them changes no figure."""
GROUPS = (DECIDING, *((package,) for package in SHIPPED))
"""For what shares per 1,000 lines are told."""
NAMING = (("bot", "orchestrator", "engines", "state"), ("bot",), ("orchestrator",), ("engines",), ("state",))
"""For what the share of empty names is told."""
SMALL, LARGE = 50, 400
"""Lines up to which a file is small, and above which it is large."""
LONGEST = 60
"""Lines above which a function is long."""
VAGUE = ("get", "do", "handle", "process", "make")
"""Verbs that say little; they count as verbs, but only a tenth of the names may begin with one."""
EMPTY_NAMES: Final = frozenset(
    {"one", "found", "said", "told", "given", "asked", "shown", "held", "made", "named", "kept", "written", "listed", "wanted", "taken", "called"}
)  # fmt: skip
"""What a value may not be called: the reader would have to look at what it is made from."""
DULL_NAMES: Final = frozenset({"item", "value", "result", "data", "obj", "entry", "thing"})
"""What may not come in place of an empty name: their share may not grow."""
NOT_READ = {
    "orchestrator/language/text.py": "the letters of the alphabet, for patterns",
    "orchestrator/language/word_runs.py": "letters that look alike, for comparison",
    "orchestrator/engines/crm_agent/grammar.py": "a header of the model's protocol",
    "bitrix/errors.py": "what a portal answers, to recognize it",
    "state/journal/encryption.py": "the compression dictionary, which must never change",
}
"""Files whose Cyrillic literals nobody reads, each with the reason: they are not counted."""
_DECLARED = re.compile(r"(?:.*/)?(?:feature|plugin|wiring|trial|(?:\w+_)?face)\.py|state/(?:events|migrations)/.*")
"""Files whose names are set, however short: a feature and a plugin are found by theirs, each slot has a module (ADR 49), each feature's
events are one file, and each change of the schema is one."""
_CYRILLIC = re.compile(r"[А-Яа-яЁё]")
_ACCESSORS = frozenset({"property", "cached_property", "computed_field", "setter", "getter", "deleter", "overload"})


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
    is_public: bool
    """Reachable by public names only, at module or class level, and neither a property nor an overload."""


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
    for subscript in source.list_nodes(ast.Subscript):
        match subscript:
            case ast.Subscript(value=subject, slice=ast.Constant(value=str(key))) if not _is_type(subject):
                yield Place(source.path, subscript.lineno, f"[{key!r}]")
            case _:
                pass
    for call in source.list_nodes(ast.Call):
        match call:
            case ast.Call(func=ast.Attribute(attr="get"), args=[ast.Constant(value=str(key)), *_]) if not key.startswith("/"):
                yield Place(source.path, call.lineno, f".get({key!r})")
            case _:
                pass


def _is_type(node: ast.expr) -> bool:
    """Whether an expression is named like a class: what stands in its brackets is a type and no key."""
    name = node.id if isinstance(node, ast.Name) else node.attr if isinstance(node, ast.Attribute) else ""
    return name[:1].isupper() and not name.isupper()


def find_any(source: Source) -> Iterator[Place]:
    """Each use of `Any` or `typing.Any`; an import is none."""
    names = [node.lineno for node in source.list_nodes(ast.Name) if node.id == "Any"]
    attributes = [node.lineno for node in source.list_nodes(ast.Attribute) if node.attr == "Any"]
    return (Place(source.path, line, source.physical_lines[line - 1].strip()) for line in [*names, *attributes])


def find_cyrillic(source: Source) -> Iterator[Place]:
    """Each string literal with Cyrillic letters that is no docstring; an f-string counts once, a file of `NOT_READ` not at all."""
    if source.path in NOT_READ or not _CYRILLIC.search(source.text):
        return
    formatted = source.list_nodes(ast.JoinedStr)
    apart = {id(part) for node in formatted for part in node.values} | {id(node.value) for node in source.list_nodes(ast.Expr)}
    texts = [(node.lineno, "".join(part.value for part in node.values if isinstance(part, ast.Constant))) for node in formatted]
    plain = (node for node in source.list_nodes(ast.Constant) if id(node) not in apart)
    texts.extend((node.lineno, node.value) for node in plain if isinstance(node.value, str))
    yield from (Place(source.path, line, repr(text)) for line, text in sorted(texts) if _CYRILLIC.search(text))


def find_functions(source: Source) -> Iterator[Function]:
    """Each function of a file, also private and nested ones."""
    return _functions_in(source, source.tree, is_public=True)


def _functions_in(source: Source, parent: ast.AST, *, is_public: bool) -> Iterator[Function]:
    for node in ast.iter_child_nodes(parent):
        if isinstance(node, FUNCTIONS):
            public = is_public and not node.name.startswith("_") and not _is_accessor(node)
            yield Function(source.path, node.lineno, node.name, (node.end_lineno or node.lineno) - node.lineno + 1, public)
            yield from _functions_in(source, node, is_public=False)
        elif isinstance(node, ast.ClassDef):
            yield from _functions_in(source, node, is_public=is_public and not node.name.startswith("_"))
        elif not isinstance(node, ast.expr):
            yield from _functions_in(source, node, is_public=is_public)


def _is_accessor(node: ast.FunctionDef | ast.AsyncFunctionDef) -> bool:
    for decorator in node.decorator_list:
        maker = decorator.func if isinstance(decorator, ast.Call) else decorator
        name = maker.id if isinstance(maker, ast.Name) else maker.attr if isinstance(maker, ast.Attribute) else ""
        if name in _ACCESSORS:
            return True
    return False


def find_bindings(source: Source) -> Iterator[Place]:
    """Each name that a function gives to a value: parameters, assigned locals, targets of loops; not self, cls and the variables of comprehensions."""
    fleeting = {id(name) for node in source.list_inner_nodes(ast.comprehension) for name in ast.walk(node.target)}
    for parameter in source.list_inner_nodes(ast.arg):
        if parameter.arg not in {"self", "cls"}:
            yield Place(source.path, parameter.lineno, parameter.arg)
    for name in source.list_inner_nodes(ast.Name):
        if isinstance(name.ctx, ast.Store) and id(name) not in fleeting:
            yield Place(source.path, name.lineno, name.id)


def find_empty_names(source: Source) -> Iterator[Place]:
    """Those of the bindings whose names do not say what the value is."""
    return (place for place in find_bindings(source) if place.text in EMPTY_NAMES)


def rank_names(sources: Sequence[Source], count: int) -> list[tuple[str, int]]:
    """The names that most values have, with how often they are given."""
    named = Counter(place.text for source in sources if source.package in NAMING[0] for place in find_bindings(source))
    return named.most_common(count)


def find_hidden_imports(source: Source) -> Iterator[Place]:
    """Each import inside of a function."""
    nodes = [*source.list_inner_nodes(ast.Import), *source.list_inner_nodes(ast.ImportFrom)]
    return (Place(source.path, node.lineno, source.physical_lines[node.lineno - 1].strip()) for node in nodes)


def find_docstring_words(source: Source) -> Iterator[str]:
    """The words of the docstrings, also of those under fields and constants."""
    for node in source.list_nodes(ast.Expr):
        if isinstance(node.value, ast.Constant) and isinstance(node.value.value, str):
            yield from node.value.value.split()


def find_code_lines(source: Source) -> Iterator[int]:
    """The numbers of the lines that are no blank, comment, docstring or import."""
    still: list[ast.stmt] = [*source.list_nodes(ast.Import), *source.list_nodes(ast.ImportFrom)]
    still.extend(node for node in source.list_nodes(ast.Expr) if is_bare_string(node))
    apart = {line for node in still for line in range(node.lineno, (node.end_lineno or node.lineno) + 1)}
    lines = enumerate(source.physical_lines, start=1)
    return (number for number, line in lines if number not in apart and (text := line.strip()) and not text.startswith("#"))


def count_per_thousand(sources: Sequence[Source], find: Callable[[Source], Iterator[object]]) -> dict[str, float]:
    """How many of something there are per 1,000 lines of code, by the label of each of `GROUPS`."""
    counts = [(source.package, _count(find(source)), _count(find_code_lines(source))) for source in sources]
    rates: dict[str, float] = {}
    for group in GROUPS:
        lines = sum(length for package, _, length in counts if package in group)
        total = sum(count for package, count, _ in counts if package in group)
        rates["+".join(group)] = round(1000 * total / lines, 1) if lines else 0.0
    return rates


def measure_names(sources: Sequence[Source]) -> dict[str, float]:
    """The per cent of bindings with empty names, by the label of each of `NAMING`, and under "dull" that of `DULL_NAMES`."""
    names = [(source.package, place.text) for source in sources for place in find_bindings(source)]
    shares: dict[str, float] = {}
    for group in NAMING:
        here = [name for package, name in names if package in group]
        shares["+".join(group)] = share(sum(name in EMPTY_NAMES for name in here), len(here))
    here = [name for package, name in names if package in NAMING[0]]
    return {**shares, "dull": share(sum(name in DULL_NAMES for name in here), len(here))}


def _count(places: Iterator[object]) -> int:
    return sum(1 for _ in places)


def percentile(values: list[int], part: float) -> int:
    """The smallest value that is at least as large as `part` of them; 0 for none."""
    ordered = sorted(values)
    return ordered[max(0, -int(-part * len(ordered) // 1) - 1)] if ordered else 0


def share(part: int, whole: int) -> float:
    """Per cent, with one decimal."""
    return round(100 * part / whole, 1) if whole else 0.0


def is_shard(source: Source) -> bool:
    """Whether a file is small though its name is of its author's choice."""
    return source.lines <= SMALL and not source.is_empty_init and not _DECLARED.fullmatch(source.path)


def find_lonely(sources: Sequence[Source]) -> list[str]:
    """The paths of the files, `__init__.py` aside, that exactly one other imports."""
    return [path for path, importers in find_importers(sources).items() if len(importers) == 1 and not path.endswith("__init__.py")]


def measure_sources(sources: Sequence[Source], verbs: tuple[str, ...]) -> dict[str, float]:
    """All figures of the sources by the names of the table's rows."""
    return {
        **{f"keys {group}": rate for group, rate in count_per_thousand(sources, find_string_keys).items()},
        **{f"any {group}": rate for group, rate in count_per_thousand(sources, find_any).items()},
        **{f"names {group}": part for group, part in measure_names(sources).items()},
        **_measure_functions([function for source in sources for function in find_functions(source)], verbs),
        **_measure_files(sources),
        "hidden imports": sum(_count(find_hidden_imports(source)) for source in sources),
        "cyrillic": sum(_count(find_cyrillic(source)) for source in sources),
    }


def _measure_functions(functions: Sequence[Function], verbs: tuple[str, ...]) -> Mapping[str, float]:
    public = [function for function in functions if function.is_public]
    verbal = [function for function in public if begins_with(function.name, verbs)]
    lengths = [function.lines for function in functions]
    return {
        "verbs": share(len(verbal), len(public)),
        "vague": share(sum(begins_with(function.name, VAGUE) for function in verbal), len(verbal)),
        "function median": percentile(lengths, 0.5),
        "function p90": percentile(lengths, 0.9),
        "function max": max(lengths, default=0),
        "function long": sum(length > LONGEST for length in lengths),
    }


def _measure_files(sources: Sequence[Source]) -> Mapping[str, float]:
    lines = sum(source.lines for source in sources)
    words = sum(_count(find_docstring_words(source)) for source in sources)
    small = [source for source in sources if source.lines <= SMALL and not source.is_empty_init]
    return {
        "shards": share(sum(map(is_shard, small)), len(sources)),
        "small": share(len(small), len(sources)),
        "lonely": share(len(find_lonely(sources)), len(sources)),
        "large": sum(source.lines > LARGE for source in sources),
        "docstring words": round(100 * words / lines) if lines else 0,
        "code lines": sum(_count(find_code_lines(source)) for source in sources),
        "files": len(sources),
        "lines": lines,
    }
