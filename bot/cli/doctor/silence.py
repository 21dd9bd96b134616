"""Half a second of silence as an Ogg Opus file (RFC 3533, RFC 7845), for trying a transcription. Ring 3, pure."""

import struct
from typing import Final

_FRAME: Final = b"\xf8\xff\xfe"
"""20 ms in which nothing is heard (RFC 6716: CELT, full band, mono, one frame)."""
_FRAMES: Final = 25
_SAMPLES: Final = 960
_SERIAL: Final = 1
_FIRST, _LAST = 2, 4


def build_silence() -> bytes:
    """The file; the same at every call."""
    head = b"OpusHead" + struct.pack("<BBHIhB", 1, 1, 0, 48_000, 0, 0)
    vendor = b"sdelka"
    tags = b"OpusTags" + struct.pack("<I", len(vendor)) + vendor + struct.pack("<I", 0)
    return _build_page([head], 0, _FIRST, 0) + _build_page([tags], 0, 0, 1) + _build_page([_FRAME] * _FRAMES, _FRAMES * _SAMPLES, _LAST, 2)


def _build_page(packets: list[bytes], position: int, kind: int, number: int) -> bytes:
    """Packets of fewer than 255 bytes on one page, its checksum filled in."""
    sizes = bytes(len(packet) for packet in packets)
    head = struct.pack("<4sBBqIII", b"OggS", 0, kind, position, _SERIAL, number, 0) + bytes([len(sizes)]) + sizes
    page = head + b"".join(packets)
    return page[:22] + struct.pack("<I", _compute_checksum(page)) + page[26:]


def _compute_checksum(data: bytes) -> int:
    """CRC-32 of Ogg: polynomial 04c11db7, nothing reflected."""
    total = 0
    for byte in data:
        total ^= byte << 24
        for _ in range(8):
            total = ((total << 1) ^ 0x04C11DB7 if total & 0x80000000 else total << 1) & 0xFFFFFFFF
    return total
