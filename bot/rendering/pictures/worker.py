"""Turns SVG into PNG, in a process of its own: the library holds the interpreter's lock."""

from functools import cache
from pathlib import Path
from typing import Final

ZOOM: Final = 2.5
"""Pixels of the PNG for one of the SVG."""
_FONTS: Final = Path(__file__).parent / "fonts"


def render_png(svg: bytes) -> bytes:
    """Raises if it cannot be drawn."""
    import resvg_py  # noqa: PLC0415 - only the worker loads the library

    png = resvg_py.svg_to_bytes(
        svg_string=svg.decode(), zoom=ZOOM, skip_system_fonts=True, font_files=_list_fonts(), sans_serif_family="DejaVu Sans"
    )
    return bytes(png)


@cache
def _list_fonts() -> list[str]:
    return sorted(str(path) for path in _FONTS.glob("*.ttf"))
