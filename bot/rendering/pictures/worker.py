"""Turns SVG into PNG, in a process of its own: the library holds the interpreter's lock. Orders and pictures have their length in front."""

import sys
from pathlib import Path
from typing import BinaryIO, Final

LENGTH: Final = 4
ZOOM: Final = 2.5
"""Pixels of the PNG for one of the SVG."""
_FONTS: Final = Path(__file__).parent / "fonts"


def read_frame(stream: BinaryIO) -> bytes | None:
    """None at the end of the stream."""
    head = stream.read(LENGTH)
    if len(head) < LENGTH:
        return None
    size = int.from_bytes(head, "big")
    body = stream.read(size)
    return body if len(body) == size else None


def write_frame(stream: BinaryIO, body: bytes) -> None:
    stream.write(len(body).to_bytes(LENGTH, "big") + body)
    stream.flush()


def serve_orders(orders: BinaryIO, pictures: BinaryIO) -> None:
    """Until the orders end; an empty picture for SVG that cannot be drawn."""
    import resvg_py  # noqa: PLC0415 - only the worker loads the library

    fonts = sorted(str(path) for path in _FONTS.glob("*.ttf"))
    while (order := read_frame(orders)) is not None:
        try:
            png = resvg_py.svg_to_bytes(
                svg_string=order.decode(), zoom=ZOOM, skip_system_fonts=True, font_files=fonts, sans_serif_family="DejaVu Sans"
            )
        except Exception:  # noqa: BLE001 - whatever is wrong with one picture, the next may be good
            png = b""
        write_frame(pictures, bytes(png))


if __name__ == "__main__":
    serve_orders(sys.stdin.buffer, sys.stdout.buffer)
