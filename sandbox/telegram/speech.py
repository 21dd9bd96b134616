"""Makes voice messages without a microphone: valid Ogg Opus files of silence that contain the spoken words as a tag."""

import base64
import binascii
import struct

from sandbox.telegram.wording import load_texts

_TAG = "TRANSCRIPT="
_SERIAL = 0x5DE1CA
# One frame of 20 ms that decodes to silence: CELT, full band, mono.
_SILENCE = b"\xf8\xff\xfe"
_FRAMES_A_SECOND = 50
_SAMPLES_A_FRAME = 960
_LETTERS_A_SECOND = 14


def load_samples(language: str = "ru") -> dict[str, str]:
    """Return the words of the ready voice messages by name, in a language of the page."""
    samples: dict[str, str] = load_texts(language)["voice"]["samples"]
    return samples


def seconds_of(words: str) -> int:
    """Return how many seconds a person would need to speak these words."""
    return max(1, round(len(words) / _LETTERS_A_SECOND))


def voice_file(words: str, seconds: int) -> bytes:
    """Return an Ogg Opus file of silence, `seconds` long, with the words in its comment header (RFC 7845, section 5.2)."""
    head = b"OpusHead" + struct.pack("<BBHIhB", 1, 1, 312, 48_000, 0, 0)
    vendor, comment = b"sandbox", (_TAG + words).encode()
    tags = b"OpusTags" + struct.pack("<I", len(vendor)) + vendor + struct.pack("<II", 1, len(comment)) + comment
    pages = [_page([head], 0, 0, flags=2), _page([tags], 0, 1)]
    for second in range(1, seconds + 1):
        last = 4 if second == seconds else 0
        granule = second * _FRAMES_A_SECOND * _SAMPLES_A_FRAME
        pages.append(_page([_SILENCE] * _FRAMES_A_SECOND, granule, second + 1, flags=last))
    return b"".join(pages)


def words_of(content: bytes) -> str | None:
    """Return the words in a file that `voice_file` made; None for any other file. The fake transcription service uses it."""
    start = content.find(_TAG.encode())
    if start < 4 or b"OpusTags" not in content[:start]:
        return None
    length = struct.unpack("<I", content[start - 4 : start])[0]
    return content[start + len(_TAG) : start + length].decode()


def decoded(text: str) -> bytes | None:
    """Return the bytes of a base64 text; None if it is invalid."""
    try:
        return base64.b64decode(text, validate=True)
    except (binascii.Error, ValueError):
        return None


def _page(packets: list[bytes], granule: int, number: int, *, flags: int = 0) -> bytes:
    lacing = b"".join(b"\xff" * (len(packet) // 255) + bytes([len(packet) % 255]) for packet in packets)
    head = struct.pack("<4sBBqIII", b"OggS", 0, flags, granule, _SERIAL, number, 0)
    page = bytearray(head + bytes([len(lacing)]) + lacing + b"".join(packets))
    page[22:26] = struct.pack("<I", _checksum(page))
    return bytes(page)


def _checksum(page: bytes | bytearray) -> int:
    value = 0
    for byte in page:
        value = ((value << 8) & 0xFFFFFFFF) ^ _TABLE[(value >> 24) ^ byte]
    return value


def _table() -> list[int]:
    table = []
    for index in range(256):
        value = index << 24
        for _ in range(8):
            value = ((value << 1) ^ 0x04C11DB7 if value & 0x80000000 else value << 1) & 0xFFFFFFFF
        table.append(value)
    return table


_TABLE = _table()
