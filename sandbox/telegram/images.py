"""Reads the width and height of a picture from the header of its PNG or JPEG file, and draws thumbnails."""

import struct
import zlib

_PNG = b"\x89PNG\r\n\x1a\n"
_JPEG_FRAMES = frozenset(range(0xC0, 0xD0)) - {0xC4, 0xC8, 0xCC}


def picture_size(content: bytes) -> tuple[int, int] | None:
    """Return the picture's width and height in pixels; None if the content is not a readable PNG or JPEG."""
    if content.startswith(_PNG) and len(content) >= 24:
        width, height = struct.unpack(">II", content[16:24])
        return width, height
    return _jpeg_size(content) if content.startswith(b"\xff\xd8") else None


def _jpeg_size(content: bytes) -> tuple[int, int] | None:
    position = 2
    while position + 9 <= len(content) and content[position] == 0xFF:
        marker, length = content[position + 1], int.from_bytes(content[position + 2 : position + 4], "big")
        if marker in _JPEG_FRAMES:
            height, width = struct.unpack(">HH", content[position + 5 : position + 9])
            return width, height
        position += 2 + length
    return None


def fit_into(size: tuple[int, int], longest: int) -> tuple[int, int]:
    """Return the size of a picture that is made smaller, if needed, until neither side is longer than `longest` pixels."""
    width, height = size
    if max(width, height) <= longest:
        return size
    return max(1, width * longest // max(size)), max(1, height * longest // max(size))


def draw_thumbnail(width: int, height: int, *, mark: str) -> bytes:
    """Return a grey PNG of this size. It contains `mark` as a comment, so that the thumbnails of two pictures differ."""
    row = b"\0" + b"\xc8" * width
    parts = [
        (b"IHDR", struct.pack(">IIBBBBB", width, height, 8, 0, 0, 0, 0)),
        (b"tEXt", b"Comment\0" + mark.encode("ascii")),
        (b"IDAT", zlib.compress(row * height)),
        (b"IEND", b""),
    ]
    chunks = [struct.pack(">I", len(body)) + name + body + struct.pack(">I", zlib.crc32(name + body)) for name, body in parts]
    return _PNG + b"".join(chunks)
