"""A form as data. A person types texts; `show_value` and `parse_value` translate."""

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from dataclasses import field as data_field
from typing import Final, Literal

from bot.plugins.choices import Choice
from orchestrator.documents.changing import ABSENT
from orchestrator.documents.reading import read_document
from orchestrator.documents.reports import JSON_NUMBER, MAX_SAFE
from orchestrator.domain.finding import Path
from orchestrator.domain.outputs import Notice

Kind = Literal["line", "text", "number", "integer", "boolean", "choice", "words", "json", "any", "pairs", "items", "code"]
"""`words` are texts one a line, `any` is a text or JSON; `pairs` and `items` are rows, of objects and lists, and JSON here."""
YES: Final = "true"
NO: Final = "false"
PLACEHOLDER: Final = re.compile(r"\{[^{}]+\}")
"""A text with a variable, in place of another value."""
_UNCLEAR: Final = re.compile(r"[1-9]\d{0,2}(,\d{3})+")
"""Such as 1,500: one and a half to some, fifteen hundred to others."""
_JSON_SIGNS: Final = ("{", "[", '"', "'", "/")


@dataclass(frozen=True, slots=True, kw_only=True)
class Field:
    path: Path
    kind: Kind
    label: str
    value: str = ""
    """"" if there is none."""
    hint: str = ""
    is_required: bool = False
    choices: tuple[Choice, ...] = ()
    """Of a field that is no choice others may be typed, too."""
    inner: Kind = "any"
    """What stands in rows."""
    inside: Mapping[str, tuple[Choice, ...]] = data_field(default_factory=dict)
    """Keys of rows that hold rows of their own, with the choices for their keys."""
    columns: tuple[str, str] = ("", "")
    """What people read above rows."""
    usual: str = ""
    """What counts if nothing is given."""
    least: float | None = None
    most: float | None = None
    is_open: bool = False
    """A text with a placeholder may stand there instead."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Group:
    path: Path
    label: str
    nodes: tuple["Node", ...]
    hint: str = ""
    is_folded: bool = False
    """Shown only when it is opened."""
    title: str = ""
    """Of a step its name."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Listing:
    """More can be added."""

    path: Path
    label: str
    items: tuple[Group, ...]
    add: str
    hint: str = ""


Node = Field | Group | Listing


class FieldRefused(ValueError):
    """`line` and `column` of the text, or 0."""

    def __init__(self, notice: Notice, line: int = 0, column: int = 0) -> None:
        super().__init__(notice.code)
        self.notice, self.line, self.column = notice, line, column


def walk_fields(nodes: Sequence[Node]) -> list[Field]:
    """Fields inside of groups and lists, too."""
    fields: list[Field] = []
    for node in nodes:
        match node:
            case Field():
                fields.append(node)
            case Group():
                fields += walk_fields(node.nodes)
            case Listing():
                fields += walk_fields(node.items)
    return fields


def walk_groups(node: Node) -> list[Group]:
    """With itself; also inside of lists."""
    match node:
        case Group():
            return [node, *(one for inner in node.nodes for one in walk_groups(inner))]
        case Listing():
            return [one for item in node.items for one in walk_groups(item)]
    return []


def cut_nodes(form: Group, path: Path) -> tuple[Node, ...]:
    """Of what is at this place; the whole form if nothing is."""
    nodes: list[Node] = list(form.nodes) if path else []
    while nodes:
        node = nodes.pop()
        if node.path == path:
            return node.nodes if isinstance(node, Group) else (node,)
        nodes += node.nodes if isinstance(node, Group) else node.items if isinstance(node, Listing) else ()
    return form.nodes


def write_json(value: object) -> str:
    return json.dumps(value, ensure_ascii=False, indent=2)


def show_value(kind: Kind, value: object) -> str:
    """JSON for a value that the field does not take."""
    if value is ABSENT or (value is None and kind not in {"json", "pairs", "items"}):
        return ""
    match kind, value:
        case ("line" | "text" | "choice" | "code", str()):
            return value
        case ("number" | "integer", str()) if PLACEHOLDER.search(value):
            return value
        case "any", str() if _is_plain(value):
            return value
        case ("words", list()) if all(isinstance(one, str) and one == one.strip() and len(one.splitlines()) == 1 for one in value):
            return "\n".join(value)
    return write_json(value)


def _is_plain(value: str) -> bool:
    """A text means itself where JSON may be typed, too."""
    plain = value.strip()
    return bool(plain) and not plain.startswith(_JSON_SIGNS) and not _is_literal(plain)


def parse_value(field: Field, typed: str) -> object:
    """ABSENT for an empty text. Raises FieldRefused."""
    return parse_text(field.kind, typed, least=field.least, most=field.most, is_open=field.is_open)


def parse_text(kind: Kind, typed: str, *, least: float | None = None, most: float | None = None, is_open: bool = False) -> object:
    """ABSENT for an empty text. Raises FieldRefused."""
    plain = typed.strip()
    if not plain:
        return ABSENT
    match kind:
        case "line" | "choice" | "text" | "code":
            return typed
        case "number" | "integer":
            return typed if is_open and PLACEHOLDER.search(plain) else _check_bounds(_parse_number(kind, plain), least, most)
        case "boolean":
            if plain not in {YES, NO}:
                raise FieldRefused(Notice(code="console-form-boolean"))
            return plain == YES
        case "words":
            return [line.strip() for line in typed.splitlines() if line.strip()]
        case "any" if _is_plain(typed):
            return typed
    return _parse_json(typed)


def _parse_number(kind: Kind, plain: str) -> int | float:
    if _UNCLEAR.fullmatch(plain):
        args = {"whole": plain.replace(",", ""), "part": plain.replace(",", ".")}
        raise FieldRefused(Notice(code="console-form-comma", args=args))
    text = re.sub(r"(?<=\d)[\s\u00a0\u202f](?=\d{3}(\D|$))", "", plain).replace(",", ".").replace("−", "-")
    if not JSON_NUMBER.fullmatch(text) or len(text) > len(str(MAX_SAFE)) + 20:
        raise FieldRefused(Notice(code="console-form-number" if kind == "number" else "console-form-integer"))
    number = float(text)
    if number.is_integer() and abs(number) <= MAX_SAFE and not set(text) & set(".eE"):
        return int(text)
    if kind == "integer" or abs(number) > MAX_SAFE:
        raise FieldRefused(Notice(code="console-form-integer" if kind == "integer" else "console-form-number"))
    return number


def _check_bounds(number: float, least: float | None, most: float | None) -> float:
    if least is not None and number < least:
        raise FieldRefused(Notice(code="console-form-least", args={"least": least}))
    if most is not None and number > most:
        raise FieldRefused(Notice(code="console-form-most", args={"most": most}))
    return number


def _is_literal(plain: str) -> bool:
    return plain in {YES, NO, "null"} or JSON_NUMBER.fullmatch(plain) is not None


def _parse_json(typed: str) -> object:
    reading = read_document(typed, "json")
    if reading.document is None:
        finding = next(one for one in reading.findings if one.severity == "error")
        raise FieldRefused(finding.notice, finding.line, finding.column)
    return reading.document.data
