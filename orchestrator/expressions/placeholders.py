"""Fills placeholders in texts and in the JSON data around them. Pure.

The definitions of scenarios, flows and workflows have a syntax each; all three go through one resolver. What a placeholder is filled with
is never searched for placeholders again, so that nobody can read the variables of a run by typing the name of one (G3).
"""

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
"""Maximum size of all texts of a template together, and of all that they are filled with."""
MAX_DEPTH: Final = 100
MAX_PLACEHOLDERS: Final = 10_000


@dataclass(frozen=True, kw_only=True)
class Syntax:
    """How one kind of definition writes placeholders, and what stands in a text for one that names nothing."""

    pattern: re.Pattern[str]
    """Matches a placeholder; its group `path` is the path, and its group `literal` what an escaped placeholder stands for."""
    missing: Literal["verbatim", "empty", "null"]
    ignores_case: bool = False
    only_whole: bool = False
    """Whether a placeholder must be the whole text."""


SCENARIO: Final = Syntax(pattern=re.compile(rf"\\(?P<literal>\{{)|\{{\s*(?P<path>{PATH})\s*\}}"), missing="verbatim")
"""`{name}`, `{a.b.c}`, `{results[0].text}` (S000-17 to S000-19); `\\{` is a brace. What is not there stays as it is written (S000-X2)."""
WORKFLOW: Final = Syntax(
    pattern=re.compile(rf"\\(?P<literal>\{{\{{)|\{{\{{\s*(?P<path>{PATH})\s*\}}\}}"), missing="empty", ignores_case=True
)
"""`{{name}}` (S003-40); `\\{{` is two braces. What is not there leaves nothing, with a warning (S003-A11)."""
FLOW: Final = Syntax(pattern=re.compile(rf"(?P<literal>(?!))|\$(?P<path>{PATH})"), missing="null", only_whole=True)
"""`$steps.x.output.y` as a whole text (S002-43). What is not there is null (S002-A9)."""

_CHOSEN: Final[Origins] = frozenset({"definition", "person"})
"""Where null comes from that an author has written, also if a person has chosen it."""
Join = Callable[[Sequence[str], Sequence[Origins]], str]
"""Joins the pieces of one filled text; each has its origins, those of the template itself are none."""


def join_plainly(pieces: Sequence[str], _origins: Sequence[Origins]) -> str:
    """Return the pieces one behind the other."""
    return "".join(pieces)


class TemplateRefused(ValueError):
    """A template, or what it would be filled with, is too large or too deep. `finding` says which, and where in the template."""

    def __init__(self, code: str, message: str, at: Path, **args: str | int) -> None:
        """Keep it as a finding; `at` is the place of the text that holds the placeholder."""
        self.finding = Finding(code=code, message=message, path=format_path(at), args=args)
        super().__init__(str(self.finding))


class Placeholder(NamedTuple):
    """One placeholder of a template: the text that holds it, its offset there, and the path that it names."""

    at: Path
    offset: int
    path: Path

    @property
    def name(self) -> str:
        """The variable that it names."""
        return str(self.path[0])


@dataclass(frozen=True, kw_only=True)
class Filled:
    """A filled template. In `data` each text that had placeholders is a `Value` with the origins of all that it was filled with."""

    data: Any
    missing: tuple[Placeholder, ...] = ()
    """The placeholders that named nothing."""
    empty: tuple[Path, ...] = ()
    """The places of the texts of which no placeholder gave a value."""


class _Text:
    """One text with placeholders: the pieces between them, and what they name."""

    __slots__ = ("is_lone", "pieces", "places", "written")

    def __init__(self, pieces: Sequence[str], places: Sequence[Placeholder], written: Sequence[str]) -> None:
        self.pieces, self.places, self.written = tuple(pieces), tuple(places), tuple(written)
        self.is_lone = len(places) == 1 and pieces[0] == "" == pieces[1]


class Template:
    """Text or JSON data with placeholders in its texts, read once and filled often."""

    def __init__(self, tree: Any, syntax: Syntax) -> None:
        """Read the template `tree`. Raises TemplateRefused if it is too large or too deep."""
        self._syntax = syntax
        self._left = MAX_CHARACTERS
        self._count = 0
        self._tree = self._read(tree, ())

    @property
    def placeholders(self) -> tuple[Placeholder, ...]:
        """All placeholders, in the order in which they stand."""
        return tuple(_list_placeholders(self._tree))

    @property
    def is_lone(self) -> bool:
        """Whether the template is a text that is one placeholder and nothing else."""
        return isinstance(self._tree, _Text) and self._tree.is_lone

    def fill(self, names: Mapping[str, Value], join: Join = join_plainly) -> Filled:
        """Return the template filled from the variables `names`; `join` makes a text of its pieces.

        A text that is one placeholder becomes the value itself, with its type (S000-X1); in other texts a value is written as text. Raises
        TemplateRefused if the result is too large.
        """
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
        places, written = [], []
        last = 0
        for found in self._syntax.pattern.finditer(text):
            if self._syntax.only_whole and found.span() != (0, len(text)):
                break
            path = parse_path(found["path"]) if found["path"] else None
            if path is None and found["literal"] is None:
                continue
            pieces[-1].append(text[last : found.start()])
            last = found.end()
            if path is None:
                pieces[-1].append(found["literal"])
                continue
            places.append(Placeholder(at, found.start(), path))
            written.append(found[0])
            pieces.append([])
        self._count += len(places)
        if self._count > MAX_PLACEHOLDERS:
            raise TemplateRefused("template-many", f"more than {MAX_PLACEHOLDERS} placeholders", at, limit=MAX_PLACEHOLDERS)
        pieces[-1].append(text[last:])
        texts = ["".join(piece) for piece in pieces]
        return _Text(texts, places, written) if places else texts[0]


def _list_placeholders(tree: Any) -> Iterator[Placeholder]:
    if isinstance(tree, _Text):
        yield from tree.places
    elif isinstance(tree, dict):
        for one in tree.values():
            yield from _list_placeholders(one)
    elif isinstance(tree, list):
        for one in tree:
            yield from _list_placeholders(one)


class _Filling:
    """Fills one template once."""

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
        found = [self._find(place) for place in text.places]
        if not any(_gives_value(one, origins) for one, origins in found):
            self._empty.append(text.places[0].at)
        if text.is_lone:
            (one, origins) = found[0]
            if not one.is_there and self._syntax.missing != "null":
                return Value(text.written[0] if self._syntax.missing == "verbatim" else "", origins)
            self._left -= measure_value(one.value, self._left, text.places[0].at)
            return Value(one.value, origins)
        parts, sources = [text.pieces[0]], [NOWHERE]
        for index, (one, given) in enumerate(found):
            sources += (given, NOWHERE)
            parts.extend((self._write(one, text.written[index]), text.pieces[index + 1]))
            self._left -= len(parts[-1]) + len(parts[-2])
            if self._left < 0:
                raise _refuse_filled(text.places[0].at)
        return Value(self._join(parts, sources), frozenset().union(*sources))

    def _find(self, place: Placeholder) -> tuple[Found, Origins]:
        name = place.name
        value = self._names[name] if name in self._names else self._folded.get(name.casefold())
        found = follow_path({name: value.data}, place.path) if value is not None else Found(False)
        if not found.is_there:
            self._missing.append(place)
        return found, value.origins if value is not None else NOWHERE

    def _write(self, found: Found, written: str) -> str:
        if not found.is_there:
            return written if self._syntax.missing == "verbatim" else ""
        return format_value(found.value)


def _gives_value(found: Found, origins: Origins) -> bool:
    """Return whether a placeholder gives a value: null is one if an author has written it, an empty text unless it is a model's."""
    if isinstance(found.value, str):
        return bool(found.value.strip()) or "model" not in origins
    return found.is_there and (found.value is not None or ("definition" in origins and origins <= _CHOSEN))


def measure_value(value: Any, limit: int, at: Path = WHOLE) -> int:
    """Return the number of characters in the texts of a value plus one for each part, so that what doubles with each filling ends.

    Raises TemplateRefused as soon as there are more than `limit`, or more than `MAX_DEPTH` levels.
    """
    if not isinstance(value, str | Mapping | list | tuple):
        return 1
    size, level = 0, [value]
    for _ in range(MAX_DEPTH + 1):
        below: list[Any] = []
        for one in level:
            size += 1 + (len(one) if isinstance(one, str | Mapping | list | tuple) else 0)
            if size > limit:
                raise _refuse_filled(at)
            if isinstance(one, Mapping):
                size += sum(len(key) for key in one)
                below.extend(one.values())
            elif isinstance(one, list | tuple):
                below.extend(one)
        if not below:
            return size
        level = below
    raise TemplateRefused("template-filled-deep", f"filled, it would have more than {MAX_DEPTH} levels", at, limit=MAX_DEPTH)


def _refuse_filled(at: Path) -> TemplateRefused:
    return TemplateRefused("template-filled-long", f"filled, it would be longer than {MAX_CHARACTERS}", at, limit=MAX_CHARACTERS)


def require_value(names: Mapping[str, Any], place: Placeholder, limit: int) -> Any:
    """Return the value that a placeholder of a condition names.

    Raises OperationFailed if there is none, or if it is an object or list with more than `limit` characters as text.
    """
    found = follow_path(names, place.path)
    if not found.is_there:
        if place.name not in names:
            raise build_name_error(place.name, names)
        shown = format_path(place.path)[:60]
        raise OperationFailed("expression-no-part", f"there is no {shown!r}", name=shown)
    if not isinstance(found.value, str):
        try:
            measure_value(found.value, limit)
        except TemplateRefused:
            raise OperationFailed("expression-long", f"the result is longer than {limit}", limit=limit) from None
    return found.value


def format_value(value: Any) -> str:
    """Return a value as it stands in the middle of a text: null as nothing, objects and lists as JSON.

    Raises TemplateRefused for a value that is no JSON data.
    """
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
    """Return one text filled from `names`; see `Template.fill`."""
    made = Template(text, syntax).fill(names).data
    return made if isinstance(made, Value) else Value(made)
