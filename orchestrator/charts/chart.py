"""A picture of something that goes from step to step: boxes with words, arrows with reasons; and its text for Mermaid. Pure."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final, Literal

Shape = Literal["step", "question", "choice", "end", "effect", "failure", "store"]
"""What a box is; a failure is an end that nobody wants, a store keeps what steps leave for others."""
Way = Literal["usual", "failure", "data"]
"""Why something follows: in the usual course, after a failure; or not at all, since data alone goes this way."""
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
"""How arrows are coloured that are not the usual ones."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Box:
    """One step, or what stands beside the steps."""

    title: str
    """Its name."""
    text: str
    """What it says or does, cut."""
    shape: Shape
    key: str = ""
    """The id of the step that it stands for; "" for what stands beside the steps, and for a step without an id."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Arrow:
    """One way from a step to another, by their places in the list."""

    source: int
    target: int
    label: str = ""
    """When it is taken; "" for the usual way."""
    way: Way = "usual"


@dataclass(frozen=True, slots=True)
class Mark:
    """What is to be seen at a box beside its words: a word of the program, and the name of a style, of Latin letters."""

    style: str
    word: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Chart:
    """Something to look at."""

    title: str
    boxes: Sequence[Box]
    arrows: Sequence[Arrow]


NO_MARKS: Final[Mapping[int, Mark]] = {}


def cut_text(text: str, most: int) -> str:
    """Return an author's text on one line, without signs that cannot be printed, and of at most so many signs."""
    plain = " ".join("".join(sign if sign.isprintable() else " " for sign in text[: most * 4]).split())
    return plain if len(plain) <= most else plain[: most - 1] + "…"


def write_mermaid(chart: Chart, marks: Mapping[int, Mark] = NO_MARKS) -> str:
    """Return the chart as a flowchart for Mermaid, as GitHub and many editors show it. Text of the author cannot end its quotes.

    `marks` are those of boxes, by their places: the word stands below the others, the style is a class of the node.
    """
    lines = ["flowchart TD"]
    for number, box in enumerate(chart.boxes):
        begin, end = _FORMS[box.shape]
        mark = marks.get(number)
        words = "<br/>".join(escape_label(one) for one in (box.title, box.text, mark.word if mark is not None else "") if one)
        lines.append(f'  s{number}{begin}"{words}"{end}')
        lines += [f"  class s{number} {mark.style}"] if mark is not None else []
    for arrow in chart.arrows:
        label = f'|"{escape_label(arrow.label)}"|' if arrow.label else ""
        lines.append(f"  s{arrow.source} {_LINKS[arrow.way]}{label} s{arrow.target}")
    for way, style in _STYLES.items():
        numbers = [str(number) for number, arrow in enumerate(chart.arrows) if arrow.way == way]
        lines += [f"  linkStyle {','.join(numbers)} {style}"] if numbers else []
    return "\n".join(lines) + "\n"


def escape_label(text: str) -> str:
    """Return a text as Mermaid takes it inside of quotes: what could mean anything there is written by its number."""
    return "".join(sign if sign.isalnum() or sign in " .,:;!?·…-_/()=+%" else f"#{ord(sign)};" for sign in text)
