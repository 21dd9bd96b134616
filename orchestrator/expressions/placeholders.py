"""Fills placeholders, for all definitions. What is filled in is never searched again: nobody reads variables by typing a name (G3)."""

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final, Literal, NamedTuple

from orchestrator.domain.finding import WHOLE, Finding, Path, format_path
from orchestrator.domain.taint import NOWHERE, Origins, Value
from orchestrator.expressions.operations import OperationFailed, build_name_error, format_scalar
from orchestrator.expressions.paths import PATH, Found, follow_path, parse_path
from state.canonical import NotCanonical, dumps

MAX_CHARACTERS: Final = 1_000_000
"""Of all texts of a template, and of all that they are filled with."""
MAX_DEPTH: Final = 100
MAX_PLACEHOLDERS: Final = 10_000


@dataclass(frozen=True, kw_only=True)
class Syntax:
    """`missing`: what stands for a placeholder that names nothing."""

    pattern: re.Pattern[str]
    """Groups: `path`, and `literal`, what an escaped placeholder stands for."""
    missing: Literal["verbatim", "empty", "null"]
    ignores_case: bool = False
    only_whole: bool = False
    """A placeholder must be the whole text."""


SCENARIO: Final = Syntax(pattern=re.compile(rf"\\(?P<literal>\{{)|\{{\s*(?P<path>{PATH})\s*\}}"), missing="verbatim")
r"""`{name}`, `{results[0].text}` (S000-17 to S000-19); `\{` is a brace. The missing stays as written (S000-X2)."""
WORKFLOW: Final = Syntax(
    pattern=re.compile(rf"\\(?P<literal>\{{\{{)|\{{\{{\s*(?P<path>{PATH})\s*\}}\}}"), missing="empty", ignores_case=True
)
r"""`{{name}}` (S003-40); `\{{` is two braces. The missing leaves nothing, with a warning (S003-A11)."""
FLOW: Final = Syntax(pattern=re.compile(rf"(?P<literal>(?!))|\$(?P<path>{PATH})"), missing="null", only_whole=True)
"""`$steps.x.output.y` as a whole text (S002-43). The missing is null (S002-A9)."""

_CHOSEN: Final[Origins] = frozenset({"definition", "person"})
"""Of a null that an author has written, also if a person has chosen it."""
Join = Callable[[Sequence[str], Sequence[Origins]], str]
"""Each piece has its origins; those of the template are none."""


def join_plainly(pieces: Sequence[str], _origins: Sequence[Origins]) -> str:
    return "".join(pieces)


class TemplateRefused(ValueError):
    """Too large or too deep; `finding` says where in the template."""

    def __init__(self, code: str, message: str, at: Path, **args: str | int) -> None:
        self.finding = Finding(code=code, message=message, path=format_path(at), args=args)
        super().__init__(str(self.finding))


class Placeholder(NamedTuple):
    """`at` is the place of its text."""

    at: Path
    offset: int
    path: Path

    @property
    def name(self) -> str:
        """The variable that it names."""
        return str(self.path[0])


@dataclass(frozen=True, kw_only=True)
class Filled:
    """Each text that had placeholders is a `Value` with the origins of all in it."""

    data: Any
    missing: tuple[Placeholder, ...] = ()
    empty: tuple[Path, ...] = ()
    """Texts of which no placeholder gave a value."""


class _Text:
    __slots__ = ("is_lone", "pieces", "places", "written")

    def __init__(self, pieces: Sequence[str], places: Sequence[Placeholder], originals: Sequence[str]) -> None:
        self.pieces, self.places, self.written = tuple(pieces), tuple(places), tuple(originals)
        self.is_lone = len(places) == 1 and pieces[0] == "" == pieces[1]


class Template:
    def __init__(self, tree: Any, syntax: Syntax) -> None:
        """Raises TemplateRefused."""
        self._syntax = syntax
        self._left = MAX_CHARACTERS
        self._count = 0
        self._tree = self._read(tree, ())

    @property
    def placeholders(self) -> tuple[Placeholder, ...]:
        return tuple(_list_placeholders(self._tree))

    @property
    def is_lone(self) -> bool:
        return isinstance(self._tree, _Text) and self._tree.is_lone

    def fill(self, names: Mapping[str, Value], join: Join = join_plainly) -> Filled:
        """A lone placeholder becomes the value itself (S000-X1), others are written as text. Raises TemplateRefused."""
        return _Filling(names, self._syntax, join).fill(self._tree)

    def _read(self, tree: Any, at: Path) -> Any:
        if len(at) > MAX_DEPTH:
            raise TemplateRefused("template-deep", f"more than {MAX_DEPTH} levels", at[:5], limit=MAX_DEPTH)
        if isinstance(tree, str):
            return self._read_text(tree, at)
        if isinstance(tree, Mapping):
            return {key: self._read(one, (*at, key)) for key, one in tree.items()}
        if isinstance(tree, list | tuple):
            return [self._read(one, (*at, index)) for index, one in enumerate(tree)]
        return tree

    def _read_text(self, text: str, at: Path) -> str | _Text:
        self._left -= len(text)
        if self._left < 0:
            raise TemplateRefused("template-long", f"the texts are longer than {MAX_CHARACTERS} characters", at, limit=MAX_CHARACTERS)
        pieces: list[list[str]] = [[]]
        places, originals = [], []
        last = 0
        for match in self._syntax.pattern.finditer(text):
            if self._syntax.only_whole and match.span() != (0, len(text)):
                break
            path = parse_path(match["path"]) if match["path"] else None
            if path is None and match["literal"] is None:
                continue
            pieces[-1].append(text[last : match.start()])
            last = match.end()
            if path is None:
                pieces[-1].append(match["literal"])
                continue
            places.append(Placeholder(at, match.start(), path))
            originals.append(match[0])
            pieces.append([])
        self._count += len(places)
        if self._count > MAX_PLACEHOLDERS:
            raise TemplateRefused("template-many", f"more than {MAX_PLACEHOLDERS} placeholders", at, limit=MAX_PLACEHOLDERS)
        pieces[-1].append(text[last:])
        texts = ["".join(piece) for piece in pieces]
        return _Text(texts, places, originals) if places else texts[0]


def _list_placeholders(tree: Any) -> Iterator[Placeholder]:
    if isinstance(tree, _Text):
        yield from tree.places
    elif isinstance(tree, dict):
        for branch in tree.values():
            yield from _list_placeholders(branch)
    elif isinstance(tree, list):
        for branch in tree:
            yield from _list_placeholders(branch)


class _Filling:
    def __init__(self, names: Mapping[str, Value], syntax: Syntax, join: Join) -> None:
        self._names, self._join = names, join
        self._folded = {name.casefold(): value for name, value in names.items()} if syntax.ignores_case else {}
        self._syntax = syntax
        self._missing: list[Placeholder] = []
        self._empty: list[Path] = []
        self._left = MAX_CHARACTERS

    def fill(self, tree: Any) -> Filled:
        data = self._fill(tree)
        return Filled(data=data, missing=tuple(self._missing), empty=tuple(self._empty))

    def _fill(self, tree: Any) -> Any:
        if isinstance(tree, _Text):
            return self._fill_text(tree)
        if isinstance(tree, dict):
            return {key: self._fill(one) for key, one in tree.items()}
        if isinstance(tree, list):
            return [self._fill(one) for one in tree]
        return tree

    def _fill_text(self, text: _Text) -> Value:
        lookups = [self._find(place) for place in text.places]
        if not any(_gives_value(lookup, origins) for lookup, origins in lookups):
            self._empty.append(text.places[0].at)
        if text.is_lone:
            (lookup, origins) = lookups[0]
            if not lookup.is_there and self._syntax.missing != "null":
                return Value(text.written[0] if self._syntax.missing == "verbatim" else "", origins)
            self._left -= measure_value(lookup.value, self._left, text.places[0].at)
            return Value(lookup.value, origins)
        parts, sources = [text.pieces[0]], [NOWHERE]
        for index, (lookup, part_origins) in enumerate(lookups):
            sources += (part_origins, NOWHERE)
            parts.extend((self._write(lookup, text.written[index]), text.pieces[index + 1]))
            self._left -= len(parts[-1]) + len(parts[-2])
            if self._left < 0:
                raise _refuse_filled(text.places[0].at)
        return Value(self._join(parts, sources), frozenset().union(*sources))

    def _find(self, place: Placeholder) -> tuple[Found, Origins]:
        name = place.name
        value = self._names[name] if name in self._names else self._folded.get(name.casefold())
        lookup = follow_path({name: value.data}, place.path) if value is not None else Found(False)
        if not lookup.is_there:
            self._missing.append(place)
        return lookup, value.origins if value is not None else NOWHERE

    def _write(self, lookup: Found, original: str) -> str:
        if not lookup.is_there:
            return original if self._syntax.missing == "verbatim" else ""
        return format_value(lookup.value)


def _gives_value(lookup: Found, origins: Origins) -> bool:
    """Null if an author has written it; an empty text unless it is a model's."""
    if isinstance(lookup.value, str):
        return bool(lookup.value.strip()) or "model" not in origins
    return lookup.is_there and (lookup.value is not None or ("definition" in origins and origins <= _CHOSEN))


def measure_value(value: Any, limit: int, at: Path = WHOLE) -> int:
    """Characters plus one for each part, so that doubling ends. Raises TemplateRefused beyond `limit` or `MAX_DEPTH`."""
    if not isinstance(value, str | Mapping | list | tuple):
        return 1
    size, level = 0, [value]
    for _ in range(MAX_DEPTH + 1):
        below: list[Any] = []
        for node in level:
            size += 1 + (len(node) if isinstance(node, str | Mapping | list | tuple) else 0)
            if size > limit:
                raise _refuse_filled(at)
            if isinstance(node, Mapping):
                size += sum(len(key) for key in node)
                below.extend(node.values())
            elif isinstance(node, list | tuple):
                below.extend(node)
        if not below:
            return size
        level = below
    raise TemplateRefused("template-filled-deep", f"filled, it would have more than {MAX_DEPTH} levels", at, limit=MAX_DEPTH)


def _refuse_filled(at: Path) -> TemplateRefused:
    return TemplateRefused("template-filled-long", f"filled, it would be longer than {MAX_CHARACTERS}", at, limit=MAX_CHARACTERS)


def require_value(names: Mapping[str, Any], place: Placeholder, limit: int) -> Any:
    """Raises OperationFailed if there is none, or if it is longer than `limit` as text."""
    lookup = follow_path(names, place.path)
    if not lookup.is_there:
        if place.name not in names:
            raise build_name_error(place.name, names)
        path_text = format_path(place.path)[:60]
        raise OperationFailed("expression-no-part", f"there is no {path_text!r}", name=path_text)
    if not isinstance(lookup.value, str):
        try:
            measure_value(lookup.value, limit)
        except TemplateRefused:
            raise OperationFailed("expression-long", f"the result is longer than {limit}", limit=limit) from None
    return lookup.value


def format_value(value: Any) -> str:
    """Null as nothing, objects and lists as JSON. Raises TemplateRefused."""
    if isinstance(value, str):
        return value
    if value is None:
        return ""
    if isinstance(value, Mapping | list | tuple):
        try:
            return dumps(value)
        except (NotCanonical, RecursionError) as error:
            raise TemplateRefused("template-value", f"a value cannot be written as text: {error}", ()) from None
    try:
        return format_scalar(value)
    except ValueError as error:  # an integer of thousands of digits
        raise TemplateRefused("template-value", f"a value cannot be written as text: {error}", ()) from None


def fill_text(text: str, names: Mapping[str, Value], syntax: Syntax) -> Value:
    """See `Template.fill`."""
    filled = Template(text, syntax).fill(names).data
    return filled if isinstance(filled, Value) else Value(filled)
