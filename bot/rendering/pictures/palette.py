"""The colours of a picture: text stands out from its ground by 4.5 to 1, bars and lines by 3 to 1."""

from dataclasses import dataclass
from typing import Final, Literal

ThemeName = Literal["light", "dark"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Theme:
    paper: str
    ink: str
    muted: str
    grid: str
    accent: str
    past: str
    up: str
    down: str
    plan: str


THEMES: Final[dict[ThemeName, Theme]] = {
    "light": Theme(
        paper="#ffffff",
        ink="#17212b",
        muted="#56636f",
        grid="#e4e8ec",
        accent="#2470cc",
        past="#8494a5",
        up="#1a7a42",
        down="#c02f2f",
        plan="#8f5400",
    ),
    "dark": Theme(
        paper="#17212b",
        ink="#f1f4f7",
        muted="#a6b2be",
        grid="#2c3a47",
        accent="#5aa2f0",
        past="#708296",
        up="#55cb87",
        down="#ff8f87",
        plan="#ffb74d",
    ),
}


def mix_colours(ground: str, colour: str, share: float) -> str:
    """`share` of `colour` laid over `ground`."""
    pairs = zip(_split_colour(ground), _split_colour(colour), strict=True)
    return "#" + "".join(f"{round(under + (over - under) * share):02x}" for under, over in pairs)


def calculate_contrast(ink: str, ground: str) -> float:
    """By WCAG 2, from 1 to 21."""
    darker, lighter = sorted((_calculate_luminance(ink), _calculate_luminance(ground)))
    return (lighter + 0.05) / (darker + 0.05)


def _split_colour(colour: str) -> tuple[int, int, int]:
    return int(colour[1:3], 16), int(colour[3:5], 16), int(colour[5:7], 16)


def _calculate_luminance(colour: str) -> float:
    red, green, blue = (_to_linear(part / 255) for part in _split_colour(colour))
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue


def _to_linear(part: float) -> float:
    return part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4  # noqa: PLR2004 - numbers of the formula
