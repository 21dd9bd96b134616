"""Boxes with words, arrows with reasons; and the text for Mermaid."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Final, Literal

from orchestrator.domain.finding import Path

Shape = Literal["step", "question", "choice", "end", "effect", "failure", "store"]
"""A failure is an end that nobody wants, a store keeps what steps leave for others."""
Way = Literal["usual", "failure", "data"]
"""With "data" nothing follows, data alone goes this way."""
_FORMS: Final[Mapping[Shape, tuple[str, str]]] = {
    "step": ("[", "]"),
    "question": ("[/", "/]"),
    "choice": ("{", "}"),
    "end": ("([", "])"),
    "effect": ("[[", "]]"),
    "failure": ("([", "])"),
    "store": ("[(", ")]"),
}
_LINKS: Final[Mapping[Way, str]] = {"usual": "-->", "failure": "-.->", "data": "-->"}
_STYLES: Final[Mapping[Way, str]] = {"failure": "stroke:#b5452f", "data": "stroke:#3b8347,stroke-width:1px"}


@dataclass(frozen=True, slots=True, kw_only=True)
class Port:
    """A way out of a box."""

    path: Path
    """Where the name of the next step stands in the document."""
    word: str = ""
    """Code of the text for what leads this way; "" for the usual way, or where `label` says it."""
    label: str = ""
    """The author's own word, such as a button's."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Box:
    title: str
    text: str
    """What it says or does, cut."""
    shape: Shape
    key: str = ""
    """The name of its step; "" for what stands beside the steps."""
    path: Path = ()
    """Where it stands in the document; () for what stands nowhere."""
    kind: str = ""
    """The type of its step."""
    word: str = ""
    """Code of the text that people read in place of the title; "" where the title is the author's own."""
    ports: tuple[Port, ...] = ()
    is_first: bool = False
    """Nothing leads to it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Arrow:
    """By places in the list."""

    source: int
    target: int
    label: str = ""
    """Empty for the usual way."""
    way: Way = "usual"
    port: int = 0
    """The place of the way among those of its source."""
    is_own: bool = True
    """It stands in the document; else it follows from the order of the steps."""


@dataclass(frozen=True, slots=True)
class Mark:
    """`style` is a name of Latin letters."""

    style: str
    word: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Chart:
    title: str
    boxes: Sequence[Box]
    arrows: Sequence[Arrow]


class Drawing:
    """Boxes in order; those that are no step follow, each once."""

    def __init__(self, boxes: Iterable[Box]) -> None:
        self.boxes = list(boxes)
        self._others: dict[Box, int] = {}

    def find_other(self, box: Box) -> int:
        """Its place."""
        if box not in self._others:
            self._others[box] = len(self.boxes)
            self.boxes.append(box)
        return self._others[box]


def join_arrows(arrows: Iterable[Arrow]) -> Sequence[Arrow]:
    """One for all that lead the same way from one box to another, with all their labels: for pictures without ports."""
    together: dict[tuple[int, int, Way], list[Arrow]] = {}
    for arrow in arrows:
        together.setdefault((arrow.source, arrow.target, arrow.way), []).append(arrow)
    return [replace(same[0], label=", ".join(dict.fromkeys(one.label for one in same if one.label))) for same in together.values()]


NO_MARKS: Final[Mapping[int, Mark]] = {}


def cut_text(text: str, most: int) -> str:
    """One line, printable, at most `most` signs."""
    plain = " ".join("".join(sign if sign.isprintable() else " " for sign in text[: most * 4]).split())
    return plain if len(plain) <= most else plain[: most - 1] + "…"


def write_mermaid(chart: Chart) -> str:
    """Text of the author cannot end its quotes."""
    lines = ["flowchart TD"]
    for number, box in enumerate(chart.boxes):
        begin, end = _FORMS[box.shape]
        words = "<br/>".join(escape_label(one) for one in (box.title, box.text) if one)
        lines.append(f'  s{number}{begin}"{words}"{end}')
    arrows = join_arrows(chart.arrows)
    for arrow in arrows:
        label = f'|"{escape_label(arrow.label)}"|' if arrow.label else ""
        lines.append(f"  s{arrow.source} {_LINKS[arrow.way]}{label} s{arrow.target}")
    for way, style in _STYLES.items():
        numbers = [str(number) for number, arrow in enumerate(arrows) if arrow.way == way]
        lines += [f"  linkStyle {','.join(numbers)} {style}"] if numbers else []
    return "\n".join(lines) + "\n"


def escape_label(text: str) -> str:
    """What could mean anything inside of quotes is written by its number."""
    return "".join(sign if sign.isalnum() or sign in " .,:;!?·…-_/()=+%" else f"#{ord(sign)};" for sign in text)
